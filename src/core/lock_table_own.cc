// Finding the leases that an owner has on a lock, among however many holders.
//
// While a lock has few holders (TableOptions::few_holders_max), they are looked at one by one. With
// one more it becomes crowded, and stays so until it has none. All holders of a crowded lock are in an index
// (own_index.h), and all are marked as waited for (lock_table_identity.cc): so neither an owner that
// asks again nor the first waiter has to look at all of them.

#include <utility>

#include "base/check.h"
#include "core/lock_table.h"

namespace holdfast::core {

// Whether this record of a lease is what the query asks for.
bool LockTable::is_own(Slot slot, const OwnQuery& query) const {
    const Lease& record = leases_[slot];
    const Lease& leader = leases_[lead(slot)];
    if (leader.door != query.owner.door || leader.owner != query.owner.name) return false;
    if (record.state == LeaseState::held ? !query.held : !query.in_grace) return false;
    if (!query.members.empty()) {
        return record.is_set && record.notes.members() == query.members;
    }
    if (!query.of_sets && (record.is_set || record.is_member)) return false;
    return record.kind == query.scope.kind &&
           (record.range_item == no_slot || ranges_[record.range_item].range == query.scope.range);
}

// The oldest lease that the query asks for, or no_slot. Of a set: the record on this resource.
Slot LockTable::find_own(Slot resource, const OwnQuery& query) const {
    if (!resources_[resource].is_crowded) {
        for (Slot slot = resources_[resource].holders.first; slot != no_slot;
             slot = leases_[slot].next) {
            ++visited_;
            if (is_own(slot, query)) return slot;
        }
        return no_slot;
    }
    Slot found = no_slot;
    const auto look_in = [&](OwnGroup group, std::uint64_t hash) {
        const Slot slot = own_leases_.find(key_of(resource, group, hash), [&](Slot one) {
            ++visited_;
            return is_own(one, query);
        });
        if (slot == no_slot) return;
        const bool is_older =
            found == no_slot || leases_[slot].token.fence < leases_[found].token.fence;
        if (is_older) found = slot;
    };
    if (!query.members.empty()) {
        const std::uint64_t hash = hash_of_own(query.owner, query.members);
        if (query.held) look_in(OwnGroup::whole_set_held, hash);
        if (query.in_grace) look_in(OwnGroup::whole_set_in_grace, hash);
        return found;
    }
    const std::uint64_t hash = hash_of_own(query.owner, query.scope);
    if (query.held) look_in(OwnGroup::single_held, hash);
    if (query.in_grace) look_in(OwnGroup::single_in_grace, hash);
    if (query.of_sets && query.held) look_in(OwnGroup::record_held, hash);
    if (query.of_sets && query.in_grace) look_in(OwnGroup::record_in_grace, hash);
    return found;
}

OwnIndex::Key LockTable::key_of(Slot resource, OwnGroup group, std::uint64_t hash) {
    return {.resource = resource, .group = static_cast<std::uint8_t>(group), .hash = hash};
}

std::uint64_t LockTable::hash_of_own(const Owner& owner, const Scope& scope) const {
    std::uint64_t hash = hash_text(hash_seed_ + static_cast<unsigned>(owner.door), owner.name);
    if (!scope.is_of_inode()) return hash;
    for (const std::uint64_t number :
         {static_cast<std::uint64_t>(scope.kind), scope.range.start, scope.range.end}) {
        hash = mix(hash ^ number, (hash_seed_ ^ 0x9e3779b97f4a7c15) | 1) + number;
    }
    return hash;
}

std::uint64_t LockTable::hash_of_own(const Owner& owner, std::string_view members) const {
    const std::uint64_t seed = hash_seed_ + static_cast<unsigned>(owner.door);
    return hash_text(hash_text(seed, owner.name), members);
}

// Calls visit(key) for each place of a record in the index. REQUIRES: its resource is crowded.
template <class Visit>
void LockTable::for_each_own_key(Slot slot, const Visit& visit) const {
    const Lease& record = leases_[slot];
    const Lease& leader = leases_[lead(slot)];
    const Owner owner{.door = leader.door, .name = leader.owner};
    const bool is_held = record.state == LeaseState::held;
    const bool is_of_set = record.is_set || record.is_member;
    OwnGroup group = is_held ? OwnGroup::single_held : OwnGroup::single_in_grace;
    if (is_of_set) group = is_held ? OwnGroup::record_held : OwnGroup::record_in_grace;
    visit(key_of(record.resource, OwnGroup::any, 0));
    visit(key_of(record.resource, group, hash_of_own(owner, scope_of(record))));
    if (!record.is_set) return;
    group = is_held ? OwnGroup::whole_set_held : OwnGroup::whole_set_in_grace;
    visit(key_of(record.resource, group, hash_of_own(owner, record.notes.members())));
}

// A record of a lease, which has its token, is a holder from now on. Perhaps its lock becomes
// crowded by it.
void LockTable::note_own(Slot slot) {
    Resource& resource = resources_[leases_[slot].resource];
    if (resource.is_crowded) return add_to_own_index(slot);
    if (resource.holder_count <= few_holders_max_) return;
    resource.is_crowded = true;
    ++crowded_count_;
    for (Slot one = resource.holders.first; one != no_slot; one = leases_[one].next) {
        // A record of a set that is being granted has no token yet, and follows by itself.
        if (leases_[one].token.fence != Fence{}) add_to_own_index(one);
    }
}

// The last holder has left.
void LockTable::stop_crowding(Resource& resource) {
    if (!std::exchange(resource.is_crowded, false)) return;
    --crowded_count_;
}

void LockTable::add_to_own_index(Slot slot) {
    for_each_own_key(slot, [&](const OwnIndex::Key& key) {
        own_leases_.insert(key, as_number(leases_[slot].token.fence), slot);
    });
    if (!leases_[slot].is_marked) mark_holder(slot);
}

// The record is about to leave the holders, or to get another state or token.
void LockTable::forget_own(Slot slot) {
    if (!resources_[leases_[slot].resource].is_crowded) return;
    for_each_own_key(slot, [&](const OwnIndex::Key& key) {
        own_leases_.erase(key, as_number(leases_[slot].token.fence), slot);
    });
}

bool LockTable::has_own(const AcquireRequest& request) const {
    const Slot resource = find_resource(request.scope);
    if (resource == no_slot) return false;
    const std::string members =
        request.members.size() > 1 ? set_to_text(request.members) : std::string();
    return find_own(resource, {.owner = request.owner,
                               .scope = request.scope,
                               .members = members,
                               .held = true,
                               .in_grace = true}) != no_slot;
}

void LockTable::check_own_index() const {
    std::size_t entries = 0;
    leases_.for_each([&](Slot slot, const Lease& lease) {
        if (lease.state == LeaseState::lapsed || !resources_[lease.resource].is_crowded) return;
        CHECK(lease.is_marked);
        for_each_own_key(slot, [&](const OwnIndex::Key& key) {
            CHECK(own_leases_.contains(key, as_number(lease.token.fence), slot));
            ++entries;
        });
    });
    CHECK(entries == own_leases_.size());
}

}  // namespace holdfast::core
