#pragma once

// DeadlineHeap: finds the record that is due next.
//
// A 4-ary heap of (deadline, slot) that knows the place of every slot. It is lazy: it promises only
// that a slot comes to the top no later than it is due. A renewal, which nearly always makes a
// deadline later, does not touch the heap, and neither does the end of a record. When the entry
// comes to the top, the user of the heap sees that it is too early, or that its record is gone, and
// postpones or drops it.
//
// A slot has at most one entry. A new record in the same slot uses the old entry. So there are never
// more entries than there were records at one time, and `sweep` removes some entries at a time when
// many of the records are gone. Why this and not a timing wheel: docs/decisions/0004.
//
// No call takes longer because there are very many entries: the arrays grow without being copied, and
// a new slot has the place zero, which no entry has.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/growing_array.h"
#include "core/containers/slab.h"
#include "core/values/ids.h"

namespace holdfast::core {

class DeadlineHeap {
  public:
    struct Entry {
        Time deadline;  // no later than the true deadline of the record
        Slot slot;
    };

    // Makes sure that `slot` comes to the top no later than `deadline`.
    void arm(Slot slot, Time deadline);

    // Removes the entry of `slot`, if there is one.
    void disarm(Slot slot);

    // The earliest entry, if any.
    [[nodiscard]] std::optional<Entry> top() const {
        if (size() == 0) return std::nullopt;
        return entries_[root];
    }

    // Looks at a few entries, and removes those for whose slot is_wanted(slot) is false. The next calls
    // look at the next entries, again and again.
    template <class Predicate>
    void sweep(const Predicate& is_wanted) {
        for (std::size_t looks = 0; looks < sweep_looks && size() > 0; ++looks) {
            // The last entry takes the place of one that is removed, so it must be a wanted one.
            const Slot last = entries_[end_ - 1].slot;
            if (!is_wanted(last)) {
                disarm(last);
                continue;
            }
            if (swept_ >= end_) swept_ = root;
            const Slot slot = entries_[swept_].slot;
            if (is_wanted(slot)) {
                ++swept_;
            } else {
                disarm(slot);
            }
        }
    }

    // Removes all entries.
    void clear();

    // The slots that are likely to be due next; no_slot where there are fewer.
    [[nodiscard]] std::array<Slot, 4> next_slots() const {
        std::array<Slot, 4> slots{no_slot, no_slot, no_slot, no_slot};
        for (std::size_t i = 0; i < slots.size() && root + 1 + i < end_; ++i) {
            slots[i] = entries_[root + 1 + i].slot;
        }
        return slots;
    }

    // Makes the deadline of the top entry later. REQUIRES: not empty, deadline >= top()->deadline.
    void postpone_top(Time deadline);

    // Makes the deadline of the entry of `slot` later, if there is one that is earlier.
    void postpone(Slot slot, Time deadline);

    [[nodiscard]] std::size_t size() const { return end_ - root; }
    [[nodiscard]] bool is_armed(Slot slot) const {
        return slot < places_.capacity() && places_[slot] != no_place;
    }

    // Whether the slot will come to the top no later than `deadline`.
    [[nodiscard]] bool is_armed_by(Slot slot, Time deadline) const {
        return is_armed(slot) && entries_[places_[slot]].deadline <= deadline;
    }

    // CHECKs the heap's order and places.
    void check_invariants() const;

  private:
    static constexpr std::uint32_t no_place = 0;
    // So many entries a sweep looks at. A lease that ends adds one that is not needed.
    static constexpr std::size_t sweep_looks = 8;
    // Where the heap begins in entries_. With 3, the four children of a node share a cache line.
    static constexpr std::size_t root = 3;

    void put(std::size_t place, Entry entry) {
        entries_[place] = entry;
        places_[entry.slot] = static_cast<std::uint32_t>(place);
    }
    void sift_up(std::size_t place, Entry entry);
    void sift_down(std::size_t place, Entry entry);
    void shrink_if_sparse();

    base::GrowingArray<Entry> entries_;
    std::size_t end_ = root;                    // behind the last entry
    base::GrowingArray<std::uint32_t> places_;  // by slot
    std::size_t swept_ = root;                  // where the next sweep goes on
};

}  // namespace holdfast::core
