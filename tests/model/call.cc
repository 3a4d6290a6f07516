#include "model/call.h"

#include <fmt/format.h>

namespace holdfast::model {

using namespace core;

namespace {

std::string to_text(const AcquireRequest& request, const std::vector<SetMember>& members) {
    return fmt::format(
        "{}{} {} by {}{}{} limit {} ttl {} grace {} memory {} wait {}{}{}{} secret {} value '{}'",
        core::to_text(request.scope), members.empty() ? "" : " of " + set_to_text(members),
        core::to_text(request.mode), model::to_text(request.owner),
        request.notes.waiter.empty() ? "" : fmt::format("/{}", request.notes.waiter),
        request.on_deadlock == OnDeadlock::refuse ? " refuse_deadlock" : "", request.limit,
        request.ttl.count(), request.grace.count(), request.memory.count(),
        request.wait == wait_forever ? "forever" : fmt::to_string(request.wait.count()),
        request.renew_own ? " renew_own" : "", request.is_only_kind ? " only_kind" : "",
        request.is_transient ? " transient" : "", static_cast<std::uint64_t>(request.secret),
        request.value);
}

std::string to_text_of_token(const Call& call) {
    std::string text = fmt::format("#{}/{}", static_cast<std::uint64_t>(call.token.fence),
                                   static_cast<std::uint64_t>(call.token.secret));
    if (call.scope) text += fmt::format(" on {}", core::to_text(*call.scope));
    if (call.owner) text += fmt::format(" of {}", model::to_text(*call.owner));
    if (call.operation != Operation::renew) return text;
    if (call.ttl) text += fmt::format(" ttl {}", call.ttl->count());
    return text + (call.never_shorten ? " never_shorten" : "");
}

}  // namespace

std::string to_text(const Call& call) {
    const std::string now = to_text(call.now), scope = core::to_text(call.request.scope);
    switch (call.operation) {
        case Operation::acquire:
            return fmt::format("{} acquire {} s{}", now, to_text(call.request, call.members),
                               call.session);
        case Operation::enqueue:
            return fmt::format("{} enqueue {} s{}", now, to_text(call.request, call.members),
                               call.session);
        case Operation::wait:
            return fmt::format("{} wait {} s{} timeout {}", now, scope, call.session,
                               call.timeout.count());
        case Operation::renew: return fmt::format("{} renew {}", now, to_text_of_token(call));
        case Operation::set_value:
            return fmt::format("{} set_value {} '{}'", now, to_text_of_token(call),
                               call.request.value);
        case Operation::release: return fmt::format("{} release {}", now, to_text_of_token(call));
        case Operation::release_own:
            return fmt::format("{} release_own {} by {}", now, scope, to_text(call.request.owner));
        case Operation::force_release: return fmt::format("{} force_release {}", now, scope);
        case Operation::cancel: return fmt::format("{} cancel w{}", now, call.waiter);
        case Operation::open_session:
            return fmt::format("{} open_session {}", now, to_text(call.request.owner));
        case Operation::end_session:
            return fmt::format("{} end_session s{}{}", now, call.session,
                               call.keeps_leases ? " keep" : "");
        case Operation::advance: return fmt::format("{} advance", now);
    }
    return {};
}

}  // namespace holdfast::model
