#include "service/lock_service.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log/log.h"
#include "service/events/thin_out.h"

namespace holdfast::service {

namespace {

// How often a store that failed is tried again.
constexpr core::Duration retry_interval = std::chrono::seconds{1};

// While a commit is under way, events wait in memory. When there are more than these, and twice as
// many as when it was done last, those that nobody needs are dropped.
constexpr std::size_t pending_events_usual = 65'536;

// Whether the answer comes with a grant or a time-out instead of at once.
bool is_waiting(const Request& request, const core::Outcome& outcome) {
    return outcome.kind == core::Outcome::Kind::queued && !std::holds_alternative<Enqueue>(request);
}

}  // namespace

LockService::LockService(const core::TableOptions& options, ServiceParts parts)
    : clock_(parts.clock),
      store_(parts.store),
      executor_(parts.executor),
      random_(std::move(parts.random)),
      on_changes_(std::move(parts.on_changes)),
      on_fence_refused_(std::move(parts.on_fence_refused)),
      is_volatile_(parts.store.is_volatile()),
      options_(options),
      fence_limits_(parts.fence_limits),
      wait_limits_(parts.wait_limits),
      table_(std::make_unique<core::LockTable>(options)),
      fences_(make_fence_book()) {
    executor_.bind([this] { end_turn(); }, [this] { wake(); });
}

StoreResult<Recovered> LockService::recover() {
    // No number is used again, whoever was told of it.
    core::TableOptions options = options_;
    options.first_serial = table_->next_serial();
    options.first_fence = table_->next_fence();
    auto table = std::make_unique<core::LockTable>(options);
    RequestMemory requests;
    FenceBook fences = make_fence_book();
    const core::Time began = clock_.now();
    auto recovered = store_.recover([&](const core::RestoreRequest& lease) {
        requests.on_restored(lease);
        return table->restore(began, lease);
    });
    if (!recovered) return recovered;
    // Nobody could renew while the store was read, which may have taken long.
    table->start_restored(clock_.now());
    table->skip_fences_below(recovered->next_fence);
    for (const FenceMark& mark : recovered->fences) fences.restore(mark);
    table_ = std::move(table);
    requests_ = std::move(requests);
    fences_ = std::move(fences);
    failure_.reset();
    committed_fence_ = committing_fence_ = newest_fence();
    reserved_fence_ = reserving_fence_ = recovered->next_fence - 1;
    given_up_.clear();
    executor_.at_end_of_turn();
    return recovered;
}

const Response* LockService::take(Request& request) {
    CHECK(!unclaimed_);
    run(request);
    const Operation operation = operation_of(request);
    if (!response_.failure.empty()) {
        figures_.on_answer(operation, response_, core::Duration::zero());
        return &response_;
    }
    const bool has_changes = absorb_changes();
    const bool waits = is_waiting(request, response_.outcome);
    Batch* const batch = has_changes ? &after_next_commit_ : batch_of(request);
    if (response_.fence) tell_if_stale(request, batch);
    if (!waits && batch == nullptr) {
        figures_.on_answer(operation, response_, core::Duration::zero());
        return &response_;
    }
    const core::Slot slot = promises_.emplace();
    Promise& promise = promises_[slot];
    promise.number = next_promise_++;
    promise.operation = operation;
    promise.naming = naming_of(request);
    unclaimed_ = {.number = promise.number, .slot = slot};
    if (waits) {
        promise.waiter = response_.outcome.waiter;
        promises_by_waiter_.emplace(promise.waiter.serial, *unclaimed_);
        limit_wait(request, slot);
    } else {
        if (promise.naming != Naming::none && names_lease(response_)) {
            promise.lease = response_.outcome.lease.token;
        }
        promise.session = response_.session;
        owe(*unclaimed_, response_, *batch);
    }
    return nullptr;
}

PromiseId LockService::await(AnswerPointer answer) {
    CHECK(unclaimed_);
    promises_[unclaimed_->slot].answer = std::move(answer);
    return *std::exchange(unclaimed_, std::nullopt);
}

void LockService::abandon(PromiseId id) {
    Promise* const found = find_promise(id);
    if (found == nullptr) return;
    if (!failure_) {
        // What is due happens first: this one may be granted in this very moment.
        table_->advance(clock_.now());
        absorb_changes();
    }
    const Promise promise = std::move(*found);
    erase_promise(id.slot);
    if (failure_) return;
    if (promise.session) table_->end_session(clock_.now(), promise.session);
    if (promise.place) give_up_place(promise.place);
    if (promise.lease) {
        release_if_unheard(*promise.lease, promise.naming);
    } else if (promise.waiter) {
        promises_by_waiter_.erase(promise.waiter.serial);
        table_->cancel(clock_.now(), promise.waiter);
    }
    absorb_changes();
    executor_.at_end_of_turn();
}

void LockService::wake() {
    wake_at_.reset();
    if (failure_) {
        retry();
    } else {
        sweep();
    }
    executor_.at_end_of_turn();
}

// Ends what has come to its end by itself.
void LockService::sweep() {
    const core::Time began = clock_.now();
    const std::uint64_t expired_before = figures_.expired;
    requests_.forget_old(began);
    table_->advance(began);
    absorb_changes();
    give_up_due_places(began);
    pause_long_waits(began);
    const std::uint64_t expired = figures_.expired - expired_before;
    if (expired == 0) return;
    const core::Duration latency = clock_.now() - began;
    figures_.sweep_seconds.add(std::chrono::duration<double>(latency).count());
    base::log(base::LogLevel::debug, "sweep",
              {{"expired", expired},
               {"latency_us", std::int64_t{latency.count()}},
               {"held", std::uint64_t{table_->counts().leases}}});
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
    for (; absorbed_ < changes.size(); ++absorbed_) {
        const core::Event& event = changes[absorbed_];
        requests_.on_event(event);
        figures_.on_event(event);
        const bool is_uncommitted = must_be_committed(event);
        has_uncommitted_ = has_uncommitted_ || is_uncommitted;
        is_any_uncommitted = is_any_uncommitted || is_uncommitted;
        const std::uint64_t fence = core::as_number(event.lease.token.fence);
        if (is_uncommitted && event.kind == core::EventKind::renewed) next_terms_.insert(fence);
        const bool is_over =
            event.kind == core::EventKind::released || event.kind == core::EventKind::expired;
        if (is_over && !given_up_.empty()) given_up_.erase(fence);
        if (event.waiter) resolve_waiter(event, is_uncommitted);
    }
    return is_any_uncommitted;
}

// Tells observers what happened lately, if all of it is on disk, or need not be.
void LockService::tell() {
    if (has_uncommitted() || is_committing_ || table_->changes().empty()) return;
    table_->swap_changes(told_);
    absorbed_ = 0;
    tell_of(told_);
}

// Leaves them empty.
void LockService::tell_of(core::Changes& changes) const {
    if (on_changes_ && !changes.empty()) on_changes_(changes);
    changes.clear();
}

// Somebody's wait is over.
void LockService::resolve_waiter(const core::Event& event, bool is_uncommitted) {
    if (event.kind == core::EventKind::queued) return;
    const bool is_granted = event.kind == core::EventKind::granted;
    const auto id = take_promise_of(event.waiter);
    if (!id) {  // nobody waits there at the moment; perhaps its place is kept
        if (is_granted) return places_.grant(event.waiter, event.lease.token);
        places_.take(event.waiter);
        return;
    }
    Response response{.now = event.at};
    response.outcome.lease = event.lease;
    Batch* batch = is_uncommitted ? &after_next_commit_ : nullptr;
    if (is_granted) {
        response.outcome.kind = core::Outcome::Kind::granted;
        response.outcome.previous_owner = event.previous_owner;
        if (names_lease(response)) promises_[id->slot].lease = event.lease.token;
        if (batch == nullptr) batch = batch_of(event.lease);
    } else {
        const bool is_timeout = event.kind == core::EventKind::wait_timed_out;
        response.outcome.refusal =
            is_timeout ? core::Refusal::timed_out : core::Refusal::unknown_session;
    }
    owe(*id, response, batch == nullptr ? ready_ : *batch);
}

// Nothing, if it is kept already, or abandoned.
LockService::Promise* LockService::find_promise(PromiseId id) {
    if (!promises_.contains(id.slot) || promises_[id.slot].number != id.number) return nullptr;
    return &promises_[id.slot];
}

void LockService::owe(PromiseId promise, const Response& response, Batch& batch) {
    Response& kept = batch.responses.emplace_back(promise, response).second;
    batch.texts.keep_texts_of(kept);
    executor_.at_end_of_turn();
}

void LockService::end_turn() {
    tell();
    // An answer may lead to the next request at once, and that to the next answer.
    while (!ready_.responses.empty()) {
        std::swap(leaving_, ready_);
        deliver(leaving_);
        tell();
    }
    if (!is_committing_) start_commit();
    if (table_->changes().size() > std::max(pending_events_usual, 2 * thinned_size_)) {
        thin_out_pending();
    }
    arm_wake();
}

// A commit takes long, and meanwhile events pile up of which observers cannot be told yet.
void LockService::thin_out_pending() {
    core::Changes pending;
    table_->swap_changes(pending);
    const std::size_t before = pending.size();
    thin_out(pending);
    thinned_size_ = absorbed_ = pending.size();
    table_->swap_changes(pending);
    base::log(base::LogLevel::warning, "a commit takes long: some events will not be told",
              {{"dropped", std::uint64_t{before - thinned_size_}},
               {"pending", std::uint64_t{thinned_size_}}});
}

void LockService::start_commit() {
    if (!has_uncommitted()) return;
    has_uncommitted_ = false;
    is_committing_ = true;
    table_->swap_changes(committing_.changes);
    absorbed_ = thinned_size_ = 0;
    committing_fence_ = newest_fence();
    committing_.reserved_fence = fence_to_reserve();
    reserving_fence_ = std::max(reserved_fence_, committing_.reserved_fence);
    std::swap(after_this_commit_, after_next_commit_);
    this_terms_ = std::exchange(next_terms_, {});
    committing_.fences = fences_.begin_commit();
    store_.commit(committing_, [this](const StoreResult<void>& result) {
        executor_.post([this, result] { finish_commit(result); });
    });
}

void LockService::finish_commit(const StoreResult<void>& result) {
    is_committing_ = false;
    this_terms_.clear();
    if (!result) {
        fail(result.error());
    } else {
        committed_fence_ = committing_fence_;
        reserved_fence_ = reserving_fence_;
        fences_.end_commit();
        std::swap(leaving_, after_this_commit_);
        committing_.changes.swap(told_);
        start_commit();  // first, so that the disk is busy while answers are written
        tell_of(told_);
        deliver(leaving_);
    }
    executor_.at_end_of_turn();
}

// A commit failed: what is in memory is more than what is on disk. Everybody who waits for an
// answer is told so, later changes being built on the failed ones, and nothing more is done until
// the store can be read, and written, again.
void LockService::fail(const StoreFailure& why) {
    failure_ = why;
    if (failure_->message.empty()) failure_->message = "the store failed";
    base::log(base::LogLevel::error, "commit failed: refusing everything",
              {{"error", failure_->message}});
    // What was not committed never happened.
    committing_ = {};
    table_->clear_changes();
    absorbed_ = thinned_size_ = 0;
    has_uncommitted_ = false;
    fences_.forget_uncommitted();
    next_terms_.clear();
    places_.clear();
    Batch batch = std::exchange(after_this_commit_, {});
    Batch later = std::exchange(after_next_commit_, {});
    for (const auto& [serial, promise] : std::exchange(promises_by_waiter_, {})) {
        later.responses.emplace_back(promise, Response{.now = clock_.now()});
    }
    for (Batch* failed : {&batch, &later}) {
        failed->refusals.clear();
        for (auto& [promise, response] : failed->responses) {
            response.failure = failure_->message;
            response.is_busy = failure_->is_busy;
        }
    }
    deliver(batch);
    deliver(later);
    executor_.wake_after(retry_interval);
}

// Begins anew from what the store really has, as a restart would.
void LockService::retry() {
    const auto recovered = recover();
    if (!recovered) {
        executor_.wake_after(retry_interval);
        return;
    }
    base::log(base::LogLevel::info, "the store works again",
              {{"leases", std::uint64_t{recovered->leases}}});
}

// Leaves it empty.
void LockService::deliver(Batch& batch) {
    if (batch.responses.empty()) return;
    for (const FenceRefusal& refusal : batch.refusals) on_fence_refused_(refusal);
    const core::Time now = clock_.now();
    for (const auto& [id, response] : batch.responses) {
        Promise* const promise = find_promise(id);
        if (promise == nullptr) continue;  // abandoned
        AnswerPointer answer = std::move(promise->answer);
        figures_.on_answer(promise->operation, response, now - response.now);
        erase_promise(id.slot);
        answer.release()->take(response);
    }
    batch.clear();
}

// Keeps room for as many as there usually are.
void LockService::Batch::clear() {
    constexpr std::size_t kept_max = 4096;
    responses.clear();
    if (responses.capacity() > kept_max) responses.shrink_to_fit();
    refusals.clear();
    texts.clear();
}

// Sees to it that the service wakes no later than something is due. Waking early does no harm, so a
// deadline that moved to later is left alone.
void LockService::arm_wake() {
    const auto next = next_deadline();
    if (!next || failure_ || (wake_at_ && *wake_at_ <= *next)) return;
    wake_at_ = next;
    executor_.wake_after(std::max(core::Duration::zero(), *next - clock_.now()));
}

}  // namespace holdfast::service
