#include "model/auditor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/deadlock_picture.h"
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

}  // namespace

// The scope, with a name that lives as long as the auditor needs it.
Scope Auditor::Member::place() const {
    Scope place = scope;
    place.name = name;
    return place;
}

// All that a lease or a waiter is about.
Auditor::Members Auditor::members_of(const Event& event) {
    const LeaseView& lease = event.lease;
    auto set = parse_set(lease.members);
    if (!set || set->empty())
        set = {{.scope = lease.scope, .mode = lease.mode, .limit = event.limit}};
    Members members;
    for (const SetMember& one : *set) {
        members.push_back({.name = std::string(one.scope.name),
                           .scope = one.scope,
                           .mode = one.mode,
                           .limit = one.limit});
    }
    return members;
}

std::string Auditor::to_text(const Members& members) {
    std::string text;
    for (const Member& member : members) {
        text.append(core::to_text(member.place())).append(" ").append(core::to_text(member.mode));
        text.append(" ");
    }
    return text;
}

std::optional<std::string> Auditor::see(const Event& event) {
    if (event.at < last_time_) return complain("time goes back", event);
    last_time_ = event.at;
    if (std::exchange(is_deadlock_due_, false) && event.kind != EventKind::deadlock) {
        return complain("a deadlock is not told", event);
    }
    std::optional<std::string> complaint;
    const auto back_from_grace = std::exchange(back_from_grace_, std::nullopt);
    switch (event.kind) {
        case EventKind::session_opened:
        case EventKind::deadlock: return std::nullopt;
        case EventKind::session_ended:
            for (Hold& hold : holds_) {
                if (hold.session == event.lease.session) hold.session = {};  // it was kept
            }
            return std::nullopt;
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
                              .members = members_of(event),
                              .owner = std::string(event.lease.owner.name),
                              .door = event.lease.owner.door,
                              .session = event.lease.session,
                              .waiter = std::string(event.lease.notes.waiter)});
            is_deadlock_due_ = closes_cycle();
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
    const bool is_back_from_grace =
        !event.waiter && back_from_grace_ &&
        to_text(back_from_grace_->members) == to_text(members_of(event)) &&
        back_from_grace_->owner == event.lease.owner.name &&
        back_from_grace_->door == event.lease.owner.door;
    if (!is_back_from_grace) {
        if (auto complaint = find_passed_over(event, ahead)) return complaint;
    }
    if (event.waiter) waits_.erase(waits_.begin() + static_cast<std::ptrdiff_t>(ahead));
    holds_.push_back({.fence = event.lease.token.fence,
                      .owner = std::string(event.lease.owner.name),
                      .members = members_of(event),
                      .door = event.lease.owner.door,
                      .session = event.lease.session,
                      .waiter = std::string(event.lease.notes.waiter),
                      .expires_at = event.lease.expires_at,
                      .grace_until = event.lease.grace_until});
    return std::nullopt;
}

// Whether the waiter that came last waits for itself, by way of others.
bool Auditor::closes_cycle() const {
    const auto places_of = [](const Members& members) {
        std::vector<SetMember> places;
        for (const Member& member : members) {
            places.push_back({.scope = member.place(), .mode = member.mode, .limit = member.limit});
        }
        return places;
    };
    Picture picture;
    for (const Wait& wait : waits_) {
        picture.waiting.push_back({.client = {wait.session, {wait.door, wait.owner}, wait.waiter},
                                   .members = places_of(wait.members)});
    }
    for (const Hold& hold : holds_) {
        picture.holding.push_back({.client = {hold.session, {hold.door, hold.owner}, hold.waiter},
                                   .members = places_of(hold.members),
                                   .is_in_grace = hold.is_in_grace});
    }
    picture.find_stuck();
    return picture.is_on_cycle(waits_.size() - 1);
}

std::optional<std::string> Auditor::find_rival_hold(const Event& event) const {
    for (const Member& wanted : members_of(event)) {
        const Scope scope = wanted.place();
        std::size_t permits = 0;
        for (const Hold& hold : holds_) {
            for (const Member& held : hold.members) {
                if (scope.kind == ScopeKind::semaphore) {
                    permits += is_same_lock(held.place(), scope) ? 1 : 0;
                } else if (is_excluding(held.place(), held.mode, scope, wanted.mode)) {
                    return complain("it is held", event);
                }
            }
        }
        if (scope.kind == ScopeKind::semaphore && permits >= wanted.limit) {
            return complain("no permit is left", event);
        }
    }
    return std::nullopt;
}

// Complains if one of the first `ahead` waiters should have been granted instead. Names, semaphores
// and paths have one queue. On an inode a request may pass waiters that it does not conflict with.
std::optional<std::string> Auditor::find_passed_over(const Event& event, std::size_t ahead) const {
    for (const Member& granted : members_of(event)) {
        const Scope scope = granted.place();
        const bool is_of_inode = scope.kind == ScopeKind::inode || scope.kind == ScopeKind::range;
        for (std::size_t index = 0; index < ahead; ++index) {
            for (const Member& waiting : waits_[index].members) {
                const bool is_rival =
                    is_of_inode ? is_excluding(waiting.place(), waiting.mode, scope, granted.mode)
                                : is_same_lock(waiting.place(), scope);
                if (is_rival) return complain("it was somebody else's turn", event);
            }
        }
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
            hold.session = {};
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
        return fmt::format("overdue at {}: {}#{}", model::to_text(now), to_text(hold.members),
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
    std::size_t count = 0;
    for (const Wait& wait : waits_) {
        for (const Member& member : wait.members) {
            count += is_same_lock(member.place(), scope) ? 1 : 0;
        }
    }
    return count;
}

}  // namespace holdfast::model
