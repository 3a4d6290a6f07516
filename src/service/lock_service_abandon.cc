// Answers that nobody hears, because their connection is gone, and leases that nobody has heard of
// for that reason.
//
// The grant is one answer, and so is every renewal by a client that asked again for the lock. The
// table counts the renewals of a lease; the service counts how many of its answers were given up.
// When all of them were, nobody knows the lease, and it is released. An answer that was heard is
// never given up, so that the lease of its client is left alone, in whatever order other answers
// are given up, and wherever they are on their way: in this service, or in a RemotePort.
//
// The second half of a two-phase request is different. The grant may have come between the halves
// and then was no answer, so that the second half alone speaks for the lease.

#include <utility>

#include "service/lock_service.h"

namespace holdfast::service {

void LockService::abandon(PromiseId id) {
    Promise* const found = find_promise(id);
    if (found == nullptr) return;
    if (is_serving()) {
        // What is due happens first: this one may be granted in this very moment.
        table_->advance(clock_.now());
        absorb_changes();
    }
    const Promise promise = std::move(*found);
    erase_promise(id.slot);
    if (!is_serving()) return;
    undo(promise);
    executor_.at_end_of_turn();
}

// Nobody will hear the answer: takes back what it would have given.
void LockService::undo(const Promise& promise) {
    if (promise.session) table_->end_session(clock_.now(), promise.session);
    if (promise.place) give_up_place(promise.place);
    if (promise.lease) {
        release_if_unheard(*promise.lease, promise.naming);
    } else if (promise.waiter) {
        promises_by_waiter_.erase(promise.waiter.serial);
        cancel_wait(clock_.now(), promise.waiter);
    }
    absorb_changes();
}

// Nobody will hear how the wait ends. Its turn may come in this very moment, before it can be
// cancelled: then its lease is released.
void LockService::cancel_wait(core::Time now, core::WaiterId waiter) {
    const std::size_t first = table_->changes().size();
    if (table_->cancel(now, waiter)) return;
    const core::Changes& changes = table_->changes();
    for (std::size_t index = first; index < changes.size(); ++index) {
        const core::Event& event = changes[index];
        if (event.kind != core::EventKind::granted || event.waiter != waiter) continue;
        const core::Token token = event.lease.token;
        table_->release(now, {.token = token, .cause = core::Cause::none});
        return;
    }
}

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
    // Nobody has asked for this.
    table_->release(clock_.now(), {.token = token, .cause = core::Cause::none});
}

}  // namespace holdfast::service
