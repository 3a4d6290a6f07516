#pragma once

// Server: one address, one protocol, any number of loops.
//
// The first loop accepts connections and gives them to the loops in turn. A connection stays on its
// loop.
//
// Thread safety: every method from any thread. The factory is called on the thread of the loop that
// the connection lives on, so with several loops it is called concurrently. Lifetime: destroyed
// after shut_down() has called back, or while none of its loops is being run.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/loop/connection_set.h"
#include "net/loop/turned_away.h"
#include "net/sockets/listener.h"

namespace holdfast::net {

struct ServerOptions {
    // Further connections are accepted, told `turn_away_text` unless they would be encrypted, and
    // closed.
    std::size_t connections_max = 10'000;
    std::string turn_away_text = {};
    ConnectionLimits limits;
    // Bytes of answers that wait for earlier answers of their connection, in all connections. With
    // more than this, requests whose answers would have to wait are not read.
    std::size_t waiting_bytes_max = std::size_t{64} * 1024 * 1024;
    // Gives connections their certificate when they are accepted; null: nothing is encrypted.
    // Outlives the server.
    const TlsSource* tls = nullptr;
    // Called with faults that the server survives, such as too many open files, on the thread of
    // the first loop.
    std::function<void(const base::Error&)> on_error;
    // Called with each connection that was refused because of connections_max, also in adopt(), on
    // the thread of the first loop. May be empty, and may be called after the server is destroyed.
    std::function<void()> on_refused = {};
    // Asked about each accepted connection, on the thread of the loop that the connection was given
    // to: may take it elsewhere. May be empty.
    Divert divert = {};
};

struct ServerCounts {
    std::size_t connections = 0;    // alive now, with those that were diverted
    std::uint64_t accepted = 0;     // ever
    std::uint64_t refused = 0;      // of these, closed because of connections_max
    std::size_t waiting_bytes = 0;  // see ServerOptions::waiting_bytes_max
};

class Server {
  public:
    // Listens on `endpoint`. The loops need not be running yet. REQUIRES: at least one loop.
    [[nodiscard]] static base::Result<std::unique_ptr<Server>> start(
        const Endpoint& endpoint, const std::vector<EventLoop*>& loops, ProtocolFactory factory,
        ServerOptions options = {});
    ~Server();

    // Where it listens; with the real port if port 0 was asked for.
    [[nodiscard]] const Endpoint& endpoint() const { return listener_->endpoint(); }

    [[nodiscard]] ServerCounts counts() const;

    // Serves a connection that another node has accepted, as if it were accepted here: it counts, is
    // encrypted and has the limits of the others. False if there are too many connections.
    // REQUIRES: `peer` is not null.
    bool adopt(Transport transport, std::shared_ptr<const Peer> peer);

    // Closes every present connection as soon as it owes nothing, so that its client connects again.
    // Streams and waits end as in a shutdown (Protocol::on_drain). The server goes on accepting.
    void send_away();

    // The first half of a shutdown: tells every protocol (Protocol::on_drain), and calls `on_quiet`
    // on the first loop when all requests that are under way now are answered. Connections go on,
    // and new ones are accepted, until shut_down(). REQUIRES: called only once.
    void begin_shut_down(const std::function<void()>& on_quiet);

    // Stops accepting and closes idle connections. Closes each other connection when its requests
    // are answered, at the latest after `grace`. Then calls `on_done`, which may destroy the
    // server, on the first loop. REQUIRES: called only once.
    void shut_down(std::chrono::milliseconds grace, std::function<void()> on_done);

  private:
    Server(std::unique_ptr<Listener> listener, const std::vector<EventLoop*>& loops,
           ProtocolFactory factory, ServerOptions options);

    void accept(Transport transport);
    [[nodiscard]] bool is_full();
    void deal(Transport transport, std::shared_ptr<const Peer> peer);

    ServerOptions options_;
    ProtocolFactory factory_;
    WaitingRoom waiting_room_;
    std::unique_ptr<Listener> listener_;
    TurnedAway turned_away_;
    std::vector<std::unique_ptr<ConnectionSet>> sets_;
    std::atomic<std::size_t> next_set_ = 0;
    std::atomic<std::uint64_t> accepted_ = 0;
    std::atomic<std::uint64_t> refused_ = 0;
    std::atomic<std::size_t> sets_busy_ = 0, sets_draining_ = 0;
};

}  // namespace holdfast::net
