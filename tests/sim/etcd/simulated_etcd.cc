#include "sim/etcd/simulated_etcd.h"

#include <algorithm>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;
using etcd::Failure;

namespace {

// As a member of etcd with its default settings.
constexpr std::chrono::seconds lease_ttl_min{2};
constexpr core::Duration election_min = 1s, election_max = 2s;
// How long etcd is full before its alarm is on, at most.
constexpr core::Duration alarm_max = 500ms;

tl::unexpected<Failure> failed(Failure::Kind kind, std::string message) {
    return tl::unexpected(Failure{.kind = kind, .message = std::move(message)});
}

tl::unexpected<Failure> no_space() {
    return failed(Failure::Kind::no_space, "etcdserver: mvcc: database space exceeded");
}

}  // namespace

SimulatedEtcd::SimulatedEtcd(World& world, const EtcdFaults& faults)
    : world_(world), faults_(faults), leader_(world.random().below(member_count)) {
    for (Member& member : members_) {
        const double part = static_cast<double>(world.random().below(2001)) / 1000.0 - 1.0;
        member.clock_rate = 1.0 + part * faults.clock_drift;
    }
}

bool SimulatedEtcd::is_able(std::size_t member) const {
    return members_[member].is_up && !members_[member].is_cut;
}

bool SimulatedEtcd::can_agree(std::size_t member) const {
    return leader_.has_value() && is_able(member);
}

etcd::Revision SimulatedEtcd::known_by(std::size_t member) const {
    return members_[member].held_at.value_or(keyspace_.revision());
}

bool SimulatedEtcd::has_alarm() const {
    return is_full_ && world_.now() >= alarm_at_;
}

etcd::Answer<etcd::TransactionAnswer> SimulatedEtcd::transact(
    const etcd::Transaction& transaction) {
    const bool is_refused = is_full_ && has_put(transaction);
    if (is_refused && (has_alarm() || world_.random().chance(0.5))) return no_space();
    auto answer =
        keyspace_.transact(transaction, [this](etcd::LeaseId id) { return leases_.contains(id); });
    publish();
    if (is_refused && answer) return no_space();
    return answer;
}

etcd::Answer<etcd::LeaseAnswer> SimulatedEtcd::grant(etcd::LeaseId id, std::chrono::seconds ttl) {
    const bool is_refused = is_full_;
    if (is_refused && (has_alarm() || world_.random().chance(0.5))) return no_space();
    if (id == 0) id = ++last_lease_;
    if (leases_.contains(id)) {
        return failed(Failure::Kind::rejected, "etcdserver: lease already exists");
    }
    Lease& lease = leases_[id] = {.ttl = std::max(ttl, lease_ttl_min), .expires_at = {}};
    arm(lease);
    await_end(id);
    world_.note("etcd: lease {} for {} s", id, lease.ttl.count());
    if (is_refused) return no_space();
    return etcd::LeaseAnswer{.id = id, .ttl_seconds = lease.ttl.count()};
}

std::optional<etcd::Answer<etcd::LeaseAnswer>> SimulatedEtcd::keep_alive(etcd::LeaseId id) {
    const auto found = leases_.find(id);
    if (found == leases_.end()) return etcd::LeaseAnswer{.id = id, .ttl_seconds = 0};
    Lease& lease = found->second;
    if (lease.expires_at <= world_.now()) return std::nullopt;
    arm(lease);
    return etcd::LeaseAnswer{.id = id, .ttl_seconds = lease.ttl.count()};
}

etcd::Answer<etcd::LeaseAnswer> SimulatedEtcd::revoke(etcd::LeaseId id) {
    if (!leases_.contains(id)) {
        return failed(Failure::Kind::no_lease, "etcdserver: requested lease not found");
    }
    end(id);
    return etcd::LeaseAnswer{.id = id, .ttl_seconds = 0};
}

etcd::Answer<etcd::Revision> SimulatedEtcd::compact(etcd::Revision revision) {
    return keyspace_.compact(revision);
}

etcd::Answer<etcd::RangeAnswer> SimulatedEtcd::range(std::size_t member,
                                                     const etcd::RangeRequest& request) const {
    auto answer = keyspace_.range(request, known_by(member));
    if (!answer || faults_.answer_bytes_max == 0 || answer->found.size() < 2) return answer;
    std::size_t bytes = 0;
    for (const etcd::KeyValue& one : answer->found) bytes += one.key.size() + one.value.size();
    if (bytes <= faults_.answer_bytes_max) return answer;
    return failed(Failure::Kind::too_large, "the answer is too large");
}

etcd::Answer<etcd::StatusAnswer> SimulatedEtcd::status(std::size_t member) const {
    etcd::StatusAnswer answer{.version = "3.5.28",
                              .database_bytes = keyspace_.bytes(),
                              .database_bytes_in_use = keyspace_.bytes(),
                              .leader = leader_ ? *leader_ + 1 : 0,
                              .member = member + 1};
    if (has_alarm()) answer.errors.emplace_back("memberID:1 alarm:NOSPACE ");
    return answer;
}

void SimulatedEtcd::admit(std::size_t member, std::function<void()> task) {
    if (!can_agree(member)) {
        parked_.push_back({.member = member, .task = std::move(task)});
        return;
    }
    world_.after(world_.random().between(100us, 3ms), [this, member, task = std::move(task)] {
        if (can_agree(member)) {
            task();
        } else {
            parked_.push_back({.member = member, .task = task});
        }
    });
}

// What was handed to a leader that is gone has reached the others, or not.
void SimulatedEtcd::run_parked() {
    for (Parked& parked : std::exchange(parked_, {})) {
        if (!is_able(parked.member)) {
            if (members_[parked.member].is_up) parked_.push_back(std::move(parked));
        } else if (world_.random().chance(0.5)) {
            admit(parked.member, std::move(parked.task));
        }
    }
}

void SimulatedEtcd::when_applied(std::size_t member, std::function<void()> task) {
    if (!members_[member].is_up) return;
    if (members_[member].held_at) {
        members_[member].waiting.push_back(std::move(task));
    } else {
        task();
    }
}

// Leases.

void SimulatedEtcd::arm(Lease& lease) const {
    const double rate = leader_ ? members_[*leader_].clock_rate : 1.0;
    const auto ttl = std::chrono::duration_cast<core::Duration>(lease.ttl);
    lease.expires_at =
        world_.now() +
        core::Duration{static_cast<core::Duration::rep>(static_cast<double>(ttl.count()) * rate)};
}

// Looks at the lease when it is due. It may have been renewed by then.
void SimulatedEtcd::await_end(etcd::LeaseId id) {
    const bool is_late = world_.random().chance(0.3);
    const core::Duration usual = world_.random().between(1ms, 500ms);
    const core::Duration extra =
        is_late ? world_.random().between(core::Duration::zero(), faults_.lease_lateness_max)
                : core::Duration::zero();
    world_.at(leases_.at(id).expires_at + usual + extra, [this, id] {
        const auto found = leases_.find(id);
        if (found == leases_.end()) return;
        if (!leader_) {  // the next leader gives it a new end
            found->second.expires_at = world_.now() + election_max;
        }
        if (found->second.expires_at > world_.now()) {
            await_end(id);
            return;
        }
        world_.note("etcd: lease {} is over", id);
        end(id);
    });
}

void SimulatedEtcd::end(etcd::LeaseId id) {
    leases_.erase(id);
    keyspace_.remove_keys_of(id);
    publish();
}

// Members.

void SimulatedEtcd::look_at_leadership() {
    if (leader_ && is_able(*leader_)) {
        std::size_t able = 0;
        for (std::size_t member = 0; member < member_count; ++member) able += is_able(member);
        if (able * 2 > member_count) return run_parked();
    }
    leader_.reset();
    const core::Duration delay = world_.random().between(election_min, election_max);
    world_.at(std::max(world_.now() + delay, no_leader_until_), [this, number = ++elections_] {
        if (number == elections_) elect();
    });
}

void SimulatedEtcd::elect() {
    std::vector<std::size_t> able;
    for (std::size_t member = 0; member < member_count; ++member) {
        if (is_able(member)) able.push_back(member);
    }
    if (able.size() * 2 <= member_count) return;  // the next member that comes back asks again
    leader_ = world_.random().pick(able);
    world_.note("etcd: member {} leads", *leader_);
    for (auto& [id, lease] : leases_) arm(lease);
    run_parked();
}

void SimulatedEtcd::lose_leader(core::Duration length) {
    world_.note("etcd: has no leader");
    no_leader_until_ = std::max(no_leader_until_, world_.now() + length);
    leader_.reset();
    look_at_leadership();
}

void SimulatedEtcd::stop_member(std::size_t member) {
    if (!members_[member].is_up) return;
    world_.note("etcd: member {} goes down", member);
    members_[member].is_up = false;
    members_[member].waiting.clear();
    members_[member].held_at = keyspace_.revision();
    break_watches(member);
    look_at_leadership();
}

void SimulatedEtcd::start_member(std::size_t member) {
    if (members_[member].is_up) return;
    world_.note("etcd: member {} is back", member);
    members_[member].is_up = true;
    if (is_able(member)) catch_up(member);
    look_at_leadership();
}

void SimulatedEtcd::cut_member(std::size_t member) {
    if (!is_able(member)) return;
    world_.note("etcd: member {} is cut off", member);
    members_[member].is_cut = true;
    hold_member(member);
    break_watches(member);
    look_at_leadership();
}

void SimulatedEtcd::join_member(std::size_t member) {
    if (!std::exchange(members_[member].is_cut, false)) return;
    world_.note("etcd: member {} is joined", member);
    if (members_[member].is_up) catch_up(member);
    look_at_leadership();
}

void SimulatedEtcd::hold_member(std::size_t member) {
    if (!members_[member].held_at) members_[member].held_at = keyspace_.revision();
}

void SimulatedEtcd::free_member(std::size_t member) {
    if (is_able(member)) catch_up(member);
}

void SimulatedEtcd::catch_up(std::size_t member) {
    members_[member].held_at.reset();
    for (const auto& task : std::exchange(members_[member].waiting, {})) task();
    publish();
}

void SimulatedEtcd::set_full(bool is_full) {
    if (is_full != is_full_) world_.note("etcd: {}", is_full ? "is full" : "has space again");
    if (is_full && !is_full_) alarm_at_ = world_.now() + world_.random().between(0us, alarm_max);
    is_full_ = is_full;
}

void SimulatedEtcd::heal() {
    no_leader_until_ = Moment::min();
    for (std::size_t member = 0; member < member_count; ++member) {
        start_member(member);
        join_member(member);
        free_member(member);
    }
    set_full(false);
    look_at_leadership();
}

// Watches.

std::uint64_t SimulatedEtcd::watch(Watcher watcher) {
    if (watcher.next == 0) watcher.next = known_by(watcher.member) + 1;
    const std::uint64_t watch = ++watches_;
    watchers_.emplace(watch, std::move(watcher));
    deliver(watch);
    return watch;
}

void SimulatedEtcd::publish() {
    std::vector<std::uint64_t> all;
    for (const auto& [watch, watcher] : watchers_) all.push_back(watch);
    for (const std::uint64_t watch : all) deliver(watch);
}

void SimulatedEtcd::deliver(std::uint64_t watch) {
    const auto found = watchers_.find(watch);
    if (found == watchers_.end()) return;
    Watcher& watcher = found->second;
    const etcd::Revision known = known_by(watcher.member);
    if (watcher.next > known) return;
    if (watcher.next <= keyspace_.compacted()) {
        auto node = watchers_.extract(found);
        node.mapped().on_end({.kind = Failure::Kind::compacted, .message = "compacted"});
        return;
    }
    auto events =
        keyspace_.changes({.first = watcher.next, .last = known}, watcher.key, watcher.range_end);
    watcher.next = known + 1;
    if (events.empty() || world_.random().chance(faults_.lost_events)) return;
    watcher.on_events(known, std::move(events));
}

void SimulatedEtcd::break_watches(std::size_t member) {
    std::vector<std::uint64_t> broken;
    for (const auto& [watch, watcher] : watchers_) {
        if (watcher.member == member) broken.push_back(watch);
    }
    for (const std::uint64_t watch : broken) {
        auto node = watchers_.extract(watch);
        if (node.empty()) continue;
        node.mapped().on_end({.kind = Failure::Kind::unknown, .message = "member lost"});
    }
}

}  // namespace holdfast::sim
