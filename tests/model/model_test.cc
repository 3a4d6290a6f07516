// Random calls on the lock table.
//
//   - Side by side: the engine and the naive model show the same.
//   - Sets alone: requests for several locks of clients who hold nothing never block each other for
//     ever.
//   - Replay: the same calls give the same answers, the same events in the same order and the same
//     digest. The hash seed, which is random in production, makes no difference. When everything
//     has ended, nothing is left.
//
// Every case is some hundred runs of up to 400 calls each. RapidCheck prints the seed at the start.
// When a case fails, it prints the shrunk calls and the RC_PARAMS with which to run the case again.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <string>

#include "model/side_by_side.h"

namespace holdfast::model {
namespace {

using core::LockTable;
using core::TableOptions;

void run_side_by_side(const Universe& universe) {
    const std::vector<Step> steps = *arbitrary_steps();
    SideBySide both(universe);
    for (const Step& step : steps) {
        const std::string difference = both.run(step);
        if (!difference.empty()) RC_FAIL(difference);
    }
}

RC_GTEST_PROP(LockTableModel, AgreesOnOneName, ()) {
    run_side_by_side(one_name());
}
RC_GTEST_PROP(LockTableModel, AgreesOnEveryKindOfScope, ()) {
    run_side_by_side(one_of_each());
}
RC_GTEST_PROP(LockTableModel, AgreesOnRangesOfAnInode, ()) {
    run_side_by_side(one_inode());
}
RC_GTEST_PROP(LockTableModel, AgreesOnIdleSemaphores, ()) {
    run_side_by_side(idle_permits());
}
RC_GTEST_PROP(LockTableModel, AgreesWithinTightLimits, ()) {
    run_side_by_side(tight_limits());
}
RC_GTEST_PROP(LockTableModel, AgreesOnADoorWithLimitsOfItsOwn, ()) {
    run_side_by_side(door_of_its_own());
}
RC_GTEST_PROP(LockTableModel, AgreesOnFewLeases, ()) {
    run_side_by_side(few_leases());
}
RC_GTEST_PROP(LockTableModel, AgreesOnManyLocks, ()) {
    run_side_by_side(many_locks());
}
RC_GTEST_PROP(LockTableModel, AgreesOnClientsThatWaitForEachOther, ()) {
    run_side_by_side(crosswise());
}

// ---- Sets alone ----

// Sets that are asked for by clients who hold nothing: each request is a client of its own.
// Whatever the sets, nobody waits for ever. While anything is held, somebody can end it; and when
// all that is held has ended, again and again, nobody waits any more.
RC_GTEST_PROP(SetsAlone, NeverWaitForEachOtherForEver, ()) {
    const Universe universe = crosswise();
    core::LockTable table(universe.options);
    std::vector<Step> steps = *arbitrary_steps();
    const History history(universe);
    const Names names;
    std::uint64_t serial = 0;
    std::deque<std::string> clients;
    for (Step& step : steps) {
        step.operation = Operation::acquire;
        step.pace = Pace::stand;
        step.flaw = Flaw::none;
        step.flag = false;
        step.limit = 2;
        Call call = make_call_of(step,
                                 {.universe = universe,
                                  .history = history,
                                  .names = names,
                                  .now = {},
                                  .next_deadline = {}},
                                 ++serial);
        call.request.wait = core::wait_forever;
        call.request.grace = {};
        call.request.members = call.members;
        call.request.notes.waiter = clients.emplace_back(std::to_string(serial));
        table.acquire(call.now, call.request);
        table.check_invariants();
        for (const core::Event& event : table.changes()) {
            RC_ASSERT(event.kind != core::EventKind::deadlock);
        }
        RC_ASSERT(table.list_deadlocks().cycles.empty());
        table.clear_changes();
    }
    while (table.counts().waiters > 0) {
        std::vector<core::Token> held;
        for (const core::LeaseView& lease : table.list_leases({.limit = SIZE_MAX})) {
            held.push_back(lease.token);
        }
        RC_ASSERT(!held.empty());
        for (const core::Token& token : held) table.release({}, {.token = token});
        table.check_invariants();
    }
}

// ---- Replay ----

// A table with its history, and everything that it shows after a call.
class Replica {
  public:
    Replica(const Universe& universe, const TableOptions& options)
        : universe_(universe), table_(options), history_(universe) {}

    // The call that a step means now.
    [[nodiscard]] Call read(const Step& step) {
        return make_call_of(step,
                            {.universe = universe_,
                             .history = history_,
                             .names = names_,
                             .now = table_.now(),
                             .next_deadline = table_.next_deadline()},
                            ++serial_);
    }

    std::string make(const Call& call) {
        table_.clear_changes();
        const Reply reply = make_call(table_, names_, call);
        history_.note(call, reply, table_.changes());
        std::string seen = to_text(reply, names_);
        for (std::size_t index = 0; index < table_.changes().size(); ++index) {
            const core::Event event = table_.changes()[index];
            seen += '\n' + to_text(event, names_) + " queue " + std::to_string(event.queue_length) +
                    " version " + std::to_string(event.lease.version);
        }
        const auto deadline = table_.next_deadline();
        return seen + "\ndeadline " + (deadline ? to_text(*deadline) : "-") + "\ndigest " +
               std::to_string(table_.digest());
    }

    LockTable& table() { return table_; }
    const Names& names() const { return names_; }

  private:
    const Universe& universe_;
    LockTable table_;
    Names names_;
    History history_;
    std::uint64_t serial_ = 0;
};

void run_replicas(const Universe& universe, std::uint64_t other_seed) {
    TableOptions other_options = universe.options;
    other_options.hash_seed = other_seed;
    Replica one(universe, universe.options), other(universe, other_options);
    const std::vector<Step> steps = *arbitrary_steps();
    for (const Step& step : steps) {
        const Call call = one.read(step);
        RC_LOG() << to_text(call) << '\n';
        RC_ASSERT(one.make(call) == other.make(call));
    }
}

RC_GTEST_PROP(Replay, IsTheSameTwice, ()) {
    for (const Universe& universe :
         {one_of_each(), one_inode(), tight_limits(), crosswise(), door_of_its_own()}) {
        run_replicas(universe, universe.options.hash_seed);
    }
}

RC_GTEST_PROP(Replay, DoesNotDependOnTheHashSeed, ()) {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    for (const Universe& universe : {idle_permits(), many_locks()}) run_replicas(universe, seed);
}

// Ends everything that can be ended, and lets the rest expire.
void wind_down(Replica& replica) {
    LockTable& table = replica.table();
    for (const core::SessionId session : replica.names().sessions) {
        table.end_session(table.now(), session);
    }
    for (const core::WaiterId waiter : replica.names().waiters) table.cancel(table.now(), waiter);
    std::vector<core::Token> endless;
    for (const core::LeaseView& lease : table.list_leases({.limit = SIZE_MAX})) {
        if (lease.is_endless()) endless.push_back(lease.token);
    }
    for (const core::Token& token : endless) table.release(table.now(), {.token = token});
    while (const auto deadline = table.next_deadline()) {
        RC_ASSERT(*deadline >= table.now());
        table.advance(*deadline);
        table.check_invariants();
    }
}

// A new table with the same time, fencing number and serial number. The digest covers these, so an
// old table that is empty can equal a new one only if they agree.
void expect_like_new(LockTable& old, const TableOptions& options) {
    const core::Owner nobody;
    const core::SessionId last = old.open_session(old.now(), nobody);
    old.end_session(old.now(), last);
    TableOptions fresh_options = options;
    fresh_options.first_fence = old.next_fence();
    LockTable fresh(fresh_options);
    for (std::uint64_t serial = 0; serial < last.serial;) {
        const core::SessionId session = fresh.open_session(old.now(), nobody);
        serial = session.serial;
        fresh.end_session(old.now(), session);
    }
    RC_ASSERT(fresh.digest() == old.digest());
}

RC_GTEST_PROP(Replay, LeavesNothingBehind, ()) {
    for (const Universe& universe :
         {one_of_each(), one_inode(), idle_permits(), many_locks(), door_of_its_own()}) {
        Replica replica(universe, universe.options);
        const std::vector<Step> steps = *arbitrary_steps();
        for (const Step& step : steps) replica.make(replica.read(step));
        wind_down(replica);
        RC_ASSERT(to_text(replica.table().counts()) == to_text(core::TableCounts{}));
        RC_ASSERT(replica.table().list({.with_idle = true}).empty());
        expect_like_new(replica.table(), universe.options);
    }
}

}  // namespace
}  // namespace holdfast::model
