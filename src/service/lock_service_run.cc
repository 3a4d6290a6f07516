// Runs a request: on the lock table, or, if the same request was made before, by what is known of it.

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "service/events/event_scopes.h"
#include "service/lock_service.h"

namespace holdfast::service {

namespace {

// Whether a lease is enough to write `scope`; of a set, one of its members.
bool covers(const core::LeaseView& lease, const core::Scope& scope) {
    const auto members = core::parse_set(lease.members);
    if (!members || members->empty()) return lease.scope.covers(scope);
    return std::any_of(members->begin(), members->end(),
                       [&](const core::SetMember& member) { return member.scope.covers(scope); });
}

// The first scope of a lease on this lock that the client may not end.
std::optional<core::Scope> find_denied_holder(const core::LockTable& table,
                                              const core::Scope& scope,
                                              const core::ScopeFilter& allowed) {
    const auto lock = table.inspect(scope, 0, {.limit = SIZE_MAX});
    if (!lock) return std::nullopt;
    for (const core::LeaseView& holder : lock->holders) {
        const auto is_meant = [&](const core::Scope& one) { return is_same_lock(one, scope); };
        if (!is_any_scope(holder, is_meant)) continue;
        for (const core::Scope& each : scopes_of(holder)) {
            if (!allowed.includes(each)) return each;
        }
    }
    return std::nullopt;
}

core::Outcome refuse_as_denied(const core::Scope& scope) {
    core::Outcome outcome = core::Outcome::refuse(core::Refusal::denied);
    outcome.lease.scope = scope;
    return outcome;
}

// Runs a request on the table and puts the answer into `response`; the outcome, if it has one, is
// returned.
struct Runner {
    core::LockTable& table;
    FenceBook& fences;
    CommitPipeline& pipeline;
    const std::function<std::uint64_t()>& random;
    Response& response;
    Statement& statement;
    std::string_view why_no_grant;
    const core::ScopeFilter* allowed;  // Asker::allowed
    Progress& progress;
    bool& is_finished;

    core::Outcome operator()(core::AcquireRequest& request) const {
        request.secret = core::Secret{random()};
        return table.acquire(response.now, request);
    }
    core::Outcome operator()(Enqueue& enqueue) const {
        enqueue.request.secret = core::Secret{random()};
        return table.enqueue(response.now, enqueue.request);
    }
    core::Outcome operator()(const Wait& wait) const {
        return table.wait(response.now, wait.session, wait.scope, wait.timeout);
    }
    core::Outcome operator()(const core::RenewRequest& request) const {
        return table.renew(response.now, request);
    }
    core::Outcome operator()(const core::SetValueRequest& request) const {
        return table.set_value(response.now, request);
    }
    core::Outcome operator()(const core::ReleaseRequest& request) const {
        return table.release(response.now, request);
    }
    core::Outcome operator()(const ReleaseOwn& request) const {
        const auto outcome = table.release_own(response.now, request.scope, request.owner);
        // A refusal shows who holds the lock.
        if (outcome.kind == core::Outcome::Kind::refused) {
            show(table.inspect(request.scope, 0, {.limit = 1}));
        }
        return outcome;
    }
    core::Outcome operator()(const ForceRelease& request) const {
        if (!progress.is_on_other_scope) {
            if (const auto denied = force(request.scope)) return refuse_as_denied(*denied);
            if (!is_finished) return {};
            progress.is_on_other_scope = progress.forced.count == 0 && request.or_else;
            if (progress.is_on_other_scope) progress.forced = {};
        }
        if (progress.is_on_other_scope) {
            if (const auto denied = force(*request.or_else)) return refuse_as_denied(*denied);
        }
        response.count = progress.forced.count;
        return {};
    }
    // Ends a part of the leases on the scope. If the client may not end one of them, which is asked
    // before the first part, that ends nothing and returns the scope.
    [[nodiscard]] std::optional<core::Scope> force(const core::Scope& scope) const {
        const bool is_first = progress.forced.until == core::Fence{};
        if (is_first && allowed != nullptr) {
            table.advance(response.now);
            if (auto denied = find_denied_holder(table, scope, *allowed)) return denied;
        }
        is_finished = table.force_release_part(response.now, scope, progress.forced);
        return std::nullopt;
    }
    core::Outcome operator()(const OpenSession& request) const {
        response.session = table.open_session(response.now, request.owner);
        if (!response.session) return core::Outcome::refuse(core::Refusal::sessions_max);
        statement.about = Statement::About::nothing;
        return {};
    }
    core::Outcome operator()(const EndSession& request) const {
        progress.had_session = progress.had_session || table.has_session(request.session);
        is_finished = table.end_session_part(response.now, request.session, request.leases);
        response.count = progress.had_session ? 1 : 0;
        if (progress.had_session) statement.about = Statement::About::nothing;
        return {};
    }
    core::Outcome operator()(const Inspect& request) const {
        table.advance(response.now);
        table.settle(request.scope);
        if (request.or_else) table.settle(*request.or_else);
        auto lock = table.inspect(request.scope, request.waiters_max, request.holders);
        if (!lock && request.or_else) {
            lock = table.inspect(*request.or_else, request.waiters_max, request.holders);
        }
        show(std::move(lock));
        return {};
    }
    core::Outcome operator()(const List& request) const {
        table.advance(response.now);
        show({.locks = table.list(request.query)});
        return {};
    }
    core::Outcome operator()(const Find& request) const {
        table.advance(response.now);
        table.settle(request.token);
        return table.find(request.token);
    }
    core::Outcome operator()(const CheckToken& request) const {
        core::Outcome outcome = (*this)(Find{.token = request.token});
        const bool is_live = outcome.kind == core::Outcome::Kind::found;
        if (!is_live || covers(outcome.lease, request.scope)) return outcome;
        outcome.kind = core::Outcome::Kind::refused;
        outcome.refusal = core::Refusal::scope_mismatch;
        return outcome;
    }
    core::Outcome operator()(const ListLeases& request) const {
        table.advance(response.now);
        show({.leases = table.list_leases(request.query)});
        return {};
    }
    core::Outcome operator()(const ListSessions& request) const {
        table.advance(response.now);
        show({.sessions = table.list_sessions(request.query)});
        return {};
    }
    core::Outcome operator()(const ListDeadlocks& request) const {
        table.advance(response.now);
        show({.deadlocks = table.list_deadlocks(request.limit)});
        return {};
    }
    core::Outcome operator()(const RaiseFence& request) const {
        const CommitNumber commit = begin_fence_change(request.resource);
        return show(fences.raise(request.resource, request.fence, commit));
    }
    core::Outcome operator()(const ReadFence& request) const {
        return show(fences.read(request.resource));
    }
    core::Outcome operator()(const DropFence& request) const {
        return show(fences.drop(request.resource, begin_fence_change(request.resource)));
    }
    core::Outcome operator()(const RunStep& request) const {
        table.advance(response.now);
        const core::LockTable::OneStep one(table);
        return request.step->run({.table = table, .random = random, .why_no_grant = why_no_grant});
    }
    core::Outcome operator()(const TellAct&) const { return {}; }  // tell_act() has answered it
    core::Outcome operator()(const Measure&) const { return {}; }  // measure() has answered it

    void show(Details&& details) const {
        response.details = std::make_shared<const Details>(std::move(details));
    }
    void show(std::optional<core::LockView>&& lock) const {
        if (lock) show({.locks = {std::move(*lock)}});
    }
    core::Outcome show(const FenceOutcome& outcome) const {
        show({.fence = outcome});
        statement.about = Statement::About::fence;
        statement.fence_commit = outcome.rests_on;
        return {};
    }
    // Returns the commit that will have the change.
    [[nodiscard]] CommitNumber begin_fence_change(std::string_view resource) const {
        pipeline.begin_fence_change(resource, table.changes().size());
        return pipeline.open();
    }
};

}  // namespace

// False if more parts follow, or if nothing was done yet (lock_service_parts.cc).
bool LockService::run(Request& request, const Asker& asker, Progress& progress) {
    // Read after the request has come in, so that no lease begins before it was asked for.
    if (executor_.has_fresh_input()) input_time_ = clock_.now();
    response_.now = input_time_;
    response_.session = {};
    response_.count = 0;
    response_.details.reset();
    response_.position = 0;
    statement_ = {};
    executor_.at_end_of_turn();
    if (const auto* const act = std::get_if<TellAct>(&request)) {
        tell_act(*act, asker.by);
        return true;
    }
    const bool is_refused = refuse_if_not_serving(response_);
    if (std::holds_alternative<Measure>(request)) measure();
    if (is_refused) {
        response_.outcome = {};
        return true;
    }
    statement_.has_changes = advance(response_.now);
    if (must_wait_for_table(request)) return false;
    const auto* const acquire = std::get_if<core::AcquireRequest>(&request);
    if (asker.allowed && refuse_denied(request, *asker.allowed)) return true;
    if (acquire != nullptr && answer_repeated(*acquire, asker.by)) return true;
    if (is_stopping_ && is_refused_while_stopping(request)) {
        response_.outcome = core::Outcome::refuse(core::Refusal::stopping);
        return true;
    }
    if (store_.refuses_growth() && refuse_growth(request)) return true;
    std::string why_no_grant;
    if (std::holds_alternative<RunStep>(request)) why_no_grant = why_no_growth();
    bool is_finished = true;
    table_->on_behalf_of(asker.by);
    response_.outcome =
        std::visit(Runner{*table_, fences_, pipeline_, random_, response_, statement_, why_no_grant,
                          asker.allowed.get(), progress, is_finished},
                   request);
    table_->on_behalf_of({});
    return is_finished;
}

FenceBook LockService::make_fence_book() const {
    using Keeping = FenceBook::Keeping;
    return {fence_limits_, is_volatile_ ? Keeping::in_memory : Keeping::durable};
}

// Whether the server leads or its disk works does not matter: what was done is told. It is told behind the
// events that it has led to.
void LockService::tell_act(const TellAct& act, std::string_view by) {
    response_.outcome = {};
    response_.failure = {};
    response_.is_busy = response_.is_unknown = false;
    statement_.about = Statement::About::nothing;
    const AdminAct told{.at = response_.now, .action = act.action, .what = act.what, .by = by};
    if (!is_delivering_) {
        tell();
        return tell_act(told);
    }
    late_acts_.push_back([this, told, what = std::string(act.what), by = std::string(by)] {
        tell_act({.at = told.at, .action = told.action, .what = what, .by = by});
    });
}

void LockService::tell_act(const AdminAct& act) {
    if (!on_act_) return;
    ++told_asides_;
    on_act_(act);
}

// Figures are given also while everything else is refused.
void LockService::measure() {
    ServiceFigures seen = figures_;
    seen.table = table_->counts();
    seen.fences = fences_.size();
    seen.role = role();
    seen.failure = std::exchange(response_.failure, {});
    response_.is_busy = false;
    statement_.about = Statement::About::nothing;
    response_.details = std::make_shared<const Details>(
        Details{.figures = std::make_shared<const ServiceFigures>(std::move(seen))});
}

// Refuses a request for a lock that the client has no right to. The door has asked before, but the
// request may have been on its way from another thread when the right ended.
bool LockService::refuse_denied(const Request& request, const core::ScopeFilter& allowed) {
    auto denied = find_denied(allowed, wanted_by(request));
    if (!denied) return false;
    refusal_ = denied->name;
    denied->name = refusal_;
    response_.outcome = refuse_as_denied(*denied);
    return true;
}

// Whether the request was made before, and its answer is what that one got.
bool LockService::answer_repeated(const core::AcquireRequest& request, std::string_view by) {
    if (request.notes.request_id.empty()) return false;
    give_up_due_places(response_.now);
    const RequestMemory::Known* known = requests_.find(request, by, response_.now);
    if (known != nullptr && known->state == RequestMemory::Known::State::held) {
        table_->settle(known->token);
        absorb_changes();
        known = requests_.find(request, by, response_.now);
    }
    if (known == nullptr) return false;
    if (!RequestMemory::asks_for_the_same(request, *known)) {
        response_.outcome = core::Outcome::refuse(core::Refusal::request_mismatch);
        return true;
    }
    switch (known->state) {
        case RequestMemory::Known::State::waiting: {
            const core::WaiterId waiter = known->waiter;
            supersede(waiter);
            places_.take(waiter);
            if (request.wait <= core::Duration::zero()) {
                // The client does not want to wait any more.
                cancel_wait(response_.now, waiter);
                absorb_changes();
                return false;
            }
            table_->wait_on(response_.now, waiter, request.wait);
            response_.outcome = {.kind = core::Outcome::Kind::queued, .waiter = waiter};
            break;
        }
        case RequestMemory::Known::State::held:
            places_.take(known->waiter);
            response_.outcome = table_->find(known->token);
            CHECK(response_.outcome.kind == core::Outcome::Kind::found);
            response_.outcome.kind = core::Outcome::Kind::granted;
            break;
        case RequestMemory::Known::State::ended:
            response_.outcome = core::Outcome::refuse(core::Refusal::request_ended);
            break;
    }
    return true;
}

// Answers the request that waits there: the client has asked again, and waits by another request.
void LockService::supersede(core::WaiterId waiter) {
    const auto id = take_promise_of(waiter);
    if (!id) return;
    promises_[id->slot].waiter = {};
    owe_refusal(*id, response_.now, core::Refusal::request_superseded);
}

// The store is nearly full. Ends all waits, because a release would grant their locks, and refuses
// the request if the store would grow by it.
bool LockService::refuse_growth(const Request& request) {
    end_waits_without_growth();
    const bool grows = asks_for_new_lock(request) || std::holds_alternative<RaiseFence>(request) ||
                       std::holds_alternative<core::SetValueRequest>(request);
    if (!grows) return false;
    refusal_ = store_.why_no_growth();
    response_.failure = refusal_;
    response_.outcome = {};
    return true;
}

// Why a step may not grant anything now. Every other request is refused as a whole.
std::string LockService::why_no_growth() const {
    if (is_stopping_) return "the server is about to end: ask again when it is back";
    return store_.refuses_growth() ? store_.why_no_growth() : std::string();
}

// Whether the request asks for something that it does not have yet. Of a two-phase entry a grant may
// be fetched, but not waited for.
bool LockService::is_refused_while_stopping(Request& request) const {
    if (auto* const wait = std::get_if<Wait>(&request)) wait->timeout = core::Duration::zero();
    return asks_for_new_lock(request);
}

// An owner that asks again for what it holds only renews it.
bool LockService::asks_for_new_lock(const Request& request) const {
    if (std::holds_alternative<Enqueue>(request)) return true;
    const auto* const acquire = std::get_if<core::AcquireRequest>(&request);
    if (acquire == nullptr) return false;
    if (!acquire->renew_own) return true;
    return !table_->has_own(*acquire);
}

}  // namespace holdfast::service
