#include "sim/network.h"

#include <algorithm>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

ConnectionId Network::connect(std::size_t client) {
    const ConnectionId connection{++connected_};
    alive_[connection] = {.client = client, .last_call = world_.now(), .last_reply = world_.now()};
    return connection;
}

void Network::send(const Call& call) {
    if (world_.random().chance(faults_.duplication)) {
        Call twin = call;
        twin.connection = connect(call.client);
        carry(twin);
        world_.after(draw_delay() * 2 + 1s,
                     [this, connection = twin.connection] { close(connection); });
    }
    carry(call);
}

void Network::carry(const Call& call) {
    const auto found = alive_.find(call.connection);
    if (found == alive_.end() || world_.random().chance(faults_.loss)) return;
    world_.at(arrival_after(found->second.last_call), [this, call] {
        if (alive_.contains(call.connection)) ends_.on_call(call);
    });
}

void Network::reply(ConnectionId connection, const Reply& reply) {
    const auto found = alive_.find(connection);
    if (found == alive_.end() || world_.random().chance(faults_.loss)) return;
    world_.at(arrival_after(found->second.last_reply), [this, connection, reply] {
        const auto still = alive_.find(connection);
        if (still != alive_.end()) ends_.on_reply(still->second.client, reply);
    });
}

void Network::close(ConnectionId connection) {
    const auto found = alive_.find(connection);
    if (found == alive_.end()) return;
    world_.at(arrival_after(found->second.last_call), [this, connection] {
        if (alive_.erase(connection) > 0) ends_.on_hang_up(connection);
    });
}

void Network::close_all() {
    for (const auto& [connection, ends] : alive_) close(connection);
}

void Network::cut(ConnectionId connection) {
    const auto found = alive_.find(connection);
    if (found == alive_.end()) return;
    world_.note("network: connection {} is cut", static_cast<std::uint64_t>(connection));
    const std::size_t client = found->second.client;
    alive_.erase(found);
    world_.after(draw_delay(), [this, connection] { ends_.on_hang_up(connection); });
    world_.after(draw_delay(), [this, client, connection] { ends_.on_reset(client, connection); });
}

void Network::cut_all() {
    for (const auto& [connection, ends] : std::exchange(alive_, {})) {
        world_.after(draw_delay(), [this, client = ends.client, connection = connection] {
            ends_.on_reset(client, connection);
        });
    }
}

std::optional<ConnectionId> Network::any() {
    if (alive_.empty()) return std::nullopt;
    const auto index = static_cast<std::ptrdiff_t>(world_.random().below(alive_.size()));
    return std::next(alive_.begin(), index)->first;
}

core::Duration Network::draw_delay() {
    const core::Duration usual = world_.random().between(100us, 10ms);
    if (!world_.random().chance(0.2)) return usual;
    return usual + world_.random().between(core::Duration::zero(), faults_.delay_max);
}

Moment Network::arrival_after(Moment& last) {
    last = std::max(world_.now() + draw_delay(), last + 1us);
    return last;
}

}  // namespace holdfast::sim
