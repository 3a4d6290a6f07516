#include "sim/clients/holder.h"

#include <algorithm>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

service::Request Holder::renewal(const Holding& holding) {
    core::RenewRequest request{.token = holding.token};
    if (random().chance(0.5)) request.scope = holding.place.scope;
    if (random().chance(0.5)) request.owner = holding.owner;
    // Old requests may come late, so a client that changes its mind must not shorten.
    request.never_shorten = holding.varies_ttl;
    if (holding.varies_ttl) {
        request.ttl = random().between(holding.ttl / 2, holding.ttl * 3);
    } else if (random().chance(0.3)) {
        request.ttl = holding.ttl;
    }
    return request;
}

service::Request Holder::give_back(const Holding& holding) {
    return core::ReleaseRequest{.token = holding.token};
}

void Holder::on_reply(const Call& call, const Reply& reply) {
    if (on_held_reply(call, reply)) return;
    if (!std::holds_alternative<core::AcquireRequest>(call.request) || holding_) return;
    if (reply.is_failure || reply.kind != core::Outcome::Kind::granted) {
        think();
    } else {
        take_granted(call, reply);
    }
}

void Holder::on_lost(const Call& call) {
    if (on_held_lost(call)) return;
    if (std::holds_alternative<core::AcquireRequest>(call.request)) think();
}

void Holder::take_granted(const Call& call, const Reply& reply) {
    const auto& request = std::get<core::AcquireRequest>(call.request);
    take(call, reply,
         {.place = {.scope = request.scope, .limit = request.limit},
          .mode = request.mode,
          .owner = request.owner,
          .ttl = request.ttl});
}

void Holder::take(const Call& call, const Reply& reply, Holding holding) {
    holding.token = reply.token;
    holding.believed_until = call.sent;
    holding.work_left = random().below(6);
    holding.varies_ttl = random().chance(0.2);
    holding.is_careless = random().chance(0.3);
    holding_ = holding;
    ++hold_;
    believe(call.sent + holding.ttl);
    // At once, when the wait for the lock has eaten up the time.
    const bool is_late = holding_->believed_until - now() < holding.ttl / 2;
    beat(is_late ? core::Duration::zero() : holding.ttl / 3);
    work(hold_);
    on_taken();
}

void Holder::believe(Moment deadline) {
    holding_->believed_until = std::max(holding_->believed_until, deadline);
    stage_.ledger.on_believed(holding_->token, holding_->believed_until);
}

void Holder::beat(core::Duration pause) {
    later(pause, [this, hold = hold_] {
        if (still_has(hold)) send(renewal(*holding_), holding_->ttl / 2);
    });
}

void Holder::beat_again() {
    const core::Duration left = holding_->believed_until - now();
    beat(left < holding_->ttl / 2 ? holding_->ttl / 10 : holding_->ttl / 3);
}

bool Holder::on_held_reply(const Call& call, const Reply& reply) {
    const auto* renew = std::get_if<core::RenewRequest>(&call.request);
    const bool is_of_this = renew != nullptr && holding_ && renew->token == holding_->token;
    if (!is_of_this) return renew != nullptr;
    if (reply.is_failure) {
        beat_again();
    } else if (reply.kind == core::Outcome::Kind::renewed) {
        believe(call.sent + renew->ttl.value_or(holding_->ttl));
        beat_again();
    } else {
        lose();
    }
    return true;
}

bool Holder::on_held_lost(const Call& call) {
    const auto* renew = std::get_if<core::RenewRequest>(&call.request);
    if (renew != nullptr && holding_ && renew->token == holding_->token) beat_again();
    return renew != nullptr;
}

void Holder::work(std::uint64_t hold) {
    later(random().about(holding_->ttl / 4), [this, hold] {
        if (!still_has(hold)) return;
        if (!holding_->is_careless && now() >= holding_->believed_until) {
            lose();
        } else if (holding_->work_left == 0 || is_stopping()) {
            finish();
        } else {
            --holding_->work_left;
            read_and_write(hold);
        }
    });
}

// Both travel by themselves, however still the client stands.
void Holder::read_and_write(std::uint64_t hold) {
    const bool is_exclusive = holding_->mode == core::Mode::exclusive &&
                              holding_->place.scope.kind != core::ScopeKind::semaphore;
    if (!is_exclusive || now() <= last_write_arrives_) {
        work(hold);
        return;
    }
    const auto name = core::to_text(holding_->place.scope);
    stage_.world.after(random().between(1ms, 20ms),
                       [this, hold, name, fence = holding_->token.fence] {
                           const auto value = stage_.resources[name].read(fence);
                           later(random().between(1ms, 20ms), [this, hold, value] {
                               if (!still_has(hold)) return;
                               if (!value) {
                                   lose();
                               } else {
                                   send_write(*value + 1);
                               }
                           });
                       });
}

void Holder::send_write(std::uint64_t value) {
    const auto name = core::to_text(holding_->place.scope);
    const core::Duration delay =
        random().chance(0.1) ? random().about(holding_->ttl) : random().between(1ms, 20ms);
    last_write_arrives_ = now() + delay;
    stage_.world.after(delay, [this, name, value, fence = holding_->token.fence] {
        FencedResource& resource = stage_.resources[name];
        const bool is_taken = resource.write(fence, value);
        stage_.world.note("{}: writes {} with #{}{}", name_, value, core::as_number(fence),
                          is_taken ? "" : ", too late");
        if (resource.lost_updates() > 0)
            stage_.world.accuse(3, "an update of " + name + " is lost");
    });
    later(delay, [this, hold = hold_] {
        if (still_has(hold)) work(hold);
    });
}

void Holder::finish() {
    const Holding holding = *holding_;
    drop();
    send(give_back(holding), patience());
    haunt(holding.token);
    think();
}

void Holder::lose() {
    const core::Token token = holding_->token;
    stage_.world.note("{}: has lost #{}", name_, core::as_number(token.fence));
    drop();
    haunt(token);
    think();
}

void Holder::drop() {
    holding_.reset();
    ++hold_;
}

// Now and then somebody uses a token whose lease is over.
void Holder::haunt(core::Token token) {
    if (!random().chance(0.3)) return;
    later(random().about(stage_.settings.ttl), [this, token] {
        if (random().chance(0.5)) {
            send(core::RenewRequest{.token = token}, patience());
        } else {
            send(core::ReleaseRequest{.token = token}, patience());
        }
    });
}

void Holder::on_stray_grant(const Reply& reply) {
    if (random().chance(0.8)) send(core::ReleaseRequest{.token = reply.token}, patience());
}

}  // namespace holdfast::sim
