#pragma once

// Relay: passes the connections of clients on to the node that leads, whatever protocol they speak.
//
// A door's server asks the relay about each connection that it has accepted (divert()). While another
// node leads, the relay takes the connection and calls the leader's PeerServer:
//
//     State                  event                                          next
//     awaits the challenge   the challenge has come: sends the preface      awaits the answer
//     awaits the answer      accepted, and the leader knows the secret      joined (see Splice)
//     awaits either          refused, failed, or nothing came in time       given back
//
// "Given back" means that the door serves the connection here, as if nobody had asked. Nothing was
// read from the client, so nothing is lost, and the client hears from the door that nobody can serve
// it now. TLS of the client passes through: it ends at the leader.
//
// Thread safety: every method from any thread. The connections live on the loops of their doors.
// Lifetime: outlives no server that asks it; destroyed while its loops do not run, before these
// servers.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "net/loop/arrival.h"
#include "net/loop/connection_set.h"
#include "net/sockets/endpoint.h"
#include "net/tls/tls_trust.h"
#include "relay/splice.h"

namespace holdfast::relay {

// The node that leads, as this node knows it.
struct Leader {
    net::Endpoint peer;  // where its PeerServer listens
    std::string host;    // what its certificate must say, if nodes use TLS
    std::uint64_t epoch = 0;
    std::string secret;  // that the nodes share

    friend bool operator==(const Leader&, const Leader&) = default;
};

struct RelayOptions {
    std::string node;  // the name of this node
    // Whom to trust as the leader; null: connections among nodes are not encrypted.
    std::shared_ptr<const net::TlsTrust> trust = nullptr;
    // For connecting, TLS and the preface together.
    std::chrono::milliseconds connect_timeout{2'000};
    // Told why a connection was given back, on the thread of its loop. May be empty.
    std::function<void(const std::string& reason)> on_failure = {};
};

struct RelayCounts {
    std::size_t open = 0;               // connections that are passed on now
    std::uint64_t joined = 0;           // ever
    std::uint64_t given_back = 0;       // the leader could not be reached, or refused
    std::uint64_t lost = 0;             // joined, but then the leader was lost
    std::uint64_t bytes_to_leader = 0;  // of clients
    std::uint64_t bytes_to_clients = 0;
};

class Relay {
  public:
    // `loops`: all loops of all servers that will ask.
    Relay(const std::vector<net::EventLoop*>& loops, RelayOptions options);
    ~Relay();

    // What a server of this door asks (ServerOptions::divert).
    [[nodiscard]] net::Divert divert(std::string door);

    // From now on connections go to this node; with nothing, all of them stay here. Closes those that
    // go to another one, or to the same one in another epoch. Does nothing if it is known.
    void follow(std::optional<Leader> leader);

    // Closes every connection that is passed on. The leader takes this as the loss of this node: the
    // clients' locks stay.
    void close_all();

    [[nodiscard]] RelayCounts counts() const;

  private:
    class Link;
    struct PerLoop;

    [[nodiscard]] bool take(const std::string& door, net::Arrival& arrival);
    [[nodiscard]] std::shared_ptr<const Leader> leader() const;
    void close_all_but(const std::shared_ptr<const Leader>& current);
    void give_back(net::Arrival arrival, const std::string& reason);

    const RelayOptions options_;
    Traffic traffic_;
    std::atomic<std::uint64_t> joined_ = 0;
    std::atomic<std::uint64_t> given_back_ = 0;
    bool is_ending_ = false;  // in the destructor
    mutable std::mutex mutex_;
    std::shared_ptr<const Leader> leader_;  // under mutex_
    std::vector<std::unique_ptr<PerLoop>> loops_;
};

}  // namespace holdfast::relay
