#include "core/containers/range_index.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/containers/key.h"

namespace holdfast::core {

// Items of one set have one serial number, but no two of them begin at the same byte. Neither factor
// can be made zero without the seed.
std::uint32_t RangeIndex::rank_of(const Item& item) const {
    const std::uint64_t mixed = mix(item.serial ^ seed_, 0x9e3779b97f4a7c15);
    return static_cast<std::uint32_t>(mix(mixed ^ item.range.start ^ ~seed_, 0xd1b54a32d192ed03));
}

Slot RangeIndex::add(Roots& roots, const Item& item) {
    const Slot added = items_.emplace(item);
    items_[added].rank = rank_of(item);
    if (item.is_waiter) {
        join_last_block(roots, added);
    } else {
        insert(roots.holders, added);
    }
    return added;
}

// Goes down to where the item belongs by its rank, and splits only the tree below that. On the way
// down the sums can only grow, so no neighbour is read: with many ranges, fetching items from memory
// takes most of the time.
void RangeIndex::insert(Slot& root, Slot added) {
    const Item& item = items_[added];
    const std::uint64_t exclusive_end = item.mode == Mode::exclusive ? item.range.end : 0;
    Slot parent = no_slot;
    Slot* place = &root;
    std::size_t depth = 1;
    for (; *place != no_slot && items_[*place].rank >= item.rank; ++depth) {
        parent = *place;
        Item& above = items_[parent];
        above.largest_end = std::max(above.largest_end, item.range.end);
        above.largest_exclusive_end = std::max(above.largest_exclusive_end, exclusive_end);
        above.largest_serial = std::max(above.largest_serial, item.serial);
        place = is_before(parent, added) ? &above.right : &above.left;
    }
    count_depth(depth);
    const Halves halves = split(*place, added);
    items_[added].left = halves.before;
    items_[added].right = halves.after;
    items_[added].parent = parent;
    update(added);
    *place = added;
}

void RangeIndex::become_holder(Roots& roots, Slot slot, Slot record) {
    Item& item = items_[slot];
    item.record = record;
    if (!item.is_waiter) return;
    leave_block(roots, slot);
    item.is_waiter = false;
    insert(roots.holders, slot);
}

std::vector<Slot> RangeIndex::remove(Roots& roots, Slot item) {
    Item& removed = items_[item];
    if (removed.watched != no_slot) unwatch(item);
    std::vector<Slot> watchers;
    while (removed.first_watcher != no_slot) {
        watchers.push_back(removed.first_watcher);
        unwatch(removed.first_watcher);
    }
    std::sort(watchers.begin(), watchers.end(),
              [this](Slot a, Slot b) { return items_[a].serial < items_[b].serial; });
    if (removed.is_waiter) {
        leave_block(roots, item);
    } else {
        detach(roots.holders, item);
    }
    items_.erase(item);
    return watchers;
}

void RangeIndex::join_last_block(Roots& roots, Slot slot) {
    Slot last = roots.waiting.last;
    CHECK(last == no_slot || items_[blocks_[last].items.last].serial <= items_[slot].serial);
    if (last == no_slot || blocks_[last].count == block_items_max) {
        last = blocks_.emplace();
        append(blocks_, block_links, roots.waiting, last);
    }
    Block& block = blocks_[last];
    append(items_, item_links, block.items, slot);
    ++block.count;
    items_[slot].block = last;
    insert(block.root, slot);
}

// Two neighbours that have become small enough for one block become one, a few items at each removal.
void RangeIndex::leave_block(Roots& roots, Slot slot) {
    const Slot left = items_[slot].block;
    const Slot earlier = blocks_[left].previous, later = blocks_[left].next;
    unlink_from_block(roots, slot);
    if (!blocks_.contains(left)) return;
    const auto fit = [this](Slot a, Slot b) {
        return a != no_slot && b != no_slot &&
               blocks_[a].count + blocks_[b].count <= block_items_max;
    };
    if (fit(earlier, left)) {
        move_some(roots, earlier, left);
    } else if (fit(left, later)) {
        move_some(roots, left, later);
    }
}

void RangeIndex::unlink_from_block(Roots& roots, Slot slot) {
    const Slot left = std::exchange(items_[slot].block, no_slot);
    Block& block = blocks_[left];
    detach(block.root, slot);
    unlink(items_, item_links, block.items, slot);
    if (--block.count > 0) return;
    unlink(blocks_, block_links, roots.waiting, left);
    blocks_.erase(left);
}

// From the smaller one to the larger one. The order by age stays.
void RangeIndex::move_some(Roots& roots, Slot earlier, Slot later) {
    const bool is_forward = blocks_[earlier].count < blocks_[later].count;
    const Slot from = is_forward ? earlier : later, to = is_forward ? later : earlier;
    Block& target = blocks_[to];
    for (std::size_t moved = 0; moved < moved_max && blocks_.contains(from); ++moved) {
        const SlotList& items = blocks_[from].items;
        const Slot slot = is_forward ? items.last : items.first;
        unlink_from_block(roots, slot);
        insert_after(items_, item_links, target.items, is_forward ? no_slot : target.items.last,
                     slot);
        ++target.count;
        items_[slot].block = to;
        insert(target.root, slot);
    }
}

Slot RangeIndex::find_conflict(const Roots& roots, const Range& range, Mode mode,
                               std::uint64_t serial) const {
    Search search{.range = range, .mode = mode, .serial = serial};
    find_waiter(roots, search);
    find_youngest(roots.holders, search);
    return search.best;
}

// What a block has is younger than what the blocks before it have.
void RangeIndex::find_waiter(const Roots& roots, Search& search) const {
    for (Slot slot = roots.waiting.last; slot != no_slot && search.best == no_slot;
         slot = blocks_[slot].previous) {
        count_visit(search);
        const Block& block = blocks_[slot];
        if (items_[block.items.last].serial < search.serial) {
            find_youngest(block.root, search);
        } else if (items_[block.items.first].serial < search.serial) {
            look_at_each(block, search);
        }
    }
}

void RangeIndex::look_at_each(const Block& block, Search& search) const {
    for (Slot slot = block.items.last; slot != no_slot; slot = items_[slot].previous) {
        count_visit(search);
        const Item& item = items_[slot];
        const bool is_in_the_way = item.serial < search.serial &&
                                   item.range.overlaps(search.range) &&
                                   conflicts(item.mode, search.mode);
        if (!is_in_the_way) continue;
        search.best = slot;
        return;
    }
}

// Visits the side with the youngest item first: a young item that is found early makes the rest of
// the search shorter. Until one is found, only what cannot be left out without a look is visited:
// the items on the way down to the end of the range, and their left children. All that is below such
// a child starts before the end of the range, so something in the way is there, or its sums say that
// nothing is.
void RangeIndex::find_youngest(Slot root, Search& search) const {
    const auto& [range, mode, serial, choosing_visits_left, best] = search;
    open_.clear();
    if (root != no_slot) open_.push_back(root);
    while (!open_.empty()) {
        if (best != no_slot && choosing_visits_left == 0) return;
        const Slot slot = open_.back();
        open_.pop_back();
        count_visit(search);
        const Item& item = items_[slot];
        if (best != no_slot && item.largest_serial <= items_[best].serial) continue;
        const bool is_exclusive = mode == Mode::exclusive;
        if ((is_exclusive ? item.largest_end : item.largest_exclusive_end) <= range.start) continue;
        const bool is_younger = best == no_slot || item.serial > items_[best].serial;
        if (is_younger && item.serial != serial && item.range.overlaps(range) &&
            conflicts(item.mode, mode)) {
            search.best = slot;
        }
        const Slot left = item.left;
        const Slot right = item.range.start < range.end ? item.right : no_slot;
        if (left == no_slot || right == no_slot) {
            if (left != no_slot) open_.push_back(left);
            if (right != no_slot) open_.push_back(right);
            continue;
        }
        __builtin_prefetch(&items_[left]);
        const bool is_left_younger = items_[right].largest_serial < items_[left].largest_serial;
        open_.push_back(is_left_younger ? right : left);
        open_.push_back(is_left_younger ? left : right);
    }
}

Slot RangeIndex::find_holder(const Roots& roots, const Range& range, Mode mode) const {
    Search search{.range = range, .mode = mode, .serial = UINT64_MAX, .choosing_visits_left = 0};
    find_youngest(roots.holders, search);
    return search.best;
}

void RangeIndex::watch(Slot item, Slot watched) {
    Item& watcher = items_[item];
    CHECK(watcher.watched == no_slot);
    Item& target = items_[watched];
    watcher.watched = watched;
    watcher.previous_watcher = no_slot;
    watcher.next_watcher = target.first_watcher;
    if (target.first_watcher != no_slot) items_[target.first_watcher].previous_watcher = item;
    target.first_watcher = item;
}

void RangeIndex::unwatch(Slot item) {
    Item& watcher = items_[item];
    if (watcher.next_watcher != no_slot) {
        items_[watcher.next_watcher].previous_watcher = watcher.previous_watcher;
    }
    if (watcher.previous_watcher != no_slot) {
        items_[watcher.previous_watcher].next_watcher = watcher.next_watcher;
    } else {
        items_[watcher.watched].first_watcher = watcher.next_watcher;
    }
    watcher.watched = watcher.next_watcher = watcher.previous_watcher = no_slot;
}

bool RangeIndex::is_before(Slot a, Slot b) const {
    const Item &first = items_[a], &second = items_[b];
    return first.range.start != second.range.start ? first.range.start < second.range.start
                                                   : first.serial < second.serial;
}

// Goes down along the key and hangs each item under the last one of its side. The sums are
// recomputed on the way back up.
RangeIndex::Halves RangeIndex::split(Slot root, Slot key) {
    struct Side {
        Slot root = no_slot, last = no_slot;
    };
    Side before, after;
    std::size_t depth = 0;
    for (Slot slot = root; slot != no_slot; ++depth) {
        const bool is_item_before = is_before(slot, key);
        Side& side = is_item_before ? before : after;
        if (side.last == no_slot) {
            side.root = slot;
        } else {
            (is_item_before ? items_[side.last].right : items_[side.last].left) = slot;
        }
        items_[slot].parent = side.last;
        side.last = slot;
        slot = is_item_before ? items_[slot].right : items_[slot].left;
    }
    count_depth(depth);
    if (before.last != no_slot) items_[before.last].right = no_slot;
    if (after.last != no_slot) items_[after.last].left = no_slot;
    update_up_from(before.last);
    update_up_from(after.last);
    return {before.root, after.root};
}

// All items of `before` are before those of `after`. Goes down between the two; the sums are
// recomputed on the way back up.
Slot RangeIndex::merge(Slot before, Slot after) {
    Slot root = no_slot, last = no_slot;
    Slot* place = &root;
    std::size_t depth = 0;
    for (; before != no_slot && after != no_slot; ++depth) {
        const bool is_before_higher = items_[before].rank > items_[after].rank;
        const Slot higher = is_before_higher ? before : after;
        *place = higher;
        items_[higher].parent = last;
        last = higher;
        place = is_before_higher ? &items_[higher].right : &items_[higher].left;
        (is_before_higher ? before : after) = *place;
    }
    count_depth(depth);
    *place = before != no_slot ? before : after;
    update_up_from(last);
    return root;
}

// Replaces an item by the tree below it. Goes up only as far as the sums depend on the item.
void RangeIndex::detach(Slot& root, Slot slot) {
    const Item& item = items_[slot];
    const Slot heir = merge(item.left, item.right);
    if (heir != no_slot) items_[heir].parent = item.parent;
    if (item.parent == no_slot) {
        root = heir;
        return;
    }
    Item& parent = items_[item.parent];
    (parent.left == slot ? parent.left : parent.right) = heir;
    for (Slot above = item.parent; above != no_slot; above = items_[above].parent) {
        const Item& sums = items_[above];
        const bool is_in_sums = sums.largest_end == item.range.end ||
                                sums.largest_exclusive_end == item.range.end ||
                                sums.largest_serial == item.serial;
        if (!is_in_sums) return;
        update(above);
    }
}

// Recomputes the sums of an item from its children, and sets their parent.
void RangeIndex::update(Slot slot) {
    Item& item = items_[slot];
    item.largest_end = item.range.end;
    item.largest_exclusive_end = item.mode == Mode::exclusive ? item.range.end : 0;
    item.largest_serial = item.serial;
    for (const Slot child : {item.left, item.right}) {
        if (child == no_slot) continue;
        Item& below = items_[child];
        below.parent = slot;
        item.largest_end = std::max(item.largest_end, below.largest_end);
        item.largest_exclusive_end =
            std::max(item.largest_exclusive_end, below.largest_exclusive_end);
        item.largest_serial = std::max(item.largest_serial, below.largest_serial);
    }
}

// The same for an item and all above it.
void RangeIndex::update_up_from(Slot slot) {
    for (; slot != no_slot; slot = items_[slot].parent) update(slot);
}

std::size_t RangeIndex::check_invariants(const Roots& roots) const {
    std::size_t count = check_tree(roots.holders, no_slot);
    std::uint64_t serial = 0;
    for (Slot slot = roots.waiting.first; slot != no_slot; slot = blocks_[slot].next) {
        const Block& block = blocks_[slot];
        check_block(slot);
        CHECK(serial <= items_[block.items.first].serial);
        serial = items_[block.items.last].serial;
        CHECK(check_tree(block.root, slot) == block.count);
        count += block.count;
    }
    return count;
}

void RangeIndex::check_block(Slot slot) const {
    const Block& block = blocks_[slot];
    CHECK(block.count > 0 && block.count <= block_items_max);
    std::size_t count = 0;
    std::uint64_t serial = 0;
    for (Slot item = block.items.first; item != no_slot; item = items_[item].next) {
        CHECK(items_[item].is_waiter && items_[item].block == slot);
        CHECK(items_[item].serial >= serial);
        serial = items_[item].serial;
        ++count;
    }
    CHECK(count == block.count);
}

std::size_t RangeIndex::check_tree(Slot root, Slot block) const {
    std::size_t count = 0;
    std::vector<Slot> open;
    if (root != no_slot) open.push_back(root);
    CHECK(root == no_slot || items_[root].parent == no_slot);
    for (; !open.empty(); ++count) {
        const Slot slot = open.back();
        open.pop_back();
        check_item(slot);
        CHECK(items_[slot].block == block && items_[slot].is_waiter == (block != no_slot));
        for (const Slot child : {items_[slot].left, items_[slot].right}) {
            if (child != no_slot) open.push_back(child);
        }
    }
    return count;
}

void RangeIndex::check_item(Slot slot) const {
    const Item& item = items_[slot];
    CHECK(item.rank == rank_of(item));
    std::uint64_t largest_end = item.range.end, largest_serial = item.serial;
    std::uint64_t largest_exclusive_end = item.mode == Mode::exclusive ? item.range.end : 0;
    for (const Slot child : {item.left, item.right}) {
        if (child == no_slot) continue;
        const Item& below = items_[child];
        CHECK(is_before(child, slot) == (child == item.left));
        CHECK(below.parent == slot);
        CHECK(below.rank <= item.rank);
        largest_end = std::max(largest_end, below.largest_end);
        largest_exclusive_end = std::max(largest_exclusive_end, below.largest_exclusive_end);
        largest_serial = std::max(largest_serial, below.largest_serial);
    }
    CHECK(item.largest_end == largest_end);
    CHECK(item.largest_exclusive_end == largest_exclusive_end);
    CHECK(item.largest_serial == largest_serial);
    if (item.is_waiter && item.watched != no_slot) {
        const Item& watched = items_[item.watched];
        CHECK(!watched.is_waiter || watched.serial < item.serial);
        CHECK(watched.range.overlaps(item.range) && conflicts(watched.mode, item.mode));
    } else {
        CHECK(item.watched == no_slot);
    }
}

}  // namespace holdfast::core
