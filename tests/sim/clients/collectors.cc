#include "sim/clients/collectors.h"

#include <algorithm>
#include <utility>

#include "core/values/scope_set.h"

namespace holdfast::sim {

namespace {

constexpr core::Door collectors_door{2};

// Up to `count` of the targets of the world that have nothing in common, in any order.
std::vector<LockTarget> pick_apart(Random& random, const std::vector<LockTarget>& targets,
                                   std::size_t count) {
    std::vector<LockTarget> picked;
    std::vector<core::SetMember> members;
    for (std::size_t tries = 0; tries < 4 * count && picked.size() < count; ++tries) {
        const LockTarget& target = random.pick(targets);
        members.push_back({.scope = target.scope, .limit = target.limit});
        if (core::find_overlap(members)) {
            members.pop_back();
        } else {
            picked.push_back(target);
        }
    }
    return picked;
}

}  // namespace

void Collector::act() {
    const core::Duration ttl = stage_.settings.ttl;
    const std::vector<LockTarget> places =
        pick_apart(random(), stage_.settings.targets, 2 + random().below(3));
    std::vector<core::SetMember> members;
    for (const LockTarget& place : places) {
        const bool is_shared =
            place.scope.kind != core::ScopeKind::semaphore && random().chance(0.2);
        members.push_back({.scope = place.scope,
                           .mode = is_shared ? core::Mode::shared : core::Mode::exclusive,
                           .limit = place.limit});
    }
    core::AcquireRequest request{.scope = members.front().scope,
                                 .owner = {.door = collectors_door, .name = new_name()},
                                 .mode = members.front().mode,
                                 .limit = members.front().limit,
                                 .ttl = random().between(ttl / 2, ttl * 2)};
    request.members = stage_.world.keep(std::move(members));
    if (random().chance(0.7)) request.wait = random().about(ttl * 3);
    if (random().chance(0.3)) request.notes.request_id = request.owner.name;
    request.is_transient = !stage_.settings.keeps_sets || random().chance(0.3);
    send(request, request.wait + ttl);
}

void CrosswiseUser::act() {
    places_ = pick_apart(random(), stage_.settings.targets, 2);
    ask();
}

void CrosswiseUser::ask() {
    const core::Duration ttl = stage_.settings.ttl;
    const LockTarget& place = places_[tokens_.size()];
    core::AcquireRequest request{.scope = place.scope,
                                 .owner = {.door = collectors_door, .name = name_},
                                 .limit = place.limit,
                                 .ttl = ttl * 4,
                                 .wait = random().about(ttl)};
    if (random().chance(0.3)) request.on_deadlock = core::OnDeadlock::refuse;
    request.is_transient = random().chance(stage_.settings.transient_share);
    send(request, request.wait + ttl);
}

void CrosswiseUser::on_reply(const Call& call, const Reply& reply) {
    if (!std::holds_alternative<core::AcquireRequest>(call.request)) return;
    if (reply.is_failure || reply.kind != core::Outcome::Kind::granted) {
        give_back();
        return;
    }
    tokens_.push_back(reply.token);
    if (tokens_.size() == places_.size() || is_stopping()) {
        later(random().about(stage_.settings.ttl / 3), [this] { give_back(); });
    } else {
        later(random().about(stage_.settings.ttl / 10), [this] { ask(); });
    }
}

void CrosswiseUser::give_back() {
    for (const core::Token token : std::exchange(tokens_, {})) {
        send(core::ReleaseRequest{.token = token}, stage_.settings.ttl);
    }
    think();
}

void CrosswiseUser::on_lost(const Call& call) {
    if (std::holds_alternative<core::AcquireRequest>(call.request)) give_back();
}

void CrosswiseUser::on_stray_grant(const Reply& reply) {
    send(core::ReleaseRequest{.token = reply.token}, stage_.settings.ttl);
}

void CrosswiseUser::on_death() {
    tokens_.clear();
}

}  // namespace holdfast::sim
