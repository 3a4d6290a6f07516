#pragma once

// RangeIndex: finds conflicts between byte ranges of an inode in logarithmic time.
//
// Every lease and every waiter on an inode, or on a range of it, has one item here: a range, a mode
// and a serial number. Serial numbers give the order in which items came. An item conflicts with an
// earlier item that overlaps it, unless both are shared.
//
// The items of the holders of an inode are in one interval tree: a treap, ordered by the start of the
// range. Each node knows the largest end, the largest end of an exclusive item and the largest serial
// number below it. So the tree finds an item in the way in O(log n). Serial numbers need not be
// compared: a later holder is never in the way of a waiter, because the waiter was in its way.
//
// A waiter waits only for earlier waiters. A tree by start cannot leave out the later ones, which may
// be everywhere in it. So the waiters of an inode stand in blocks by age, and each block has a tree of
// its own. A search goes through the blocks that are older as a whole in O(log n) each. It goes one
// by one through the items of at most one block, in which there are earlier and later ones. No block
// has more than block_items_max items, and two neighbours together have nearly so many (remove() sees
// to that), so a search among n waiters visits O(n / block_items_max * log block_items_max +
// block_items_max) items: some 3000 of 100 000 (docs/decisions/0096).
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
#include "core/containers/slot_list.h"
#include "core/values/scope.h"

namespace holdfast::core {

class RangeIndex {
  public:
    // The items of one inode. Part of its Resource.
    struct Roots {
        Slot holders = no_slot;  // the root of their tree
        SlotList waiting;        // blocks of waiters, the oldest first
    };
    // The members that a search or an insertion reads come first: they fill one cache line.
    struct Item {
        Range range;
        std::uint64_t serial = 0;

        // The tree.
        std::uint64_t largest_end = 0, largest_exclusive_end = 0;
        std::uint64_t largest_serial = 0;
        Slot left = no_slot, right = no_slot, parent = no_slot;
        std::uint32_t rank = 0;  // no item has a larger one than its parent

        Slot record = no_slot;  // the Waiter or Lease it stands for
        // The item that this one watches, and the list of the items that watch this one.
        Slot watched = no_slot;
        Slot next_watcher = no_slot, previous_watcher = no_slot;
        Slot first_watcher = no_slot;
        // Of a waiter: its block, and its neighbours there.
        Slot block = no_slot;
        Slot next = no_slot, previous = no_slot;
        Mode mode = Mode::exclusive;
        bool is_waiter = false;
    };

    // From so many visits on, a search ends with the first item that it finds, or with the best that
    // it has found.
    static constexpr std::size_t choosing_visits_max = 512;
    static constexpr std::uint32_t block_items_max = 1536;

    // `seed` should be secret.
    explicit RangeIndex(std::uint64_t seed = 0) : seed_(seed) {}

    // Adds an item. REQUIRES: all its links are no_slot; a waiter has no smaller serial number than
    // any other waiter of the inode.
    Slot add(Roots& roots, const Item& item);

    // Removes an item. Returns the items that watched it, the earliest first. They now watch
    // nothing.
    std::vector<Slot> remove(Roots& roots, Slot item);

    // The waiter of an item was granted its lease, which is `record`. Of an item that stands for a
    // lease already: that is the lease.
    void become_holder(Roots& roots, Slot item, Slot record);

    // An item that overlaps `range`, conflicts with `mode`, and stands for a holder with another
    // number than `serial` or for a waiter with a smaller one: the youngest or, if that is not found
    // soon, another one. no_slot if there is none.
    [[nodiscard]] Slot find_conflict(const Roots& roots, const Range& range, Mode mode,
                                     std::uint64_t serial) const;

    // An item of a holder that overlaps `range` and conflicts with `mode`, or no_slot.
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

    // CHECKs the order, the sums, the blocks and the watches of one inode. Returns the number of its
    // items.
    std::size_t check_invariants(const Roots& roots) const;

    // How many items and blocks were visited by searches since the index was made, the longest way
    // from a root down to an item that was added or removed, and the number of blocks: for tests of
    // cost.
    [[nodiscard]] std::uint64_t visits() const { return visits_; }
    [[nodiscard]] std::size_t block_count() const { return blocks_.size(); }
    [[nodiscard]] std::size_t depth_max() const { return depth_max_; }

  private:
    // The parts of a tree before and after a key.
    struct Halves {
        Slot before, after;
    };

    // Waiters with numbers that no other block has (but for sets, whose items have one number).
    struct Block {
        Slot root = no_slot;  // of their tree
        SlotList items;       // the earliest first; never empty
        std::uint32_t count = 0;
        Slot next = no_slot, previous = no_slot;  // neighbours in Roots::waiting
    };
    static constexpr Links<Item> item_links{&Item::next, &Item::previous};
    static constexpr Links<Block> block_links{&Block::next, &Block::previous};
    // So many items move at a time from one block to another that takes in all of them.
    static constexpr std::size_t moved_max = 8;

    // What a search looks for, and what it has found.
    struct Search {
        Range range;
        Mode mode = Mode::exclusive;
        std::uint64_t serial = 0;
        std::size_t choosing_visits_left = choosing_visits_max;
        Slot best = no_slot;
    };

    [[nodiscard]] std::uint32_t rank_of(const Item& item) const;
    [[nodiscard]] bool is_before(Slot a, Slot b) const;
    void insert(Slot& root, Slot item);
    void join_last_block(Roots& roots, Slot item);
    void leave_block(Roots& roots, Slot item);
    void unlink_from_block(Roots& roots, Slot item);
    void move_some(Roots& roots, Slot earlier, Slot later);
    void find_waiter(const Roots& roots, Search& search) const;
    void look_at_each(const Block& block, Search& search) const;
    void find_youngest(Slot root, Search& search) const;
    void count_visit(Search& search) const {
        ++visits_;
        if (search.choosing_visits_left > 0) --search.choosing_visits_left;
    }
    Halves split(Slot root, Slot key);
    Slot merge(Slot before, Slot after);
    void detach(Slot& root, Slot item);
    void update(Slot item);
    void update_up_from(Slot item);
    void unwatch(Slot item);
    void count_depth(std::size_t depth) { depth_max_ = std::max(depth_max_, depth); }
    std::size_t check_tree(Slot root, Slot block) const;
    void check_block(Slot block) const;
    void check_item(Slot item) const;

    const std::uint64_t seed_;
    Slab<Item> items_;
    Slab<Block> blocks_;
    // Items that a search has yet to visit. A member, so that a search allocates nothing.
    mutable std::vector<Slot> open_;
    mutable std::uint64_t visits_ = 0;
    std::size_t depth_max_ = 0;
};

}  // namespace holdfast::core
