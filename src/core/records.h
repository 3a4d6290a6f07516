#pragma once

// The records that the lock table consists of. A record refers to its neighbours by slot. All logic
// is in LockTable.

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/containers/key.h"
#include "core/containers/range_index.h"
#include "core/containers/slab.h"
#include "core/containers/slot_list.h"
#include "core/values/ids.h"
#include "core/values/request.h"

namespace holdfast::core {

// What requests queue up for: a name, a semaphore, a path, or an inode with all its ranges.
enum class ResourceKind : std::uint8_t { named, semaphore, path, inode };

// ResourceKey: what the resource of a scope is called. That is the name in the scope, or the eight
// bytes of the inode's number.
//
// Lifetime: as long as the scope.
class ResourceKey {
  public:
    ResourceKey(const Scope& scope, std::uint64_t hash_seed)
        : kind_(kind_of(scope.kind)), text_(scope.name) {
        if (kind_ == ResourceKind::inode) {
            number_ = std::bit_cast<Number>(scope.inode);
            text_ = {number_.data(), number_.size()};
        }
        const std::uint64_t hash = hash_text(hash_seed + static_cast<unsigned>(kind_), text_);
        hash_ = static_cast<std::uint32_t>(hash);
    }
    ResourceKey(const ResourceKey&) = delete;
    ResourceKey& operator=(const ResourceKey&) = delete;

    [[nodiscard]] ResourceKind kind() const { return kind_; }
    [[nodiscard]] std::string_view text() const { return text_; }
    [[nodiscard]] std::uint32_t hash() const { return hash_; }

  private:
    using Number = std::array<char, sizeof(std::uint64_t)>;

    static ResourceKind kind_of(ScopeKind kind) {
        switch (kind) {
            case ScopeKind::named: return ResourceKind::named;
            case ScopeKind::semaphore: return ResourceKind::semaphore;
            case ScopeKind::path: return ResourceKind::path;
            case ScopeKind::inode:
            case ScopeKind::range: break;
        }
        return ResourceKind::inode;
    }

    const ResourceKind kind_;
    std::uint32_t hash_ = 0;
    std::string_view text_;
    Number number_;  // only of an inode
};

// One lockable thing that somebody holds, wants, or has held recently.
struct Resource {
    explicit Resource(const ResourceKey& its_key)
        : key(its_key.text()), hash(its_key.hash()), kind(its_key.kind()) {}

    const KeyText key;
    const std::uint32_t hash;
    const ResourceKind kind;
    bool is_idle = false;
    bool is_crowded = false;       // it has had many holders since it had none (lock_table_own.cc)
    bool is_of_idle_door = false;  // a client of TableOptions::idle_door has held or wanted it
    std::uint32_t limit = 1;
    std::uint64_t version = 0;
    SlotList holders;  // leases that are held or in grace, in the order of their grants
    std::uint32_t holder_count = 0;
    std::uint32_t grace_count = 0;
    SlotList waiters;  // the queue
    std::uint32_t waiter_count = 0;
    std::uint32_t entangled_count = 0;  // of the waiters: those of entangled identities
    Slot lapsed = no_slot;              // the lease of the last owner, while its name is remembered
    RangeIndex::Roots ranges;           // inode: its leases and waiters, by range
    // Idle: neighbours in the list of idle resources, and since when.
    Slot next_idle = no_slot, previous_idle = no_slot;
    Time idle_since;
};

// A copy of what few leases and waiters have: notes, a set of scopes, a value. Most have none of
// them: then it costs only a pointer.
class OwnedNotes {
  public:
    OwnedNotes() = default;
    explicit OwnedNotes(const AcquireRequest& request) {
        const bool has_texts = request.notes != Notes{} || !request.value.empty();
        if (has_texts) texts_ = std::make_unique<Texts>(request);
    }
    [[nodiscard]] bool empty() const { return !texts_; }
    [[nodiscard]] Notes view() const {
        if (!texts_) return {};
        return {.request_id = texts_->request_id,
                .metadata = texts_->metadata,
                .waiter = texts_->waiter};
    }
    // See LeaseView.
    [[nodiscard]] std::string_view value() const {
        return texts_ ? std::string_view(texts_->value) : std::string_view();
    }
    [[nodiscard]] std::uint64_t revision() const { return texts_ ? texts_->revision : 0; }

    void set_value(std::string_view value, std::uint64_t revision) {
        if (!texts_) texts_ = std::make_unique<Texts>(AcquireRequest{});
        texts_->value = value;
        texts_->revision = revision;
    }

    // Puts the notes and the value of a request in the place of these. A set stays one.
    void replace(const AcquireRequest& request) {
        OwnedNotes replaced(request);
        if (!members().empty()) {
            replaced.set_members(std::move(texts_->members));
            replaced.others() = std::move(texts_->others);
        }
        texts_ = std::move(replaced.texts_);
    }

    // Of a set: all its scopes as text, and the records of all of them but the first.
    void set_members(std::string text) {
        if (!texts_) texts_ = std::make_unique<Texts>(AcquireRequest{});
        texts_->members = std::move(text);
    }
    [[nodiscard]] std::string_view members() const {
        return texts_ ? std::string_view(texts_->members) : std::string_view();
    }
    // REQUIRES: set_members() was called.
    [[nodiscard]] std::vector<Slot>& others() { return texts_->others; }
    [[nodiscard]] const std::vector<Slot>& others() const { return texts_->others; }

  private:
    struct Texts {
        explicit Texts(const AcquireRequest& request)
            : request_id(request.notes.request_id),
              metadata(request.notes.metadata),
              waiter(request.notes.waiter),
              value(request.value),
              revision(value.empty() ? 0 : 1) {}
        std::string request_id, metadata, waiter, value;
        std::uint64_t revision;
        std::string members;
        std::vector<Slot> others;
    };

    std::unique_ptr<Texts> texts_;
};

// What a lease and a waiter have in common: who wants what, on which terms. A waiter that is
// granted hands its claim over to the lease.
//
// A claim on several scopes (a set) has one record for each scope, so that each resource knows its
// holders and waiters as if there were no sets. The record of the first scope leads: it has the
// owner, the notes, the terms and the session, and is the lease or the waiter. The records of the
// other scopes have only what concerns their own resource, and the slot of the leading record.
struct Claim {
    std::string owner;
    OwnedNotes notes;
    Duration ttl{0};
    Duration grace{0};
    Duration memory{0};
    Slot resource = no_slot;
    Slot next = no_slot, previous = no_slot;  // in Resource::holders or Resource::waiters
    Slot session = no_slot;
    Slot session_next = no_slot, session_previous = no_slot;
    Slot range_item = no_slot;  // inode: its item in LockTable::ranges_
    Door door{};
    ScopeKind kind = ScopeKind::named;
    Mode mode : 1 = Mode::exclusive;
    bool is_transient : 1 = false;
    bool has_entry : 1 = false;  // a two-phase entry of its session stands for it
    bool is_set : 1 = false;     // it leads a set: notes.others() are the other records
    bool is_member : 1 = false;  // it is another record of a set: leader() leads

    // A record that does not lead is in no list of a session, so one of these links is free.
    [[nodiscard]] Slot leader() const { return session_previous; }
    void set_leader(Slot slot) {
        is_member = true;
        session_previous = slot;
    }
    [[nodiscard]] LeaseTerms terms() const { return {ttl, grace, memory, is_transient}; }
    void set_terms(const LeaseTerms& terms) {
        ttl = terms.ttl;
        grace = terms.grace;
        memory = terms.memory;
        is_transient = terms.is_transient;
    }
};

// One grant, from its beginning until nothing of it is remembered.
struct Lease : Claim {
    LeaseState state : 2 = LeaseState::held;
    std::uint8_t renewals : 3 = 0;  // since the grant; counted up to renewals_counted_max
    bool is_restored : 1 = false;   // from a store, and not renewed since
    // Who waits for whom (lock_table_identity.cc): somebody has waited for this record, or its lock
    // is crowded; the lease is counted by its identity.
    bool is_marked : 1 = false;
    bool is_wanted : 1 = false;
    Token token;
    Time acquired_at;
    Time expires_at;

    [[nodiscard]] Time grace_until() const { return add_saturating(expires_at, grace); }
    // When the next thing happens to the lease by itself.
    [[nodiscard]] Time deadline() const {
        switch (state) {
            case LeaseState::held: return expires_at;
            case LeaseState::grace: return grace_until();
            case LeaseState::lapsed: return add_saturating(grace_until(), memory);
        }
        return expires_at;
    }
};
static_assert(sizeof(Lease) == 128, "a lease fills two cache lines: docs/decisions/0005");

// The hash by which a lease is found. It is well mixed, except that four numbers in a row have
// hashes in a row: the next grants then find their places in the same cache line.
[[nodiscard]] inline std::uint32_t hash_of(Fence fence) {
    const std::uint64_t number = as_number(fence);
    const std::uint64_t mixed = mix(number >> 2 ^ 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03);
    return static_cast<std::uint32_t>(mixed << 2 | (number & 3));
}

// A serial number for a request that has just arrived: every holder and waiter came before it.
inline constexpr std::uint64_t after_everybody = UINT64_MAX;

// One request in a queue.
struct Waiter : Claim {
    WaiterId id;  // its serial number grows with every waiter: that is the order of the queue
    Secret secret{};
    std::string by;  // who has asked: for the event of the grant
    Time since;
    Time deadline = Time::max();
    // Of a set: nothing is in the way of this record; and, in the leading one, how many records
    // still have something in their way. All records have the id of the leading one.
    bool is_in_turn = false;
    std::uint32_t blocked = 0;
    // Its identity, and its neighbours among the waiters of that identity.
    Slot identity = no_slot;
    Slot identity_next = no_slot, identity_previous = no_slot;

    [[nodiscard]] bool is_of_set() const { return is_set || is_member; }
};

// The name of an identity: a session; without one an owner and, if it is given, a waiter of it. A
// view.
struct IdentityKey {
    std::uint64_t session = 0;
    Owner owner;
    std::string_view waiter;

    bool operator==(const IdentityKey&) const = default;
};

// A client as far as it waits, or others wait for it: lock_table_identity.cc. There is no record of
// a client that neither waits nor is waited for.
struct Identity {
    Identity(const IdentityKey& its_key, std::uint32_t its_hash)
        : session(its_key.session),
          door(its_key.owner.door),
          owner(its_key.owner.name),
          waiter(its_key.waiter),
          hash(its_hash) {}

    [[nodiscard]] IdentityKey key() const {
        return {.session = session, .owner = {.door = door, .name = owner}, .waiter = waiter};
    }

    const std::uint64_t session;
    const Door door;
    const std::string owner, waiter;
    const std::uint32_t hash;
    std::uint32_t wanted = 0;  // how many of its leases others have waited for
    SlotList waiters;          // the leading records of what it waits for
    std::uint32_t waiter_count = 0;
    // It waits, or has waited since it began to wait, for several locks.
    bool is_entangled = false;
    // It has waited for so much at once that it must be many clients under one name.
    bool is_crowd = false;
    // It may be part of a deadlock. Its neighbours among those of which that is so.
    bool is_suspect = false;
    Slot next_suspect = no_slot, previous_suspect = no_slot;
};

// An identity with more waiters than this is a crowd.
inline constexpr std::uint32_t crowd_waiters_min = 65;

// A two-phase entry: `enqueue` makes it, `wait` uses it up. A session has at most one for a scope.
// lock_table_session.cc opens with its life.
struct Enqueued {
    Enqueued(Slot its_session, std::string scope_text, std::uint32_t scope_hash)
        : scope(std::move(scope_text)), hash(scope_hash), session(its_session) {}

    const std::string scope;  // in its text form
    const std::uint32_t hash;
    const Slot session;
    Slot session_next = no_slot, session_previous = no_slot;
    Slot waiter = no_slot;    // while it queues
    bool is_expired = false;  // the lease has expired: the next wait is told so, once
    Fence fence{};            // of the grant
    Duration ttl{0};          // as asked for; a renewal before the wait does not change it
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
    bool is_ending = false;  // part of it has ended: nothing is granted to it any more
};

// The lists that records are in.
inline constexpr Links<Lease> holder_links{&Lease::next, &Lease::previous};
inline constexpr Links<Lease> session_lease_links{&Lease::session_next, &Lease::session_previous};
inline constexpr Links<Waiter> queue_links{&Waiter::next, &Waiter::previous};
inline constexpr Links<Waiter> session_waiter_links{&Waiter::session_next,
                                                    &Waiter::session_previous};
inline constexpr Links<Waiter> identity_links{&Waiter::identity_next, &Waiter::identity_previous};
inline constexpr Links<Identity> suspect_links{&Identity::next_suspect,
                                               &Identity::previous_suspect};
inline constexpr Links<Enqueued> session_entry_links{&Enqueued::session_next,
                                                     &Enqueued::session_previous};
inline constexpr Links<Enqueued> expired_entry_links{&Enqueued::next_expired,
                                                     &Enqueued::previous_expired};
inline constexpr Links<Resource> idle_links{&Resource::next_idle, &Resource::previous_idle};

}  // namespace holdfast::core
