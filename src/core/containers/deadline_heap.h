#pragma once

// DeadlineHeap: which record is due next.
//
// A 4-ary heap of (deadline, slot) with the place of every slot. It is lazy: it promises only that
// a slot comes to the top no later than it is due. Renewals, which nearly always move a deadline to
// later, need not touch it, nor need the end of a record: the entry is found to be early, or of
// nobody, when it comes to the top, and its owner, who knows, postpones or drops it there. A slot
// has at most one entry, which the slot's next record takes over; so there are never more entries
// than there were records at one time, and `keep_only` thins them out when most of these are gone.
// Why this and not a timing wheel: docs/decisions/0004.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/large_block.h"
#include "core/containers/slab.h"
#include "core/values/time.h"

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

    // Forgets every slot for which is_kept(slot) does not hold.
    template <class Predicate>
    void keep_only(const Predicate& is_kept) {
        std::size_t kept = root;
        for (std::size_t place = root; place < entries_.size(); ++place) {
            const Entry entry = entries_[place];
            if (is_kept(entry.slot)) {
                put(kept++, entry);
            } else {
                places_[entry.slot] = no_place;
            }
        }
        entries_.resize(kept);
        restore_order();
        shrink_if_sparse();
    }

    // The records that are likely to be due next, no_slot where there are fewer.
    [[nodiscard]] std::array<Slot, 4> next_slots() const {
        std::array<Slot, 4> slots{no_slot, no_slot, no_slot, no_slot};
        for (std::size_t i = 0; i < slots.size() && root + 1 + i < entries_.size(); ++i) {
            slots[i] = entries_[root + 1 + i].slot;
        }
        return slots;
    }

    // The top entry turned out to be early. REQUIRES: not empty, deadline >= top()->deadline.
    void postpone_top(Time deadline);

    [[nodiscard]] std::size_t size() const { return entries_.size() - root; }
    [[nodiscard]] bool is_armed(Slot slot) const {
        return slot < places_.size() && places_[slot] != no_place;
    }

    // Whether the slot will come to the top no later than that.
    [[nodiscard]] bool is_armed_by(Slot slot, Time deadline) const {
        return is_armed(slot) && entries_[places_[slot]].deadline <= deadline;
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
    void restore_order();
    void shrink_if_sparse();

    Entries entries_ = Entries(root);
    Places places_;  // by slot
};

}  // namespace holdfast::core
