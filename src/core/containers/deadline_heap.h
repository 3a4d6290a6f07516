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
// more entries than there were records at one time, and `keep_only` removes entries when most of
// the records are gone. Why this and not a timing wheel: docs/decisions/0004.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/large_block.h"
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

    // Removes every entry for whose slot is_wanted(slot) is false.
    template <class Predicate>
    void keep_only(const Predicate& is_wanted) {
        std::size_t kept = root;
        for (std::size_t place = root; place < entries_.size(); ++place) {
            const Entry entry = entries_[place];
            if (is_wanted(entry.slot)) {
                put(kept++, entry);
            } else {
                places_[entry.slot] = no_place;
            }
        }
        entries_.resize(kept);
        restore_order();
        shrink_if_sparse();
    }

    // The slots that are likely to be due next; no_slot where there are fewer.
    [[nodiscard]] std::array<Slot, 4> next_slots() const {
        std::array<Slot, 4> slots{no_slot, no_slot, no_slot, no_slot};
        for (std::size_t i = 0; i < slots.size() && root + 1 + i < entries_.size(); ++i) {
            slots[i] = entries_[root + 1 + i].slot;
        }
        return slots;
    }

    // Makes the deadline of the top entry later. REQUIRES: not empty, deadline >= top()->deadline.
    void postpone_top(Time deadline);

    // Makes the deadline of the entry of `slot` later, if there is one that is earlier.
    void postpone(Slot slot, Time deadline);

    [[nodiscard]] std::size_t size() const { return entries_.size() - root; }
    [[nodiscard]] bool is_armed(Slot slot) const {
        return slot < places_.size() && places_[slot] != no_place;
    }

    // Whether the slot will come to the top no later than `deadline`.
    [[nodiscard]] bool is_armed_by(Slot slot, Time deadline) const {
        return is_armed(slot) && entries_[places_[slot]].deadline <= deadline;
    }

    // CHECKs the heap's order and places.
    void check_invariants() const;

  private:
    using Entries = std::vector<Entry, base::BlockAllocator<Entry>>;
    using Places = std::vector<std::uint32_t, base::BlockAllocator<std::uint32_t>>;

    static constexpr std::uint32_t no_place = UINT32_MAX;
    // Where the heap begins in entries_. With 3, the four children of a node share a cache line.
    static constexpr std::size_t root = 3;

    void put(std::size_t place, Entry entry) {
        entries_[place] = entry;
        places_[entry.slot] = static_cast<std::uint32_t>(place);
    }
    void sift_up(std::size_t place, Entry entry);
    void sift_down(std::size_t place, Entry entry);
    void restore_order();
    void shrink_if_sparse();

    Entries entries_ = Entries(root);
    Places places_;  // by slot
};

}  // namespace holdfast::core
