#include "service/books/wait_rights.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace holdfast::service {

std::vector<core::SetMember> wanted_by(const Request& request) {
    if (const auto* const wait = std::get_if<Wait>(&request)) return {{.scope = wait->scope}};
    const auto* acquire = std::get_if<core::AcquireRequest>(&request);
    if (const auto* const first_half = std::get_if<Enqueue>(&request)) {
        acquire = &first_half->request;
    }
    if (acquire == nullptr) return {};
    if (acquire->members.empty()) {
        return {{.scope = acquire->scope, .mode = acquire->mode, .limit = acquire->limit}};
    }
    return {acquire->members.begin(), acquire->members.end()};
}

std::optional<core::Scope> find_denied(const core::ScopeFilter& allowed,
                                       std::span<const core::SetMember> members) {
    for (const core::SetMember& member : members) {
        if (!allowed.includes(member.scope)) return member.scope;
    }
    return std::nullopt;
}

void WaitRights::keep(core::WaiterId waiter, AllowedScopes allowed,
                      std::span<const core::SetMember> members) {
    CHECK(allowed && !members.empty());
    waits_.insert_or_assign(waiter.serial, Wait{.waiter = waiter,
                                                .allowed = std::move(allowed),
                                                .members = core::set_to_text(members)});
}

std::vector<WaitRights::Lost> WaitRights::take_lost() {
    std::vector<Lost> lost;
    for (auto wait = waits_.begin(); wait != waits_.end();) {
        const auto members = core::parse_set(wait->second.members);
        CHECK(members);
        const auto denied = find_denied(*wait->second.allowed, *members);
        if (!denied) {
            ++wait;
            continue;
        }
        lost.push_back({.waiter = wait->second.waiter, .scope = core::to_text(*denied)});
        wait = waits_.erase(wait);
    }
    std::sort(lost.begin(), lost.end(), [](const Lost& one, const Lost& other) {
        return one.waiter.serial > other.waiter.serial;
    });
    return lost;
}

}  // namespace holdfast::service
