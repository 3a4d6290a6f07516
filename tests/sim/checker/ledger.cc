#include "sim/checker/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/naive_conflict.h"

namespace holdfast::sim {

namespace {

// So many of the latest endings are remembered. An answer does not wait for its commit for longer.
constexpr std::size_t endings_max = 200;

// The name of the queue a scope belongs to.
std::string lock_of(const core::Scope& scope) {
    return core::to_text(scope.is_of_inode() ? core::Scope::of_inode(scope.inode) : scope);
}

double seconds(Moment moment) {
    return std::chrono::duration<double>(moment.time_since_epoch()).count();
}

}  // namespace

Ledger::Asked Ledger::asked_by(const core::AcquireRequest& request, bool may_be_old) {
    const bool is_semaphore = request.scope.kind == core::ScopeKind::semaphore;
    std::vector<core::SetMember> members(request.members.begin(), request.members.end());
    if (members.size() < 2) {
        members = {{.scope = request.scope, .mode = request.mode, .limit = request.limit}};
    }
    for (core::SetMember& member : members) {
        if (member.scope.kind == core::ScopeKind::semaphore) member.mode = core::Mode::exclusive;
    }
    return {.scope = request.scope,
            .owner = request.owner,
            .mode = is_semaphore ? core::Mode::exclusive : request.mode,
            .limit = request.limit,
            .members = std::move(members),
            .session = request.session,
            .ttl = request.ttl,
            .request_id = request.notes.request_id,
            .may_be_old = may_be_old};
}

template <class Predicate>
bool Ledger::any_member(const Asked& asked, const Predicate& is_it) {
    return std::any_of(asked.members.begin(), asked.members.end(), is_it);
}

Ledger::Lease* Ledger::find(core::Token token) {
    const auto found = leases_.find(token.fence);
    if (found == leases_.end() || found->second.token != token) return nullptr;
    return &found->second;
}

template <class Visitor>
void Ledger::each_open(const Visitor& visit) {
    std::erase_if(open_, [this](core::Fence fence) { return leases_.at(fence).over_since; });
    for (const core::Fence fence : open_) visit(leases_.at(fence));
}

// The leases may end from now on, also those that no client has been told of yet.
void Ledger::allow_end(std::function<bool(const Asked&)> concerns) {
    each_open(
        [&](Lease& lease) { lease.may_be_over = lease.may_be_over || concerns(lease.asked); });
    endings_.push_back({.at = world_.now(), .concerns = std::move(concerns)});
    if (endings_.size() > endings_max) endings_.pop_front();
}

// An owner that asks again during the grace of its lease gets a new lease, and the grace is over.
void Ledger::on_reclaim(const core::Owner& owner, const core::Scope& scope) {
    reclaims_.push_back({.at = world_.now(), .concerns = [owner, scope](const Asked& asked) {
                             return asked.owner == owner && asked.scope == scope;
                         }});
    if (reclaims_.size() > endings_max) reclaims_.pop_front();
    each_open([&](Lease& lease) { end_grace(lease); });
}

void Ledger::end_grace(Lease& lease) const {
    for (const Ending& reclaim : reclaims_) {
        if (reclaim.at >= lease.promised_until && reclaim.concerns(lease.asked)) {
            lease.kept_until = lease.promised_until;
        }
    }
}

// A request that may renew the lease for `ttl` has arrived.
void Ledger::on_renewing(Lease& lease, core::Duration ttl, bool may_shorten) {
    const Moment now = world_.now();
    if (lease.over_since || now >= lease.latest_end) return;
    lease.ttl_max = std::max(lease.ttl_max, ttl);
    lease.latest_end = std::max(lease.latest_end, now + ttl);
    if (!may_shorten || lease.promised_until <= now + ttl) return;
    lease.promised_until = now + ttl;
    lease.kept_until = std::min(lease.kept_until, lease.promised_until);
    lease.promise_decided = now;
}

void Ledger::on_submitted(const Submission& submission) {
    const service::Request& request = submission.call.request;
    if (const auto* renew = std::get_if<core::RenewRequest>(&request)) {
        if (Lease* lease = find(renew->token)) {
            on_renewing(*lease, renew->ttl.value_or(lease->ttl_max),
                        renew->ttl && !renew->never_shorten);
        }
    } else if (const auto* release = std::get_if<core::ReleaseRequest>(&request)) {
        if (Lease* lease = find(release->token)) lease->may_be_over = true;
    } else if (const auto* own = std::get_if<service::ReleaseOwn>(&request)) {
        allow_end([own = *own](const Asked& asked) {
            return asked.owner == own.owner &&
                   any_member(asked, [&](const core::SetMember& member) {
                       return member.scope == own.scope;
                   });
        });
    } else if (const auto* force = std::get_if<service::ForceRelease>(&request)) {
        allow_end([scope = force->scope](const Asked& asked) {
            return any_member(asked, [&](const core::SetMember& member) {
                return model::is_overlapping(member.scope, scope);
            });
        });
    } else if (const auto* end = std::get_if<service::EndSession>(&request)) {
        if (end->leases == core::LockTable::SessionLeases::keep) return;
        allow_end(
            [session = end->session](const Asked& asked) { return asked.session == session; });
    } else if (const auto* wait = std::get_if<service::Wait>(&request)) {
        const EntryKey key = key_of(wait->session, wait->scope);
        entries_.erase(key);
        const auto first = enqueued_.find(key);
        if (first != enqueued_.end()) {
            waits_[submission.id] = first->second;
            enqueued_.erase(first);
        }
        each_open([&](Lease& lease) {
            if (lease.asked.session == wait->session && lease.asked.scope == wait->scope) {
                on_renewing(lease, lease.ttl_max, false);
            }
        });
    } else if (const auto* enqueue = std::get_if<service::Enqueue>(&request)) {
        on_enqueuing(submission, enqueue->request);
    } else if (const auto* acquire = std::get_if<core::AcquireRequest>(&request)) {
        on_reclaim(acquire->owner, acquire->scope);
        each_open([&](Lease& lease) {
            if (lease.asked.owner != acquire->owner || lease.asked.scope != acquire->scope) return;
            if (acquire->renew_own) on_renewing(lease, acquire->ttl, true);
        });
    }
}

Ledger::EntryKey Ledger::key_of(core::SessionId session, const core::Scope& scope) {
    return {session.serial, core::to_text(scope)};
}

void Ledger::on_enqueuing(const Submission& submission, const core::AcquireRequest& request) {
    const EntryKey key = key_of(request.session, request.scope);
    enqueued_.try_emplace(key, asked_by(request, true));
    const auto before = entries_.find(key);
    if (before == entries_.end()) return;
    const Lease& lease = leases_.at(before->second);
    if (lease.over_since || world_.now() >= lease.latest_end) fresh_.insert(submission.id);
    entries_.erase(before);
}

// A session is in a queue once; but when what it was granted there is over, it may come again.
void Ledger::on_enqueued(const Submission& submission, const core::AcquireRequest& request,
                         const Reply& reply) {
    if (reply.refusal == core::Refusal::already_enqueued && fresh_.contains(submission.id)) {
        world_.accuse(9, fmt::format("{} may not enqueue for {} again after its lease is over",
                                     request.owner.name, core::to_text(request.scope)));
    }
    const EntryKey key = key_of(request.session, request.scope);
    const Asked asked = asked_by(request, true);
    const bool is_admitted = reply.kind != core::Outcome::Kind::refused;
    if (const auto first = enqueued_.find(key); first != enqueued_.end() && is_admitted) {
        first->second = asked;
    }
    on_granted(asked, reply);
    if (reply.kind == core::Outcome::Kind::granted) entries_[key] = reply.token.fence;
}

void Ledger::on_abandoned(const Submission& submission) {
    const auto* wait = std::get_if<service::Wait>(&submission.call.request);
    if (wait == nullptr) return;
    allow_end([wait = *wait](const Asked& asked) {
        return asked.session == wait.session && asked.scope == wait.scope;
    });
}

void Ledger::on_answered(const Submission& submission, const Reply& reply) {
    if (reply.is_failure) {
        if (!reply.is_unknown) not_done_.insert(submission.id);
        return;
    }
    note_values(reply);
    const service::Request& request = submission.call.request;
    if (const auto* acquire = std::get_if<core::AcquireRequest>(&request)) {
        on_granted(asked_by(*acquire, !acquire->notes.request_id.empty()), reply);
    } else if (const auto* enqueue = std::get_if<service::Enqueue>(&request)) {
        on_enqueued(submission, enqueue->request, reply);
    } else if (std::holds_alternative<service::Wait>(request)) {
        if (const auto found = waits_.find(submission.id); found != waits_.end()) {
            on_granted(found->second, reply);
        } else if (Lease* lease = find(reply.token)) {
            on_renewed(*lease, reply);
        }
    } else if (const auto* renew = std::get_if<core::RenewRequest>(&request)) {
        on_shown(renew->token, reply);
    } else if (const auto* set = std::get_if<core::SetValueRequest>(&request)) {
        on_shown(set->token, reply);
    } else if (const auto* release = std::get_if<core::ReleaseRequest>(&request)) {
        on_shown(release->token, reply);
    }
}

// Everything that the answer says of the leases it names, whatever was asked.
void Ledger::note_values(const Reply& reply) {
    for (const ValueOfLease& shown : reply.shown) {
        check_shown(shown.token);
        values_.on_told(shown, reply.decided);
    }
    using Kind = core::Outcome::Kind;
    if (reply.kind != Kind::granted && reply.kind != Kind::renewed && reply.kind != Kind::found) {
        return;
    }
    values_.on_told({.token = reply.token, .revision = reply.revision, .value = reply.value},
                    reply.decided);
}

void Ledger::on_granted(const Asked& asked, const Reply& reply) {
    const bool is_granted = reply.kind == core::Outcome::Kind::granted;
    if (!is_granted && reply.kind != core::Outcome::Kind::renewed) return;
    if (reply.expires_at < reply.decided + asked.ttl && !asked.may_be_old) {
        world_.accuse(5, fmt::format("#{} is shorter than was asked for",
                                     core::as_number(reply.token.fence)));
    }
    if (!asked.request_id.empty()) check_repeated(asked, reply);
    Lease* const known = find(reply.token);
    if (known != nullptr && (asked.may_be_old || !is_granted)) {
        on_renewed(*known, reply);
        return;
    }
    if (leases_.contains(reply.token.fence)) {
        world_.accuse(2, fmt::format("number #{} is given to {} a second time",
                                     core::as_number(reply.token.fence), asked.owner.name));
    }
    check_shown(reply.token);
    if (is_granted) check_number(asked, reply);
    check_rivals(asked, reply);
    add(asked, reply);
}

void Ledger::add(const Asked& asked, const Reply& reply) {
    Lease lease{.asked = asked,
                .token = reply.token,
                .ttl_max = asked.ttl,
                .promised_until = reply.expires_at,
                .promise_decided = reply.decided,
                .kept_until = reply.kept_until,
                .is_transient = reply.is_transient,
                // It may have been renewed since, by somebody who needs no token.
                .latest_end = std::max(reply.expires_at, world_.now() + asked.ttl)};
    for (const Ending& ending : endings_) {
        if (ending.at >= reply.decided && ending.concerns(asked)) lease.may_be_over = true;
    }
    end_grace(lease);
    leases_.insert_or_assign(reply.token.fence, lease);
    open_.push_back(reply.token.fence);
}

// Numbers grow in the order in which grants are decided; answers to readers that were let in
// together may overtake one another. The second half of a two-phase request tells of a grant that
// may be older than its decision.
void Ledger::check_number(const Asked& asked, const Reply& reply) {
    if (asked.may_be_old) return;
    Decided& last = last_grants_[lock_of(asked.scope)];
    const bool is_larger = reply.token.fence > last.fence;
    if (reply.decided != last.at && is_larger != (reply.decided > last.at)) {
        world_.accuse(
            2, fmt::format("{} is granted #{} at {:.6f}, and #{} at {:.6f}",
                           core::to_text(asked.scope), core::as_number(reply.token.fence),
                           seconds(reply.decided), core::as_number(last.fence), seconds(last.at)));
    }
    if (is_larger) last = {.fence = reply.token.fence, .at = reply.decided};
}

// Whoever looked at a lock was shown the lease that has this number, and no other.
void Ledger::check_shown(core::Token token) {
    const auto [known, is_first] = shown_.try_emplace(token.fence, token);
    if (is_first || known->second == token) return;
    world_.accuse(2, fmt::format("number #{} was shown of another lease before",
                                 core::as_number(token.fence)));
}

// What was given by an id is what the same id gets again, for ten minutes; a restart forgets what
// is over.
void Ledger::check_repeated(const Asked& asked, const Reply& reply) {
    const Given given{.token = reply.token, .decided = reply.decided, .recoveries = recoveries_};
    const std::string key =
        fmt::format("{} {} {}", core::to_text(asked.scope), asked.owner.name, asked.request_id);
    const auto [known, is_first] = given_.try_emplace(key, given);
    if (is_first) return;
    if (known->second.token != reply.token && known->second.recoveries == recoveries_ &&
        reply.decided < known->second.decided + std::chrono::minutes{10}) {
        world_.accuse(7, fmt::format("request {} of {} is granted #{} and #{}", asked.request_id,
                                     asked.owner.name, core::as_number(known->second.token.fence),
                                     core::as_number(reply.token.fence)));
    }
    known->second = given;
}

void Ledger::check_rivals(const Asked& asked, const Reply& reply) {
    for (const core::SetMember& member : asked.members) check_rivals(asked, member, reply);
}

void Ledger::check_rivals(const Asked& asked, const core::SetMember& wanted, const Reply& reply) {
    std::uint32_t permits = 0;
    std::string rivals;
    each_open([&](Lease& lease) {
        const bool is_semaphore = wanted.scope.kind == core::ScopeKind::semaphore;
        const bool is_rival = any_member(lease.asked, [&](const core::SetMember& held) {
            return is_semaphore
                       ? model::is_same_lock(held.scope, wanted.scope)
                       : model::is_excluding(held.scope, held.mode, wanted.scope, wanted.mode);
        });
        if (!is_rival || lease.token == reply.token) return;
        const Moment end =
            lease.asked.owner == asked.owner ? lease.promised_until : lease.kept_until;
        const bool is_in_force = !lease.may_be_over && end > reply.decided;
        if (is_semaphore) {
            permits += is_in_force ? 1 : 0;
            if (is_in_force) rivals += fmt::format(" #{}", core::as_number(lease.token.fence));
            return;
        }
        if (is_in_force) {
            world_.accuse(lease.promised_until > reply.decided ? 1 : 5,
                          fmt::format("{} is granted #{} at {:.6f}, and {} has #{} until {:.6f}",
                                      asked.owner.name, core::as_number(reply.token.fence),
                                      seconds(reply.decided), lease.asked.owner.name,
                                      core::as_number(lease.token.fence), seconds(end)));
        }
        if (lease.token.fence < reply.token.fence) lease.over_since = reply.decided;
    });
    if (permits >= wanted.limit && wanted.scope.kind == core::ScopeKind::semaphore) {
        world_.accuse(1, fmt::format("#{} is one permit too many of {}, beside{}",
                                     core::as_number(reply.token.fence), wanted.limit, rivals));
    }
}

void Ledger::on_renewed(Lease& lease, const Reply& reply) {
    const auto number = core::as_number(lease.token.fence);
    if (lease.over_since && reply.decided > *lease.over_since) {
        world_.accuse(4, fmt::format("#{} is renewed after its end", number));
    } else if (reply.decided >= lease.latest_end) {
        world_.accuse(4, fmt::format("#{} is renewed at {:.6f}, and ended at {:.6f}", number,
                                     seconds(reply.decided), seconds(lease.latest_end)));
    }
    if (reply.decided < lease.promise_decided) return;
    lease.promise_decided = reply.decided;
    lease.promised_until = reply.expires_at;
    lease.kept_until = reply.kept_until;
    lease.is_transient = reply.is_transient;
    end_grace(lease);
}

// The answer to somebody who showed its token, to renew, to release or to set a value.
void Ledger::on_shown(core::Token token, const Reply& reply) {
    Lease* const lease = find(token);
    if (lease == nullptr) return;
    if (reply.kind == core::Outcome::Kind::renewed) {
        on_renewed(*lease, reply);
    } else if (reply.kind == core::Outcome::Kind::released) {
        if ((lease->over_since && reply.decided > *lease->over_since) ||
            reply.decided >= lease->latest_end) {
            world_.accuse(
                4, fmt::format("#{} is released after its end", core::as_number(token.fence)));
        }
        lease->over_since = std::min(reply.decided, lease->over_since.value_or(Moment::max()));
    } else if (!lease->may_be_over && reply.decided < lease->promised_until) {
        world_.accuse(5, fmt::format("#{} is gone at {:.6f}, and was promised until {:.6f}",
                                     core::as_number(token.fence), seconds(reply.decided),
                                     seconds(lease->promised_until)));
    } else if (reply.refusal == core::Refusal::lease_ended) {
        lease->over_since = std::min(reply.decided, lease->over_since.value_or(Moment::max()));
    }
}

void Ledger::on_recovered() {
    each_open([this](Lease& lease) {
        lease.latest_end = std::max(lease.latest_end, world_.now() + lease.ttl_max);
        lease.asked.session = {};
        lease.may_be_over = lease.may_be_over || lease.is_transient;
    });
    enqueued_.clear();
    entries_.clear();
    fresh_.clear();
    waits_.clear();
    ++recoveries_;
}

void Ledger::on_restored(const core::RestoreRequest& restored, std::uint64_t submission) {
    const core::Token token = restored.token;
    values_.on_restored(
        {.token = token, .revision = restored.revision, .value = std::string(restored.value)});
    if (restored.is_in_grace) return;
    if (not_done_.contains(submission)) {
        world_.accuse(4, fmt::format("#{} is found again, and its client was told that nothing was "
                                     "done",
                                     core::as_number(token.fence)));
    }
    const Lease* const lease = find(token);
    if (lease == nullptr || !lease->over_since) return;
    world_.accuse(4, fmt::format("#{} is found again, and was over at {:.6f}",
                                 core::as_number(token.fence), seconds(*lease->over_since)));
}

void Ledger::on_believed(core::Token token, Moment deadline) {
    Lease* const lease = find(token);
    if (lease == nullptr || lease->may_be_over || deadline <= lease->promised_until) return;
    world_.accuse(8, fmt::format("the holder of #{} counts on it until {:.6f}, the server until "
                                 "{:.6f}",
                                 core::as_number(token.fence), seconds(deadline),
                                 seconds(lease->promised_until)));
}

}  // namespace holdfast::sim
