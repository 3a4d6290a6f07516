#include "holdfast/lock_error.h"

#include <cstdio>
#include <cstdlib>

#include "base/text/rfc3339.h"
#include "holdfast/lock_result.h"

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

// A member that is hidden has no names. Its neighbours may have told them.
std::string to_text(const std::vector<DeadlockMember>& cycle) {
    const auto name_in_the_way = [&](std::size_t index) {
        const DeadlockMember& member = cycle[index];
        const DeadlockMember& next = cycle[(index + 1) % cycle.size()];
        if (!member.is_hidden) return member.held_by;
        return next.is_hidden ? std::string("somebody") : next.holder;
    };
    if (cycle.empty()) return "those who wait for one another are not known";
    std::string text = name_in_the_way(cycle.size() - 1) + " waits for ";
    for (std::size_t index = 0; index < cycle.size(); ++index) {
        const DeadlockMember& member = cycle[index];
        const bool is_last = index + 1 == cycle.size();
        text += name_in_the_way(index);
        if (is_last && cycle.size() > 1) break;
        if (!member.is_hidden) {
            text +=
                member.fencing_token > 0 ? ", who holds " : ", who is before it in the queue of ";
            text += member.waits_for.to_text();
        }
        if (!is_last) text += member.is_hidden ? ", who waits for " : " and waits for ";
    }
    return text;
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
