#pragma once

// RangeIndex: finds conflicts between byte ranges of an inode in logarithmic time.
//
// Every lease and every waiter on an inode, or on a range of it, has one item here: a range, a mode
// and a serial number. Serial numbers give the order in which items came. An item conflicts with an
// earlier item that overlaps it, unless both are shared.
//
// Each inode has two interval trees, one for exclusive and one for shared items, so that a shared
// request does not look at shared items at all. The trees are treaps ordered by the start of the
// range. Each node knows the largest end and the smallest and largest serial number below it.
//
// A waiter watches ONE of the items in its way: the youngest. When that item is removed, the waiter
// looks again. Either it finds another item in its way and watches that one, or it is granted. So n
// waiters for the same range form a chain, and each removal wakes one waiter, not n.
//
// A waiter for several scopes has an item for each range, all with one serial number: so none of
// them is in the way of another one. If nothing is in the way of such an item, it watches nothing and
// stays: the waiter may wait for something else.

#include <cstdint>
#include <vector>

#include "core/containers/slab.h"
#include "core/values/scope.h"

namespace holdfast::core {

class RangeIndex {
  public:
    // The roots of the two trees of one inode. They are part of its Resource.
    struct Roots {
        Slot exclusive = no_slot;
        Slot shared = no_slot;
    };
    // The members that a search reads come first: they fill one cache line.
    struct Item {
        Range range;
        std::uint64_t serial = 0;

        // The tree.
        std::uint64_t largest_end = 0;
        std::uint64_t smallest_serial = 0, largest_serial = 0;
        Slot left = no_slot, right = no_slot, parent = no_slot;

        Slot record = no_slot;  // the Waiter or Lease it stands for
        // The item that this one watches, and the list of the items that watch this one.
        Slot watched = no_slot;
        Slot next_watcher = no_slot, previous_watcher = no_slot;
        Slot first_watcher = no_slot;
        Mode mode = Mode::exclusive;
        bool is_waiter = false;
    };

    // Adds an item to its tree. REQUIRES: all its links are no_slot.
    Slot add(Roots& roots, const Item& item);

    // Removes an item. Returns the items that watched it, the earliest first. They now watch
    // nothing.
    std::vector<Slot> remove(Roots& roots, Slot item);

    // The youngest item that overlaps `range`, has a smaller number than `serial` and conflicts with
    // `mode`. no_slot if there is none.
    [[nodiscard]] Slot find_conflict(const Roots& roots, const Range& range, Mode mode,
                                     std::uint64_t serial) const;

    // Lets `item` watch `watched`. REQUIRES: `item` watches nothing.
    void watch(Slot item, Slot watched);

    Item& operator[](Slot item) { return items_[item]; }
    const Item& operator[](Slot item) const { return items_[item]; }
    [[nodiscard]] std::size_t size() const { return items_.size(); }
    // Whether there is an item with this number, and a waiter stands behind it that watches nothing.
    [[nodiscard]] bool is_woken(Slot item) const {
        return items_.contains(item) && items_[item].is_waiter && items_[item].watched == no_slot;
    }

    // CHECKs the order, the sums and the watches of the trees of one inode. Returns the number of
    // items in them.
    std::size_t check_invariants(const Roots& roots) const;

  private:
    // The parts of a tree before and after a key.
    struct Halves {
        Slot before, after;
    };

    [[nodiscard]] bool is_before(Slot a, Slot b) const;
    void find_youngest(Slot root, const Range& range, std::uint64_t serial, Slot& best) const;
    Halves split(Slot root, Slot key);
    Slot merge(Slot before, Slot after);
    void detach(Slot& root, Slot item);
    void update(Slot item);
    void unwatch(Slot item);
    std::size_t check_tree(Slot root, Mode mode) const;

    Slab<Item> items_;
};

}  // namespace holdfast::core
