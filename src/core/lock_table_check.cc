// The invariants of the table, and its digest. Both look at every record: they are for tests.

#include <algorithm>

#include "base/check.h"
#include "core/containers/key.h"
#include "core/lock_table.h"

namespace holdfast::core {

namespace {

// A running hash over numbers and texts.
class Digest {
  public:
    void add(std::uint64_t number) { state_ = mix(state_ ^ number, 0x9e3779b97f4a7c15) + number; }
    void add(std::string_view text) { add(hash_text(1, text)); }
    void add(Time time) { add(static_cast<std::uint64_t>(time.time_since_epoch().count())); }
    void add(Duration duration) { add(static_cast<std::uint64_t>(duration.count())); }
    template <class Enum>
    requires std::is_enum_v<Enum>
    void add(Enum value) { add(static_cast<std::uint64_t>(value)); }
    [[nodiscard]] std::uint64_t value() const { return state_; }

  private:
    std::uint64_t state_ = 0x2545f4914f6cdd1d;
};

void add_claim(Digest& digest, const Claim& claim) {
    digest.add(claim.owner);
    digest.add(claim.notes.view().request_id);
    digest.add(claim.notes.view().metadata);
    digest.add(claim.notes.view().waiter);
    digest.add(claim.notes.members());
    digest.add(claim.notes.value());
    digest.add(claim.notes.revision());
    digest.add(claim.ttl);
    digest.add(claim.grace);
    digest.add(claim.memory);
    for (const Slot link : {claim.resource, claim.next, claim.session, claim.session_next}) {
        digest.add(std::uint64_t{link});
    }
    digest.add(claim.door);
    digest.add(claim.kind);
    digest.add(Mode{claim.mode});
    digest.add(std::uint64_t{claim.is_transient});
    digest.add(std::uint64_t{claim.has_entry});
    digest.add(std::uint64_t{claim.is_set});
    digest.add(std::uint64_t{claim.is_member ? claim.leader() : no_slot});
}

void add_lease(Digest& digest, const Lease& lease) {
    add_claim(digest, lease);
    digest.add(lease.token.fence);
    digest.add(lease.token.secret);
    digest.add(lease.acquired_at);
    digest.add(lease.expires_at);
    digest.add(LeaseState{lease.state});
    digest.add(std::uint64_t{lease.is_restored});
}

void add_waiter(Digest& digest, const Waiter& waiter) {
    add_claim(digest, waiter);
    digest.add(waiter.id.serial);
    digest.add(waiter.secret);
    digest.add(waiter.since);
    digest.add(waiter.deadline);
    digest.add(std::uint64_t{waiter.is_in_turn});
    digest.add(std::uint64_t{waiter.blocked});
}

}  // namespace

std::uint64_t LockTable::digest() const {
    Digest digest;
    digest.add(now_);
    digest.add(next_fence_);
    digest.add(next_serial_);
    resources_.for_each([&](Slot slot, const Resource& resource) {
        digest.add(std::uint64_t{slot});
        digest.add(resource.key.view());
        digest.add(resource.kind);
        digest.add(std::uint64_t{resource.limit});
        digest.add(resource.version);
        digest.add(std::uint64_t{resource.is_idle});
        digest.add(resource.idle_since);
    });
    leases_.for_each([&](Slot slot, const Lease& lease) {
        digest.add(std::uint64_t{slot});
        add_lease(digest, lease);
    });
    waiters_.for_each([&](Slot slot, const Waiter& waiter) {
        digest.add(std::uint64_t{slot});
        add_waiter(digest, waiter);
    });
    sessions_.for_each([&](Slot, const Session& session) {
        digest.add(session.id.serial);
        digest.add(session.owner);
        digest.add(session.door);
    });
    entries_.for_each([&](Slot slot, const Enqueued& entry) {
        digest.add(std::uint64_t{slot});
        digest.add(entry.scope);
        digest.add(entry.fence);
        for (const Slot link : {entry.session, entry.waiter, entry.next_expired}) {
            digest.add(std::uint64_t{link});
        }
        digest.add(std::uint64_t{entry.is_expired});
    });
    identities_.for_each([&](Slot, const Identity& identity) {
        digest.add(identity.session);
        digest.add(identity.owner);
        digest.add(identity.waiter);
        digest.add(std::uint64_t{identity.wanted});
    });
    return digest.value();
}

void LockTable::check_invariants() const {
    std::size_t holders = 0, queued = 0, lapsed = 0, items = 0, idle = 0, semaphores = 0;
    resources_.for_each([&](Slot slot, const Resource& resource) {
        check_resource(slot, resource);
        holders += resource.holder_count;
        queued += resource.waiter_count;
        lapsed += resource.lapsed != no_slot ? 1 : 0;
        idle += resource.is_idle ? 1 : 0;
        semaphores += resource.kind == ResourceKind::semaphore ? 1 : 0;
        items += ranges_.check_invariants(resource.ranges);
    });
    CHECK(holders + lapsed == leases_.size());
    CHECK(lapsed == lapsed_count_);
    CHECK(queued == waiters_.size());
    CHECK(next_due_ <= next_deadline().value_or(Time::max()));
    CHECK(idle == idle_count_);
    CHECK(semaphores == semaphore_count_);
    CHECK(items == ranges_.size());
    CHECK(resources_.size() == resources_by_key_.size());

    std::size_t held = 0, endless_count = 0;
    leases_.for_each([&](Slot slot, const Lease& lease) {
        if (lease.is_member) return;
        endless_count += lease.ttl == endless ? 1 : 0;
        CHECK(lease.ttl != endless || lease.state == LeaseState::held);
        CHECK(as_number(lease.token.fence) < next_fence_);
        CHECK(is_behind() || lease.deadline() > now_);
        CHECK(lease.deadline() == Time::max() ||
              lease_deadlines_.is_armed_by(slot, lease.deadline()));
        if (lease.state != LeaseState::held) {
            CHECK(lease.session == no_slot);
            return;
        }
        ++held;
        CHECK(find_lease(lease.token.fence) == slot);
    });
    CHECK(held == leases_by_fence_.size());
    CHECK(lease_deadlines_.size() <= lease_deadlines_max());
    lease_deadlines_.check_invariants();

    waiters_.for_each([&](Slot slot, const Waiter& waiter) {
        if (waiter.is_member) return;
        endless_count += waiter.ttl == endless ? 1 : 0;
        CHECK(is_behind() || waiter.deadline > now_);
        CHECK(waiter_deadlines_.is_armed(slot) == (waiter.deadline != Time::max()));
        CHECK(!waiter.has_entry || waiter.session != no_slot);
    });
    CHECK(endless_count == endless_count_);
    waiter_deadlines_.check_invariants();
    CHECK(is_behind() || touched_.empty());
    if (door_limits_) check_door_counts();
    check_sessions();
    check_entries();
    check_sets();
    check_identities();
    check_own_index();
}

void LockTable::check_door_counts() const {
    std::size_t locks = 0;
    resources_.for_each([&](Slot slot, const Resource& resource) {
        std::size_t held = 0, queued = 0;
        for (Slot lease = resource.holders.first; lease != no_slot; lease = leases_[lease].next) {
            held += leases_[lead(lease)].door == door_limits_->door ? 1 : 0;
        }
        for (Slot waiter = resource.waiters.first; waiter != no_slot;
             waiter = waiters_[waiter].next) {
            queued += waiters_[waiters_[waiter].id.slot].door == door_limits_->door ? 1 : 0;
        }
        CHECK(held == door_counts_.holders(slot) && queued == door_counts_.waiters(slot));
        locks += held + queued > 0 ? 1 : 0;
    });
    CHECK(locks == door_counts_.locks());
}

void LockTable::check_sessions() const {
    sessions_.for_each([&](Slot slot, const Session& session) {
        CHECK(session.id.slot == slot && session.id.serial < next_serial_);
        std::uint32_t held = 0, queued = 0;
        for (Slot lease = session.leases.first; lease != no_slot;
             lease = leases_[lease].session_next) {
            CHECK(leases_[lease].session == slot && leases_[lease].state == LeaseState::held);
            ++held;
        }
        std::uint64_t serial = 0;
        for (Slot waiter = session.waiters.first; waiter != no_slot;
             waiter = waiters_[waiter].session_next) {
            CHECK(waiters_[waiter].session == slot && waiters_[waiter].id.serial > serial);
            serial = waiters_[waiter].id.serial;
            ++queued;
        }
        CHECK(held == session.lease_count && queued == session.waiter_count);
        for (Slot entry = session.entries.first; entry != no_slot;
             entry = entries_[entry].session_next) {
            CHECK(entries_[entry].session == slot);
        }
    });
}

void LockTable::check_entries() const {
    std::size_t queued = 0, holding = 0, expired = 0;
    entries_.for_each([&](Slot slot, const Enqueued& entry) {
        CHECK(sessions_.contains(entry.session));
        CHECK(find_entry(entry.session, entry.scope) == slot);
        if (entry.is_expired) {
            CHECK(entry.waiter == no_slot);
            ++expired;
        } else if (entry.waiter != no_slot) {
            CHECK(waiters_[entry.waiter].has_entry);
            CHECK(find_entry(waiters_[entry.waiter]) == slot);
            ++queued;
        } else {
            const Slot lease = find_lease(entry.fence);
            CHECK(lease != no_slot && leases_[lease].has_entry);
            CHECK(find_entry(leases_[lease]) == slot);
            ++holding;
        }
    });
    CHECK(entries_.size() == entries_by_scope_.size());
    CHECK(expired == expired_entry_count_ && expired <= limits_.expired_entries_max);
    waiters_.for_each([&](Slot, const Waiter& waiter) { queued -= waiter.has_entry ? 1 : 0; });
    leases_.for_each([&](Slot, const Lease& lease) { holding -= lease.has_entry ? 1 : 0; });
    CHECK(queued == 0 && holding == 0);  // one entry for each, and one of them for each entry
}

void LockTable::check_resource(Slot slot, const Resource& resource) const {
    std::uint32_t holders = 0, in_grace = 0;
    Fence previous{};
    for (Slot lease = resource.holders.first; lease != no_slot; lease = leases_[lease].next) {
        CHECK(leases_[lease].resource == slot && leases_[lease].state != LeaseState::lapsed);
        // The records of a set on one inode have the same number.
        CHECK(leases_[lease].token.fence > previous ||
              (leases_[lease].is_member && leases_[lease].token.fence == previous));
        previous = leases_[lease].token.fence;
        in_grace += leases_[lease].state == LeaseState::grace ? 1 : 0;
        ++holders;
        const bool is_alone = resource.holder_count == 1;
        const bool is_exclusive = leases_[lease].mode == Mode::exclusive;
        const bool may_be_many =
            resource.kind == ResourceKind::semaphore || resource.kind == ResourceKind::inode;
        CHECK(is_alone || !is_exclusive || may_be_many);
        if (leases_[lease].range_item == no_slot) continue;
        // No earlier item is in the way of a holder.
        const RangeIndex::Item& item = ranges_[leases_[lease].range_item];
        CHECK(!item.is_waiter && item.record == lease);
        CHECK(ranges_.find_conflict(resource.ranges, item.range, item.mode, item.serial) ==
              no_slot);
    }
    CHECK(holders == resource.holder_count && in_grace == resource.grace_count);
    CHECK(resource.kind != ResourceKind::semaphore || holders <= resource.limit);

    std::uint32_t queued = 0;
    std::uint64_t serial = 0;
    for (Slot waiter = resource.waiters.first; waiter != no_slot; waiter = waiters_[waiter].next) {
        CHECK(waiters_[waiter].resource == slot);
        CHECK(waiters_[waiter].id.serial > serial ||
              (waiters_[waiter].is_member && waiters_[waiter].id.serial == serial));
        serial = waiters_[waiter].id.serial;
        // A waiter for a range watches what is in its way. Only a record of a set may have nothing
        // in its way and wait all the same.
        const Slot item = waiters_[waiter].range_item;
        CHECK(is_behind() || item == no_slot ||
              (ranges_[item].watched == no_slot) == waiters_[waiter].is_in_turn);
        ++queued;
    }
    CHECK(queued == resource.waiter_count);
    // No lost wake-up: the first waiter waits only because it cannot be granted.
    if (resource.kind != ResourceKind::inode && queued > 0 && !is_behind()) {
        const Waiter& first = waiters_[resource.waiters.first];
        CHECK(has_room_for(resource, first.mode) == first.is_in_turn);
    }
    if (resource.kind != ResourceKind::inode) {
        for (Slot later = resource.waiters.first; later != no_slot; later = waiters_[later].next) {
            CHECK(!waiters_[later].is_in_turn || later == resource.waiters.first);
        }
    }
    const bool is_used = holders > 0 || queued > 0 || resource.lapsed != no_slot;
    CHECK(is_behind() ? !(is_used && resource.is_idle) : is_used != resource.is_idle);
    if (resource.lapsed != no_slot) {
        CHECK(leases_[resource.lapsed].state == LeaseState::lapsed);
        CHECK(leases_[resource.lapsed].resource == slot);
    }
}

// One lease or waiter has all the records of a set, and one of them still waits, or none does.
void LockTable::check_sets() const {
    std::size_t lease_members = 0, waiter_members = 0;
    leases_.for_each([&](Slot slot, const Lease& lease) {
        if (lease.is_member) {
            ++lease_members;
            CHECK(leases_.contains(lease.leader()) && leases_[lease.leader()].is_set);
            CHECK(lease.token == leases_[lease.leader()].token);
            CHECK(lease.deadline() == Time::max() && !lease.is_set && !lease.is_wanted);
        }
        if (!lease.is_set) return;
        const auto members = parse_set(lease.notes.members());
        const auto& others = lease.notes.others();
        CHECK(members && members->size() == others.size() + 1 && others.size() > 0);
        CHECK(lease.state != LeaseState::lapsed);
        for (std::size_t index = 0; index < members->size(); ++index) {
            const Lease& record = leases_[index == 0 ? slot : others[index - 1]];
            CHECK(index == 0 || (record.is_member && record.leader() == slot));
            CHECK(record.state == lease.state);
            CHECK(scope_of(record) == (*members)[index].scope);
            CHECK(record.mode == (*members)[index].mode);
        }
    });
    waiters_.for_each([&](Slot slot, const Waiter& waiter) {
        CHECK(waiter.is_of_set() || (!waiter.is_in_turn && waiter.blocked == 0));
        if (waiter.is_member) {
            ++waiter_members;
            CHECK(waiter.leader() == waiter.id.slot && waiter.leader() != slot);
            CHECK(waiters_.contains(waiter.leader()) && waiters_[waiter.leader()].is_set);
        }
        if (!waiter.is_set) return;
        const auto members = parse_set(waiter.notes.members());
        const auto& others = waiter.notes.others();
        CHECK(members && members->size() == others.size() + 1 && others.size() > 0);
        std::uint32_t blocked = 0;
        for (std::size_t index = 0; index < members->size(); ++index) {
            const Waiter& record = waiters_[index == 0 ? slot : others[index - 1]];
            CHECK(record.id == waiter.id && scope_of(record) == (*members)[index].scope);
            blocked += record.is_in_turn ? 0 : 1;
        }
        // No lost wake-up: it waits only because of one of its scopes.
        CHECK(blocked == waiter.blocked && (is_behind() || blocked > 0));
    });
    CHECK(lease_members == lease_member_count_ && waiter_members == waiter_member_count_);
}

// Whoever waits or is waited for has an identity, and nobody else has.
void LockTable::check_identities() const {
    std::size_t wanted = 0, waiting = 0, suspects = 0;
    identities_.for_each([&](Slot slot, const Identity& identity) {
        CHECK(find_identity(identity.key()) == slot);
        CHECK(identity.wanted > 0 || identity.waiters.first != no_slot);
        wanted += identity.wanted;
        CHECK(!identity.is_crowd || !identity.is_entangled);
        std::uint32_t waiters = 0;
        for (Slot waiter = identity.waiters.first; waiter != no_slot;
             waiter = waiters_[waiter].identity_next) {
            CHECK(waiters_[waiter].identity == slot && !waiters_[waiter].is_member);
            CHECK(identity_key(waiters_[waiter]) == identity.key());
            const Waiter& first = waiters_[identity.waiters.first];
            CHECK(identity.is_entangled || identity.is_crowd ||
                  (!waiters_[waiter].is_set && waiters_[waiter].resource == first.resource));
            ++waiters;
            ++waiting;
        }
        CHECK(waiters == identity.waiter_count);
        CHECK(identity.is_suspect ==
              (!identity.is_crowd && waiters > 0 && (identity.wanted > 0 || waiters > 1)));
        suspects += identity.is_suspect ? 1 : 0;
    });
    for (Slot slot = suspects_.first; slot != no_slot; slot = identities_[slot].next_suspect) {
        CHECK(identities_[slot].is_suspect);
        --suspects;
    }
    CHECK(suspects == 0);
    CHECK(identities_.size() == identities_by_key_.size());
    leases_.for_each([&](Slot, const Lease& lease) {
        wanted -= lease.is_wanted ? 1 : 0;
        CHECK(!lease.is_wanted || find_identity(identity_key(lease)) != no_slot);
    });
    CHECK(wanted == 0 && waiting == waiters_.size() - waiter_member_count_);
    resources_.for_each([&](Slot, const Resource& resource) {
        std::uint32_t entangled = 0;
        for (Slot slot = resource.waiters.first; slot != no_slot; slot = waiters_[slot].next) {
            const Waiter& leader = waiters_[waiters_[slot].id.slot];
            entangled += identities_[leader.identity].is_entangled || leader.is_set ? 1 : 0;
        }
        CHECK(entangled == resource.entangled_count);
        if (resource.waiter_count == 0) return;
        for (Slot slot = resource.holders.first; slot != no_slot; slot = leases_[slot].next) {
            const Lease& lease = leases_[lead(slot)];
            CHECK(lease.is_wanted || lease.state != LeaseState::held);
        }
    });
}

}  // namespace holdfast::core
