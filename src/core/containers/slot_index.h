#pragma once

// SlotIndex: finds the slot of a record by its key.
//
// A hash table of (slot, hash) pairs of 8 bytes in one array, with linear probing. The key itself is
// compared in the record. So an entry costs the same whatever the length of the key, growing does
// not touch the records, and a look-up nearly always touches one cache line. (A general hash set
// has its control bytes apart from its entries and touches two; with a million locks that is most of
// the cost of a look-up: docs/decisions/0005.) Nothing depends on the order of the entries.
//
// No single call moves more than a few entries. When the array is full, a larger one takes its place,
// and every insertion and removal moves some more entries over from the old one. Only in that time,
// which is short, a look-up may have to search both. Erasing moves later entries back, so there are
// no tombstones but in the old array, where they stand for what has been moved or erased.
//
// The hash decides the place directly, so it must be well mixed: otherwise look-ups would walk
// through long runs of entries.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

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

    // At so many places of the old array an insertion or removal looks, to move what is there.
    static constexpr std::size_t places_moved_max = 32;

    // REQUIRES: the slot is not in the index.
    void insert(Entry entry) {
        move_some();
        if ((size_ + 1) * 8 > current_.capacity() * 5) {
            resize(std::max(capacity_min, current_.capacity() * 2));
        }
        current_.place(entry);
        ++size_;
    }

    // REQUIRES: the slot is in the index, with this hash.
    void erase(Entry entry) {
        if (old_.capacity() == 0 || !old_.bury(entry)) current_.erase(entry);
        --size_;
        move_some();
        if (current_.capacity() > capacity_kept && size_ * 16 < current_.capacity()) {
            resize(current_.capacity() / 4);
        }
    }

    // The slot with this hash for which is_it(slot) is true, or no_slot.
    template <class Predicate>
    [[nodiscard]] Slot find(std::uint32_t hash, const Predicate& is_it) const {
        if (size_ == 0) return no_slot;
        const Slot found = current_.find(hash, is_it);
        if (found != no_slot || old_.capacity() == 0) return found;
        return old_.find(hash, is_it);
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    // How many entries were moved to another array since the index was made: for tests of cost.
    [[nodiscard]] std::uint64_t moves() const { return moves_; }

  private:
    static constexpr std::size_t capacity_min = 64, capacity_kept = 8192;

    // One array. Its memory begins as zeros, which the kernel provides when a page is used for the
    // first time: so a large array costs nothing at once. As long as entries move to it, its
    // pages are small ones: the first entries go to random places, and each huge page may take
    // milliseconds.
    class Array {
      public:
        Array() = default;
        explicit Array(std::size_t capacity)  // a power of two
            : places_(static_cast<Place*>(base::allocate_zeroed(capacity * sizeof(Place)))),
              capacity_(capacity) {}
        Array(Array&& other) noexcept { swap(other); }
        Array& operator=(Array&& other) noexcept {
            swap(other);
            return *this;
        }
        ~Array() {
            if (places_ != nullptr) base::free_zeroed(places_, capacity_ * sizeof(Place));
        }

        [[nodiscard]] std::size_t capacity() const { return capacity_; }
        void prefer_huge_pages() { base::prefer_huge_pages(places_, capacity_ * sizeof(Place)); }

        void place(Entry entry) {
            std::size_t at = entry.hash & mask();
            while (places_[at].content != empty) at = (at + 1) & mask();
            places_[at] = {.content = content_of(entry.slot), .hash = entry.hash};
        }

        // REQUIRES: the entry is there, and no tombstone is.
        void erase(Entry entry) {
            std::size_t hole = find_place(entry);
            CHECK(places_[hole].content != empty);
            for (std::size_t next = (hole + 1) & mask(); places_[next].content != empty;
                 next = (next + 1) & mask()) {
                // An entry may move back to the hole unless its own place lies behind the hole.
                const std::size_t home = places_[next].hash & mask();
                if (((next - home) & mask()) < ((next - hole) & mask())) continue;
                places_[hole] = places_[next];
                hole = next;
            }
            places_[hole].content = empty;
        }

        // Puts a tombstone in the place of the entry. False if it is not there.
        bool bury(Entry entry) {
            const std::size_t at = find_place(entry);
            if (places_[at].content == empty) return false;
            places_[at].content = tombstone;
            return true;
        }

        // Takes the entry out of this place, if there is one.
        [[nodiscard]] Entry take(std::size_t at) {
            if (places_[at].content == empty || places_[at].content == tombstone) return {};
            return {.slot = std::exchange(places_[at].content, tombstone) - 1,
                    .hash = places_[at].hash};
        }

        template <class Predicate>
        [[nodiscard]] Slot find(std::uint32_t hash, const Predicate& is_it) const {
            for (std::size_t at = hash & mask(); places_[at].content != empty;
                 at = (at + 1) & mask()) {
                const Place& place = places_[at];
                if (place.hash != hash || place.content == tombstone) continue;
                if (is_it(place.content - 1)) return place.content - 1;
            }
            return no_slot;
        }

      private:
        // What is in a place: nothing, something that is gone, or a slot plus one.
        static constexpr std::uint32_t empty = 0, tombstone = UINT32_MAX;

        struct Place {
            std::uint32_t content, hash;
        };

        [[nodiscard]] static std::uint32_t content_of(Slot slot) {
            CHECK(slot < tombstone - 1);
            return slot + 1;
        }
        [[nodiscard]] std::size_t mask() const { return capacity_ - 1; }
        // The place of the entry, or the empty one at which a search for it ends.
        [[nodiscard]] std::size_t find_place(Entry entry) const {
            std::size_t at = entry.hash & mask();
            while (places_[at].content != empty && places_[at].content != entry.slot + 1) {
                at = (at + 1) & mask();
            }
            return at;
        }
        void swap(Array& other) {
            std::swap(places_, other.places_);
            std::swap(capacity_, other.capacity_);
        }

        Place* places_ = nullptr;
        std::size_t capacity_ = 0;
    };

    void resize(std::size_t capacity) {
        // The array before was emptied long ago: growing and shrinking take more calls than moving.
        while (old_.capacity() > 0) move_some();
        old_ = std::exchange(current_, Array(capacity));
        next_place_ = 0;
        if (old_.capacity() == 0) return;
        move_some();
    }

    void move_some() {
        if (old_.capacity() == 0) return;
        const std::size_t end = std::min(next_place_ + places_moved_max, old_.capacity());
        for (; next_place_ < end; ++next_place_) {
            const Entry entry = old_.take(next_place_);
            if (entry.slot == no_slot) continue;
            current_.place(entry);
            ++moves_;
        }
        if (next_place_ < old_.capacity()) return;
        old_ = Array();
        current_.prefer_huge_pages();
    }

    Array current_;
    Array old_;                   // no capacity: nothing is to be moved
    std::size_t next_place_ = 0;  // of the old array: all before it are empty
    std::size_t size_ = 0;
    std::uint64_t moves_ = 0;
};

}  // namespace holdfast::core
