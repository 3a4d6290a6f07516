#include "sim/clients/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

void Client::begin() {
    keeps_connection_ = random().chance(0.7);
    think();
}

void Client::pause(core::Duration length) {
    stage_.world.note("{}: stands still", name_);
    paused_until_ = std::max(paused_until_, now() + length);
}

void Client::crash() {
    stage_.world.note("{}: dies", name_);
    ++life_;
    pending_.clear();
    hang_up();
    on_death();
    paused_until_ = Moment::min();
    later(random().about(stage_.settings.ttl), [this] { begin(); });
}

void Client::send(const service::Request& request, core::Duration patience) {
    if (!connection_ || !keeps_connection_) connection_ = stage_.network.connect(index_);
    const Call call{.number = ++calls_,
                    .client = index_,
                    .connection = *connection_,
                    .request = request,
                    .sent = now()};
    pending_[call.number] = call;
    stage_.network.send(call);
    if (patience == core::wait_forever) return;
    later(patience, [this, number = call.number] {
        if (!pending_.contains(number)) return;
        if (random().chance(0.5)) stage_.network.close(pending_.at(number).connection);
        lose(number);
    });
}

void Client::lose(std::uint64_t number) {
    const auto found = pending_.find(number);
    if (found == pending_.end()) return;
    const Call call = std::move(found->second);
    pending_.erase(found);
    if (connection_ == call.connection) {
        connection_.reset();
        on_reset();
    }
    on_lost(call);
}

void Client::hang_up() {
    if (connection_) stage_.network.close(*connection_);
    connection_.reset();
}

void Client::deliver(const Reply& reply) {
    later(core::Duration::zero(), [this, reply] {
        const auto found = pending_.find(reply.call);
        if (found == pending_.end()) {
            if (!reply.is_failure && reply.kind == core::Outcome::Kind::granted) {
                stage_.world.note("{}: hears of #{} too late", name_,
                                  core::as_number(reply.token.fence));
                on_stray_grant(reply);
            }
            return;
        }
        const Call call = std::move(found->second);
        pending_.erase(found);
        stage_.world.note("{}: {} {}", name_, call.number, to_text(reply));
        on_reply(call, reply);
    });
}

void Client::reset(ConnectionId connection) {
    later(core::Duration::zero(), [this, connection] {
        std::vector<std::uint64_t> lost;
        for (const auto& [number, call] : pending_) {
            if (call.connection == connection) lost.push_back(number);
        }
        if (connection_ == connection) {
            connection_.reset();
            on_reset();
        }
        for (const std::uint64_t number : lost) lose(number);
    });
}

void Client::later(core::Duration delay, std::function<void()> action) {
    stage_.world.after(delay, [this, life = life_, action = std::move(action)]() mutable {
        resume_with(life, std::move(action));
    });
}

void Client::resume_with(std::uint64_t life, std::function<void()> action) {
    if (life != life_) return;
    if (now() >= paused_until_) {
        action();
        return;
    }
    stage_.world.at(paused_until_, [this, life, action = std::move(action)]() mutable {
        resume_with(life, std::move(action));
    });
}

void Client::think() {
    if (is_stopping_) return;
    later(random().about(stage_.settings.ttl / 3), [this] {
        if (!is_stopping_) act();
    });
}

std::string_view Client::new_name() {
    return stage_.world.keep(fmt::format("{}.{}", name_, ++names_));
}

}  // namespace holdfast::sim
