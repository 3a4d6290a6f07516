#include "service/lock_service.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log/log.h"

namespace holdfast::service {

namespace {

// An answer may lead to the next request at once, and that to the next answer. So often in one turn;
// then other clients have their turn.
constexpr int rounds_of_answers_max = 64;

// Whether the answer comes with a grant or a time-out instead of at once.
bool is_waiting(const Request& request, const core::Outcome& outcome) {
    return outcome.kind == core::Outcome::Kind::queued && !std::holds_alternative<Enqueue>(request);
}

// Whether the response shows what there is: events then tell what changes after it.
bool is_snapshot(const Request& request) {
    return std::holds_alternative<Inspect>(request) || std::holds_alternative<List>(request) ||
           std::holds_alternative<ListLeases>(request) ||
           std::holds_alternative<ListDeadlocks>(request) ||
           std::holds_alternative<ListSessions>(request);
}

// The outcome of a request that an event can stand for.
std::optional<core::Outcome::Kind> outcome_of(core::EventKind kind) {
    switch (kind) {
        case core::EventKind::granted: return core::Outcome::Kind::granted;
        case core::EventKind::renewed:
        case core::EventKind::value_set: return core::Outcome::Kind::renewed;
        case core::EventKind::released: return core::Outcome::Kind::released;
        default: return std::nullopt;
    }
}

// Whether the event says all that the response says, and stays until it is committed.
bool tells_the_same(const core::Event& event, const Response& response) {
    const core::Outcome& outcome = response.outcome;
    if (outcome_of(event.kind) != outcome.kind || response.details || !core::is_kept(event)) {
        return false;
    }
    // The answer to a release names no lease.
    return outcome.kind == core::Outcome::Kind::released ||
           event.lease.token == outcome.lease.token;
}

// Writes the response that the event stands for over another one of this function.
void tell_of(const core::Event& event, Response& response) {
    response.now = event.at;
    response.outcome.kind = *outcome_of(event.kind);
    const bool is_over = event.kind == core::EventKind::released;
    response.outcome.lease = is_over ? core::LeaseView{} : event.lease;
    response.outcome.previous_owner = is_over ? std::string_view() : event.previous_owner;
}

}  // namespace

LockService::LockService(const core::TableOptions& options, ServiceParts parts)
    : clock_(parts.clock),
      store_(parts.store),
      executor_(parts.executor),
      random_(std::move(parts.random)),
      on_changes_(std::move(parts.on_changes)),
      take_changes_(std::move(parts.take_changes)),
      on_fence_refused_(std::move(parts.on_fence_refused)),
      on_act_(std::move(parts.on_act)),
      on_events_lost_(std::move(parts.on_events_lost)),
      on_deposed_(std::move(parts.on_deposed)),
      is_volatile_(parts.store.is_volatile()),
      options_(options),
      fence_limits_(parts.fence_limits),
      wait_limits_(parts.wait_limits),
      table_(std::make_unique<core::LockTable>(options)),
      fences_(make_fence_book()),
      pipeline_(parts.store, fences_, parts.clock),
      first_event_(parts.first_event) {
    executor_.bind([this] { end_turn(); }, [this] { wake(); });
    store_.on_lost([this](const StoreFailure& why) { executor_.post([this, why] { lose(why); }); });
}

const Response* LockService::take(Request& request, const Asker& asker) {
    CHECK(!unclaimed_);
    Progress progress;
    if (run(request, asker, progress)) return conclude(request, asker, std::nullopt);
    keep_for_later(request, asker, progress);
    return nullptr;
}

// The request was run, and response_ is what came of it: returns it if it may be given at once.
// Otherwise it is promised: to `promised`, or to a new promise that await() claims.
const Response* LockService::conclude(const Request& request, const Asker& asker,
                                      std::optional<PromiseId> promised) {
    const Operation operation = operation_of(request);
    const auto give_now = [&] {
        if (!promised) figures_.on_answer(operation, response_, core::Duration::zero());
        return &response_;
    };
    if (!response_.failure.empty()) return give_now();
    if (absorb_changes()) statement_.has_changes = true;
    if (response_.outcome.kind == core::Outcome::Kind::queued) keep_right(request, asker.allowed);
    const bool waits = is_waiting(request, response_.outcome);
    const CommitNumber commit = pipeline_.rests_on(statement_, response_.outcome);
    if (statement_.about == Statement::About::fence) tell_if_stale(request, commit);
    if (first_event_ > 0 && is_snapshot(request)) response_.position = position();
    if (!waits && pipeline_.is_done(commit)) {
        if (response_.position > 0) response_.position += told_asides_;
        if (!has_authority()) refuse_unconfirmed(request);
        return give_now();
    }
    if (!promised) unclaimed_ = promised = make_promise(operation);
    Promise& promise = promises_[promised->slot];
    promise.naming = naming_of(request);
    if (waits) {
        promise.waiter = response_.outcome.waiter;
        promises_by_waiter_[promise.waiter.serial] = *promised;
        limit_wait(request, promised->slot);
    } else {
        if (promise.naming != Naming::none && names_lease(response_)) {
            promise.lease = response_.outcome.lease.token;
        }
        promise.session = response_.session;
        const core::Changes& changes = table_->changes();
        if (statement_.has_changes && tells_the_same(changes.last(), response_)) {
            pipeline_.answers_after(commit).add_event(*promised, changes.size() - 1);
        } else {
            owe(*promised, response_, commit);
        }
    }
    return nullptr;
}

PromiseId LockService::make_promise(Operation operation) {
    const core::Slot slot = promises_.emplace();
    Promise& promise = promises_[slot];
    promise.number = next_promise_++;
    promise.operation = operation;
    return {.number = promise.number, .slot = slot};
}

PromiseId LockService::await(AnswerPointer answer) {
    CHECK(unclaimed_);
    promises_[unclaimed_->slot].answer = std::move(answer);
    return *std::exchange(unclaimed_, std::nullopt);
}

void LockService::wake() {
    wake_at_.reset();
    if (state_ == Role::failed) retry();
    if (is_serving()) sweep();
    executor_.at_end_of_turn();
}

// Ends what has come to its end by itself.
void LockService::sweep() {
    const core::Time now = clock_.now();
    requests_.forget_old(now);
    end_waits_without_growth();
    static_cast<void>(advance(now));  // nobody asks
    give_up_due_places(now);
    pause_long_waits(now);
    absorb_changes();
    input_time_ = std::max(input_time_, now);
    go_on_with_long_requests();
}

// The newest fencing number that was given out.
std::uint64_t LockService::newest_fence() const {
    return table_->next_fence() - 1;
}

// Sees to what follows from what happened in the table. True if an answer that depends on it must
// wait for a commit.
bool LockService::absorb_changes() {
    const core::Changes& changes = table_->changes();
    bool is_any_uncommitted = false;
    while (absorbed_ < changes.size()) {
        const std::size_t end = pipeline_.begin_step(changes, absorbed_);
        for (; absorbed_ < end; ++absorbed_) {
            const core::Event& event = changes[absorbed_];
            requests_.on_event(event);
            figures_.on_event(event);
            const bool is_uncommitted = pipeline_.add(event);
            is_any_uncommitted = is_any_uncommitted || is_uncommitted;
            const bool is_over =
                event.kind == core::EventKind::released || event.kind == core::EventKind::expired;
            if (is_over && !given_up_.empty()) {
                given_up_.erase(core::as_number(event.lease.token.fence));
            }
            if (event.waiter) resolve_waiter(event, is_uncommitted);
        }
    }
    return is_any_uncommitted;
}

// Tells observers what happened lately, if all of it is on disk, or need not be.
void LockService::tell() {
    // Those who take changes get them in order.
    if (is_delivering_ && take_changes_) return;
    if (!pipeline_.is_idle() || table_->changes().empty()) return;
    table_->swap_changes(told_);
    told_events_ += told_.size();
    absorbed_ = 0;
    if (on_changes_) on_changes_(told_);
    if (take_changes_) take_changes_(told_);
    told_.clear();
}

// Somebody's wait is over.
void LockService::resolve_waiter(const core::Event& event, bool is_uncommitted) {
    if (event.kind == core::EventKind::queued) return;
    wait_rights_.forget(event.waiter);
    const bool is_granted = event.kind == core::EventKind::granted;
    const auto id = take_promise_of(event.waiter);
    if (!id) {  // nobody waits there at the moment; perhaps its place is kept
        if (is_granted) return places_.grant(event.waiter, event.lease.token);
        places_.take(event.waiter);
        return;
    }
    Response response{.now = event.at};
    if (is_granted) {
        response.outcome.kind = core::Outcome::Kind::granted;
        response.outcome.lease = event.lease;
        response.outcome.previous_owner = event.previous_owner;
        if (names_lease(response)) promises_[id->slot].lease = event.lease.token;
    } else if (event.kind == core::EventKind::wait_timed_out) {
        response.outcome.refusal = core::Refusal::timed_out;
        response.outcome.queue_length = event.queue_length;
        const auto blocker = find_in_the_way(event.lease);
        // The answer waits for no commit, so it names only what is on disk. Waiters never are.
        const bool is_told = blocker && pipeline_.is_done(pipeline_.rests_on(blocker->lease));
        if (is_told) {
            response.outcome.lease = blocker->lease;
            response.outcome.is_behind_waiter = blocker->is_behind_waiter;
        }
    } else {
        response.outcome.refusal = core::Refusal::unknown_session;
    }
    const CommitNumber commit =
        pipeline_.rests_on({.has_changes = is_uncommitted}, response.outcome);
    if (is_uncommitted && tells_the_same(event, response)) {
        pipeline_.answers_after(commit).add_event(*id, absorbed_);
    } else {
        owe(*id, response, commit);
    }
}

// What was in the way of a waiter, as it is now; of a set, in the way of one of its members: a lease
// or, if there is none, another waiter.
std::optional<core::Outcome> LockService::find_in_the_way(const core::LeaseView& wanted) const {
    const auto members = core::parse_set(wanted.members);
    if (!members || members->empty()) return table_->find_in_the_way(wanted.scope, wanted.mode);
    std::optional<core::Outcome> found;
    for (const core::SetMember& member : *members) {
        auto refusal = table_->find_in_the_way(member.scope, member.mode);
        if (refusal && !refusal->is_behind_waiter) return refusal;
        if (!found) found = refusal;
    }
    return found;
}

// Nothing if the promise was fulfilled or abandoned.
LockService::Promise* LockService::find_promise(PromiseId id) {
    if (!promises_.contains(id.slot) || promises_[id.slot].number != id.number) return nullptr;
    return &promises_[id.slot];
}

void LockService::owe(PromiseId promise, const Response& response, CommitNumber commit) {
    pipeline_.answers_after(commit).add(promise, response);
    executor_.at_end_of_turn();
}

void LockService::owe_refusal(PromiseId promise, core::Time now, core::Refusal refusal,
                              core::WaiterId waiter) {
    Response response{.now = now, .outcome = core::Outcome::refuse(refusal)};
    response.outcome.waiter = waiter;
    owe(promise, response, pipeline_.rests_on({}, response.outcome));
}

// Observers hear of a stale number when its sender does.
void LockService::tell_if_stale(const Request& request, CommitNumber commit) {
    const auto* const raise = std::get_if<RaiseFence>(&request);
    const FenceOutcome& outcome = *response_.details->fence;
    if (raise == nullptr || outcome.kind != FenceOutcome::Kind::stale || !on_fence_refused_) return;
    const FenceRefusal refusal{.at = response_.now,
                               .resource = raise->resource,
                               .number = core::as_number(raise->fence),
                               .highest = outcome.highest};
    if (pipeline_.is_done(commit)) return tell_refusal(refusal);
    pipeline_.answers_after(commit).add(refusal);
}

void LockService::tell_refusal(const FenceRefusal& refusal) {
    ++told_asides_;
    on_fence_refused_(refusal);
}

// The number of the last event of the table, without the refused fences and acts before it.
std::uint64_t LockService::position() const {
    return first_event_ + told_events_ + pipeline_.count_pending(*table_) - 1;
}

// Observers leave out so many numbers. Readers that have not come so far know that they missed
// something, instead of taking later events for those that follow what they have seen.
void LockService::lose_events(std::uint64_t count) {
    told_events_ += count;
    if (on_events_lost_) on_events_lost_(count);
}

void LockService::end_turn() {
    tell();
    deliver_ready();
    start_commit();
    if (const std::size_t dropped = pipeline_.thin_out(*table_); dropped > 0) {
        absorbed_ = table_->changes().size();
        lose_events(dropped);
    }
    go_on_in_next_turn();
    arm_wake();
}

// The answers that wait for nothing.
void LockService::deliver_ready() {
    for (int rounds_left = rounds_of_answers_max; !is_pausing_; --rounds_left) {
        const Answers* const ready = pipeline_.take_ready();
        if (ready == nullptr) return;
        if (has_authority()) {
            deliver(*ready, {});
        } else {
            refuse_unconfirmed(*ready);
        }
        tell();
        if (rounds_left > 1) continue;
        is_pausing_ = true;
        executor_.post([this] {
            is_pausing_ = false;
            executor_.at_end_of_turn();
        });
    }
}

void LockService::start_commit() {
    const Commit* const commit = pipeline_.start(*table_);
    if (commit == nullptr) return;
    absorbed_ = table_->changes().size();
    store_.commit(*commit, [this](const StoreResult<void>& result) {
        executor_.post([this, result] { finish_commit(result); });
    });
}

void LockService::finish_commit(const StoreResult<void>& result) {
    if (result) {
        const CommitPipeline::Done done = pipeline_.finish();
        told_events_ += done.changes.size();
        start_commit();  // first, so that the disk is busy while answers are written
        if (on_changes_) on_changes_(done.changes);
        is_delivering_ = true;
        deliver(done.answers, done.changes);
        is_delivering_ = false;
        if (take_changes_) take_changes_(done.changes);
        for (const auto& tell_late : std::exchange(late_acts_, {})) tell_late();
        fail_if_lost();
    } else {
        fail(result.error());
    }
    executor_.at_end_of_turn();
}

// `changes` has the events that the answers refer to.
void LockService::deliver(const Answers& answers, const core::Changes& changes) {
    for (const FenceRefusal& refusal : answers.refusals()) tell_refusal(refusal);
    const core::Time now = clock_.now();
    Response told;
    for (const Answers::Owed& owed : answers.owed()) {
        if (owed.is_event) {
            tell_of(changes[owed.index], told);
            give(owed.promise, told, now);
        } else if (const Response& kept = answers.responses()[owed.index]; kept.position == 0) {
            give(owed.promise, kept, now);
        } else {
            Response placed = kept;
            placed.position += told_asides_;
            give(owed.promise, placed, now);
        }
    }
}

// Does nothing if the promise was abandoned.
void LockService::give(PromiseId id, const Response& response, core::Time now) {
    Promise* const promise = find_promise(id);
    if (promise == nullptr) return;
    AnswerPointer answer = std::move(promise->answer);
    figures_.on_answer(promise->operation, response, now - response.now);
    erase_promise(id.slot);
    answer.release()->take(response);
}

// Sees to it that the service wakes no later than something is due. Waking early does no harm, so a
// deadline that moved to later is left alone.
void LockService::arm_wake() {
    const auto next = next_deadline();
    if (!next || !is_serving() || (wake_at_ && *wake_at_ <= *next)) return;
    wake_at_ = next;
    executor_.wake_after(std::max(core::Duration::zero(), *next - clock_.now()));
}

}  // namespace holdfast::service
