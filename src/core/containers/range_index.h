#pragma once

// RangeIndex: finds conflicts between byte ranges of an inode in logarithmic time.
//
// Every lease and every waiter on an inode, or on a range of it, has one item here: a range, a mode
// and a serial number. Serial numbers give the order in which items came. An item conflicts with an
// earlier item that overlaps it, unless both are shared.
//
// Each inode has two interval trees, one for exclusive and one for shared items, so that a shared
// request does not look at shared items at all. The trees are treaps ordered by the start of the
// range. Each node knows the largest end and the smallest and largest serial number below it, and
// whether a holder is there.
//
// A treap is balanced if nobody can foresee its ranks. Ranges and serial numbers come from clients,
// so the ranks are made of a secret as well. And nothing here recurses: however a tree looks, it
// cannot use up the stack.
//
// A waiter watches ONE of the items in its way: the youngest. When that item is removed, the waiter
// looks again. Either it finds another item in its way and watches that one, or it is granted. So n
// waiters for the same range form a chain, and each removal wakes one waiter, not n.
//
// A waiter for several scopes has an item for each range, all with one serial number: so none of
// them is in the way of another one. If nothing is in the way of such an item, it watches nothing and
// stays: the waiter may wait for something else.

#include <algorithm>
#include <cstddef>
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
    // The members that a search or an insertion reads come first: they fill one cache line.
    struct Item {
        Range range;
        std::uint64_t serial = 0;

        // The tree.
        std::uint64_t largest_end = 0;
        std::uint64_t smallest_serial = 0, largest_serial = 0;
        Slot left = no_slot, right = no_slot, parent = no_slot;
        std::uint32_t rank = 0;  // no item has a larger one than its parent

        Slot record = no_slot;  // the Waiter or Lease it stands for
        // The item that this one watches, and the list of the items that watch this one.
        Slot watched = no_slot;
        Slot next_watcher = no_slot, previous_watcher = no_slot;
        Slot first_watcher = no_slot;
        Mode mode = Mode::exclusive;
        bool is_waiter = false;
        bool has_holder = false;  // it stands for a lease, or an item below it does
    };

    // A search ends with the best that it has found when it has visited so many items.
    static constexpr std::size_t visits_max = 512;

    // `seed` should be secret.
    explicit RangeIndex(std::uint64_t seed = 0) : seed_(seed) {}

    // Adds an item to its tree. REQUIRES: all its links are no_slot.
    Slot add(Roots& roots, const Item& item);

    // Removes an item. Returns the items that watched it, the earliest first. They now watch
    // nothing.
    std::vector<Slot> remove(Roots& roots, Slot item);

    // The waiter of an item was granted its lease, which is `record`.
    void become_holder(Slot item, Slot record);

    // An item that overlaps `range`, has a smaller number than `serial` and conflicts with `mode`:
    // the youngest or, if that is not found soon, another one. no_slot if there is none.
    [[nodiscard]] Slot find_conflict(const Roots& roots, const Range& range, Mode mode,
                                     std::uint64_t serial) const;

    // An item of a holder that overlaps `range` and conflicts with `mode`. no_slot if none is found
    // soon.
    [[nodiscard]] Slot find_holder(const Roots& roots, const Range& range, Mode mode) const;

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

    // How many items were visited since the index was made, and the longest way from a root down to
    // an item that was added or removed: for tests of cost.
    [[nodiscard]] std::uint64_t visits() const { return visits_; }
    [[nodiscard]] std::size_t depth_max() const { return depth_max_; }

  private:
    // The parts of a tree before and after a key.
    struct Halves {
        Slot before, after;
    };

    // What find_youngest() looks for, and what it has found.
    struct Search {
        Range range;
        std::uint64_t serial = 0;
        std::size_t visits_left = visits_max;
        Slot best = no_slot;
    };

    [[nodiscard]] std::uint32_t rank_of(const Item& item) const;
    [[nodiscard]] bool is_before(Slot a, Slot b) const;
    void find_youngest(Slot root, Search& search) const;
    [[nodiscard]] Slot find_holder_in(Slot root, const Range& range) const;
    Halves split(Slot root, Slot key);
    Slot merge(Slot before, Slot after);
    void detach(Slot& root, Slot item);
    void update(Slot item);
    void update_up_from(Slot item);
    void unwatch(Slot item);
    void count_depth(std::size_t depth) { depth_max_ = std::max(depth_max_, depth); }
    void check_item(Slot item, Mode mode) const;

    const std::uint64_t seed_;
    Slab<Item> items_;
    // Items that a search has yet to visit. A member, so that a search allocates nothing.
    mutable std::vector<Slot> open_;
    mutable std::uint64_t visits_ = 0;
    std::size_t depth_max_ = 0;
};

}  // namespace holdfast::core
