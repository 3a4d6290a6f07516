#pragma once

// LockService: the one writer of the lock table.
//
// It stamps every request with the time, runs it, and sees to everything that follows from it:
// answers for those who waited, the commit, the events, the next wake-up. Requests of one thread
// come in by the service itself (it is a Port); other threads use a RemotePort.
//
// Changes collect during a turn and are committed together at its end, or, while a commit is under
// way, when that one is done. No answer leaves that a crash could make untrue: commit_pipeline.h
// says what each answer waits for.
//
// The service has a Role. It serves after recover() has succeeded. When a commit fails, nobody is
// told of success, and everything is refused until the service has begun anew from what the store
// really has, as after a restart. If another server has the store, the service is deposed: everybody
// who waits is told, the lock table is dropped, and everything is refused until recover() is called
// again and succeeds.
//
// An answer is given up when its connection dies. A lease is released when every answer that named
// it was given up: then nobody has heard of it (lock_service_abandon.cc). A request with an id is
// the exception: its lease is kept, because its client can ask for it by that id.
//
// Thread safety: everything on the executor's thread, but for the constructor.
// Lifetime: destroyed after its executor has stopped.

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/containers/growing_map.h"
#include "core/lock_table.h"
#include "service/books/fence.h"
#include "service/books/kept_places.h"
#include "service/books/request_memory.h"
#include "service/books/wait_rights.h"
#include "service/commit_pipeline.h"
#include "service/events/figures.h"
#include "service/events/texts.h"
#include "service/ports/clock.h"
#include "service/ports/executor.h"
#include "service/ports/port.h"
#include "service/store.h"
#include "service/wait_limits.h"

namespace holdfast::service {

// What a service is made of. All of it outlives the service.
struct ServiceParts {
    Clock& clock;
    Store& store;
    Executor& executor;
    // 64 unguessable bits at each call.
    std::function<std::uint64_t()> random;
    // Told of all transitions, in order, once they can no longer be undone by a crash: at the end
    // of a turn, or after a commit, before the answers that depend on it. May be empty.
    std::function<void(const core::Changes&)> on_changes;
    // Told of the same transitions after the answers. May move them away. May be empty.
    std::function<void(core::Changes&)> take_changes = {};
    // The number of the first event that take_changes, on_fence_refused and on_act are told of: all
    // count in the same row. Zero: nobody counts, and responses have no position.
    std::uint64_t first_event = 0;
    // So many numbers are left out: what happened there will never be told. May be empty.
    std::function<void(std::uint64_t)> on_events_lost = {};
    FenceLimits fence_limits = {};
    // Told of every stale number. May be empty.
    std::function<void(const FenceRefusal&)> on_fence_refused = {};
    // Told of what administrators did. May be empty.
    std::function<void(const AdminAct&)> on_act = {};
    WaitLimits wait_limits = {};
    // Told that the service was deposed, also by a recovery; everybody who waited was told before.
    // May call recover(), so that this server serves when it has the store again. May be empty.
    std::function<void(const StoreFailure&)> on_deposed = {};
};

// How far a request has come that takes several parts (lock_service_parts.cc).
struct Progress {
    core::LockTable::ForcedEnd forced;
    bool is_on_other_scope = false;  // a forced release
    bool had_session = false;        // the end of a session
};

class LockService final : public Port {
  public:
    LockService(const core::TableOptions& options, ServiceParts parts);

    // Begins with what the store remembers, and then serves. Calls `done` with the result: before
    // recover() returns if the store answers at once, otherwise on the executor's thread. Until then
    // everything is refused. If it fails, the caller decides when to try again. After a failed
    // commit the service recovers by itself, unless it is deposed: then its owner does.
    // REQUIRES: no recovery is under way.
    void recover(RecoverDone done);

    [[nodiscard]] Role role() const;

    PromiseId await(AnswerPointer answer) override;
    void abandon(PromiseId promise) override;

    // How the answer to a request names a lease that its client cannot know of otherwise.
    enum class Naming : std::uint8_t {
        none,
        once,   // it is the grant, or a renewal by a client that asked for the lock again
        alone,  // it is the second half of a two-phase request: no other answer counts
    };
    [[nodiscard]] static Naming naming_of(const Request& request);
    [[nodiscard]] static bool names_lease(const Response& response);

    // A response that was given, and named this lease, has reached nobody. REQUIRES: the naming of
    // its request is not `none`, and names_lease() is true of it.
    void give_up(core::Token lease, Naming naming);

    // Lets happen what is due. Called by the executor; by tests that moved the clock.
    void wake();

    // Tells observers now what they would hear at the end of this turn.
    void tell();

    // The server is about to end. Everybody who waits is answered as `stopping`, and so is whoever
    // asks for a lock from now on. Renewals, releases and looks are answered as before.
    void begin_stop();

    // Ends the waits of clients that have lost the right to what they wait for, and returns how many
    // these were. They are answered as `denied`. REQUIRES: called in the turn in which rights have
    // changed, after the change; then no wait without a right is granted.
    std::size_t end_waits_without_right();

    // Nobody heard that this wait was answered as `still_waiting`: its place is not kept. Does
    // nothing if somebody has taken the place.
    void give_up_place(core::WaiterId waiter);

    [[nodiscard]] core::TableCounts counts() const { return table_->counts(); }

  private:
    // A response that is owed.
    struct Promise {
        std::uint64_t number = 0;
        AnswerPointer answer;
        Operation operation = Operation::none;
        core::WaiterId waiter;  // what it waits for, if that is a lock
        core::WaiterId place;   // what is kept for it, if it is told to ask again
        Naming naming = Naming::none;
        std::optional<core::Token> lease;  // that the response names
        core::SessionId session;           // that the response names
    };
    // Somebody who is told of a failure when the service knows what the store has.
    struct Withheld {
        PromiseId promise;
        bool is_unknown = false;  // the request may have been done
    };
    struct Recovery;

    [[nodiscard]] const Response* take(Request& request, const Asker& asker) override;

    // lock_service_run.cc
    [[nodiscard]] bool run(Request& request, const Asker& asker, Progress& progress);
    void tell_act(const TellAct& act, std::string_view by);
    void tell_act(const AdminAct& act);

    // lock_service_parts.cc: requests that take several turns
    struct LongRequest {
        PromiseId promise;
        Request request;
        Texts texts;  // of the request
        std::string by;
        std::shared_ptr<const core::ScopeFilter> allowed;  // see Asker
        Progress progress;
        bool has_begun = false;  // otherwise it waits until the table is not behind
    };
    [[nodiscard]] bool must_wait_for_table(const Request& request) const;
    void keep_for_later(const Request& request, const Asker& asker, const Progress& progress);
    void go_on_with_long_requests();
    void go_on_in_next_turn();
    [[nodiscard]] bool advance(core::Time now);
    void log_sweep(core::Time began, std::uint64_t expired);
    void measure();
    bool refuse_denied(const Request& request, const core::ScopeFilter& allowed);
    bool answer_repeated(const core::AcquireRequest& request, std::string_view by);
    void supersede(core::WaiterId waiter);
    [[nodiscard]] bool is_refused_while_stopping(Request& request) const;
    [[nodiscard]] bool asks_for_new_lock(const Request& request) const;
    bool refuse_growth(const Request& request);
    [[nodiscard]] std::string why_no_growth() const;
    [[nodiscard]] FenceBook make_fence_book() const;

    // lock_service_failure.cc
    void fail(const StoreFailure& why);
    void lose(const StoreFailure& why);
    void fail_if_lost();
    void drop_table();
    void retry();
    void finish_recovery();
    void begin_with(Recovery& recovery, const Recovered& recovered);
    void skip_events_of_others();
    void refuse_withheld();
    void refuse_unconfirmed(const Request& request);
    void refuse_unconfirmed(const Answers& answers);
    [[nodiscard]] bool is_serving() const { return state_ == Role::serving; }
    [[nodiscard]] bool has_authority() const;
    [[nodiscard]] bool refuse_if_not_serving(Response& response);

    // lock_service_abandon.cc
    void release_if_unheard(core::Token lease, Naming naming);
    void cancel_wait(core::Time now, core::WaiterId waiter);

    // lock_service_long_wait.cc
    std::optional<PromiseId> take_promise_of(core::WaiterId waiter);
    void limit_wait(const Request& request, core::Slot promise);
    void pause_long_waits(core::Time now);
    void give_up_due_places(core::Time now);
    void leave_place(const KeptPlace& place);
    void end_waits(const Response& refusal);
    void end_waits_without_growth();
    void keep_right(const Request& request, const AllowedScopes& allowed);
    [[nodiscard]] std::optional<core::Time> next_deadline() const;
    void erase_promise(core::Slot slot);

    // lock_service.cc
    [[nodiscard]] const Response* conclude(const Request& request, const Asker& asker,
                                           std::optional<PromiseId> promised);
    void sweep();
    bool absorb_changes();
    void resolve_waiter(const core::Event& event, bool is_uncommitted);
    [[nodiscard]] std::optional<core::Outcome> find_in_the_way(const core::LeaseView& wanted) const;
    [[nodiscard]] std::uint64_t newest_fence() const;
    [[nodiscard]] PromiseId make_promise(Operation operation);
    [[nodiscard]] Promise* find_promise(PromiseId id);
    void undo(const Promise& promise);
    void owe(PromiseId promise, const Response& response, CommitNumber commit);
    void owe_refusal(PromiseId promise, core::Time now, core::Refusal refusal,
                     core::WaiterId waiter = {});
    void tell_if_stale(const Request& request, CommitNumber commit);
    void tell_refusal(const FenceRefusal& refusal);
    [[nodiscard]] std::uint64_t position() const;
    void lose_events(std::uint64_t count);
    void end_turn();
    void deliver_ready();
    void start_commit();
    void finish_commit(const StoreResult<void>& result);
    void deliver(const Answers& answers, const core::Changes& changes);
    void give(PromiseId id, const Response& response, core::Time now);
    void arm_wake();

    Clock& clock_;
    Store& store_;
    Executor& executor_;
    const std::function<std::uint64_t()> random_;
    const std::function<void(const core::Changes&)> on_changes_;
    const std::function<void(core::Changes&)> take_changes_;
    const std::function<void(const FenceRefusal&)> on_fence_refused_;
    const std::function<void(const AdminAct&)> on_act_;
    const std::function<void(std::uint64_t)> on_events_lost_;
    const std::function<void(const StoreFailure&)> on_deposed_;

    const bool is_volatile_;  // the store is
    const core::TableOptions options_;
    const FenceLimits fence_limits_;
    const WaitLimits wait_limits_;
    std::unique_ptr<core::LockTable> table_;
    RequestMemory requests_;
    FenceBook fences_;
    ServiceFigures figures_;
    CommitPipeline pipeline_;
    Response response_;      // what the last submit() returned
    Statement statement_;    // what it says
    core::Time input_time_;  // of what came in together with it
    std::optional<core::Time> wake_at_;

    Role state_ = Role::recovering;        // recovering, serving, failed or deposed
    std::optional<StoreFailure> failure_;  // failed, deposed: why
    std::optional<StoreFailure> lost_;     // serving: the store is lost, once the commit has ended
    core::Time next_recovery_;             // after an unknown commit, not before this
    std::shared_ptr<Recovery> recovery_;   // recovering, unless recover() has not been called yet
    std::vector<Withheld> withheld_;
    // Leases that were granted in a commit of which nobody knows whether it is written, and of which
    // their clients were told just that. If the store has them, they are released.
    std::vector<core::Token> unheard_;
    std::string refusal_;  // that a response points to: what the store has said

    std::uint64_t next_promise_ = 1;
    std::optional<PromiseId> unclaimed_;  // submit() returned nullptr, await() has not come yet
    core::Slab<Promise> promises_;
    core::GrowingMap<std::uint64_t, PromiseId> promises_by_waiter_;  // by serial
    core::DeadlineHeap answer_deadlines_;  // of promises: those that are told to ask again
    KeptPlaces places_;
    WaitRights wait_rights_;
    bool is_stopping_ = false;
    std::list<LongRequest> long_requests_;  // in the order in which they came
    bool is_going_on_ = false;              // the next turn has another part of long work

    std::size_t absorbed_ = 0;    // so many of the table's changes were looked at
    core::Changes told_;          // what observers are told of; memory for later ones
    bool is_delivering_ = false;  // the answers of a commit whose changes are not yet taken
    std::vector<std::function<void()>> late_acts_;  // to be told when they are
    bool is_pausing_ = false;  // answers wait for the next turn: this one had many of them

    // Observers number what they are told. Refused fences and acts are told between the events of the
    // table, and are counted apart: how many there will have been before an event is not known when the
    // event happens.
    const std::uint64_t first_event_;
    std::uint64_t told_events_ = 0;  // of the table, those that were lost included
    std::uint64_t told_asides_ = 0;  // refused fences and acts

    // Of leases that several answers named: how many of these were given up.
    core::GrowingMap<std::uint64_t, std::size_t> given_up_;
};

}  // namespace holdfast::service
