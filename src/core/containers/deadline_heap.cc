#include "core/containers/deadline_heap.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::core {

namespace {

constexpr std::size_t arity = 4;

constexpr std::size_t kept_capacity = 4096;

// With the root at 3, the children of a node are four entries at a multiple of four.
constexpr std::size_t parent_of(std::size_t place) {
    return place / arity + 2;
}
constexpr std::size_t first_child_of(std::size_t place) {
    return place * arity - 8;
}

// Equal deadlines are ordered by slot, so that the order never depends on the history of the heap.
bool is_before(const DeadlineHeap::Entry& a, const DeadlineHeap::Entry& b) {
    return a.deadline != b.deadline ? a.deadline < b.deadline : a.slot < b.slot;
}

}  // namespace

void DeadlineHeap::arm(Slot slot, Time deadline) {
    if (slot >= places_.capacity()) places_.reserve(slot + std::size_t{1});
    const Entry entry{deadline, slot};
    if (places_[slot] == no_place) {
        if (end_ >= entries_.capacity()) entries_.reserve(end_ + 1);
        sift_up(end_++, entry);
    } else if (deadline < entries_[places_[slot]].deadline) {
        sift_up(places_[slot], entry);
    }
}

void DeadlineHeap::disarm(Slot slot) {
    if (!is_armed(slot)) return;
    const std::size_t place = places_[slot];
    places_[slot] = no_place;
    const Entry last = entries_[--end_];
    if (place < end_) {
        if (place > root && is_before(last, entries_[parent_of(place)])) {
            sift_up(place, last);
        } else {
            sift_down(place, last);
        }
    }
    shrink_if_sparse();
}

void DeadlineHeap::postpone_top(Time deadline) {
    sift_down(root, Entry{deadline, entries_[root].slot});
}

void DeadlineHeap::postpone(Slot slot, Time deadline) {
    if (!is_armed(slot) || entries_[places_[slot]].deadline >= deadline) return;
    sift_down(places_[slot], Entry{deadline, slot});
}

void DeadlineHeap::sift_up(std::size_t place, Entry entry) {
    while (place > root) {
        const std::size_t parent = parent_of(place);
        if (!is_before(entry, entries_[parent])) break;
        put(place, entries_[parent]);
        place = parent;
    }
    put(place, entry);
}

void DeadlineHeap::sift_down(std::size_t place, Entry entry) {
    for (;;) {
        const std::size_t first = first_child_of(place);
        if (first >= end_) break;
        const std::size_t end = std::min(first + arity, end_);
        std::size_t best = first;
        for (std::size_t child = first + 1; child < end; ++child) {
            if (is_before(entries_[child], entries_[best])) best = child;
        }
        if (!is_before(entries_[best], entry)) break;
        put(place, entries_[best]);
        place = best;
    }
    put(place, entry);
}

void DeadlineHeap::clear() {
    while (size() > 0 && entries_.capacity() <= kept_capacity) {
        places_[entries_[--end_].slot] = no_place;
    }
    end_ = root;
    shrink_if_sparse();
}

void DeadlineHeap::shrink_if_sparse() {
    if (size() == 0) {
        if (places_.capacity() > kept_capacity) places_.reset();
        if (entries_.capacity() > kept_capacity) entries_.reset();
    } else if (entries_.capacity() > kept_capacity && end_ < entries_.capacity() / 8) {
        entries_.shrink(entries_.capacity() / 4);
    }
}

void DeadlineHeap::check_invariants() const {
    for (std::size_t place = root; place < end_; ++place) {
        CHECK(places_[entries_[place].slot] == place);
        CHECK(place == root || !is_before(entries_[place], entries_[parent_of(place)]));
    }
    std::size_t armed = 0;
    for (Slot slot = 0; slot < places_.capacity(); ++slot) armed += is_armed(slot) ? 1 : 0;
    CHECK(armed == size());
}

}  // namespace holdfast::core
