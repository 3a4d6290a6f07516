#pragma once

// RangeIndex: who overlaps whom on an inode, in logarithmic time.
//
// Every hold and every wait on an inode or a part of it is an item: a range, a mode, and a serial
// number that says who came first. An item conflicts with an earlier one that overlaps it, unless
// both are shared. Exclusive and shared items are kept in two interval trees per inode (treaps
// ordered by start, each node knowing the largest end and the serials below it), so that a shared
// request need not look at the shared items at all.
//
// A waiter watches ONE of the items in its way: the youngest. Only when that one goes is it looked
// at again: it then finds another item in its way and watches that, or there is none and it is
// granted. So a queue of n for the same region is a chain, and each hand-off costs one look, not n.

#include <cstdint>
#include <vector>

#include "core/containers/slab.h"
#include "core/values/scope.h"

namespace holdfast::core {

class RangeIndex {
  public:
    // The trees of one inode. They belong to its resource record.
    struct Roots {
        Slot exclusive = no_slot;
        Slot shared = no_slot;
    };
    // What is looked at on the way through a tree comes first: it fills a line of the cache.
    struct Item {
        Range range;
        std::uint64_t serial = 0;

        // The tree.
        std::uint64_t largest_end = 0;
        std::uint64_t smallest_serial = 0, largest_serial = 0;
        Slot left = no_slot, right = no_slot, parent = no_slot;

        Slot record = no_slot;  // the Waiter or Lease it stands for
        // The watch: what this item waits for, and the list of those that wait for it.
        Slot watched = no_slot;
        Slot next_watcher = no_slot, previous_watcher = no_slot;
        Slot first_watcher = no_slot;
        Mode mode = Mode::exclusive;
        bool is_waiter = false;
    };

    // Adds an item to its tree. Its links must be unset.
    Slot add(Roots& roots, const Item& item);

    // Takes an item out, ends its watch, and returns those that watched it, earliest first. They
    // now watch nothing.
    std::vector<Slot> remove(Roots& roots, Slot item);

    // The youngest item that overlaps `range`, came before `serial` and conflicts with `mode`; or
    // no_slot.
    [[nodiscard]] Slot find_conflict(const Roots& roots, const Range& range, Mode mode,
                                     std::uint64_t serial) const;

    // REQUIRES: `item` watches nothing.
    void watch(Slot item, Slot watched);

    Item& operator[](Slot item) { return items_[item]; }
    const Item& operator[](Slot item) const { return items_[item]; }
    [[nodiscard]] std::size_t size() const { return items_.size(); }

    // CHECKs order, sums and watches of one inode's trees; returns the number of items in them.
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
    void take_out(Slot& root, Slot item);
    void adopt_children(Slot item);
    void unwatch(Slot item);
    std::size_t check_tree(Slot root, Mode mode) const;

    Slab<Item> items_;
};

}  // namespace holdfast::core
