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
// The leader may have several addresses. A connection tries the next one if it has heard nothing at an
// address; later connections begin with the one at which the leader answered.
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
#include <utility>
#include <vector>

#include "net/loop/arrival.h"
#include "net/loop/connection_set.h"
#include "net/sockets/endpoint.h"
#include "net/tls/tls_trust.h"
#include "relay/splice.h"

namespace holdfast::relay {

// The node that leads, as this node knows it.
struct Leader {
    std::vector<net::Endpoint> peers;  // where its PeerServer may listen; at least one
    std::string host;                  // what its certificate must say, if nodes use TLS
    std::uint64_t epoch = 0;
    std::string secret;  // that the nodes share

    friend bool operator==(const Leader&, const Leader&) = default;
};

struct RelayOptions {
    std::string node;  // the name of this node
    // Whom to trust as the leader, asked for each connection; empty: connections among nodes are not
    // encrypted.
    std::function<std::shared_ptr<const net::TlsTrust>()> trust = {};
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

    // Why connections cannot be passed on to the leader that is followed: the last one was given back
    // for this reason. Empty: none was, or one was passed on later.
    [[nodiscard]] std::string trouble() const;
    // Looks whether the leader would take a connection, without a client; trouble() says it later. Does
    // nothing if there is no leader.
    void look();

  private:
    class Link;
    struct PerLoop;
    // A leader that is followed.
    struct Target {
        explicit Target(Leader its_leader) : leader(std::move(its_leader)) {}

        const Leader leader;
        std::atomic<std::size_t> reached = 0;  // which of its addresses to try first
    };
    // A connection on its way to the leader.
    struct Passage {
        std::string door;
        std::optional<net::Arrival> arrival;  // none: it only looks
        std::shared_ptr<Target> target;
        std::size_t first = 0, tried = 0;  // of its addresses
    };
    // Why a passage has failed.
    struct Failure {
        std::string reason;
        bool was_heard =
            false;  // the leader has said something: another of its addresses is of no use
        bool is_leader_well = false;  // it would take connections, but not this one
    };

    [[nodiscard]] bool take(const std::string& door, net::Arrival& arrival);
    void call(PerLoop& here, Passage passage);
    void fail(PerLoop& here, Passage passage, const Failure& failure);
    [[nodiscard]] std::shared_ptr<Target> target() const;
    void close_all_but(const std::shared_ptr<Target>& current);
    void set_trouble(const std::shared_ptr<Target>& target, const std::string& trouble);

    const RelayOptions options_;
    Traffic traffic_;
    std::atomic<std::uint64_t> joined_ = 0;
    std::atomic<std::uint64_t> given_back_ = 0;
    bool is_ending_ = false;  // in the destructor
    mutable std::mutex mutex_;
    std::shared_ptr<Target> target_;  // under mutex_
    std::string trouble_;             // under mutex_
    std::atomic<bool> is_looking_ = false;
    std::vector<std::unique_ptr<PerLoop>> loops_;
};

}  // namespace holdfast::relay
