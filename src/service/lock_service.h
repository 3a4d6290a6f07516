#pragma once

// LockService: the one writer of the lock table.
//
// It stamps every request with the time, runs it, and sees to everything that follows from it:
// answers for those who waited, the commit, the events, the next wake-up. Requests of one thread
// come in by the service itself (it is a Port); other threads use a RemotePort.
//
// The order of things: changes collect during a turn and are committed together at its end, or,
// while a commit is under way, when that one is done. No answer leaves that a crash could make
// untrue: it waits for the commit of what it rests on (lock_service_wait.cc says what that is).
// When a commit fails, nobody is told of success, and everything is refused until the service has
// begun anew from what the store really has, as after a restart.
//
// An answer is given up when its connection dies. A lease is released when every answer that named
// it was given up: then nobody has heard of it (lock_service_unheard.cc). A request with an id is
// the exception: its lease is kept, because its client can ask for it by that id.
//
// Thread safety: everything on the executor's thread, but for the constructor.
// Lifetime: destroyed after its executor has stopped.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/lock_table.h"
#include "service/books/fence_book.h"
#include "service/books/kept_places.h"
#include "service/books/request_memory.h"
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
    // of a turn, or after a commit. May take them, and leave others to be overwritten. May be
    // empty.
    std::function<void(core::Changes&)> on_changes;
    FenceLimits fence_limits = {};
    // Told of every stale number. May be empty.
    std::function<void(const FenceRefusal&)> on_fence_refused = {};
    WaitLimits wait_limits = {};
};

class LockService final : public Port {
  public:
    LockService(const core::TableOptions& options, ServiceParts parts);

    // Takes up what the store remembers. Before the first request; the service does so itself after
    // a failed commit.
    [[nodiscard]] StoreResult<Recovered> recover();

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
    // Responses that are given together, with the texts they point to.
    struct Batch {
        Texts texts;
        std::vector<std::pair<PromiseId, Response>> responses;
        std::vector<FenceRefusal> refusals;  // of which observers are told then

        void clear();
    };

    [[nodiscard]] const Response* take(Request& request) override;

    // lock_service_run.cc
    void run(Request& request);
    void measure();
    bool answer_repeated(const core::AcquireRequest& request);
    void supersede(core::WaiterId waiter);
    [[nodiscard]] bool is_refused_while_stopping(Request& request) const;
    [[nodiscard]] FenceBook make_fence_book() const;

    // lock_service_wait.cc
    [[nodiscard]] bool must_be_committed(const core::Event& event);
    [[nodiscard]] Batch* batch_of(const Request& request);
    [[nodiscard]] Batch* batch_of(const core::LeaseView& lease);
    [[nodiscard]] Batch* batch_of(FenceOutcome::Wait wait);
    [[nodiscard]] Batch* batch_of_everything();
    [[nodiscard]] std::uint64_t fence_to_reserve() const;
    void tell_if_stale(const Request& request, Batch* batch);

    // lock_service_unheard.cc
    void release_if_unheard(core::Token lease, Naming naming);

    // lock_service_long_wait.cc
    std::optional<PromiseId> take_promise_of(core::WaiterId waiter);
    void limit_wait(const Request& request, core::Slot promise);
    void pause_long_waits(core::Time now);
    void give_up_due_places(core::Time now);
    void leave_place(const KeptPlace& place);
    [[nodiscard]] std::optional<core::Time> next_deadline() const;
    void erase_promise(core::Slot slot);

    // lock_service.cc
    void sweep();
    bool absorb_changes();
    void tell_of(core::Changes& changes) const;
    void resolve_waiter(const core::Event& event, bool is_uncommitted);
    [[nodiscard]] std::uint64_t newest_fence() const;
    [[nodiscard]] Promise* find_promise(PromiseId id);
    void owe(PromiseId promise, const Response& response, Batch& batch);
    void end_turn();
    void thin_out_pending();
    [[nodiscard]] bool has_uncommitted() const {
        return has_uncommitted_ || fences_.has_uncommitted();
    }
    void start_commit();
    void finish_commit(const StoreResult<void>& result);
    void fail(const StoreFailure& why);
    void retry();
    void deliver(Batch& batch);
    void arm_wake();

    Clock& clock_;
    Store& store_;
    Executor& executor_;
    const std::function<std::uint64_t()> random_;
    const std::function<void(core::Changes&)> on_changes_;
    const std::function<void(const FenceRefusal&)> on_fence_refused_;

    const bool is_volatile_;  // the store is
    const core::TableOptions options_;
    const FenceLimits fence_limits_;
    const WaitLimits wait_limits_;
    std::unique_ptr<core::LockTable> table_;
    RequestMemory requests_;
    FenceBook fences_;
    ServiceFigures figures_;
    Response response_;      // what the last submit() returned
    core::Time input_time_;  // of what came in together with it
    std::optional<core::Time> wake_at_;
    std::optional<StoreFailure> failure_;  // why nothing is done

    std::uint64_t next_promise_ = 1;
    std::optional<PromiseId> unclaimed_;  // submit() returned nullptr, await() has not come yet
    core::Slab<Promise> promises_;
    std::unordered_map<std::uint64_t, PromiseId> promises_by_waiter_;  // by serial
    core::DeadlineHeap answer_deadlines_;  // of promises: those that are told to ask again
    KeptPlaces places_;
    bool is_stopping_ = false;

    // What happened since the last commit began is in the table: this much of it was looked at,
    std::size_t absorbed_ = 0;
    bool has_uncommitted_ = false;  // and some of it has to be committed.
    bool is_committing_ = false;
    Commit committing_;             // what the commit under way is about
    core::Changes told_;            // what observers are told of; room for later ones
    std::size_t thinned_size_ = 0;  // of what is pending, when thin_out() was called last

    Batch ready_;              // leave at the end of this turn
    Batch after_next_commit_;  // leave after the next commit,
    Batch after_this_commit_;  // and after the one under way
    Batch leaving_;            // what is being given; room for later ones
    // Leases whose new terms go into the next commit, and into the one under way.
    std::unordered_set<std::uint64_t> next_terms_, this_terms_;
    // The largest numbers that are on disk, and that will be after the commit under way.
    std::uint64_t committed_fence_ = 0, committing_fence_ = 0;
    // Numbers up to these are reserved on disk, and will be after the commit under way.
    std::uint64_t reserved_fence_ = 0, reserving_fence_ = 0;
    bool has_transient_ = false;  // whether there was a transient lease

    // Of leases that several answers named: how many of these were given up.
    std::unordered_map<std::uint64_t, std::size_t> given_up_;
};

}  // namespace holdfast::service
