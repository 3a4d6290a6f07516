#pragma once

// ConnectionSet: the connections of one server on one loop. Owns them, watches their deadlines and
// drains them.
//
// Thread safety: only on the loop's thread, except hand_over() and size().
// Lifetime: destroyed after the loop has stopped, or when it is drained.

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "net/loop/arrival.h"
#include "net/loop/connection.h"
#include "net/loop/loop_timer.h"

namespace holdfast::net {

using ProtocolFactory = std::function<std::unique_ptr<Protocol>(Channel&, EventLoop&)>;

// WaitingRoom: limits the memory of waiting answers, for all connections of a server together.
//
// An answer waits while an earlier request of its connection is unanswered. A connection adds the
// bytes of such answers while they wait. While the room is full, a connection handles no request
// whose answer would have to wait. Requests whose answers can leave at once are not affected.
//
// Thread safety: every method from any thread.
class WaitingRoom {
  public:
    explicit WaitingRoom(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    void add(std::size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
    // REQUIRES: at least as many bytes were added.
    void remove(std::size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

    [[nodiscard]] bool is_full() const { return bytes() >= bytes_max_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  private:
    const std::size_t bytes_max_;
    std::atomic<std::size_t> bytes_ = 0;
};

class ConnectionSet {
  public:
    // Why a connection is being timed.
    enum class Timeout : std::uint8_t { request, idle, write, linger, farewell };

    // What the sets of a server have in common. All of it outlives the sets. If `tls` is null,
    // nothing is encrypted.
    struct Common {
        const ConnectionLimits& limits;
        const ProtocolFactory& factory;
        WaitingRoom& waiting_room;
        const TlsSource* tls;
        const Divert& divert;  // may be empty
    };
    // Makes the protocol of one connection.
    using MakeProtocol = std::function<std::unique_ptr<Protocol>(Channel&)>;

    ConnectionSet(EventLoop& loop, const Common& common);
    ~ConnectionSet();

    // Adds a connected socket; a set that drains closes it. From any thread. The connection is
    // counted from now on and starts in a later turn. Only a connection without a `peer` may be
    // diverted: what came through another node goes nowhere else.
    void hand_over(Transport transport, std::shared_ptr<const Peer> peer = nullptr);

    // Adds a socket that may still be connecting, with a protocol of its own. It is neither encrypted
    // nor diverted. False if it cannot be watched or the set drains: the protocol may have been made.
    bool add(Transport transport, const MakeProtocol& make);

    // Closes every connection as soon as it owes nothing. New ones may come.
    void send_away();
    // Closes every connection now.
    void close_all();

    // The server is about to end: tells every connection. All connections go on, and new ones may
    // come. Calls `on_quiet` in a later turn, when everything that is under way now is done.
    // REQUIRES: called only once.
    void begin_drain(std::function<void()> on_quiet);

    // Lets every connection finish what it owes, closes the rest when `grace` is over, and calls
    // `on_empty` in a turn after the last connection has gone. REQUIRES: called only once.
    void drain(std::chrono::milliseconds grace, std::function<void()> on_empty);

    // How many connections are alive, without and with those that were diverted. From any thread.
    [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t size_with_diverted() const {
        return size() + diverted_.load(std::memory_order_relaxed);
    }

    [[nodiscard]] EventLoop& loop() { return loop_; }
    [[nodiscard]] const ConnectionLimits& limits() const { return common_.limits; }
    [[nodiscard]] WaitingRoom& waiting_room() { return common_.waiting_room; }

    // For connections: starts or restarts one of their deadlines; destroys one that has closed.
    void start_timeout(Timeout timeout, TimeoutEntry& entry);
    void destroy(Connection& connection);
    // For connections: what was under way when begin_drain() was called is done.
    void finished_one();

    // For connections: calls go_on() in the next turn. REQUIRES: the connection awaits its turn.
    void call_next_turn(Connection& connection);
    // For connections: calls on_room() of all when the waiting room is no longer full.
    void watch_waiting_room();

  private:
    friend class Arrival;

    void adopt(Transport transport, std::shared_ptr<const Peer> peer);
    void serve(Transport transport, std::shared_ptr<const Peer> peer);
    bool start(std::unique_ptr<Connection> connection, std::unique_ptr<Protocol> protocol);
    void expire();
    void start_turn_of_patient();
    void look_into_waiting_room();
    void arm();
    void forget_one();
    void report_if_empty();
    void report_if_quiet();

    EventLoop& loop_;
    const Common common_;
    std::array<TimeoutQueue, 5> timeouts_;
    EventLoop::TimePoint armed_ = EventLoop::TimePoint::max();
    LoopTimer timer_;
    LoopTimer grace_timer_;
    LoopTimer next_turn_timer_;
    std::vector<Connection*> patient_;  // connections that go on in the next turn
    LoopTimer room_timer_;
    bool is_room_watched_ = false;
    bool draining_ = false;
    bool leaving_ = false;        // drain() was called
    std::size_t unfinished_ = 0;  // connections that the end of the server waits for
    std::function<void()> on_quiet_;
    std::function<void()> on_empty_;
    std::atomic<std::size_t> size_ = 0;
    std::atomic<std::size_t> diverted_ = 0;  // the set's Arrivals
    boost::intrusive::list<Connection> connections_;
};

}  // namespace holdfast::net
