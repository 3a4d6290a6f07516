// What an answer waits for, so that no crash can make it untrue.
//
//   the answer                                       waits for
//   changes something durable                        the commit of the change
//   names a lease that lives                         the commit of its grant, and of new terms
//   names a transient lease                          the commit of what made way for it
//   is about a fence                                 the commit of the mark it rests on
//   is that a request is queued or has timed out,    nothing
//   that a session began, ended or is unknown,
//   or figures
//   is any other refusal or read                     the commit of everything not on disk now
//
// So these do not wait: renewals on unchanged terms and checks of a lease that is on disk, and
// refusals because of such a lease. While everything is on disk, or where the store is volatile,
// nothing waits.

#include <algorithm>
#include <utility>

#include "service/lock_service.h"

namespace holdfast::service {

namespace {

// Transient leases are told without a commit, so that no commit tells the next start of the server
// of their numbers. These are therefore reserved on disk in advance, so many at a time: a second's
// worth, where the first number is the wall clock's.
constexpr std::uint64_t fences_reserved = 1 << 20;

}  // namespace

// Whether something must be written before anybody is told of the event.
bool LockService::must_be_committed(const core::Event& event) {
    if (is_volatile_) return false;
    if (core::is_kept(event)) return true;
    if (event.kind != core::EventKind::granted) return false;
    has_transient_ = true;
    return core::as_number(event.lease.token.fence) > reserving_fence_;
}

// The number up to which the next commit reserves numbers; 0: there are enough.
std::uint64_t LockService::fence_to_reserve() const {
    if (!has_transient_) return 0;
    if (newest_fence() + fences_reserved / 2 <= reserved_fence_) return 0;
    return std::min(newest_fence() + fences_reserved, core::as_number(core::fence_max));
}

// Decides for the answer to `request`, which changed nothing durable. nullptr: it waits for
// nothing.
LockService::Batch* LockService::batch_of(const Request& request) {
    if (is_volatile_) return nullptr;
    if (response_.fence) return batch_of(response_.fence->wait);
    const core::Outcome& outcome = response_.outcome;
    switch (outcome.kind) {
        case core::Outcome::Kind::queued: return nullptr;
        case core::Outcome::Kind::granted:
        case core::Outcome::Kind::renewed:
        case core::Outcome::Kind::found: return batch_of(outcome.lease);
        case core::Outcome::Kind::released: return batch_of_everything();
        case core::Outcome::Kind::refused: break;
    }
    if (outcome.refusal == core::Refusal::held) return batch_of(outcome.lease);
    switch (outcome.refusal) {
        case core::Refusal::timed_out:
        case core::Refusal::stopping:
        case core::Refusal::unknown_session: return nullptr;
        default: break;
    }
    const bool is_about_session =
        response_.session || (std::holds_alternative<EndSession>(request) && response_.count > 0);
    if (is_about_session || std::holds_alternative<Measure>(request)) return nullptr;
    return batch_of_everything();
}

// The same for an answer that names a lease that lives.
LockService::Batch* LockService::batch_of(const core::LeaseView& lease) {
    if (is_volatile_) return nullptr;
    const std::uint64_t fence = core::as_number(lease.token.fence);
    if (fence > committing_fence_) {
        return lease.is_transient ? batch_of_everything() : &after_next_commit_;
    }
    if (next_terms_.contains(fence)) return &after_next_commit_;
    if (fence > committed_fence_ || this_terms_.contains(fence)) return &after_this_commit_;
    return nullptr;
}

// The same for a fence.
LockService::Batch* LockService::batch_of(FenceOutcome::Wait wait) {
    switch (wait) {
        case FenceOutcome::Wait::next_commit: return &after_next_commit_;
        case FenceOutcome::Wait::commit_under_way: return &after_this_commit_;
        case FenceOutcome::Wait::nothing: break;
    }
    return nullptr;
}

// The same for an answer that may rest on anything.
LockService::Batch* LockService::batch_of_everything() {
    if (has_uncommitted()) return &after_next_commit_;
    return is_committing_ ? &after_this_commit_ : nullptr;
}

// Observers hear of a stale number when its sender does.
void LockService::tell_if_stale(const Request& request, Batch* batch) {
    const auto* const raise = std::get_if<RaiseFence>(&request);
    const bool is_stale = response_.fence->kind == FenceOutcome::Kind::stale;
    if (raise == nullptr || !is_stale || !on_fence_refused_) return;
    FenceRefusal refusal{.at = response_.now,
                         .resource = raise->resource,
                         .number = core::as_number(raise->fence),
                         .highest = response_.fence->highest};
    if (batch == nullptr) return on_fence_refused_(refusal);
    refusal.resource = batch->texts.keep(refusal.resource);
    batch->refusals.push_back(refusal);
}

}  // namespace holdfast::service
