#include "service/lock_service.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace holdfast::service {

namespace {

std::uint64_t number(PromiseId promise) {
    return static_cast<std::uint64_t>(promise);
}

// Whether the event is part of what a restarted server must know.
bool is_kept(const core::Event& event) {
    switch (event.kind) {
        case core::EventKind::granted:
        case core::EventKind::renewed:
        case core::EventKind::released:
        case core::EventKind::expired:
        case core::EventKind::grace_ended: return true;
        case core::EventKind::queued:
        case core::EventKind::wait_timed_out:
        case core::EventKind::wait_cancelled:
        case core::EventKind::session_opened:
        case core::EventKind::session_ended: return false;
    }
    return true;
}

// Whether the answer comes with a grant or a time-out instead of at once.
bool is_waiting(const Request& request, const core::Outcome& outcome) {
    return outcome.kind == core::Outcome::Kind::queued && !std::holds_alternative<Enqueue>(request);
}

// Runs a request on the table and puts the answer into `response`.
struct Runner {
    core::LockTable& table;
    core::Time now;
    const std::function<std::uint64_t()>& random;
    Response& response;

    void operator()(core::AcquireRequest request) const {
        request.secret = core::Secret{random()};
        response.outcome = table.acquire(now, request);
    }
    void operator()(Enqueue enqueue) const {
        enqueue.request.secret = core::Secret{random()};
        response.outcome = table.enqueue(now, enqueue.request);
    }
    void operator()(const Wait& wait) const {
        response.outcome = table.wait(now, wait.session, wait.scope, wait.timeout);
    }
    void operator()(const core::RenewRequest& request) const {
        response.outcome = table.renew(now, request);
    }
    void operator()(const core::ReleaseRequest& request) const {
        response.outcome = table.release(now, request);
    }
    void operator()(const ReleaseOwn& request) const {
        response.outcome = table.release_own(now, request.scope, request.owner);
    }
    void operator()(const ForceRelease& request) const {
        response.count = table.force_release(now, request.scope);
    }
    void operator()(const OpenSession& request) const {
        response.session = table.open_session(now, request.owner);
    }
    void operator()(const EndSession& request) const {
        response.count = table.end_session(now, request.session, request.leases) ? 1 : 0;
    }
    void operator()(const Inspect& request) const {
        table.advance(now);
        if (auto lock = table.inspect(request.scope, request.waiters_max)) {
            response.locks.push_back(std::move(*lock));
        }
    }
    void operator()(const List& request) const {
        table.advance(now);
        response.locks = table.list(request.query);
    }
    void operator()(const Find& request) const {
        table.advance(now);
        response.outcome = table.find(request.token);
    }
};

}  // namespace

LockService::LockService(const core::TableOptions& options, ServiceParts parts)
    : clock_(parts.clock),
      store_(parts.store),
      executor_(parts.executor),
      random_(std::move(parts.random)),
      on_event_(std::move(parts.on_event)),
      table_(options) {
    executor_.bind([this] { end_turn(); }, [this] { wake(); });
}

const Response* LockService::submit(const Request& request) {
    CHECK(!unclaimed_);
    run(request);
    if (!response_.failure.empty()) return &response_;
    const bool must_be_committed = absorb_changes();
    const bool waits = is_waiting(request, response_.outcome);
    if (!waits && !must_be_committed) return &response_;
    unclaimed_ = PromiseId{next_promise_++};
    Promise& promise = promises_[number(*unclaimed_)];
    if (waits) {
        promise.waiter = response_.outcome.waiter;
        promises_by_waiter_.emplace(promise.waiter.serial, *unclaimed_);
    } else {
        if (response_.outcome.kind == core::Outcome::Kind::granted) {
            promise.grant = response_.outcome.lease.token;
        }
        owe(*unclaimed_, response_, must_be_committed);
    }
    return nullptr;
}

PromiseId LockService::await(std::unique_ptr<Answer> answer) {
    CHECK(unclaimed_);
    promises_.at(number(*unclaimed_)).answer = std::move(answer);
    return *std::exchange(unclaimed_, std::nullopt);
}

void LockService::abandon(PromiseId id) {
    const auto found = promises_.find(number(id));
    if (found == promises_.end()) return;
    const Promise promise = std::move(found->second);
    promises_.erase(found);
    if (!failure_.empty()) return;
    if (promise.grant) {
        table_.release(clock_.now(), {.token = *promise.grant});
    } else if (promise.waiter) {
        promises_by_waiter_.erase(promise.waiter.serial);
        table_.cancel(clock_.now(), promise.waiter);
    }
    absorb_changes();
    executor_.at_end_of_turn();
}

void LockService::wake() {
    wake_at_.reset();
    if (failure_.empty()) {
        table_.advance(clock_.now());
        absorb_changes();
    }
    executor_.at_end_of_turn();
}

void LockService::run(const Request& request) {
    response_.now = clock_.now();
    response_.outcome = {};
    response_.locks.clear();
    response_.session = {};
    response_.count = 0;
    response_.failure = failure_;
    if (failure_.empty()) std::visit(Runner{table_, response_.now, random_, response_}, request);
    executor_.at_end_of_turn();
}

// Passes on what happened in the table. True if an answer that depends on it must wait for a
// commit.
bool LockService::absorb_changes() {
    const core::Changes& changes = table_.changes();
    bool must_be_committed = false;
    for (std::size_t index = 0; index < changes.size(); ++index) {
        const core::Event event = changes[index];
        if (on_event_) on_event_(event);
        const bool is_durable = !store_.is_volatile() && is_kept(event);
        if (is_durable) uncommitted_.add(event);
        must_be_committed = must_be_committed || is_durable;
        if (event.waiter) resolve_waiter(event, is_durable);
    }
    table_.clear_changes();
    return must_be_committed;
}

// Somebody's wait is over.
void LockService::resolve_waiter(const core::Event& event, bool must_be_committed) {
    if (event.kind == core::EventKind::queued) return;
    const auto found = promises_by_waiter_.find(event.waiter.serial);
    if (found == promises_by_waiter_.end()) return;
    const PromiseId id = found->second;
    promises_by_waiter_.erase(found);
    Response response{.now = event.at};
    response.outcome.lease = event.lease;
    if (event.kind == core::EventKind::granted) {
        response.outcome.kind = core::Outcome::Kind::granted;
        response.outcome.previous_owner = event.previous_owner;
        promises_.at(number(id)).grant = event.lease.token;
    } else {
        const bool is_timeout = event.kind == core::EventKind::wait_timed_out;
        response.outcome.refusal =
            is_timeout ? core::Refusal::timed_out : core::Refusal::unknown_session;
    }
    owe(id, response, must_be_committed);
}

void LockService::owe(PromiseId promise, const Response& response, bool must_be_committed) {
    Batch& batch = must_be_committed ? after_next_commit_ : ready_;
    batch.responses.emplace_back(promise, batch.texts.keep(response));
    executor_.at_end_of_turn();
}

void LockService::end_turn() {
    // An answer may lead to the next request at once, and that to the next answer.
    while (!ready_.responses.empty()) deliver(std::exchange(ready_, {}));
    if (!is_committing_) start_commit();
    arm_wake();
}

void LockService::start_commit() {
    if (uncommitted_.empty()) return;
    is_committing_ = true;
    after_this_commit_ = std::exchange(after_next_commit_, {});
    store_.commit(std::exchange(uncommitted_, {}), [this](const base::Result<void>& result) {
        executor_.post([this, result] { finish_commit(result); });
    });
}

void LockService::finish_commit(const base::Result<void>& result) {
    is_committing_ = false;
    Batch batch = std::exchange(after_this_commit_, {});
    if (!result) {
        failure_ = result.error().message.empty() ? "the store failed" : result.error().message;
        base::log(base::LogLevel::error, "commit failed: refusing everything",
                  {{"error", failure_}});
        // Later changes were built on these: they fail with them. So do waits, which nothing will
        // end now.
        Batch later = std::exchange(after_next_commit_, {});
        uncommitted_.clear();
        for (const auto& [serial, promise] : std::exchange(promises_by_waiter_, {})) {
            later.responses.emplace_back(promise, Response{.now = clock_.now()});
        }
        for (Batch* failed : {&batch, &later}) {
            for (auto& [promise, response] : failed->responses) response.failure = failure_;
        }
        deliver(std::move(batch));
        deliver(std::move(later));
    } else {
        deliver(std::move(batch));
    }
    executor_.at_end_of_turn();
}

void LockService::deliver(Batch batch) {
    for (const auto& [id, response] : batch.responses) {
        const auto found = promises_.find(number(id));
        if (found == promises_.end()) continue;  // abandoned
        const std::unique_ptr<Answer> answer = std::move(found->second.answer);
        promises_.erase(found);
        answer->on_response(response);
    }
}

// Sees to it that the service wakes no later than something is due. Waking early does no harm, so a
// deadline that moved to later is left alone.
void LockService::arm_wake() {
    const auto next = table_.next_deadline();
    if (!next || !failure_.empty() || (wake_at_ && *wake_at_ <= *next)) return;
    wake_at_ = next;
    executor_.wake_after(std::max(core::Duration::zero(), *next - clock_.now()));
}

}  // namespace holdfast::service
