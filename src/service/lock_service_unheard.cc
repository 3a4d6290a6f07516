// Leases that nobody has heard of, because the answers that named them were given up.
//
// The grant is one answer, and so is every renewal by a client that asked again for the lock. The
// table counts the renewals of a lease; the service counts how many of its answers were given up.
// When all of them were, nobody knows the lease, and it is released. An answer that was heard is
// never given up, so that the lease of its client is left alone, in whatever order other answers
// are given up, and wherever they are on their way: in this service, or in a RemotePort.
//
// The second half of a two-phase request is different. The grant may have come between the halves
// and then was no answer, so that the second half alone speaks for the lease.

#include "service/lock_service.h"

namespace holdfast::service {

LockService::Naming LockService::naming_of(const Request& request) {
    if (std::holds_alternative<Wait>(request)) return Naming::alone;
    const bool asks_for_lease = std::holds_alternative<core::AcquireRequest>(request) ||
                                std::holds_alternative<Enqueue>(request);
    return asks_for_lease ? Naming::once : Naming::none;
}

bool LockService::names_lease(const Response& response) {
    const core::Outcome& outcome = response.outcome;
    const bool has_lease = outcome.kind == core::Outcome::Kind::granted ||
                           outcome.kind == core::Outcome::Kind::renewed;
    return has_lease && response.failure.empty() && outcome.lease.notes.request_id.empty();
}

void LockService::give_up(core::Token lease, Naming naming) {
    if (!is_serving()) return;
    release_if_unheard(lease, naming);
    absorb_changes();
    executor_.at_end_of_turn();
}

// An answer that names this lease was given up.
void LockService::release_if_unheard(core::Token token, Naming naming) {
    const core::Outcome found = table_->find(token);
    if (found.kind != core::Outcome::Kind::found) return;  // it has ended
    if (naming == Naming::once) {
        const std::size_t renewals = found.lease.renewals;
        if (renewals == core::renewals_counted_max) return;  // it will expire, if nobody renews it
        if (renewals > 0 && ++given_up_[core::as_number(token.fence)] <= renewals) return;
    }
    table_->release(clock_.now(), {.token = token});
}

}  // namespace holdfast::service
