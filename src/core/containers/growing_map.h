#pragma once

// GrowingMap: values by their keys, which may become very many.
//
// A Slab with a SlotIndex: no single call moves more than a few entries when the map grows or shrinks,
// whereas a general hash map moves all of them at once. Nothing depends on the hashes but the time.
//
// Hash: from a key to 32 well mixed bits. If clients choose the keys, it should have a secret.
//
// Thread safety: none.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/containers/key.h"
#include "core/containers/slab.h"
#include "core/containers/slot_index.h"

namespace holdfast::core {

// For numbers that the program gives out.
struct NumberHash {
    [[nodiscard]] std::uint32_t operator()(std::uint64_t number) const {
        return static_cast<std::uint32_t>(mix(number ^ 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03));
    }
};

template <class Key, class Value, class Hash = NumberHash>
class GrowingMap {
  public:
    explicit GrowingMap(Hash hash = {}) : hash_(hash) {}

    // Null if the key is not there. Good until it is erased.
    [[nodiscard]] Value* find(const Key& key) {
        const Slot slot = find_slot(hash_(key), key);
        return slot == no_slot ? nullptr : &entries_[slot].value;
    }
    [[nodiscard]] const Value* find(const Key& key) const {
        return const_cast<GrowingMap*>(this)->find(key);
    }

    // The value of the key; a new one if there is none.
    Value& operator[](const Key& key) {
        const std::uint32_t hash = hash_(key);
        Slot slot = find_slot(hash, key);
        if (slot == no_slot) {
            slot = entries_.emplace(key);
            index_.insert({.slot = slot, .hash = hash});
        }
        return entries_[slot].value;
    }

    // Does nothing if the key is not there.
    void erase(const Key& key) {
        const std::uint32_t hash = hash_(key);
        const Slot slot = find_slot(hash, key);
        if (slot == no_slot) return;
        index_.erase({.slot = slot, .hash = hash});
        entries_.erase(slot);
    }

    void clear() {
        entries_ = {};
        index_ = {};
    }

    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    [[nodiscard]] bool empty() const { return size() == 0; }

    // Calls visit(key, value) for each, in an order that depends only on the calls before. REQUIRES: the
    // visitor adds and erases nothing.
    template <class Visitor>
    void for_each(const Visitor& visit) const {
        entries_.for_each([&](Slot, const Entry& entry) { visit(entry.key, entry.value); });
    }

  private:
    struct Entry {
        explicit Entry(const Key& its_key) : key(its_key) {}

        const Key key;
        Value value{};
    };

    [[nodiscard]] Slot find_slot(std::uint32_t hash, const Key& key) const {
        return index_.find(hash, [&](Slot slot) { return entries_[slot].key == key; });
    }

    Hash hash_;
    Slab<Entry> entries_;
    SlotIndex index_;
};

}  // namespace holdfast::core
