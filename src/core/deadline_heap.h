#pragma once

// DeadlineHeap: which record is due next.
//
// A 4-ary heap of (deadline, slot) with the place of every slot, so that one can be removed from
// the middle. Renewals are the common case and nearly always move a deadline to later; the heap is
// then left alone, and the entry is found to be early when it comes to the top: the owner of the
// record knows the true deadline and calls postpone_top. So a renewal costs nothing here, and each
// lease at most one extra look per TTL. Why this and not a timing wheel: docs/decisions/0004.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/large_block.h"
#include "core/slab.h"
#include "core/time.h"

namespace holdfast::core {

class DeadlineHeap {
  public:
    struct Entry {
        Time deadline;  // no later than the record's true one
        Slot slot;
    };

    // Makes sure `slot` comes to the top no later than `deadline`.
    void arm(Slot slot, Time deadline);

    // Forgets `slot`, if it is armed.
    void disarm(Slot slot);

    // The earliest entry, if any.
    [[nodiscard]] std::optional<Entry> top() const {
        if (size() == 0) return std::nullopt;
        return entries_[root];
    }

    // The top entry turned out to be early. REQUIRES: not empty, deadline >= top()->deadline.
    void postpone_top(Time deadline);

    [[nodiscard]] std::size_t size() const { return entries_.size() - root; }
    [[nodiscard]] bool is_armed(Slot slot) const {
        return slot < places_.size() && places_[slot] != no_place;
    }

    // CHECKs the heap's order and places.
    void check_invariants() const;

  private:
    using Entries = std::vector<Entry, base::BlockAllocator<Entry>>;
    using Places = std::vector<std::uint32_t, base::BlockAllocator<std::uint32_t>>;

    static constexpr std::uint32_t no_place = UINT32_MAX;
    // Where the heap begins in entries_: the four children of a node then share a cache line.
    static constexpr std::size_t root = 3;

    void put(std::size_t place, Entry entry) {
        entries_[place] = entry;
        places_[entry.slot] = static_cast<std::uint32_t>(place);
    }
    void sift_up(std::size_t place, Entry entry);
    void sift_down(std::size_t place, Entry entry);
    void shrink_if_sparse();

    Entries entries_ = Entries(root);
    Places places_;  // by slot
};

}  // namespace holdfast::core
