#pragma once

// NaiveTable: the lock table as one would explain it to a child.
//
// One list of leases, one list of waiters, one list of idle locks, over all scopes. Every question
// is answered by walking the lists and comparing pairs; there is no index, no heap and no
// cleverness, and nothing of the engine but its plain data types. Its interface is that of
// core::LockTable, whose header states the rules; ids are running numbers: the n-th waiter that
// queued is waiter n.
//
// Faults of a request are looked for in the order in which find_fault lists them.
//
// REQUIRES: names in requests outlive the table (the tests use literals). Thread safety: none.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/changes.h"
#include "core/limits.h"
#include "core/request.h"
#include "core/view.h"
#include "model/witness.h"

namespace holdfast::model {

class NaiveTable {
  public:
    explicit NaiveTable(const core::TableOptions& options) : options_(options) {}

    // What to do in the next call where the rules leave a choice.
    void follow(Witness witness) { witness_ = std::move(witness); }

    core::Outcome acquire(core::Time now, const core::AcquireRequest& request);
    bool cancel(core::Time now, core::WaiterId waiter);
    core::Outcome enqueue(core::Time now, const core::AcquireRequest& request);
    core::Outcome wait(core::Time now, core::SessionId session, const core::Scope& scope,
                       core::Duration timeout);
    core::Outcome renew(core::Time now, const core::RenewRequest& request);
    core::Outcome release(core::Time now, const core::ReleaseRequest& request);
    core::Outcome release_own(core::Time now, const core::Scope& scope, const core::Owner& owner);
    std::size_t force_release(core::Time now, const core::Scope& scope);
    core::SessionId open_session(core::Time now, const core::Owner& owner);
    bool end_session(core::Time now, core::SessionId session, bool keeps_leases);
    void advance(core::Time now);

    [[nodiscard]] core::Time now() const { return now_; }
    // When the next thing happens by itself. Exact.
    [[nodiscard]] std::optional<core::Time> next_due() const;
    [[nodiscard]] core::Outcome find(core::Token token) const;
    [[nodiscard]] std::optional<core::LockView> inspect(const core::Scope& scope) const;
    // Every lock there is, idle ones included, in no particular order.
    [[nodiscard]] std::vector<core::LockView> list() const;
    [[nodiscard]] core::TableCounts counts() const;
    [[nodiscard]] std::uint64_t next_fence() const { return options_.first_fence + grants_; }

    // Whether a request just refused as held may be told of this lease: it is in the way, or in the
    // way of a waiter that is.
    [[nodiscard]] bool is_in_the_way(const core::AcquireRequest& request, core::Fence fence) const;
    // Whether the waiter waits for what its view says it waits for.
    [[nodiscard]] bool is_waiting_for_its_blocker(const core::WaiterView& view) const;

    [[nodiscard]] const std::vector<core::Event>& events() const { return events_; }
    void clear_events() { events_.clear(); }

  private:
    struct Lease {
        core::LeaseView view;  // held, in grace or lapsed
        core::Duration grace{0}, memory{0};
        std::uint32_t limit = 1;

        [[nodiscard]] bool is_in_force() const { return view.state != core::LeaseState::lapsed; }
        [[nodiscard]] core::Time deadline() const;
    };
    struct Waiter {
        std::uint64_t number = 0;
        core::AcquireRequest request;
        core::Time since, deadline;
    };
    struct Idle {
        core::Scope scope;
        std::uint32_t limit = 1;
        core::Time since;
    };
    struct Session {
        std::uint64_t number = 0;
        core::Owner owner;
    };
    // A two-phase entry: of a waiter while that is in the queue, of a lease afterwards.
    struct Entry {
        core::SessionId session;
        core::Scope scope;
        std::uint64_t waiter = 0;
        core::Fence fence{};
    };

    // naive_table.cc
    [[nodiscard]] core::Refusal find_fault(const core::AcquireRequest& request) const;
    core::Outcome admit(const core::AcquireRequest& asked);
    std::optional<core::Outcome> take_own(const core::AcquireRequest& request);
    core::Outcome join_queue(const core::AcquireRequest& request);
    [[nodiscard]] core::Outcome find_held(core::Token token,
                                          const std::optional<core::Scope>& scope,
                                          const std::optional<core::Owner>& owner) const;
    [[nodiscard]] bool has_session(core::SessionId session) const;
    Entry* find_entry(core::SessionId session, const core::Scope& scope);
    bool make_room_for_a_lock();

    // naive_table_turns.cc: what ends, and who is next
    [[nodiscard]] bool is_free(const core::AcquireRequest& request, std::uint64_t number) const;
    core::Outcome grant(const core::AcquireRequest& request, const Waiter* waited);
    void start(Lease& lease, const core::AcquireRequest& request);
    void restart(Lease& lease, core::Time expires_at, const core::LeaseTerms& terms);
    void grant_all_that_are_free();
    void time_out_waiters();
    void expire_leases();
    void expire(std::size_t index);
    [[nodiscard]] bool is_ending_before(const Lease& a, const Lease& b) const;
    void end_lease(core::Fence fence, core::Cause cause);
    void remove_waiter(std::uint64_t number, core::EventKind kind, core::Cause cause);
    void forget_lapsed(const core::Scope& scope);
    void settle(const core::Scope& scope, std::uint32_t limit);

    // naive_table_view.cc
    [[nodiscard]] Lease* find_lease(core::Fence fence);
    [[nodiscard]] const Lease* find_lease(core::Fence fence) const;
    [[nodiscard]] std::optional<std::uint32_t> limit_of(const core::Scope& scope) const;
    [[nodiscard]] std::size_t count_waiters(const core::Scope& scope) const;
    void emit(core::EventKind kind, core::Cause cause, const Lease& lease, const Waiter* waited,
              std::string_view previous_owner = {});
    void emit(core::EventKind kind, core::Cause cause, const Waiter& waiter);
    void emit(core::EventKind kind, const Session& session);

    core::TableOptions options_;
    Witness witness_;
    core::Time now_{};
    std::uint64_t grants_ = 0, queued_ = 0, opened_ = 0;
    std::vector<Lease> leases_;    // oldest first; one that is reclaimed keeps its place
    std::vector<Waiter> waiters_;  // in the order they came
    std::vector<Idle> idle_;       // longest idle first
    std::vector<Session> sessions_;
    std::vector<Entry> entries_;
    std::vector<core::Event> events_;
};

// a + b, but never beyond the end of time.
[[nodiscard]] core::Time later(core::Time a, core::Duration b);

}  // namespace holdfast::model
