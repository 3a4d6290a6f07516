#include "service/texts.h"

#include <cstring>

namespace holdfast::service {

namespace {

// Calls visit(scope) and visit(owner) for every text-carrying part of a request.
template <class Visit>
struct PartsOf {
    Visit visit;

    void operator()(core::AcquireRequest& request) const {
        visit(request.scope);
        visit(request.owner);
        visit(request.notes);
    }
    void operator()(Enqueue& request) const { (*this)(request.request); }
    void operator()(Wait& request) const { visit(request.scope); }
    void operator()(core::RenewRequest& request) const { proof(request); }
    void operator()(core::ReleaseRequest& request) const { proof(request); }
    void operator()(ReleaseOwn& request) const {
        visit(request.scope);
        visit(request.owner);
    }
    void operator()(ForceRelease& request) const { either(request); }
    void operator()(OpenSession& request) const { visit(request.owner); }
    void operator()(EndSession&) const {}
    void operator()(Inspect& request) const { either(request); }
    void operator()(List& request) const {
        core::Scope prefix{.name = request.query.prefix};
        visit(prefix);
        request.query.prefix = prefix.name;
        if (request.query.after) visit(*request.query.after);
    }
    void operator()(Find&) const {}
    void operator()(Measure&) const {}

    template <class Either>
    void either(Either& request) const {
        visit(request.scope);
        if (request.or_else) visit(*request.or_else);
    }
    template <class Proof>
    void proof(Proof& request) const {
        if (request.scope) visit(*request.scope);
        if (request.owner) visit(*request.owner);
    }
};

template <class Visit>
PartsOf(Visit) -> PartsOf<Visit>;

}  // namespace

std::string_view Texts::keep(std::string_view text) {
    if (text.empty()) return {};
    auto* copy = static_cast<char*>(memory_->allocate(text.size(), 1));
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
}

Request Texts::keep(const Request& request) {
    Request kept = request;
    std::visit(PartsOf{[this](auto& part) { keep(part); }}, kept);
    return kept;
}

Response Texts::keep(Response response) {
    keep(response.outcome.lease);
    response.outcome.previous_owner = keep(response.outcome.previous_owner);
    for (core::LockView& lock : response.locks) keep(lock);
    response.failure = keep(response.failure);
    return response;
}

void Texts::keep(core::LeaseView& lease) {
    keep(lease.scope);
    keep(lease.owner);
    keep(lease.notes);
}

void Texts::keep(core::LockView& lock) {
    keep(lock.scope);
    for (core::LeaseView& lease : lock.holders) keep(lease);
    for (core::WaiterView& waiter : lock.waiters) {
        keep(waiter.scope);
        keep(waiter.owner);
        keep(waiter.notes);
        keep(waiter.blocker);
    }
    if (lock.lapsed) keep(*lock.lapsed);
}

}  // namespace holdfast::service
