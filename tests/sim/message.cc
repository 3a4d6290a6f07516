#include "sim/message.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <utility>

namespace holdfast::sim {

namespace {

std::string wait_text(core::Duration wait) {
    if (wait == core::wait_forever) return "for ever";
    return fmt::format("{}", wait);
}

std::string scopes_text(const core::AcquireRequest& request) {
    std::string text = core::to_text(request.scope);
    for (const core::SetMember& member : request.members) {
        if (member.scope != request.scope) text.append(" and ").append(core::to_text(member.scope));
    }
    return text;
}

// Requests as short texts.
struct Describe {
    std::string operator()(const core::AcquireRequest& request) const {
        return fmt::format(
            "acquire {} {} by {} for {}, waiting {}{}{}{}", core::to_text(request.mode),
            scopes_text(request), request.owner.name, request.ttl, wait_text(request.wait),
            request.renew_own ? ", or renew" : "", request.is_transient ? ", transient" : "",
            request.value.empty() ? "" : fmt::format(", with value '{}'", request.value));
    }
    std::string operator()(const service::Enqueue& enqueue) const {
        return fmt::format("enqueue {} by {} in s{} for {}{}", core::to_text(enqueue.request.scope),
                           enqueue.request.owner.name, enqueue.request.session.serial,
                           enqueue.request.ttl, enqueue.request.is_transient ? ", transient" : "");
    }
    std::string operator()(const service::Wait& wait) const {
        return fmt::format("wait in s{} for {}, {}", wait.session.serial, core::to_text(wait.scope),
                           wait_text(wait.timeout));
    }
    std::string operator()(const core::RenewRequest& request) const {
        return fmt::format("renew #{} {}{}", core::as_number(request.token.fence),
                           request.ttl ? fmt::format("for {}", *request.ttl) : "as it is",
                           request.never_shorten ? " at least" : "");
    }
    std::string operator()(const core::SetValueRequest& request) const {
        return fmt::format("set value of #{} to '{}'", core::as_number(request.token.fence),
                           request.value);
    }
    std::string operator()(const core::ReleaseRequest& request) const {
        return fmt::format("release #{}", core::as_number(request.token.fence));
    }
    std::string operator()(const service::ReleaseOwn& request) const {
        return fmt::format("release {} of {}", core::to_text(request.scope), request.owner.name);
    }
    std::string operator()(const service::ForceRelease& request) const {
        return fmt::format("force release of {}", core::to_text(request.scope));
    }
    std::string operator()(const service::OpenSession& request) const {
        return fmt::format("open session for {}", request.owner.name);
    }
    std::string operator()(const service::EndSession& request) const {
        const bool keeps = request.leases == core::LockTable::SessionLeases::keep;
        return fmt::format("end session s{}{}", request.session.serial,
                           keeps ? ", keeping its leases" : "");
    }
    std::string operator()(const service::Inspect& request) const {
        return fmt::format("inspect {}", core::to_text(request.scope));
    }
    std::string operator()(const service::List& /*request*/) const { return "list"; }
    std::string operator()(const service::Find& request) const {
        return fmt::format("find #{}", core::as_number(request.token.fence));
    }
    std::string operator()(const service::CheckToken& request) const {
        return fmt::format("check #{} for {}", core::as_number(request.token.fence),
                           core::to_text(request.scope));
    }
    std::string operator()(const service::ListLeases& /*request*/) const { return "list leases"; }
    std::string operator()(const service::ListSessions& /*request*/) const {
        return "list sessions";
    }
    std::string operator()(const service::ListDeadlocks& /*request*/) const {
        return "list deadlocks";
    }
    std::string operator()(const service::RaiseFence& request) const {
        return fmt::format("raise fence {} to #{}", request.resource,
                           core::as_number(request.fence));
    }
    std::string operator()(const service::ReadFence& request) const {
        return fmt::format("read fence {}", request.resource);
    }
    std::string operator()(const service::RunStep& /*request*/) const { return "step"; }
    std::string operator()(const service::TellAct& /*request*/) const { return "tell of an act"; }
    std::string operator()(const service::DropFence& request) const {
        return fmt::format("drop fence {}", request.resource);
    }
    std::string operator()(const service::Measure& /*request*/) const { return "measure"; }
};

}  // namespace

Reply make_reply(const Call& call, const service::Response& response, const Machine& machine) {
    const core::Outcome& outcome = response.outcome;
    std::vector<ValueOfLease> shown;
    for (const core::LockView& lock : response.locks()) {
        for (const core::LeaseView& lease : lock.holders) {
            shown.push_back({.token = lease.token,
                             .revision = lease.revision,
                             .value = std::string(lease.value)});
        }
    }
    return {.call = call.number,
            .is_failure = !response.failure.empty(),
            .is_unknown = response.is_unknown,
            .kind = outcome.kind,
            .refusal = outcome.refusal,
            .token = outcome.lease.token,
            .ttl = outcome.lease.ttl,
            .decided = machine.to_world(response.now),
            .expires_at = machine.to_world(outcome.lease.expires_at),
            .kept_until = machine.to_world(outcome.lease.grace_until),
            .session = response.session,
            .is_transient = outcome.lease.is_transient,
            .revision = outcome.lease.revision,
            .value = std::string(outcome.lease.value),
            .shown = std::move(shown)};
}

std::string to_text(const service::Request& request) {
    return std::visit(Describe{}, request);
}

std::string to_text(const Reply& reply) {
    if (reply.is_failure) return "the store failed";
    switch (reply.kind) {
        case core::Outcome::Kind::granted:
            return fmt::format("granted #{}", core::as_number(reply.token.fence));
        case core::Outcome::Kind::renewed:
            return fmt::format("renewed #{}", core::as_number(reply.token.fence));
        case core::Outcome::Kind::found:
            return fmt::format("found #{}", core::as_number(reply.token.fence));
        case core::Outcome::Kind::released: return "released";
        case core::Outcome::Kind::queued: return "queued";
        case core::Outcome::Kind::refused: break;
    }
    if (reply.session) return fmt::format("session s{}", reply.session.serial);
    return fmt::format("refused {}", core::to_text(reply.refusal));
}

}  // namespace holdfast::sim
