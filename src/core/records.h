#pragma once

// The records the lock table is made of. They know their neighbours by slot; all logic is in
// LockTable.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/containers/key_hash.h"
#include "core/containers/key_text.h"
#include "core/containers/range_index.h"
#include "core/containers/slab.h"
#include "core/values/ids.h"
#include "core/values/request.h"
#include "core/values/time.h"

namespace holdfast::core {

// What requests queue up for: a name, a semaphore, a path, or an inode with all its ranges.
enum class ResourceKind : std::uint8_t { named, semaphore, path, inode };

// Head and tail of a doubly linked list threaded through records by slot.
struct SlotList {
    Slot first = no_slot;
    Slot last = no_slot;
};

// One lockable thing somebody holds, wants, or has recently held.
struct Resource {
    Resource(ResourceKind resource_kind, std::string_view key_text, std::uint32_t key_hash)
        : key(key_text), hash(key_hash), kind(resource_kind) {}

    const KeyText key;  // the name; for an inode the eight bytes of its number
    const std::uint32_t hash;
    const ResourceKind kind;
    bool is_idle = false;
    std::uint32_t limit = 1;
    std::uint64_t version = 0;
    SlotList holders;  // leases that are held or in grace
    std::uint32_t holder_count = 0;
    std::uint32_t grace_count = 0;
    SlotList waiters;
    std::uint32_t waiter_count = 0;
    Slot lapsed = no_slot;     // the lease of the last owner, while its name is remembered
    RangeIndex::Roots ranges;  // inode: its holds and waits, by range
    // Idle: neighbours in the list of idle resources, and since when.
    Slot next_idle = no_slot, previous_idle = no_slot;
    Time idle_since;
};

// The notes of a lease or waiter. Most have none, and then it costs a pointer.
class KeptNotes {
  public:
    KeptNotes() = default;
    explicit KeptNotes(const Notes& notes) {
        if (notes != Notes{}) texts_ = std::make_unique<Texts>(notes);
    }
    [[nodiscard]] bool empty() const { return !texts_; }
    [[nodiscard]] Notes view() const {
        if (!texts_) return {};
        return {.request_id = texts_->request_id, .metadata = texts_->metadata};
    }

  private:
    struct Texts {
        explicit Texts(const Notes& notes)
            : request_id(notes.request_id), metadata(notes.metadata) {}
        std::string request_id, metadata;
    };

    std::unique_ptr<const Texts> texts_;
};

// One grant, from its beginning until nothing of it is remembered.
struct Lease {
    std::string owner;
    KeptNotes notes;
    Token token;
    Time acquired_at;
    Time expires_at;
    Duration ttl{0};
    Duration grace{0};
    Duration memory{0};
    Slot resource = no_slot;
    Slot next = no_slot, previous = no_slot;  // in Resource::holders
    Slot session = no_slot;
    Slot session_next = no_slot, session_previous = no_slot;
    Slot range_item = no_slot;
    Door door{};
    ScopeKind kind = ScopeKind::named;
    Mode mode = Mode::exclusive;
    LeaseState state : 2 = LeaseState::held;
    std::uint8_t renewals : 3 = 0;  // since it was granted; renewals_counted_max: or more
    bool is_transient : 1 = false;
    bool is_restored : 1 = false;  // from a store, and not renewed since
    bool has_entry : 1 = false;    // a two-phase entry of its session stands for it

    [[nodiscard]] Time grace_until() const { return add_saturating(expires_at, grace); }
    [[nodiscard]] LeaseTerms terms() const { return {ttl, grace, memory, is_transient}; }
    // When the next thing happens to it.
    [[nodiscard]] Time deadline() const {
        switch (state) {
            case LeaseState::held: return expires_at;
            case LeaseState::grace: return grace_until();
            case LeaseState::lapsed: return add_saturating(grace_until(), memory);
        }
        return expires_at;
    }
};

// What a lease is found by: well mixed, but for four numbers in a row, which lie side by side, so
// that the next grants find their places in the cache.
[[nodiscard]] inline std::uint32_t hash_of(Fence fence) {
    const std::uint64_t number = as_number(fence);
    const std::uint64_t mixed = mix(number >> 2 ^ 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03);
    return static_cast<std::uint32_t>(mixed << 2 | (number & 3));
}

// One request in a queue.
struct Waiter {
    WaiterId id;  // its serial grows with every waiter: the order of the queue
    std::string owner;
    KeptNotes notes;
    Secret secret{};
    Duration ttl{0};
    Duration grace{0};
    Duration memory{0};
    Time since;
    Time deadline = Time::max();
    Slot resource = no_slot;
    Slot next = no_slot, previous = no_slot;  // in Resource::waiters
    Slot session = no_slot;
    Slot session_next = no_slot, session_previous = no_slot;
    Slot range_item = no_slot;
    Door door{};
    ScopeKind kind = ScopeKind::named;
    Mode mode = Mode::exclusive;
    bool is_two_phase = false;
    bool is_transient = false;
};

// A two-phase entry: what `enqueue` leaves for `wait`. A session has one for a scope at most.
struct Enqueued {
    Enqueued(Slot its_session, std::string scope_text, std::uint32_t scope_hash)
        : scope(std::move(scope_text)), hash(scope_hash), session(its_session) {}

    const std::string scope;  // in its text form
    const std::uint32_t hash;
    const Slot session;
    Slot session_next = no_slot, session_previous = no_slot;
    Slot waiter = no_slot;    // while it queues
    bool is_expired = false;  // the lease ended by itself: kept to say so, once
    Fence fence{};            // of the grant
    Duration ttl{0};          // that was asked for; a renewal before the wait does not change it
    Slot next_expired = no_slot, previous_expired = no_slot;
};

// A connection or login, with everything that ends when it ends.
struct Session {
    SessionId id;
    std::string owner;
    Time opened_at;
    Door door{};
    SlotList leases, waiters, entries;
    std::uint32_t lease_count = 0, waiter_count = 0;
};

}  // namespace holdfast::core
