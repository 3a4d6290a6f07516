#pragma once

// NaiveTable: what a lock table must do, written as plainly as possible.
//
// The rules are in rules.md, each with the protocol fact from which it follows; comments here name
// them. They come from the protocols, not from the engine, so that the two can disagree.
//
// Everything is a list that is searched from its beginning. There is no index, no timer and no
// queue for each lock: there is one list of leases, one of waiters and one of two-phase entries.
// Where the rules leave a choice open, the table does what the engine did (Witness).
//
// Texts are not copied: the strings of every request must outlive the table. They do, because they
// belong to a Universe. The members of a set are copied.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/values/changes.h"
#include "core/values/cycle.h"
#include "core/values/request.h"
#include "core/values/view.h"
#include "model/witness.h"

namespace holdfast::model {

class NaiveTable {
  public:
    explicit NaiveTable(const core::TableOptions& options);

    // Tells the table what the engine did in the call that comes next.
    void follow(Witness witness) { witness_ = std::move(witness); }

    // The calls of core::LockTable.
    core::Outcome acquire(core::Time now, const core::AcquireRequest& request);
    core::Outcome enqueue(core::Time now, const core::AcquireRequest& request);
    core::Outcome wait(core::Time now, core::SessionId session, const core::Scope& scope,
                       core::Duration timeout);
    core::Outcome renew(core::Time now, const core::RenewRequest& request);
    core::Outcome set_value(core::Time now, const core::SetValueRequest& request);
    core::Outcome release(core::Time now, const core::ReleaseRequest& request);
    core::Outcome release_own(core::Time now, const core::Scope& scope, const core::Owner& owner);
    std::size_t force_release(core::Time now, const core::Scope& scope);
    bool cancel(core::Time now, core::WaiterId waiter);
    core::SessionId open_session(core::Time now, const core::Owner& owner);
    bool end_session(core::Time now, core::SessionId session, bool keeps_leases);
    void advance(core::Time now) { begin(now); }

    // What the table shows.
    [[nodiscard]] core::Time now() const { return now_; }
    [[nodiscard]] std::uint64_t next_fence() const { return next_fence_; }
    // When the next thing happens by itself: a lease ends, a wait times out, a name or a lock is
    // forgotten.
    [[nodiscard]] std::optional<core::Time> next_due() const;
    [[nodiscard]] core::Outcome find(core::Token token) const;
    [[nodiscard]] core::TableCounts counts() const;
    [[nodiscard]] std::vector<core::LockView> list() const;
    [[nodiscard]] std::vector<core::LeaseView> list_leases() const;
    [[nodiscard]] std::vector<core::SessionView> list_sessions() const;
    // Rule Q7: whether a refusal of `request` may name the lease with this number.
    [[nodiscard]] bool is_in_the_way(const core::AcquireRequest& request, core::Fence fence) const;
    // Rule Q7: whether a refusal of `request` may name no lease, but a waiter that asks for this.
    [[nodiscard]] bool is_waiter_ahead(const core::AcquireRequest& request,
                                       const core::LeaseView& wanted) const;
    // Rule Q7: whether the waiter really waits for the blocker in the view.
    [[nodiscard]] bool is_waiting_for_its_blocker(const core::WaiterView& view) const;

    // naive_deadlock.cc: rules D1 to D5, by looking at everything again and again.
    // Whether somebody waits for ever now.
    [[nodiscard]] bool has_deadlock() const;
    // Whether each member of the cycle waits for the next one. `request` is what the first member
    // asks for, if it was refused and does not wait.
    [[nodiscard]] bool is_cycle(const std::vector<core::CycleMember>& cycle,
                                const core::AcquireRequest* request) const;

    // The transitions since clear_events(), in no particular order.
    [[nodiscard]] const std::vector<core::Event>& events() const { return events_; }
    void clear_events() { events_.clear(); }

  private:
    using Members = std::vector<core::SetMember>;

    // A lease that is held or in grace.
    struct Lease {
        core::LeaseView view;
        Members members;  // of a set; of any other lease, its only scope
        core::Duration grace{0}, memory{0};
        bool is_ended = false;  // will be removed
    };

    // A request in the queue.
    struct Waiter {
        core::WaiterId id;
        core::AcquireRequest request;  // without its members
        Members members;
        std::string_view text;  // of a set
        core::Time since, deadline;
    };

    // Rule P1: what a session has enqueued and not yet waited for.
    struct Entry {
        enum class State : std::uint8_t { queued, granted, expired };

        core::SessionId session;
        core::Scope scope;
        core::Duration ttl{0};
        State state = State::queued;
        core::WaiterId waiter;      // queued
        core::Fence fence{};        // granted
        std::uint64_t expired = 0;  // expired: its number among all expired entries
    };

    // What belongs to a lock, not to one of its leases.
    struct Lock {
        core::Scope scope;  // for ranges: of their inode
        std::uint32_t limit = 1;
        std::uint64_t version = 0;
        std::optional<Lease> last_owner;  // rule G6
        core::Time remembered_until;      // with last_owner
        std::optional<core::Time> idle_since;
        bool is_of_idle_door = false;  // rule I2: a lease or wait of that door has ended
    };

    struct Session {
        core::SessionId id;
        core::Owner owner;
        core::Time opened_at;
    };

    // naive_table.cc: requests
    [[nodiscard]] core::Refusal find_flaw(const core::AcquireRequest& request) const;
    [[nodiscard]] core::Outcome find_flaw_of_set(const core::AcquireRequest& request) const;
    [[nodiscard]] static Members members_of(const core::AcquireRequest& request);
    [[nodiscard]] std::string_view text_of(const Members& members);
    core::Outcome ask(const core::AcquireRequest& request, bool is_two_phase);
    [[nodiscard]] static core::Scope other_kind(core::Scope scope);
    [[nodiscard]] bool is_used(const core::Scope& scope) const;
    std::optional<core::Outcome> come_back(const core::AcquireRequest& request, bool is_two_phase);
    core::Outcome join_queue(const core::AcquireRequest& request, bool is_two_phase);
    void add_entry(const core::AcquireRequest& request, Entry entry);
    [[nodiscard]] std::size_t count_missing(const Members& members) const;
    [[nodiscard]] bool has_room_for(const Members& members) const;
    bool make_room_for(const Members& members);
    [[nodiscard]] bool is_full(std::size_t more) const;
    [[nodiscard]] std::size_t count_waiters() const;
    [[nodiscard]] bool has_limits(core::Door door) const;
    [[nodiscard]] bool is_door_full(const core::AcquireRequest& request) const;
    [[nodiscard]] bool is_queue_full(const core::Scope& scope, core::Door door) const;
    void forget_idle_of_others(const core::AcquireRequest& request);
    [[nodiscard]] bool is_good(core::Duration ttl) const;
    [[nodiscard]] bool has_endless_in_full() const;
    [[nodiscard]] core::Refusal judge(core::Token token, const std::optional<core::Scope>& scope,
                                      const std::optional<core::Owner>& owner) const;
    void restart(Lease& lease, const core::LeaseTerms& terms, core::Time expires_at);
    core::Outcome done(const core::Outcome& outcome);

    // naive_table_turns.cc: time, turns and ends
    void begin(core::Time now);
    void finish();
    void end_waits_that_are_over();
    void end_leases_that_are_over();
    void forget_names_before(core::Time time);
    void forget_what_is_over();
    void tidy();
    void serve_queue();
    [[nodiscard]] std::optional<std::size_t> find_blocked(const Members& members,
                                                          std::size_t ahead) const;
    [[nodiscard]] bool is_blocked_by_leases(const core::SetMember& member) const;
    [[nodiscard]] static bool is_behind(const core::SetMember& later,
                                        const core::SetMember& earlier);
    [[nodiscard]] static bool is_behind(const core::SetMember& later, const Waiter& earlier);
    void touch(const Lease& lease);
    core::Outcome grant(const core::AcquireRequest& request, const Members& members,
                        const Waiter* waiter);
    void expire(Lease& lease);
    void end_lease(Lease& lease, core::EventKind kind, core::Cause cause);
    void forget_expired_entries();
    void remember(const Lease& lease);
    void remove_ended_leases();
    void end_wait(std::size_t index, core::EventKind kind, core::Cause cause);

    // naive_deadlock.cc
    [[nodiscard]] bool closes_cycle(const core::AcquireRequest& request,
                                    const Members& members) const;

    // naive_table_view.cc: looking
    [[nodiscard]] static bool is_on(const Members& members, const core::Scope& lock);
    [[nodiscard]] static bool is_in_the_way(const Lease& lease, const Members& members);
    [[nodiscard]] static bool is_on_what_is_asked(const Lease& lease, const Members& members);
    [[nodiscard]] static std::size_t count_on(const Members& members, const core::Scope& lock);
    [[nodiscard]] Lock* find_lock(const core::Scope& scope);
    [[nodiscard]] const Lock* find_lock(const core::Scope& scope) const;
    Lock& need_lock(const core::SetMember& member);
    [[nodiscard]] Entry* find_entry(core::SessionId session, const core::Scope& scope);
    [[nodiscard]] Lease* find_lease(core::Fence fence);
    [[nodiscard]] const Lease* find_lease(core::Fence fence) const;
    [[nodiscard]] bool has_session(core::SessionId session) const;
    [[nodiscard]] bool is_in_use(const Lock& lock) const;
    [[nodiscard]] std::size_t count_waiters(const core::Scope& scope) const;
    [[nodiscard]] std::size_t count_waiters(const core::Scope& scope, core::Door door) const;
    [[nodiscard]] core::LeaseView view_of(const Lease& lease) const;
    [[nodiscard]] core::LockView view_of(const Lock& lock) const;
    void tell(core::EventKind kind, core::Cause cause, const Lease& lease,
              const Waiter* waiter = nullptr, std::string_view previous_owner = {},
              bool has_new_terms = false);
    void tell_of_wait(core::EventKind kind, core::Cause cause, const Waiter& waiter);
    void tell_of_session(core::EventKind kind, const Session& session);
    void tell_of_deadlock(const core::AcquireRequest& request);

    const core::TableOptions options_;
    core::Time now_{};
    std::uint64_t next_fence_;
    std::uint64_t waiters_so_far_ = 0, sessions_so_far_ = 0, expiries_so_far_ = 0;
    std::vector<Lease> leases_;    // in the order of their grants
    std::vector<Waiter> waiters_;  // in the order in which they came
    std::vector<Entry> entries_;
    std::vector<Lock> locks_;
    std::vector<Session> sessions_;
    std::vector<core::Event> events_;
    std::deque<std::string> texts_;  // of sets
    Witness witness_;
};

}  // namespace holdfast::model
