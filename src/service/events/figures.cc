#include "service/events/figures.h"

namespace holdfast::service {

namespace {

double seconds(core::Duration duration) {
    return std::chrono::duration<double>(duration).count();
}

// Whether the request has done what it asked for. (What that was is counted by the events.)
bool is_success(Operation operation, core::Outcome::Kind kind) {
    using Kind = core::Outcome::Kind;
    switch (operation) {
        case Operation::acquire: return kind == Kind::granted;
        case Operation::renew: return kind == Kind::renewed;
        case Operation::release: return kind == Kind::released;
        case Operation::check_token:
        case Operation::raise_fence:
        case Operation::none: break;
    }
    return false;
}

struct Namer {
    Operation operator()(const core::AcquireRequest&) const { return Operation::acquire; }
    Operation operator()(const Wait&) const { return Operation::acquire; }
    Operation operator()(const core::RenewRequest&) const { return Operation::renew; }
    Operation operator()(const core::ReleaseRequest&) const { return Operation::release; }
    Operation operator()(const ReleaseOwn&) const { return Operation::release; }
    Operation operator()(const CheckToken&) const { return Operation::check_token; }
    Operation operator()(const RaiseFence&) const { return Operation::raise_fence; }
    template <class Look>
    Operation operator()(const Look&) const {
        return Operation::none;
    }
};

}  // namespace

std::string_view to_text(Role role) {
    switch (role) {
        case Role::recovering: return "recovering";
        case Role::serving: return "serving";
        case Role::stopping: return "stopping";
        case Role::unconfirmed: return "unconfirmed";
        case Role::failed: return "failed";
        case Role::deposed: return "deposed";
    }
    return "";
}

Operation operation_of(const Request& request) {
    return std::visit(Namer{}, request);
}

void ServiceFigures::on_event(const core::Event& event) {
    switch (event.kind) {
        case core::EventKind::granted:
            ++acquire.success;
            if (!event.waiter) break;
            ++waits_granted;
            wait_seconds.add(seconds(event.at - event.waiting_since));
            break;
        case core::EventKind::expired: ++expired; [[fallthrough]];
        case core::EventKind::released:
            if (event.cause == core::Cause::force) ++forced;
            if (event.cause == core::Cause::request) ++release.success;
            hold_seconds.add(seconds(event.at - event.lease.acquired_at));
            break;
        case core::EventKind::wait_timed_out: ++waits_timed_out; break;
        case core::EventKind::wait_cancelled: ++waits_cancelled; break;
        case core::EventKind::deadlock: ++deadlocks; break;
        case core::EventKind::renewed: ++renew.success; break;
        case core::EventKind::grace_ended:
            if (event.cause == core::Cause::request) ++release.success;
            break;
        case core::EventKind::queued:
        case core::EventKind::session_opened:
        case core::EventKind::session_ended:
        case core::EventKind::value_set: break;
    }
}

void FenceFigures::on_answer(Operation operation, const Response& response) {
    if (!response.failure.empty()) {
        ++failed;
    } else if (operation == Operation::raise_fence) {
        const FenceOutcome::Kind kind = response.fence().value_or(FenceOutcome{}).kind;
        ++(kind == FenceOutcome::Kind::accepted ? numbers_accepted
           : kind == FenceOutcome::Kind::stale  ? numbers_stale
                                                : numbers_refused);
    } else if (response.outcome.kind == core::Outcome::Kind::found) {
        ++tokens_accepted;
    } else {
        const core::Refusal refusal = response.outcome.refusal;
        ++(refusal == core::Refusal::scope_mismatch ? tokens_mismatched
           : refusal == core::Refusal::lease_ended  ? tokens_expired
                                                    : tokens_unknown);
    }
}

void ServiceFigures::on_answer(Operation operation, const Response& response,
                               core::Duration latency) {
    if (operation == Operation::none) return;
    if (operation == Operation::check_token || operation == Operation::raise_fence) {
        return fence_checks.on_answer(operation, response);
    }
    // An owner that asks again for what it holds (homelab) renews.
    const bool is_renewal = response.outcome.kind == core::Outcome::Kind::renewed;
    if (is_renewal && operation == Operation::acquire) operation = Operation::renew;
    OperationFigures& figures = operation == Operation::acquire ? acquire
                                : operation == Operation::renew ? renew
                                                                : release;
    if (response.is_busy) {
        ++figures.busy;
    } else if (!response.failure.empty() || !is_success(operation, response.outcome.kind)) {
        ++figures.fail;
    }
    figures.latency_ms.add(seconds(latency) * 1000);
}

}  // namespace holdfast::service
