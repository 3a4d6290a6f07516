#include <algorithm>

#include "model/deadlock_picture.h"
#include "model/naive_conflict.h"
#include "model/naive_table.h"

// Who waits for ever. Rules are named as in rules.md.

namespace holdfast::model {

using namespace core;

namespace {

template <class Waiters, class Leases>
Picture draw(const Waiters& waiters, const Leases& leases) {
    Picture picture;
    for (const auto& waiter : waiters) {
        picture.waiting.push_back({.client = {.session = waiter.request.session,
                                              .owner = waiter.request.owner,
                                              .waiter = waiter.request.notes.waiter},
                                   .members = waiter.members});
    }
    for (const auto& lease : leases) {
        picture.holding.push_back({.client = {.session = lease.view.session,
                                              .owner = lease.view.owner,
                                              .waiter = lease.view.notes.waiter},
                                   .members = lease.members,
                                   .is_in_grace = lease.view.state == LeaseState::grace});
    }
    return picture;
}

}  // namespace

bool NaiveTable::closes_cycle(const AcquireRequest& request, const Members& members) const {
    Picture picture = draw(waiters_, leases_);
    picture.waiting.push_back({.client = {.session = request.session,
                                          .owner = request.owner,
                                          .waiter = request.notes.waiter},
                               .members = members});
    picture.find_stuck();
    return picture.is_on_cycle(waiters_.size());
}

bool NaiveTable::has_deadlock() const {
    Picture picture = draw(waiters_, leases_);
    picture.find_stuck();
    for (std::size_t index = 0; index < waiters_.size(); ++index) {
        if (picture.is_on_cycle(index)) return true;
    }
    return false;
}

bool NaiveTable::is_cycle(const std::vector<CycleMember>& cycle,
                          const AcquireRequest* request) const {
    const auto client_of = [](const AcquireRequest& one) {
        return Picture::Client{one.session, one.owner, one.notes.waiter};
    };
    // Those in the way of a request that came after the first `ahead` waiters, as the cycle names
    // them.
    const auto find_rivals = [&](const Members& members, std::size_t ahead,
                                 const CycleMember& member) {
        std::vector<Picture::Client> rivals;
        for (const SetMember& wanted : members) {
            if (wanted.scope != member.waits_for) continue;
            AcquireRequest alone{.scope = wanted.scope, .mode = wanted.mode};
            alone.limit = wanted.limit;
            const Lease* lease = find_lease(member.fence);
            const bool is_lease = lease != nullptr && lease->view.owner == member.held_by;
            // Directly, or by way of those ahead.
            if (is_lease && is_in_the_way(alone, member.fence)) {
                const LeaseView& view = lease->view;
                rivals.push_back({view.session, view.owner, view.notes.waiter});
            }
            for (std::size_t index = 0; index < ahead && member.fence == Fence{}; ++index) {
                const Waiter& earlier = waiters_[index];
                if (earlier.request.owner != member.held_by || !is_behind(wanted, earlier))
                    continue;
                rivals.push_back(client_of(earlier.request));
            }
        }
        return rivals;
    };
    const auto is_same_client = [&](const Picture::Client& client, const CycleMember& member) {
        if (client.session) return true;  // a session may have requests of several owners
        return client.owner == member.owner && client.waiter == member.waiter;
    };
    for (std::size_t place = 0; place < cycle.size(); ++place) {
        const CycleMember& member = cycle[place];
        std::vector<Picture::Client> rivals;
        for (std::size_t index = 0; index < waiters_.size(); ++index) {
            const AcquireRequest& waiting = waiters_[index].request;
            if (waiting.owner != member.owner || waiting.notes.waiter != member.waiter) continue;
            const auto found = find_rivals(waiters_[index].members, index, member);
            rivals.insert(rivals.end(), found.begin(), found.end());
        }
        if (place == 0 && request != nullptr && request->owner == member.owner) {
            const auto found = find_rivals(members_of(*request), waiters_.size(), member);
            rivals.insert(rivals.end(), found.begin(), found.end());
        }
        const CycleMember& next = cycle[(place + 1) % cycle.size()];
        const bool is_next = std::any_of(rivals.begin(), rivals.end(), [&](const auto& rival) {
            return is_same_client(rival, next);
        });
        if (!is_next) return false;
    }
    return !cycle.empty();
}

}  // namespace holdfast::model
