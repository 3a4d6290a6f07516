#pragma once

// SlotIndex: finds the slot of a record by its key.
//
// A hash table of (slot, hash) pairs of 8 bytes in one array, with linear probing. The key itself is
// compared in the record. So an entry costs the same whatever the length of the key, growing does
// not touch the records, and a look-up nearly always touches one cache line. (A general hash set
// has its control bytes apart from its entries and touches two; with a million locks that is most of
// the cost of a look-up: docs/decisions/0005.) Erasing moves later entries back, so there are no
// tombstones. Nothing depends on the order of the entries.
//
// The hash decides the place directly, so it must be well mixed: otherwise look-ups would walk
// through long runs of entries.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/large_block.h"
#include "core/containers/slab.h"

namespace holdfast::core {

class SlotIndex {
  public:
    // A record, and the hash of its key.
    struct Entry {
        Slot slot = no_slot;
        std::uint32_t hash = 0;
    };

    // REQUIRES: the slot is not in the index.
    void insert(Entry entry) {
        if ((size_ + 1) * 8 > entries_.size() * 5)
            resize(std::max(capacity_min, entries_.size() * 2));
        place(entry);
        ++size_;
    }

    // REQUIRES: the slot is in the index, with this hash.
    void erase(Entry entry) {
        std::size_t hole = entry.hash & mask();
        for (; entries_[hole].slot != entry.slot; hole = (hole + 1) & mask()) {
            CHECK(entries_[hole].slot != no_slot);
        }
        for (std::size_t next = (hole + 1) & mask(); entries_[next].slot != no_slot;
             next = (next + 1) & mask()) {
            // An entry may move back to the hole unless its own place lies behind the hole.
            const std::size_t home = entries_[next].hash & mask();
            if (((next - home) & mask()) < ((next - hole) & mask())) continue;
            entries_[hole] = entries_[next];
            hole = next;
        }
        entries_[hole].slot = no_slot;
        --size_;
        if (entries_.size() > capacity_kept && size_ * 16 < entries_.size()) {
            resize(entries_.size() / 4);
        }
    }

    // The slot with this hash for which is_it(slot) is true, or no_slot.
    template <class Predicate>
    [[nodiscard]] Slot find(std::uint32_t hash, const Predicate& is_it) const {
        if (size_ == 0) return no_slot;
        for (std::size_t at = hash & mask(); entries_[at].slot != no_slot; at = (at + 1) & mask()) {
            if (entries_[at].hash == hash && is_it(entries_[at].slot)) return entries_[at].slot;
        }
        return no_slot;
    }

    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    using Entries = std::vector<Entry, base::BlockAllocator<Entry>>;

    static constexpr std::size_t capacity_min = 64, capacity_kept = 8192;

    // The capacity is a power of two.
    [[nodiscard]] std::size_t mask() const { return entries_.size() - 1; }

    void place(Entry entry) {
        std::size_t at = entry.hash & mask();
        while (entries_[at].slot != no_slot) at = (at + 1) & mask();
        entries_[at] = entry;
    }

    void resize(std::size_t capacity) {
        Entries old(capacity);
        old.swap(entries_);
        for (const Entry& entry : old) {
            if (entry.slot != no_slot) place(entry);
        }
    }

    Entries entries_;
    std::size_t size_ = 0;
};

}  // namespace holdfast::core
