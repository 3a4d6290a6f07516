#include "model/deadlock_picture.h"

#include <algorithm>
#include <utility>

#include "model/naive_conflict.h"

namespace holdfast::model {

using namespace core;

namespace {

// Rule D2: whether both are for the same lock, or the same part of an inode.
bool is_same_place(const SetMember& a, const SetMember& b) {
    return is_overlapping(a.scope, b.scope);
}

bool is_at(const Picture::Waiting& waiting, const SetMember& place) {
    return std::any_of(waiting.members.begin(), waiting.members.end(),
                       [&](const SetMember& member) { return is_same_place(member, place); });
}

bool is_in_line(const SetMember& later, const SetMember& earlier) {
    const ScopeKind kind = earlier.scope.kind;
    if (kind != ScopeKind::inode && kind != ScopeKind::range) {
        return is_same_lock(later.scope, earlier.scope);
    }
    return is_excluding(later.scope, later.mode, earlier.scope, earlier.mode);
}

}  // namespace

void Picture::find_stuck() {
    is_stuck_.assign(waiting.size(), true);
    for (bool is_changed = true; std::exchange(is_changed, false);) {
        find_reasons();
        for (std::size_t index = 0; index < waiting.size(); ++index) {
            if (!is_stuck_[index] || !reasons_[index].empty()) continue;
            is_stuck_[index] = false;
            is_changed = true;
        }
    }
    find_reasons();
}

bool Picture::is_on_cycle(std::size_t start) const {
    if (!is_stuck_[start]) return false;
    std::vector<std::vector<bool>> is_seen(2, std::vector<bool>(waiting.size()));
    std::vector<std::pair<std::size_t, bool>> ahead{{start, false}};
    while (!ahead.empty()) {
        const auto [from, was_with_other] = ahead.back();
        ahead.pop_back();
        for (const std::size_t next : reasons_[from]) {
            const bool is_with_other =
                was_with_other || !(waiting[next].client == waiting[start].client);
            if (next == start && is_with_other) return true;
            if (is_seen[is_with_other][next]) continue;
            is_seen[is_with_other][next] = true;
            ahead.push_back({next, is_with_other});
        }
    }
    return false;
}

// Rule D2: whether the client of this waiter waits for nothing but this place.
bool Picture::is_plain(std::size_t index) const {
    return std::all_of(waiting.begin(), waiting.end(), [&](const Waiting& other) {
        if (!(other.client == waiting[index].client)) return true;
        return other.members.size() == 1 && waiting[index].members.size() == 1 &&
               is_same_place(other.members[0], waiting[index].members[0]);
    });
}

// The stuck waiters because of which each one is stuck: D2.
void Picture::find_reasons() {
    reasons_.assign(waiting.size(), {});
    for (std::size_t index = 0; index < waiting.size(); ++index) {
        std::vector<std::size_t>& found = reasons_[index];
        for (const SetMember& wanted : waiting[index].members) {
            for (std::size_t earlier = 0; earlier < index; ++earlier) {
                for (const SetMember& member : waiting[earlier].members) {
                    if (is_in_line(wanted, member)) add_earlier(earlier, member, wanted, found);
                }
            }
            if (wanted.scope.kind == ScopeKind::semaphore) {
                add_permits(wanted, found);
            } else {
                for (const Holding& holder : holding) add_holder(holder, wanted, found);
            }
        }
    }
}

void Picture::add_earlier(std::size_t earlier, const SetMember& member, const SetMember& wanted,
                          std::vector<std::size_t>& found) const {
    if (is_plain(earlier)) {
        // What is a reason for that one is a reason for this one.
        found.insert(found.end(), reasons_[earlier].begin(), reasons_[earlier].end());
        return;
    }
    if (is_stuck_[earlier]) found.push_back(earlier);
    if (wanted.scope.kind == ScopeKind::semaphore) return;
    if (!is_excluding(wanted.scope, wanted.mode, member.scope, member.mode)) return;
    add_waits_of(waiting[earlier].client, member, found);
}

void Picture::add_holder(const Holding& holder, const SetMember& wanted,
                         std::vector<std::size_t>& found) const {
    if (holder.is_in_grace) return;
    for (const SetMember& held : holder.members) {
        if (!is_excluding(wanted.scope, wanted.mode, held.scope, held.mode)) continue;
        add_waits_of(holder.client, held, found);
    }
}

// One holder that can end is enough.
void Picture::add_permits(const SetMember& wanted, std::vector<std::size_t>& found) const {
    std::vector<std::size_t> reasons;
    std::size_t permits = 0;
    for (const Holding& holder : holding) {
        for (const SetMember& held : holder.members) {
            if (!is_same_lock(held.scope, wanted.scope)) continue;
            ++permits;
            if (holder.is_in_grace) return;
            const std::size_t before = reasons.size();
            add_waits_of(holder.client, held, reasons);
            if (reasons.size() == before) return;
        }
    }
    if (permits < wanted.limit) return;
    found.insert(found.end(), reasons.begin(), reasons.end());
}

// The stuck waits of a client that has, or stands for, `place`.
void Picture::add_waits_of(const Client& client, const SetMember& place,
                           std::vector<std::size_t>& found) const {
    for (std::size_t index = 0; index < waiting.size(); ++index) {
        if (!(waiting[index].client == client) || is_at(waiting[index], place)) continue;
        if (is_stuck_[index]) found.push_back(index);
    }
}

}  // namespace holdfast::model
