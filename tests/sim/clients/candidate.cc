#include "sim/clients/candidate.h"

namespace holdfast::sim {

namespace {

constexpr core::Door candidates_door{2};

}  // namespace

void Candidate::act() {
    if (random().chance(0.7)) return stand();
    send(service::Inspect{.scope = random().pick(stage_.settings.targets).scope}, patience());
    think();
}

void Candidate::stand() {
    const core::Duration ttl = stage_.settings.ttl;
    const LockTarget& place = random().pick(stage_.settings.targets);
    core::AcquireRequest request{.scope = place.scope,
                                 .owner = {.door = candidates_door, .name = new_name()},
                                 .limit = place.limit,
                                 .ttl = random().between(ttl / 2, ttl * 2),
                                 .wait = random().about(ttl * 3)};
    value_ = random().chance(0.7) ? request.owner.name : std::string_view();
    request.value = value_;
    if (random().chance(0.3)) request.grace = ttl / 2;
    if (random().chance(0.3)) request.notes.request_id = request.owner.name;
    request.is_transient = random().chance(stage_.settings.transient_share);
    send(request, request.wait + ttl);
}

void Candidate::on_taken() {
    announce(holding()->token);
}

void Candidate::announce(core::Token token) {
    later(random().about(stage_.settings.ttl / 5), [this, token] {
        if (!holding() || holding()->token != token) return;
        const bool is_new = random().chance(0.8);
        if (is_new) value_ = random().chance(0.9) ? new_name() : std::string_view();
        send(core::SetValueRequest{.token = token, .value = value_}, patience());
        announce(token);
    });
}

}  // namespace holdfast::sim
