#pragma once

// Network: carries calls to the server and replies back, badly.
//
// On one connection messages arrive in the order they were sent, late, or not at all; those of two
// connections overtake one another. A call may arrive twice, the second time by a connection of its
// own, as when something in between tries again. A connection dies when a side closes it, when the
// server dies, or because the network says so; each side finds out in its own time.

#include <cstdint>
#include <functional>
#include <map>

#include "sim/message.h"
#include "sim/settings.h"
#include "sim/world.h"

namespace holdfast::sim {

class Network {
  public:
    // Who is at the ends.
    struct Ends {
        std::function<void(const Call&)> on_call;
        std::function<void(ConnectionId)> on_hang_up;  // at the server
        std::function<void(std::size_t client, const Reply&)> on_reply;
        std::function<void(std::size_t client, ConnectionId)> on_reset;
    };

    Network(World& world, const Faults& faults) : world_(world), faults_(faults) {}
    void bind(Ends ends) { ends_ = std::move(ends); }

    ConnectionId connect(std::size_t client);
    void send(const Call& call);
    void reply(ConnectionId connection, const Reply& reply);

    // The client closes it, or dies. What it has sent still arrives.
    void close(ConnectionId connection);
    // Both ends close what there is.
    void close_all();
    // It dies without a word.
    void cut(ConnectionId connection);
    // The server has died.
    void cut_all();
    // One that is alive, if any is.
    [[nodiscard]] std::optional<ConnectionId> any();

  private:
    struct Connection {
        std::size_t client = 0;
        Moment last_call, last_reply;  // nothing arrives before these
    };

    void carry(const Call& call);
    [[nodiscard]] core::Duration draw_delay();
    Moment arrival_after(Moment& last);

    World& world_;
    const Faults& faults_;
    Ends ends_;
    std::uint64_t connected_ = 0;
    std::map<ConnectionId, Connection> alive_;
};

}  // namespace holdfast::sim
