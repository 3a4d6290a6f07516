#include "core/containers/range_index.h"

#include <algorithm>

#include "base/check.h"
#include "core/containers/key.h"

namespace holdfast::core {

// Items of one set have one serial number, but no two of them begin at the same byte. Neither factor
// can be made zero without the seed.
std::uint32_t RangeIndex::rank_of(const Item& item) const {
    const std::uint64_t mixed = mix(item.serial ^ seed_, 0x9e3779b97f4a7c15);
    return static_cast<std::uint32_t>(mix(mixed ^ item.range.start ^ ~seed_, 0xd1b54a32d192ed03));
}

// Goes down to where the item belongs by its rank, and splits only the tree below that. On the way
// down the sums can only grow, so no neighbour is read: with many ranges, fetching items from memory
// takes most of the time.
Slot RangeIndex::add(Roots& roots, const Item& item) {
    const Slot added = items_.emplace(item);
    const std::uint32_t rank = rank_of(item);
    items_[added].rank = rank;
    Slot parent = no_slot;
    Slot* place = item.mode == Mode::exclusive ? &roots.exclusive : &roots.shared;
    std::size_t depth = 1;
    for (; *place != no_slot && items_[*place].rank >= rank; ++depth) {
        parent = *place;
        Item& above = items_[parent];
        above.largest_end = std::max(above.largest_end, item.range.end);
        above.smallest_serial = std::min(above.smallest_serial, item.serial);
        above.largest_serial = std::max(above.largest_serial, item.serial);
        above.has_holder = above.has_holder || !item.is_waiter;
        place = is_before(parent, added) ? &above.right : &above.left;
    }
    count_depth(depth);
    const Halves halves = split(*place, added);
    items_[added].left = halves.before;
    items_[added].right = halves.after;
    items_[added].parent = parent;
    update(added);
    *place = added;
    return added;
}

void RangeIndex::become_holder(Slot slot, Slot record) {
    items_[slot].is_waiter = false;
    items_[slot].record = record;
    for (Slot above = slot; above != no_slot && !items_[above].has_holder;
         above = items_[above].parent) {
        items_[above].has_holder = true;
    }
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
    Slot& root = removed.mode == Mode::exclusive ? roots.exclusive : roots.shared;
    detach(root, item);
    items_.erase(item);
    return watchers;
}

Slot RangeIndex::find_conflict(const Roots& roots, const Range& range, Mode mode,
                               std::uint64_t serial) const {
    Search search{.range = range, .serial = serial};
    find_youngest(roots.exclusive, search);
    if (mode == Mode::exclusive) find_youngest(roots.shared, search);
    return search.best;
}

// Visits the side with the youngest item first: a young item that is found early makes the rest of
// the search shorter.
void RangeIndex::find_youngest(Slot root, Search& search) const {
    const auto& [range, serial, visits_left, best] = search;
    open_.clear();
    if (root != no_slot) open_.push_back(root);
    while (!open_.empty()) {
        const Slot slot = open_.back();
        open_.pop_back();
        ++visits_;
        const Item& item = items_[slot];
        if (best != no_slot) {
            if (search.visits_left == 0) return;
            --search.visits_left;
            if (item.largest_serial <= items_[best].serial) continue;
        }
        if (item.largest_end <= range.start || item.smallest_serial >= serial) continue;
        const bool is_younger = best == no_slot || item.serial > items_[best].serial;
        if (is_younger && item.serial < serial && item.range.overlaps(range)) search.best = slot;
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
    const Slot found = find_holder_in(roots.exclusive, range);
    if (found != no_slot || mode != Mode::exclusive) return found;
    return find_holder_in(roots.shared, range);
}

Slot RangeIndex::find_holder_in(Slot root, const Range& range) const {
    std::size_t visits_left = visits_max;
    open_.clear();
    if (root != no_slot) open_.push_back(root);
    for (; !open_.empty() && visits_left > 0; --visits_left) {
        const Slot slot = open_.back();
        open_.pop_back();
        ++visits_;
        const Item& item = items_[slot];
        if (!item.has_holder || item.largest_end <= range.start) continue;
        if (!item.is_waiter && item.range.overlaps(range)) return slot;
        if (item.left != no_slot) open_.push_back(item.left);
        if (item.range.start < range.end && item.right != no_slot) open_.push_back(item.right);
    }
    return no_slot;
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
    bool may_lack_holder = !item.is_waiter;
    for (Slot above = item.parent; above != no_slot; above = items_[above].parent) {
        const Item& sums = items_[above];
        const bool is_in_sums = sums.largest_end == item.range.end ||
                                sums.smallest_serial == item.serial ||
                                sums.largest_serial == item.serial;
        if (!is_in_sums && !may_lack_holder) return;
        update(above);
        may_lack_holder = may_lack_holder && !sums.has_holder;
    }
}

// Recomputes the sums of an item from its children, and sets their parent.
void RangeIndex::update(Slot slot) {
    Item& item = items_[slot];
    item.largest_end = item.range.end;
    item.smallest_serial = item.largest_serial = item.serial;
    item.has_holder = !item.is_waiter;
    for (const Slot child : {item.left, item.right}) {
        if (child == no_slot) continue;
        Item& below = items_[child];
        below.parent = slot;
        item.largest_end = std::max(item.largest_end, below.largest_end);
        item.smallest_serial = std::min(item.smallest_serial, below.smallest_serial);
        item.largest_serial = std::max(item.largest_serial, below.largest_serial);
        item.has_holder = item.has_holder || below.has_holder;
    }
}

// The same for an item and all above it.
void RangeIndex::update_up_from(Slot slot) {
    for (; slot != no_slot; slot = items_[slot].parent) update(slot);
}

std::size_t RangeIndex::check_invariants(const Roots& roots) const {
    std::size_t count = 0;
    for (const Slot root : {roots.exclusive, roots.shared}) {
        const Mode mode = root == roots.exclusive ? Mode::exclusive : Mode::shared;
        std::vector<Slot> open;
        if (root != no_slot) open.push_back(root);
        CHECK(root == no_slot || items_[root].parent == no_slot);
        for (; !open.empty(); ++count) {
            const Slot slot = open.back();
            open.pop_back();
            check_item(slot, mode);
            for (const Slot child : {items_[slot].left, items_[slot].right}) {
                if (child != no_slot) open.push_back(child);
            }
        }
    }
    return count;
}

void RangeIndex::check_item(Slot slot, Mode mode) const {
    const Item& item = items_[slot];
    CHECK(item.mode == mode && item.rank == rank_of(item));
    std::uint64_t largest_end = item.range.end;
    std::uint64_t smallest_serial = item.serial, largest_serial = item.serial;
    bool has_holder = !item.is_waiter;
    for (const Slot child : {item.left, item.right}) {
        if (child == no_slot) continue;
        CHECK(is_before(child, slot) == (child == item.left));
        CHECK(items_[child].parent == slot);
        CHECK(items_[child].rank <= item.rank);
        largest_end = std::max(largest_end, items_[child].largest_end);
        smallest_serial = std::min(smallest_serial, items_[child].smallest_serial);
        largest_serial = std::max(largest_serial, items_[child].largest_serial);
        has_holder = has_holder || items_[child].has_holder;
    }
    CHECK(item.largest_end == largest_end);
    CHECK(item.largest_serial == largest_serial);
    CHECK(item.smallest_serial == smallest_serial);
    CHECK(item.has_holder == has_holder);
    if (item.is_waiter && item.watched != no_slot) {
        const Item& watched = items_[item.watched];
        CHECK(watched.serial < item.serial && watched.range.overlaps(item.range));
        CHECK(conflicts(watched.mode, item.mode));
    } else {
        CHECK(item.watched == no_slot);
    }
}

}  // namespace holdfast::core
