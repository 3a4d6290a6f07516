#include "core/containers/range_index.h"

#include <algorithm>

#include "base/check.h"
#include "core/containers/key.h"

namespace holdfast::core {

namespace {

// A treap is balanced if priorities look random. These do, and are the same in every run.
std::uint64_t priority(const RangeIndex::Item& item) {
    // Items of one set have one serial number, but no two of them begin at the same byte.
    return mix(item.serial ^ 0x9e3779b97f4a7c15, item.range.start ^ 0xd1b54a32d192ed03);
}

}  // namespace

// Goes down to where the item belongs by its priority, and splits only the tree below that. On the
// way down the sums can only grow, so no neighbour is read: with many ranges, fetching items from
// memory takes most of the time.
Slot RangeIndex::add(Roots& roots, const Item& item) {
    const Slot added = items_.emplace(item);
    const std::uint64_t rank = priority(item);
    Slot parent = no_slot;
    Slot* place = item.mode == Mode::exclusive ? &roots.exclusive : &roots.shared;
    while (*place != no_slot && priority(items_[*place]) >= rank) {
        parent = *place;
        Item& above = items_[parent];
        above.largest_end = std::max(above.largest_end, item.range.end);
        above.smallest_serial = std::min(above.smallest_serial, item.serial);
        above.largest_serial = std::max(above.largest_serial, item.serial);
        place = is_before(parent, added) ? &above.right : &above.left;
    }
    const Halves halves = split(*place, added);
    items_[added].left = halves.before;
    items_[added].right = halves.after;
    items_[added].parent = parent;
    update(added);
    *place = added;
    return added;
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
    Slot youngest = no_slot;
    find_youngest(roots.exclusive, range, serial, youngest);
    if (mode == Mode::exclusive) find_youngest(roots.shared, range, serial, youngest);
    return youngest;
}

// Searches the right side first: of items with the same start, the youngest are there, and a young
// item that is found early makes the rest of the search shorter.
void RangeIndex::find_youngest(Slot root, const Range& range, std::uint64_t serial,
                               Slot& best) const {
    if (root == no_slot) return;
    const Item& item = items_[root];
    // Both children are read in any case: fetch them from memory at the same time.
    if (item.left != no_slot) __builtin_prefetch(&items_[item.left]);
    if (item.right != no_slot) __builtin_prefetch(&items_[item.right]);
    const bool is_hopeless = best != no_slot && item.largest_serial <= items_[best].serial;
    if (is_hopeless || item.largest_end <= range.start || item.smallest_serial >= serial) return;
    if (item.range.start < range.end) {
        find_youngest(item.right, range, serial, best);
        const bool is_younger = best == no_slot || item.serial > items_[best].serial;
        if (is_younger && item.serial < serial && item.range.overlaps(range)) best = root;
    }
    find_youngest(item.left, range, serial, best);
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

RangeIndex::Halves RangeIndex::split(Slot root, Slot key) {
    if (root == no_slot) return {no_slot, no_slot};
    Item& item = items_[root];
    if (is_before(root, key)) {
        const Halves halves = split(item.right, key);
        item.right = halves.before;
        update(root);
        return {root, halves.after};
    }
    const Halves halves = split(item.left, key);
    item.left = halves.after;
    update(root);
    return {halves.before, root};
}

Slot RangeIndex::merge(Slot before, Slot after) {
    if (before == no_slot) return after;
    if (after == no_slot) return before;
    if (priority(items_[before]) > priority(items_[after])) {
        items_[before].right = merge(items_[before].right, after);
        update(before);
        return before;
    }
    items_[after].left = merge(before, items_[after].left);
    update(after);
    return after;
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
                                sums.smallest_serial == item.serial ||
                                sums.largest_serial == item.serial;
        if (!is_in_sums) return;
        update(above);
    }
}

// Recomputes the sums of an item from its children, and sets their parent.
void RangeIndex::update(Slot slot) {
    Item& item = items_[slot];
    item.largest_end = item.range.end;
    item.smallest_serial = item.largest_serial = item.serial;
    for (const Slot child : {item.left, item.right}) {
        if (child == no_slot) continue;
        Item& below = items_[child];
        below.parent = slot;
        item.largest_end = std::max(item.largest_end, below.largest_end);
        item.smallest_serial = std::min(item.smallest_serial, below.smallest_serial);
        item.largest_serial = std::max(item.largest_serial, below.largest_serial);
    }
}

std::size_t RangeIndex::check_invariants(const Roots& roots) const {
    for (const Slot root : {roots.exclusive, roots.shared}) {
        CHECK(root == no_slot || items_[root].parent == no_slot);
    }
    return check_tree(roots.exclusive, Mode::exclusive) + check_tree(roots.shared, Mode::shared);
}

std::size_t RangeIndex::check_tree(Slot root, Mode mode) const {
    if (root == no_slot) return 0;
    const Item& item = items_[root];
    CHECK(item.mode == mode);
    std::uint64_t largest_end = item.range.end;
    std::uint64_t smallest_serial = item.serial, largest_serial = item.serial;
    for (const Slot child : {item.left, item.right}) {
        if (child == no_slot) continue;
        CHECK(is_before(child, root) == (child == item.left));
        CHECK(items_[child].parent == root);
        CHECK(priority(items_[child]) <= priority(item));
        largest_end = std::max(largest_end, items_[child].largest_end);
        smallest_serial = std::min(smallest_serial, items_[child].smallest_serial);
        largest_serial = std::max(largest_serial, items_[child].largest_serial);
    }
    CHECK(item.largest_end == largest_end);
    CHECK(item.largest_serial == largest_serial);
    CHECK(item.smallest_serial == smallest_serial);
    if (item.is_waiter && item.watched != no_slot) {
        const Item& watched = items_[item.watched];
        CHECK(watched.serial < item.serial && watched.range.overlaps(item.range));
        CHECK(conflicts(watched.mode, item.mode));
    } else {
        CHECK(item.watched == no_slot);
    }
    return 1 + check_tree(item.left, mode) + check_tree(item.right, mode);
}

}  // namespace holdfast::core
