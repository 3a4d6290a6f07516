#include "holdfast/lock_error.h"

#include <cstdio>
#include <cstdlib>

#include "base/text/rfc3339.h"
#include "core/values/cycle_sentence.h"
#include "holdfast/lock_result.h"
#include "values/lock_scope.h"

namespace holdfast {

namespace {

std::string describe(const LockScope& scope, LockMode mode) {
    return (mode == LockMode::shared ? "shared " : "") + scope.to_text();
}

struct ToText {
    std::string operator()(const LockHeld& error) const {
        if (error.holder.empty()) return error.scope.to_text() + " was not granted in time";
        std::string text = error.scope.to_text() + " is held by " + error.holder;
        if (error.expires_at == std::chrono::system_clock::time_point::max()) return text;
        text += " until ";
        base::append_rfc3339(text, std::chrono::floor<std::chrono::milliseconds>(error.expires_at));
        return text;
    }
    std::string operator()(const LockDeadlock& error) const {
        return "waiting for " + error.scope.to_text() +
               " would never end: " + holdfast::to_text(error.cycle);
    }
    std::string operator()(const LockNotFound&) const { return "there is no such lock"; }
    std::string operator()(const LockExpired&) const { return "the lock is over"; }
    std::string operator()(const LockScopeMismatch& error) const {
        return "a lock on " + describe(error.held, error.held_mode) + " is not enough for " +
               describe(error.wanted, error.wanted_mode);
    }
    std::string operator()(const LockNotGuaranteed& error) const {
        const std::string text = "the lock may be over: no renewal was confirmed in time";
        return error.message.empty() ? text : text + " (" + error.message + ")";
    }
    std::string operator()(const LockCancelled&) const { return "the request was cancelled"; }
    std::string operator()(const LockLimitReached& error) const { return error.message; }
    std::string operator()(const InvalidLockRequest& error) const { return error.message; }
    std::string operator()(const LockStoreFailure& error) const { return error.message; }
    std::string operator()(const ServerUnavailable& error) const { return error.message; }
    std::string operator()(const NotPermitted& error) const { return error.message; }
    std::string operator()(const StaleFence& error) const {
        return error.resource + " was used under fencing token " + std::to_string(error.highest) +
               ", which is larger than " + std::to_string(error.fencing_token);
    }
};

}  // namespace

std::string to_text(const std::vector<DeadlockMember>& cycle) {
    std::vector<core::CycleMember> members;
    for (const DeadlockMember& member : cycle) {
        core::CycleMember& view = members.emplace_back();
        if (member.is_hidden) continue;
        view.owner.name = member.holder;
        view.waits_for = values::to_core(member.waits_for);
        view.held_by.name = member.held_by;
        view.fence = core::Fence{member.fencing_token};
    }
    return core::cycle_sentence(members);
}

std::string to_text(const LockError& error) {
    return std::visit(ToText{}, error);
}

void bad_lock_result_access(const LockError* error) {
    if (error != nullptr) {
        std::fprintf(stderr, "holdfast: the value of a failure was read: %s\n",
                     to_text(*error).c_str());
    } else {
        std::fprintf(stderr, "holdfast: the error of a success was read\n");
    }
    std::abort();
}

}  // namespace holdfast
