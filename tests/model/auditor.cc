#include "model/auditor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/naive_conflict.h"
#include "model/text.h"

namespace holdfast::model {

using namespace core;

namespace {

// A complaint about the lock of an event.
std::string complain(std::string_view about, const Event& event) {
    return fmt::format("{}: {} {} #{} at {}", about, core::to_text(event.kind),
                       core::to_text(event.lease.scope),
                       static_cast<std::uint64_t>(event.lease.token.fence), to_text(event.at));
}

// The scope, with `name` as its name: that string lives as long as the auditor needs it.
template <class Record>
Scope scope_of(const Record& record) {
    Scope scope = record.scope;
    scope.name = record.name;
    return scope;
}

}  // namespace

std::optional<std::string> Auditor::see(const Event& event) {
    if (event.at < last_time_) return complain("time goes back", event);
    last_time_ = event.at;
    std::optional<std::string> complaint;
    const auto back_from_grace = std::exchange(back_from_grace_, std::nullopt);
    switch (event.kind) {
        case EventKind::session_opened:
        case EventKind::session_ended: return std::nullopt;
        case EventKind::granted:
            back_from_grace_ = back_from_grace;
            complaint = see_grant(event);
            back_from_grace_.reset();
            break;
        case EventKind::renewed: {
            const auto index = find_hold(event.lease.token.fence);
            if (!index || holds_[*index].is_in_grace) {
                return complain("a lease that has ended is renewed", event);
            }
            holds_[*index].expires_at = event.lease.expires_at;
            holds_[*index].grace_until = event.lease.grace_until;
            break;
        }
        case EventKind::value_set: {
            const auto index = find_hold(event.lease.token.fence);
            if (!index || holds_[*index].is_in_grace) {
                return complain("a lease that has ended gets a value", event);
            }
            break;
        }
        case EventKind::released:
        case EventKind::expired:
        case EventKind::grace_ended: complaint = see_end(event); break;
        case EventKind::queued:
            if (find_wait(event.waiter)) return complain("one waiter queues twice", event);
            waits_.push_back({.id = event.waiter,
                              .name = std::string(event.lease.scope.name),
                              .scope = event.lease.scope,
                              .mode = event.lease.mode});
            break;
        case EventKind::wait_timed_out:
        case EventKind::wait_cancelled: {
            const auto index = find_wait(event.waiter);
            if (!index) return complain("a waiter that is not there leaves", event);
            waits_.erase(waits_.begin() + static_cast<std::ptrdiff_t>(*index));
            break;
        }
    }
    if (complaint) return complaint;
    if (event.queue_length != count_waits(event.lease.scope)) {
        return complain("the queue is not as long as it says", event);
    }
    return std::nullopt;
}

std::optional<std::string> Auditor::see_grant(const Event& event) {
    const auto fence = static_cast<std::uint64_t>(event.lease.token.fence);
    if (fence <= last_fence_) return complain("the number does not grow", event);
    last_fence_ = fence;
    if (event.lease.expires_at <= event.at) return complain("it has ended already", event);
    if (auto complaint = find_rival_hold(event)) return complaint;

    std::size_t ahead = waits_.size();
    if (event.waiter) {
        const auto index = find_wait(event.waiter);
        if (!index) return complain("a waiter that is gone is granted", event);
        ahead = *index;
    }
    const bool is_back_from_grace = !event.waiter && back_from_grace_ &&
                                    scope_of(*back_from_grace_) == event.lease.scope &&
                                    back_from_grace_->owner == event.lease.owner.name &&
                                    back_from_grace_->door == event.lease.owner.door &&
                                    back_from_grace_->mode == event.lease.mode;
    if (!is_back_from_grace) {
        if (auto complaint = find_passed_over(event, ahead)) return complaint;
    }
    if (event.waiter) waits_.erase(waits_.begin() + static_cast<std::ptrdiff_t>(ahead));
    holds_.push_back({.fence = event.lease.token.fence,
                      .name = std::string(event.lease.scope.name),
                      .owner = std::string(event.lease.owner.name),
                      .scope = event.lease.scope,
                      .door = event.lease.owner.door,
                      .mode = event.lease.mode,
                      .expires_at = event.lease.expires_at,
                      .grace_until = event.lease.grace_until});
    return std::nullopt;
}

std::optional<std::string> Auditor::find_rival_hold(const Event& event) const {
    std::size_t permits = 0;
    for (const Hold& hold : holds_) {
        const Scope scope = scope_of(hold);
        if (scope.kind == ScopeKind::semaphore) {
            if (is_same_lock(scope, event.lease.scope)) ++permits;
        } else if (is_excluding(scope, hold.mode, event.lease.scope, event.lease.mode)) {
            return complain("it is held", event);
        }
    }
    if (event.lease.scope.kind == ScopeKind::semaphore && permits >= event.limit) {
        return complain("no permit is left", event);
    }
    return std::nullopt;
}

// Complains if one of the first `ahead` waiters should have been granted instead. Names, semaphores
// and paths have one queue. On an inode a request may pass waiters that it does not conflict with.
std::optional<std::string> Auditor::find_passed_over(const Event& event, std::size_t ahead) const {
    const Scope& scope = event.lease.scope;
    const bool is_of_inode = scope.kind == ScopeKind::inode || scope.kind == ScopeKind::range;
    for (std::size_t index = 0; index < ahead; ++index) {
        const Wait& wait = waits_[index];
        const bool is_rival = is_of_inode
                                  ? is_excluding(scope_of(wait), wait.mode, scope, event.lease.mode)
                                  : is_same_lock(scope_of(wait), scope);
        if (is_rival) return complain("it was somebody else's turn", event);
    }
    return std::nullopt;
}

std::optional<std::string> Auditor::see_end(const Event& event) {
    const auto index = find_hold(event.lease.token.fence);
    if (!index) return complain("something ends that has not begun", event);
    Hold& hold = holds_[*index];
    if ((event.kind == EventKind::grace_ended) != hold.is_in_grace) {
        return complain("it ends twice, or its grace before itself", event);
    }
    if (event.kind == EventKind::expired) {
        if (event.at < hold.expires_at) return complain("it ends too early", event);
        if (hold.grace_until > hold.expires_at) {
            hold.is_in_grace = true;
            return std::nullopt;
        }
    }
    if (event.kind == EventKind::grace_ended) back_from_grace_ = hold;
    holds_.erase(holds_.begin() + static_cast<std::ptrdiff_t>(*index));
    return std::nullopt;
}

std::optional<std::string> Auditor::find_overdue(Time now) const {
    for (const Hold& hold : holds_) {
        if ((hold.is_in_grace ? hold.grace_until : hold.expires_at) > now) continue;
        return fmt::format("overdue at {}: {} #{}", to_text(now), core::to_text(scope_of(hold)),
                           static_cast<std::uint64_t>(hold.fence));
    }
    return std::nullopt;
}

std::optional<std::size_t> Auditor::find_hold(Fence fence) const {
    for (std::size_t index = 0; index < holds_.size(); ++index) {
        if (holds_[index].fence == fence) return index;
    }
    return std::nullopt;
}

std::optional<std::size_t> Auditor::find_wait(WaiterId id) const {
    for (std::size_t index = 0; index < waits_.size(); ++index) {
        if (waits_[index].id == id) return index;
    }
    return std::nullopt;
}

std::size_t Auditor::count_waits(const Scope& scope) const {
    return static_cast<std::size_t>(
        std::count_if(waits_.begin(), waits_.end(),
                      [&](const Wait& wait) { return is_same_lock(scope_of(wait), scope); }));
}

}  // namespace holdfast::model
