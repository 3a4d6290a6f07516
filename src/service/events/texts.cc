#include "service/events/texts.h"

#include <utility>

namespace holdfast::service {

namespace {

// Calls visit(part) for every part of a request that is or has a text.
template <class Visit>
struct PartsOf {
    Visit visit;

    void operator()(core::AcquireRequest& request) const {
        visit(request.scope);
        visit(request.owner);
        visit(request.notes);
        visit(request.members);
        visit(request.value);
    }
    void operator()(Enqueue& request) const { (*this)(request.request); }
    void operator()(Wait& request) const { visit(request.scope); }
    void operator()(core::RenewRequest& request) const { proof(request); }
    void operator()(core::SetValueRequest& request) const { visit(request.value); }
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
        visit(request.query.prefix);
        if (request.query.after) visit(*request.query.after);
    }
    void operator()(Find&) const {}
    void operator()(CheckToken& request) const { visit(request.scope); }
    void operator()(ListLeases& request) const {
        if (request.query.on) visit(*request.query.on);
        visit(request.query.holder);
    }
    void operator()(RaiseFence& request) const { visit(request.resource); }
    void operator()(ReadFence& request) const { visit(request.resource); }
    void operator()(DropFence& request) const { visit(request.resource); }
    void operator()(ListSessions&) const {}
    void operator()(ListDeadlocks&) const {}
    void operator()(RunStep& request) const { request.step->keep_texts(); }
    void operator()(TellAct& request) const { visit(request.what); }
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

void Texts::keep_texts_of(Request& request) {
    std::visit(PartsOf{[this](auto& part) { replace(part); }}, request);
}

void Texts::keep_texts_of(Response& response) {
    replace(response.outcome.lease);
    response.outcome.previous_owner = keep(response.outcome.previous_owner);
    response.outcome.cycle = keep(response.outcome.cycle);
    response.failure = keep(response.failure);
    if (!response.details) return;
    auto details = std::make_shared<Details>(*response.details);
    for (core::LockView& lock : details->locks) replace(lock);
    for (core::LeaseView& lease : details->leases) replace(lease);
    for (core::SessionView& session : details->sessions) replace(session.owner);
    response.details = std::move(details);
}

void Texts::replace(core::LeaseView& lease) {
    replace(lease.scope);
    replace(lease.owner);
    replace(lease.notes);
    replace(lease.members);
    replace(lease.value);
}

void Texts::replace(std::span<const core::SetMember>& members) {
    if (members.empty()) return;
    auto& kept = sets_.emplace_back(members.begin(), members.end());
    for (core::SetMember& member : kept) replace(member.scope);
    members = kept;
}

void Texts::replace(core::LockView& lock) {
    replace(lock.scope);
    for (core::LeaseView& lease : lock.holders) replace(lease);
    for (core::WaiterView& waiter : lock.waiters) {
        replace(waiter.scope);
        replace(waiter.owner);
        replace(waiter.notes);
        replace(waiter.members);
        replace(waiter.blocker);
    }
    if (lock.lapsed) replace(*lock.lapsed);
}

}  // namespace holdfast::service
