#include "core/containers/deadline_heap.h"

#include <algorithm>

namespace holdfast::core {

namespace {

constexpr std::size_t arity = 4;

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
    if (slot >= places_.size()) places_.resize(slot + std::size_t{1}, no_place);
    const Entry entry{deadline, slot};
    if (places_[slot] == no_place) {
        entries_.push_back(entry);
        sift_up(entries_.size() - 1, entry);
    } else if (deadline < entries_[places_[slot]].deadline) {
        sift_up(places_[slot], entry);
    }
}

void DeadlineHeap::disarm(Slot slot) {
    if (!is_armed(slot)) return;
    const std::size_t place = places_[slot];
    places_[slot] = no_place;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (place < entries_.size()) {
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
        if (first >= entries_.size()) break;
        const std::size_t end = std::min(first + arity, entries_.size());
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

void DeadlineHeap::restore_order() {
    if (size() < 2) return;
    for (std::size_t place = parent_of(entries_.size() - 1); place >= root; --place) {
        sift_down(place, entries_[place]);
    }
}

void DeadlineHeap::shrink_if_sparse() {
    constexpr std::size_t kept_capacity = 4096;
    if (size() == 0) {
        if (places_.capacity() > kept_capacity) Places().swap(places_);
        if (entries_.capacity() > kept_capacity) Entries(root).swap(entries_);
    } else if (entries_.capacity() > kept_capacity && entries_.size() < entries_.capacity() / 8) {
        Entries smaller;
        smaller.reserve(entries_.capacity() / 4);
        smaller.assign(entries_.begin(), entries_.end());
        entries_.swap(smaller);
    }
}

void DeadlineHeap::check_invariants() const {
    for (std::size_t place = root; place < entries_.size(); ++place) {
        CHECK(places_[entries_[place].slot] == place);
        CHECK(place == root || !is_before(entries_[place], entries_[parent_of(place)]));
    }
    const auto armed = std::count_if(places_.begin(), places_.end(),
                                     [](std::uint32_t place) { return place != no_place; });
    CHECK(static_cast<std::size_t>(armed) == size());
}

}  // namespace holdfast::core
