#include "sim/clients/crowd.h"

namespace holdfast::sim {

namespace {

constexpr core::Door homelab_door{1}, other_door{2};

}  // namespace

void Worker::act() {
    const core::Duration ttl = stage_.settings.ttl;
    const LockTarget& place = random().pick(stage_.settings.targets);
    request_ = {.scope = place.scope,
                .owner = {.door = other_door, .name = new_name()},
                .limit = place.limit,
                .ttl = random().between(ttl / 2, ttl * 2)};
    if (random().chance(0.3)) request_.mode = core::Mode::shared;
    if (random().chance(0.15)) request_.grace = ttl / 3;
    if (random().chance(0.15)) request_.memory = ttl;
    if (random().chance(0.3)) request_.notes.request_id = request_.owner.name;
    request_.is_transient = random().chance(stage_.settings.transient_share);
    patience_ = ttl * 2;
    if (random().chance(0.5)) {
        request_.wait = random().about(ttl * 2);
        patience_ = request_.wait + ttl;
    } else if (random().chance(0.5)) {
        request_.wait = core::wait_forever;
        patience_ = random().about(ttl * 5);
    }
    first_sent_ = now();
    ask();
}

void Worker::ask() {
    send(request_, patience_);
}

void Worker::on_reply(const Call& call, const Reply& reply) {
    if (on_held_reply(call, reply)) return;
    if (!std::holds_alternative<core::AcquireRequest>(call.request) || holding()) return;
    if (!reply.is_failure && reply.refusal == core::Refusal::still_waiting && !is_stopping()) {
        ask();  // at once, so that the place is still kept
        return;
    }
    if (reply.is_failure || reply.kind != core::Outcome::Kind::granted) {
        think();
        return;
    }
    // Asked for again, it is still the lease of the first time.
    Call first = call;
    first.sent = first_sent_;
    take_granted(first, reply);
}

void Worker::on_lost(const Call& call) {
    if (on_held_lost(call)) return;
    const auto* request = std::get_if<core::AcquireRequest>(&call.request);
    if (request == nullptr) return;
    const bool asks_again = !request->notes.request_id.empty() && random().chance(0.8);
    if (!asks_again || is_stopping()) {
        think();
        return;
    }
    later(random().about(stage_.settings.ttl / 5), [this] { ask(); });
}

void Worker::on_death() {
    request_ = {};
    Holder::on_death();
}

HomelabUser::HomelabUser(Stage& stage, std::size_t index, std::string name)
    : Holder(stage, index, std::move(name)),
      place_(random().pick(stage.settings.targets)),
      request_{.scope = place_.scope,
               .owner = {.door = homelab_door, .name = name_},
               .limit = place_.limit,
               .ttl = random().between(stage.settings.ttl / 2, stage.settings.ttl),
               .grace = random().chance(0.7) ? stage.settings.ttl / 2 : core::Duration::zero(),
               .memory = random().chance(0.7) ? stage.settings.ttl : core::Duration::zero(),
               .renew_own = true,
               .is_transient = random().chance(stage.settings.transient_share)} {}

void HomelabUser::act() {
    send(request_, patience());
}

void HomelabUser::on_reply(const Call& call, const Reply& reply) {
    if (on_held_reply(call, reply)) return;
    if (!std::holds_alternative<core::AcquireRequest>(call.request)) return;
    const bool is_mine = !reply.is_failure && (reply.kind == core::Outcome::Kind::granted ||
                                               reply.kind == core::Outcome::Kind::renewed);
    const bool is_still_mine = is_mine && holding() && holding()->token == reply.token;
    if (is_still_mine) {
        believe(call.sent + request_.ttl);
        beat_again();
    } else if (is_mine) {
        take(call, reply, {.place = place_, .owner = request_.owner, .ttl = request_.ttl});
    } else if (!holding()) {
        think();
    } else if (reply.is_failure) {
        beat_again();
    } else {
        lose();
    }
}

void HomelabUser::on_lost(const Call& call) {
    if (!std::holds_alternative<core::AcquireRequest>(call.request)) return;
    if (holding()) {
        beat_again();
    } else {
        think();
    }
}

void HomelabUser::on_stray_grant(const Reply& /*reply*/) {
    if (!holding())
        send(service::ReleaseOwn{.scope = place_.scope, .owner = request_.owner}, patience());
}

// Now and then it wants to keep over a restart what it has not kept so far.
service::Request HomelabUser::renewal(const Holding& /*holding*/) {
    core::AcquireRequest request = request_;
    if (request.is_transient) request.is_transient = !random().chance(0.3);
    return request;
}

service::Request HomelabUser::give_back(const Holding& /*holding*/) {
    return service::ReleaseOwn{.scope = place_.scope, .owner = request_.owner};
}

SessionUser::SessionUser(Stage& stage, std::size_t index, std::string name)
    : Holder(stage, index, std::move(name)),
      mode_(random().chance(0.2) ? core::Mode::shared : core::Mode::exclusive) {}

void SessionUser::act() {
    keeps_connection_ = true;
    if (!session_) {
        send(service::OpenSession{.owner = {.door = other_door, .name = name_}}, patience());
    } else if (random().chance(0.15)) {
        leave();
    } else {
        enqueue();
    }
}

void SessionUser::leave() {
    const bool keeps = random().chance(0.3);
    send(service::EndSession{.session = session_,
                             .leases = keeps ? core::LockTable::SessionLeases::keep
                                             : core::LockTable::SessionLeases::release},
         patience());
    session_ = {};
    think();
}

void SessionUser::enqueue() {
    place_ = random().pick(stage_.settings.targets);
    request_ = {.scope = place_.scope,
                .owner = {.door = other_door, .name = name_},
                .mode = mode_,
                .limit = place_.limit,
                .ttl = random().between(stage_.settings.ttl / 2, stage_.settings.ttl * 2),
                .session = session_,
                .is_transient = random().chance(stage_.settings.transient_share)};
    send(service::Enqueue{request_}, patience());
}

void SessionUser::on_reply(const Call& call, const Reply& reply) {
    if (on_held_reply(call, reply)) return;
    if (std::holds_alternative<service::OpenSession>(call.request)) {
        if (!reply.is_failure) session_ = reply.session;
        think();
    } else if (std::holds_alternative<service::Enqueue>(call.request)) {
        on_enqueued(call, reply);
    } else if (std::holds_alternative<service::Wait>(call.request)) {
        on_waited(call, reply);
    }
}

void SessionUser::on_enqueued(const Call& call, const Reply& reply) {
    const bool is_in_queue =
        !reply.is_failure && (reply.kind != core::Outcome::Kind::refused ||
                              reply.refusal == core::Refusal::already_enqueued);
    if (!is_in_queue) {
        if (reply.refusal == core::Refusal::unknown_session) session_ = {};
        think();
        return;
    }
    // A grant at once needs no second half.
    if (reply.kind == core::Outcome::Kind::granted && random().chance(0.3)) {
        take(call, reply,
             {.place = place_, .mode = mode_, .owner = request_.owner, .ttl = reply.ttl});
        return;
    }
    const core::Duration timeout =
        random().chance(0.2) ? core::Duration::zero() : random().about(stage_.settings.ttl * 2);
    later(random().about(stage_.settings.ttl / 5), [this, timeout] {
        send(service::Wait{.session = session_, .scope = place_.scope, .timeout = timeout},
             timeout + patience());
    });
}

void SessionUser::on_waited(const Call& call, const Reply& reply) {
    if (reply.is_failure || reply.kind != core::Outcome::Kind::granted) {
        think();
        return;
    }
    take(call, reply, {.place = place_, .mode = mode_, .owner = request_.owner, .ttl = reply.ttl});
}

void SessionUser::on_lost(const Call& call) {
    if (on_held_lost(call)) return;
    const bool was_asking = std::holds_alternative<service::OpenSession>(call.request) ||
                            std::holds_alternative<service::Enqueue>(call.request) ||
                            std::holds_alternative<service::Wait>(call.request);
    if (was_asking) think();
}

void SessionUser::on_reset() {
    session_ = {};
    if (holding()) lose();
}

void SessionUser::on_death() {
    session_ = {};
    Holder::on_death();
}

void Admin::act() {
    const LockTarget& place = random().pick(stage_.settings.targets);
    const core::Duration patience = stage_.settings.ttl;
    if (random().chance(0.3)) {
        send(service::ForceRelease{.scope = place.scope}, patience);
    } else if (random().chance(0.5)) {
        send(service::Inspect{.scope = place.scope, .waiters_max = 10}, patience);
    } else {
        send(service::List{.query = {.waiters_max = 10, .with_idle = true}}, patience);
    }
    later(random().about(stage_.settings.ttl * 4), [this] { think(); });
}

}  // namespace holdfast::sim
