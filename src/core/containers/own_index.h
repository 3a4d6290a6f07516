#pragma once

// OwnIndex: finds the leases of one owner among very many holders of a lock.
//
// A lock with few holders needs no index: its holders are looked at one after the other. When a lock
// has become crowded (records.h), all its holders are here, each under a hash of its owner and of
// what it holds. Of several with one key, the one with the smallest fencing number comes first.
//
// A tree, not a hash table: an owner may have very many leases of one kind, and no single call may
// have to move all entries.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>

#include "core/containers/slab.h"

namespace holdfast::core {

class OwnIndex {
  public:
    // What leases have in common that are looked for together.
    struct Key {
        Slot resource = no_slot;
        std::uint8_t group = 0;
        std::uint64_t hash = 0;

        auto operator<=>(const Key&) const = default;
    };

    // The second insertion of an entry, and the removal of one that is not there, do nothing.
    void insert(const Key& key, std::uint64_t fence, Slot lease) {
        entries_.insert({.key = key, .fence = fence, .lease = lease});
    }
    void erase(const Key& key, std::uint64_t fence, Slot lease) {
        entries_.erase({.key = key, .fence = fence, .lease = lease});
    }

    // The first lease with this key for which is_it(lease) is true, or no_slot.
    template <class Predicate>
    [[nodiscard]] Slot find(const Key& key, const Predicate& is_it) const {
        for (auto entry = entries_.lower_bound({.key = key, .fence = 0, .lease = 0});
             entry != entries_.end() && entry->key == key; ++entry) {
            if (is_it(entry->lease)) return entry->lease;
        }
        return no_slot;
    }

    // The first lease with this key and a larger number, or no_slot.
    [[nodiscard]] Slot first_after(const Key& key, std::uint64_t fence) const {
        const auto entry = entries_.lower_bound({.key = key, .fence = fence + 1, .lease = 0});
        return entry != entries_.end() && entry->key == key ? entry->lease : no_slot;
    }

    [[nodiscard]] bool contains(const Key& key, std::uint64_t fence, Slot lease) const {
        return entries_.contains({.key = key, .fence = fence, .lease = lease});
    }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

  private:
    struct Entry {
        Key key;
        std::uint64_t fence = 0;
        Slot lease = no_slot;

        auto operator<=>(const Entry&) const = default;
    };

    std::set<Entry> entries_;
};

}  // namespace holdfast::core
