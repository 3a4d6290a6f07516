#pragma once

// Slab<T>: records with small, stable numbers.
//
// Records live in chunks of 65536. The number of a record (its Slot) consists of the chunk and the
// place in the chunk, so that finding a record is two loads. A record never moves. A new record gets
// the place that was freed last, because that memory is still in the cache. Which slot a record gets
// depends only on the calls before: the slab is as deterministic as its user.
//
// A chunk whose last record is erased is freed, so that a table that was once large does not stay
// large. One empty chunk is kept as a spare: otherwise a user that adds and erases records at the
// border of a chunk would allocate and free a chunk each time. A slab without any record keeps no
// spare.
//
// No call takes longer because a chunk is freed: before that, each erasure takes a few of its places
// out of the list of free places, the last place first. A chunk that gets a record meanwhile stays; the
// places that have left the list count as never used.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/large_block.h"

namespace holdfast::core {

using Slot = std::uint32_t;
inline constexpr Slot no_slot = UINT32_MAX;

template <class T>
class Slab {
  public:
    Slab() = default;
    Slab(Slab&& other) noexcept { swap(other); }
    Slab& operator=(Slab&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Slab() {
        for_each([this](Slot slot, T&) { std::destroy_at(&(*this)[slot]); });
    }

    // Makes a record from `arguments` and returns its number.
    template <class... Arguments>
    Slot emplace(Arguments&&... arguments) {
        const Slot slot = take_slot();
        Chunk& chunk = *chunks_[slot / chunk_size];
        if (slot / chunk_size == spare_) spare_ = no_slot;
        chunk.mark(slot % chunk_size);
        std::construct_at(chunk.records + slot % chunk_size, std::forward<Arguments>(arguments)...);
        ++chunk.live;
        ++size_;
        return slot;
    }

    // REQUIRES: the record exists.
    void erase(Slot slot) {
        Chunk& chunk = *chunks_[slot / chunk_size];
        CHECK(chunk.is_used(slot % chunk_size));
        std::destroy_at(chunk.records + slot % chunk_size);
        chunk.unmark(slot % chunk_size);
        --chunk.live;
        --size_;
        push_free(slot);
        if (chunk.live == 0) keep_or_doom(slot / chunk_size);
        if (!doomed_.empty()) drop_some();
    }

    T& operator[](Slot slot) { return records_[slot / chunk_size][slot % chunk_size]; }
    const T& operator[](Slot slot) const { return records_[slot / chunk_size][slot % chunk_size]; }

    // Starts to fetch a record into the cache, if there is one.
    void expect(Slot slot) const {
        if (!contains(slot)) return;
        const auto* bytes = reinterpret_cast<const char*>(&(*this)[slot]);
        __builtin_prefetch(bytes);
        __builtin_prefetch(bytes + sizeof(T) - 1);
    }

    // Whether there is a record with this number.
    [[nodiscard]] bool contains(Slot slot) const {
        const Slot number = slot / chunk_size;
        return number < chunks_.size() && chunks_[number] &&
               chunks_[number]->is_used(slot % chunk_size);
    }

    [[nodiscard]] std::size_t size() const { return size_; }

    // Calls visit(slot, record) for every record, in the order of their numbers. REQUIRES: the
    // visitor adds and erases no record.
    template <class Visitor>
    void for_each(Visitor visit) {
        for (Slot number = 0; number < chunks_.size(); ++number) {
            for (Slot word = 0; chunks_[number] && word < words; ++word) {
                std::uint64_t used = chunks_[number]->used[word];
                for (; used != 0; used &= used - 1) {
                    const Slot place = word * 64 + static_cast<Slot>(std::countr_zero(used));
                    visit(number * chunk_size + place, records_[number][place]);
                }
            }
        }
    }
    template <class Visitor>
    void for_each(Visitor visit) const {
        const_cast<Slab*>(this)->for_each(
            [&visit](Slot slot, const T& record) { visit(slot, record); });
    }

  private:
    static constexpr Slot chunk_size = 65536;
    static constexpr Slot words = chunk_size / 64;
    static constexpr Slot fresh_kept_max = 4096;
    // So many places leave the list at a time, or so many chunks are freed.
    static constexpr Slot unlinked_max = 32, freed_max = 4;

    struct Chunk {
        Chunk() : records(static_cast<T*>(base::allocate_block(sizeof(T) * chunk_size))) {}
        ~Chunk() { base::free_block(records, sizeof(T) * chunk_size); }
        Chunk(const Chunk&) = delete;
        Chunk& operator=(const Chunk&) = delete;

        [[nodiscard]] bool is_used(Slot place) const {
            return (used[place / 64] >> (place % 64) & 1) != 0;
        }
        void mark(Slot place) { used[place / 64] |= std::uint64_t{1} << (place % 64); }
        void unmark(Slot place) { used[place / 64] &= ~(std::uint64_t{1} << (place % 64)); }

        std::array<std::uint64_t, words> used{};
        Slot live = 0;
        Slot fresh = 0;            // places from this one on were never used
        bool is_doomed = false;    // it is in doomed_,
        bool is_reopened = false;  // or in reopened_
        T* const records;          // unused places are raw memory
    };

    // The content of a free place: its neighbours in the list of free places.
    struct Free {
        Slot next, previous;
    };
    static_assert(sizeof(T) >= sizeof(Free) && alignof(T) >= alignof(Free));

    Free& free_at(Slot slot) { return *reinterpret_cast<Free*>(&(*this)[slot]); }

    Slot take_slot() {
        if (first_free_ != no_slot) {
            const Slot slot = first_free_;
            unlink_free(slot);
            return slot;
        }
        if (chunks_.empty() || !chunks_[newest_] || chunks_[newest_]->fresh == chunk_size) {
            if (!reopen_chunk()) open_chunk();
        }
        return newest_ * chunk_size + chunks_[newest_]->fresh++;
    }

    void push_free(Slot slot) {
        std::construct_at(&free_at(slot), Free{.next = first_free_, .previous = no_slot});
        if (first_free_ != no_slot) free_at(first_free_).previous = slot;
        first_free_ = slot;
    }

    void unlink_free(Slot slot) {
        const Free gone = free_at(slot);
        if (gone.next != no_slot) free_at(gone.next).previous = gone.previous;
        (gone.previous != no_slot ? free_at(gone.previous).next : first_free_) = gone.next;
    }

    void open_chunk() {
        if (!free_numbers_.empty()) {
            newest_ = free_numbers_.back();
            free_numbers_.pop_back();
        } else {
            newest_ = static_cast<Slot>(chunks_.size());
            chunks_.emplace_back();
            records_.emplace_back();
        }
        chunks_[newest_] = std::make_unique<Chunk>();
        records_[newest_] = chunks_[newest_]->records;
        // A table that has filled its first chunk is a large one.
        if (newest_ > 0) base::prefer_huge_pages(records_[newest_], sizeof(T) * chunk_size);
    }

    // Goes on with a chunk that has places which were never used. False if there is none.
    bool reopen_chunk() {
        for (;;) {
            while (!reopened_.empty()) {
                newest_ = reopened_.back();
                reopened_.pop_back();
                const auto& chunk = chunks_[newest_];
                if (chunk && std::exchange(chunk->is_reopened, false)) return true;
            }
            if (doomed_.empty()) return false;
            const Slot number = doomed_.back();
            doomed_.pop_back();
            keep(number);
        }
    }

    // A chunk has become empty. It becomes the spare, and the spare before it is freed. At least one
    // whole chunk was filled since the last one was freed, so freeing costs little for each record.
    void keep_or_doom(Slot number) {
        if (size_ == 0) return doom_all(number);
        if (chunks_[number]->is_doomed) return;
        if (spare_ != no_slot) doom(spare_);
        spare_ = number;
    }

    void doom(Slot number) {
        if (std::exchange(chunks_[number]->is_doomed, true)) return;
        doomed_.push_back(number);
    }

    // The last record is gone. The last chunk stays if it is alone and little of it was used: a single
    // record that comes and goes should not allocate. Without a record, nobody needs the list.
    void doom_all(Slot last) {
        const bool is_alone = chunks_.size() - free_numbers_.size() == 1;
        if (is_alone && chunks_[last]->fresh <= fresh_kept_max) return;
        first_free_ = spare_ = no_slot;
        for (Slot number = 0; number < chunks_.size(); ++number) {
            if (!chunks_[number]) continue;
            chunks_[number]->fresh = 0;
            doom(number);
        }
    }

    // Brings chunks that are to be freed a bit closer to that.
    void drop_some() {
        Slot unlinked = 0;
        for (Slot freed = 0; freed < freed_max && !doomed_.empty(); ++freed) {
            const Slot number = doomed_.back();
            Chunk& chunk = *chunks_[number];
            while (chunk.live == 0 && chunk.fresh > 0) {
                if (unlinked++ == unlinked_max) return;
                unlink_free(number * chunk_size + --chunk.fresh);
            }
            doomed_.pop_back();
            if (chunk.live > 0) {
                keep(number);
            } else {
                chunks_[number].reset();
                records_[number] = nullptr;
                free_numbers_.push_back(number);
            }
        }
    }

    // A chunk that was to be freed has got a record, or is needed.
    void keep(Slot number) {
        Chunk& chunk = *chunks_[number];
        chunk.is_doomed = false;
        if (number == newest_ || chunk.fresh == chunk_size) return;
        if (!std::exchange(chunk.is_reopened, true)) reopened_.push_back(number);
    }

    void swap(Slab& other) {
        std::swap(chunks_, other.chunks_);
        std::swap(records_, other.records_);
        std::swap(free_numbers_, other.free_numbers_);
        std::swap(doomed_, other.doomed_);
        std::swap(reopened_, other.reopened_);
        std::swap(newest_, other.newest_);
        std::swap(first_free_, other.first_free_);
        std::swap(spare_, other.spare_);
        std::swap(size_, other.size_);
    }

    std::vector<std::unique_ptr<Chunk>> chunks_;
    std::vector<T*> records_;         // of each chunk
    std::vector<Slot> free_numbers_;  // of chunks that were freed
    std::vector<Slot> doomed_;        // chunks that are to be freed
    std::vector<Slot> reopened_;      // chunks that were to be freed, and have places never used
    Slot newest_ = 0;                 // the chunk whose fresh places are given out
    Slot first_free_ = no_slot;
    Slot spare_ = no_slot;  // a chunk without a record, while others have some
    std::size_t size_ = 0;
};

}  // namespace holdfast::core
