#pragma once

// PeerServer: where a leader receives the connections that other nodes pass on.
//
// It listens on an address of its own. After a preface (preface.h) that is authentic, and for the
// epoch in which this node leads, it gives the door's server one end of a pair of local sockets. For
// the door that is an ordinary connection: the door's TLS, limits and protocol apply. The other end
// is joined with the connection between the nodes (splice.h). The door's server never diverts such a
// connection, so nothing goes in circles.
//
//     State                event                                             next
//     awaits the preface   not authentic, not leading, another epoch, ...    refused, then closed
//     awaits the preface   everything is right                               joined
//     awaits the preface   nothing came in time, or no preface               closed
//     joined               see Splice                                        closed
//     joined               this node no longer leads, or in another epoch    closed at once
//
// Thread safety: every method from any thread.
// Lifetime: destroyed while its loops do not run, before the servers of the doors; or after
// shut_down() has called back.

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

#include "net/loop/server.h"
#include "relay/preface.h"
#include "relay/splice.h"

namespace holdfast::relay {

// While this node leads.
struct Leadership {
    std::uint64_t epoch = 0;
    std::string secret;  // that the nodes share

    friend bool operator==(const Leadership&, const Leadership&) = default;
};

// A connection that was not accepted. Without an authentic preface, the names are what anybody says.
struct PeerRefusal {
    Verdict verdict;
    std::string node;
    std::string client;
    std::string door;
};

struct PeerServerOptions {
    // The doors by name. The servers outlive the PeerServer.
    std::vector<std::pair<std::string, net::Server*>> doors;
    // The certificate of this node; null: connections among nodes are not encrypted.
    const net::TlsSource* tls = nullptr;
    // Each stands for one client: as many as two doors may have.
    std::size_t connections_max = 30'000;
    // How long another node may take for TLS and preface.
    std::chrono::milliseconds preface_timeout{5'000};
    // As ServerOptions::on_error.
    std::function<void(const base::Error&)> on_error = {};
    // On the thread of any loop. May be empty.
    std::function<void(const PeerRefusal&)> on_refused = {};
};

struct PeerCounts {
    std::size_t open = 0;      // connections of other nodes, now
    std::uint64_t joined = 0;  // ever
    std::uint64_t refused = 0;
    std::uint64_t lost = 0;  // joined, but then the other node was lost
    std::uint64_t bytes_to_doors = 0;
    std::uint64_t bytes_from_doors = 0;
};

class PeerServer {
  public:
    [[nodiscard]] static base::Result<std::unique_ptr<PeerServer>> start(
        const net::Endpoint& endpoint, const std::vector<net::EventLoop*>& loops,
        PeerServerOptions options);
    ~PeerServer();

    [[nodiscard]] const net::Endpoint& endpoint() const { return server_->endpoint(); }
    [[nodiscard]] PeerCounts counts() const;

    // This node leads: accepts connections for this epoch. Those of another epoch are closed.
    // Does nothing if it is known.
    void lead(Leadership leadership);
    // This node no longer leads: closes all connections at once and refuses new ones.
    void stop_leading();

    // As Server::shut_down(). The doors are shut down first, so that they can answer.
    void shut_down(std::chrono::milliseconds grace, std::function<void()> on_done);

  private:
    class Session;
    struct PerLoop;

    PeerServer(const std::vector<net::EventLoop*>& loops, PeerServerOptions options);

    [[nodiscard]] std::shared_ptr<const Leadership> leadership() const;
    void set_leadership(const std::shared_ptr<const Leadership>& fresh);
    [[nodiscard]] PerLoop& on(const net::EventLoop& loop);

    const PeerServerOptions options_;
    Traffic traffic_;
    std::atomic<std::uint64_t> joined_ = 0;
    std::atomic<std::uint64_t> refused_ = 0;
    mutable std::mutex mutex_;
    std::shared_ptr<const Leadership> leadership_;  // under mutex_; null: does not lead
    std::vector<std::unique_ptr<PerLoop>> loops_;
    std::unique_ptr<net::Server> server_;
};

}  // namespace holdfast::relay
