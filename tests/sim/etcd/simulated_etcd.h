#pragma once

// SimulatedEtcd: three members of etcd in virtual time, in front of one Keyspace.
//
// How a request goes:
//
//   at its member        etcd                                         the answer
//   the member is down   never hears of it                            none; the connection is refused
//   there is no leader,  keeps it until there is one, and then does   none, or very late
//   or the member is     it or forgets it, whoever has given up
//   cut off              meanwhile
//   otherwise            does it a moment later, on behalf of all     when this member has applied it
//
// A member lags when it applies late. It answers later then; with `stale_reads` it may also answer a
// range from what it knows, as a member does that stood still (etcd 3.4). Nothing older than a
// revision that was asked for is ever answered.
//
// Leases are counted by the leader's clock, which drifts. A lease ends after its TTL, sometimes much
// later. A new leader gives every lease its whole TTL anew. A lease never ends early.
//
// A full etcd refuses what puts something. At first, before its alarm is on, it may also do what it
// refuses.
//
// Thread safety: none. Lifetime: longer than every SimulatedApi.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "etcd/api.h"
#include "sim/etcd/keyspace.h"
#include "sim/world.h"

namespace holdfast::sim {

// What goes wrong between a node and etcd, and in etcd. As in Faults, zero means never.
struct EtcdFaults {
    double loss = 0;        // of a question, or of its answer
    double repetition = 0;  // a question is done a second time, later
    double late = 0;        // a question is done long after it was asked
    core::Duration delay_max{0};
    core::Duration late_max{0};
    core::Duration lease_lateness_max{0};
    double clock_drift = 0;  // of a member's clock: 0.01 is up to one percent, either way
    bool has_stale_reads = false;
    double wandering = 0;    // a node asks another member than before, though nothing has failed
    double lost_events = 0;  // a watch does not tell of a change
    // A node does not take an answer with several keys that has more bytes than this.
    std::size_t answer_bytes_max = 0;
};

class SimulatedEtcd {
  public:
    static constexpr std::size_t member_count = 3;

    SimulatedEtcd(World& world, const EtcdFaults& faults);

    // What is asked, at the moment when it is done. REQUIRES: the request has been admitted.
    etcd::Answer<etcd::TransactionAnswer> transact(const etcd::Transaction& transaction);
    etcd::Answer<etcd::LeaseAnswer> grant(etcd::LeaseId id, std::chrono::seconds ttl);
    // Nothing: the lease is over but not yet removed, and etcd does not answer.
    std::optional<etcd::Answer<etcd::LeaseAnswer>> keep_alive(etcd::LeaseId id);
    etcd::Answer<etcd::LeaseAnswer> revoke(etcd::LeaseId id);
    etcd::Answer<etcd::Revision> compact(etcd::Revision revision);
    [[nodiscard]] etcd::Answer<etcd::RangeAnswer> range(std::size_t member,
                                                        const etcd::RangeRequest& request) const;
    [[nodiscard]] etcd::Answer<etcd::StatusAnswer> status(std::size_t member) const;

    // Whether the member has a leader and is not cut off.
    [[nodiscard]] bool can_agree(std::size_t member) const;
    // Runs `task` when all members agree on its place among the others; perhaps never.
    void admit(std::size_t member, std::function<void()> task);
    // Runs `task` when the member has applied what is done so far; never, if it goes down before.
    void when_applied(std::size_t member, std::function<void()> task);

    // Told of what happens to the watch, at the member.
    struct Watcher {
        std::size_t member = 0;
        std::string key, range_end;
        etcd::Revision next = 0;
        std::function<void(etcd::Revision, std::vector<etcd::WatchEvent>)> on_events;
        std::function<void(etcd::Failure)> on_end;  // after which the watch is forgotten
    };
    // REQUIRES: the member is up.
    std::uint64_t watch(Watcher watcher);
    void unwatch(std::uint64_t watch) { watchers_.erase(watch); }

    // Trouble.
    void stop_member(std::size_t member);
    void start_member(std::size_t member);
    void cut_member(std::size_t member);   // from the other members
    void join_member(std::size_t member);  // ends that
    void hold_member(std::size_t member);  // it applies nothing
    void free_member(std::size_t member);  // ends that
    // There is no leader for so long.
    void lose_leader(core::Duration length);
    void set_full(bool is_full);
    void heal();

    [[nodiscard]] bool is_up(std::size_t member) const { return members_[member].is_up; }
    [[nodiscard]] bool has_leader() const { return leader_.has_value(); }
    [[nodiscard]] bool has_lease(etcd::LeaseId id) const { return leases_.contains(id); }
    [[nodiscard]] const Keyspace& keyspace() const { return keyspace_; }

  private:
    struct Member {
        bool is_up = true;
        bool is_cut = false;
        std::optional<etcd::Revision> held_at;  // lags: knows nothing newer
        double clock_rate = 1;
        std::vector<std::function<void()>> waiting;  // until it has caught up
    };
    struct Lease {
        std::chrono::seconds ttl{0};
        Moment expires_at;
    };
    struct Parked {
        std::size_t member;
        std::function<void()> task;
    };

    [[nodiscard]] bool is_able(std::size_t member) const;
    [[nodiscard]] bool has_alarm() const;
    [[nodiscard]] etcd::Revision known_by(std::size_t member) const;
    void look_at_leadership();
    void elect();
    void run_parked();
    void arm(Lease& lease) const;
    void await_end(etcd::LeaseId id);
    void end(etcd::LeaseId id);
    void catch_up(std::size_t member);
    void publish();
    void deliver(std::uint64_t watch);
    void break_watches(std::size_t member);

    World& world_;
    const EtcdFaults& faults_;
    Keyspace keyspace_;
    std::array<Member, member_count> members_;
    std::optional<std::size_t> leader_;
    Moment no_leader_until_{Moment::min()};
    std::uint64_t elections_ = 0;
    std::map<etcd::LeaseId, Lease> leases_;
    etcd::LeaseId last_lease_ = 1000;
    std::vector<Parked> parked_;
    std::map<std::uint64_t, Watcher> watchers_;
    std::uint64_t watches_ = 0;
    bool is_full_ = false;
    Moment alarm_at_;  // if it is full
};

}  // namespace holdfast::sim
