// What the service does when it cannot serve: it begins, the store failed, or another server has it.

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/log/log.h"
#include "service/lock_service.h"

namespace holdfast::service {

namespace {

// How often a store that failed is tried again.
constexpr core::Duration retry_interval = std::chrono::seconds{1};

constexpr std::string_view recovering_message = "the server is recovering its locks";
constexpr std::string_view unconfirmed_message =
    "the server cannot be sure that no other server has taken over its locks (it may have been "
    "done)";

// Every sentence about a request whose result is unknown ends so: at most doors, the client sees only
// the sentence.
constexpr std::string_view doubt = " (it may have been done)";

}  // namespace

// What a recovery collects until it takes the place of what the service has.
//
// Thread safety: the store fills it, on any thread; the service looks at it after that.
struct LockService::Recovery {
    std::unique_ptr<core::LockTable> table;
    RequestMemory requests;
    FenceBook fences;
    core::Time began;
    RecoverDone done;

    // The store may answer on another thread while Store::recover() has not returned yet.
    std::mutex mutex;
    bool has_returned = false;
    std::optional<StoreResult<Recovered>> result;
};

void LockService::recover(RecoverDone done) {
    CHECK(!recovery_);
    if (state_ == Role::deposed) failure_.reset();  // everybody was told
    state_ = Role::recovering;
    // No number is used again, whoever was told of it.
    core::TableOptions options = options_;
    options.first_serial = table_->next_serial();
    options.first_fence = table_->next_fence();
    const std::shared_ptr<Recovery> recovery(
        new Recovery{.table = std::make_unique<core::LockTable>(options),
                     .requests = {},
                     .fences = make_fence_book(),
                     .began = clock_.now(),
                     .done = std::move(done)});
    recovery_ = recovery;
    const auto on_lease = [recovery](const core::RestoreRequest& lease) {
        recovery->requests.on_restored(lease);
        return recovery->table->restore(recovery->began, lease);
    };
    store_.recover(on_lease, [this, recovery](StoreResult<Recovered> result) {
        const std::lock_guard guard(recovery->mutex);
        recovery->result = std::move(result);
        if (recovery->has_returned) executor_.post([this] { finish_recovery(); });
    });
    std::unique_lock guard(recovery->mutex);
    recovery->has_returned = true;
    const bool is_finished = recovery->result.has_value();
    guard.unlock();
    if (is_finished) finish_recovery();
}

void LockService::finish_recovery() {
    const std::shared_ptr<Recovery> recovery = std::exchange(recovery_, nullptr);
    StoreResult<Recovered>& result = *recovery->result;
    if (result) {
        begin_with(*recovery, *result);
    } else if (result.error().kind == StoreFailure::Kind::deposed) {
        // Also of a recovery that the service began by itself: only its owner can begin the next.
        fail(StoreFailure(result.error()));
    } else {
        state_ = Role::failed;
        if (!failure_) failure_ = result.error();
    }
    refuse_withheld();
    if (result) failure_.reset();
    executor_.at_end_of_turn();
    recovery->done(std::move(result));
}

void LockService::begin_with(Recovery& recovery, const Recovered& recovered) {
    // Nobody could renew while the store was read, which may have taken long.
    recovery.table->start_restored(clock_.now());
    recovery.table->skip_fences_below(recovered.next_fence);
    for (const FenceMark& mark : recovered.fences) recovery.fences.restore(mark);
    table_ = std::move(recovery.table);
    requests_ = std::move(recovery.requests);
    fences_ = std::move(recovery.fences);
    absorbed_ = table_->changes().size();
    pipeline_.begin(newest_fence(), recovered.next_fence - 1);
    given_up_.clear();
    skip_events_of_others();
    state_ = Role::serving;
    // No client has the token of these leases, and one without an end would be held for ever.
    for (const core::Token token : std::exchange(unheard_, {})) {
        table_->release(clock_.now(), {.token = token, .cause = core::Cause::none});
    }
    absorb_changes();
}

// Another server may have served meanwhile, and numbered its events. The numbers of all servers
// begin with the microseconds of the wall clock, and go on there after a change: so no server gives
// out a number that another has given out for something else.
void LockService::skip_events_of_others() {
    const core::Duration wall = clock_.wall(clock_.now()).time_since_epoch();
    const std::uint64_t next = first_event_ + told_events_ + told_asides_;
    const auto present = static_cast<std::uint64_t>(std::max<std::int64_t>(wall.count(), 0));
    const bool is_believable = present < core::as_number(core::fence_max) / 2;
    if (first_event_ > 0 && is_believable && present > next) lose_events(present - next);
}

// A commit failed: what is in memory is more than what the store has. Later changes are built on
// the failed ones, so everybody who waits is told of the failure.
void LockService::fail(const StoreFailure& why) {
    const bool is_deposed = why.kind == StoreFailure::Kind::deposed;
    state_ = is_deposed ? Role::deposed : Role::failed;
    failure_ = why;
    lost_.reset();
    if (failure_->message.empty()) failure_->message = "the store failed";
    if (is_deposed) failure_->is_busy = true;  // somebody else serves, or will soon
    base::log(is_deposed ? base::LogLevel::warning : base::LogLevel::error,
              is_deposed ? "this server has lost the store: refusing everything"
                         : "commit failed: refusing everything",
              {{"error", failure_->message}});
    const bool is_unknown = why.kind != StoreFailure::Kind::not_done;
    // At least one, so that every reader learns of it: waiters and sessions end without an event.
    lose_events(pipeline_.count_pending(*table_) + 1);
    for (const auto& one : pipeline_.fail()) {
        const bool is_doubtful = is_unknown && one.was_under_way;
        withheld_.push_back({.promise = one.promise, .is_unknown = is_doubtful});
        const Promise* const promise = is_doubtful ? find_promise(one.promise) : nullptr;
        if (promise == nullptr || !promise->lease) continue;
        const bool is_new = core::as_number(promise->lease->fence) > pipeline_.done_fence();
        if (is_new) unheard_.push_back(*promise->lease);
    }
    promises_by_waiter_.for_each([this](std::uint64_t, PromiseId promise) {
        answer_deadlines_.disarm(promise.slot);
        withheld_.push_back({.promise = promise});
    });
    promises_by_waiter_.clear();
    for (const LongRequest& one : std::exchange(long_requests_, {})) {
        withheld_.push_back({.promise = one.promise});
    }
    table_->clear_changes();
    absorbed_ = 0;
    places_.clear();
    wait_rights_.clear();
    if (why.kind == StoreFailure::Kind::unknown) {
        // A store that fails again and again is not read all the time.
        const core::Duration pause = next_recovery_ - clock_.now();
        return pause > core::Duration::zero() ? executor_.wake_after(pause) : retry();
    }
    refuse_withheld();
    if (!is_deposed) return executor_.wake_after(retry_interval);
    drop_table();
    if (on_deposed_) on_deposed_(StoreFailure(*failure_));
}

// The store was lost while no commit was under way there. The service may not have heard yet of the
// end of the last one, or has started another since: then finish_commit() comes back to it. A service
// that has failed would recover by itself a moment later, and does not: the store is another server's.
void LockService::lose(const StoreFailure& why) {
    if (state_ == Role::failed) return fail(why);
    if (!is_serving()) return;
    lost_ = why;
    fail_if_lost();
    executor_.at_end_of_turn();
}

void LockService::fail_if_lost() {
    if (lost_ && is_serving() && !pipeline_.is_under_way()) fail(StoreFailure(*lost_));
}

// What the service knows of locks is not true any more: another server decides.
void LockService::drop_table() {
    core::TableOptions options = options_;
    options.first_serial = table_->next_serial();
    options.first_fence = table_->next_fence();
    table_ = std::make_unique<core::LockTable>(options);
    requests_ = {};
    fences_ = make_fence_book();
    given_up_.clear();
    unheard_.clear();
}

// Begins anew from what the store really has, as a restart would.
void LockService::retry() {
    next_recovery_ = clock_.now() + retry_interval;
    recover([this](const StoreResult<Recovered>& recovered) {
        if (recovered) {
            base::log(base::LogLevel::info, "the store works again",
                      {{"leases", std::uint64_t{recovered->leases}}});
        } else if (state_ == Role::failed) {
            executor_.wake_after(retry_interval);
        }
    });
}

void LockService::refuse_withheld() {
    if (withheld_.empty()) return;
    const core::Time now = clock_.now();
    const std::string message = failure_->message;
    const std::string doubtful = message + std::string(doubt);
    for (const Withheld& one : std::exchange(withheld_, {})) {
        Response response{.now = now, .failure = one.is_unknown ? doubtful : message};
        response.is_busy = failure_->is_busy;
        response.is_unknown = one.is_unknown;
        give(one.promise, response, now);
    }
}

// The response rests on memory alone, and the authority deadline has passed: says so, and takes
// back what the response would have given. What a two-phase request was granted stays with its
// session: an earlier answer may have told of it.
void LockService::refuse_unconfirmed(const Request& request) {
    if (std::holds_alternative<Measure>(request) || std::holds_alternative<TellAct>(request))
        return;
    Promise promise{.naming = naming_of(request), .session = response_.session};
    const bool is_queued = response_.outcome.kind == core::Outcome::Kind::queued;
    if (is_queued) promise.waiter = response_.outcome.waiter;
    const bool is_only_told_here = promise.naming == Naming::once && names_lease(response_);
    if (is_only_told_here) promise.lease = response_.outcome.lease.token;
    undo(promise);
    response_ = {.now = response_.now, .failure = unconfirmed_message, .is_unknown = true};
}

// The same for answers that were about to leave.
void LockService::refuse_unconfirmed(const Answers& answers) {
    const core::Time now = clock_.now();
    const Response response{.now = now, .failure = unconfirmed_message, .is_unknown = true};
    for (const Answers::Owed& owed : answers.owed()) {
        const Promise* const promise = find_promise(owed.promise);
        if (promise == nullptr) continue;
        if (is_serving()) {
            const bool is_only_told_here = promise->naming == Naming::once;
            undo({.place = promise->place,
                  .naming = promise->naming,
                  .lease = is_only_told_here ? promise->lease : std::nullopt,
                  .session = promise->session});
        }
        give(owed.promise, response, now);
    }
}

bool LockService::has_authority() const {
    const core::Time deadline = store_.authority_deadline();
    return deadline == core::Time::max() || clock_.now() < deadline;
}

Role LockService::role() const {
    if (!is_serving()) return state_;
    if (!has_authority()) return Role::unconfirmed;
    return is_stopping_ ? Role::stopping : Role::serving;
}

// True if the service does not serve; then the response says why.
bool LockService::refuse_if_not_serving(Response& response) {
    response.is_busy = response.is_unknown = false;
    if (is_serving()) {
        response.failure = {};
    } else if (state_ == Role::recovering) {
        refusal_ = store_.why_not_recovered();
        response.failure = refusal_.empty() ? recovering_message : refusal_;
        response.is_busy = true;
    } else {
        response.failure = failure_->message;
        response.is_busy = failure_->is_busy;
    }
    return !response.failure.empty();
}

}  // namespace holdfast::service
