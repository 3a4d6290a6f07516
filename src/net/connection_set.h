#pragma once

// ConnectionSet: one server's connections on one loop. Owns them, watches their deadlines, drains
// them.
//
// Thread safety: only on the loop's thread, except hand_over() and size().
// Lifetime: destroyed after the loop has stopped, or once drained.

#include <array>
#include <atomic>
#include <functional>
#include <memory>

#include "net/connection.h"
#include "net/loop_timer.h"

namespace holdfast::net {

using ProtocolFactory = std::function<std::unique_ptr<Protocol>(Channel&, EventLoop&)>;

class ConnectionSet {
  public:
    // Why a connection is being timed.
    enum class Timeout : std::uint8_t { request, idle, write, linger, farewell };

    // `tls` may be null: nothing is encrypted then.
    ConnectionSet(EventLoop& loop, const ConnectionLimits& limits, const ProtocolFactory& factory,
                  const TlsSource* tls);
    ~ConnectionSet();

    // Takes a connected socket; a set that drains closes it. From any thread; the connection counts
    // from now on and starts in a later turn.
    void hand_over(Transport transport);

    // The server is about to end: tells every connection. All of them go on, and new ones are
    // welcome. Calls `on_quiet` in a later turn, when everything is done that is under way now.
    // Only once.
    void begin_drain(std::function<void()> on_quiet);

    // Lets every connection finish what it owes, closes the rest when `grace` is over, and calls
    // `on_empty` in a later turn than the last connection's. Only once.
    void drain(std::chrono::milliseconds grace, std::function<void()> on_empty);

    // How many connections are alive. From any thread.
    [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }

    [[nodiscard]] EventLoop& loop() { return loop_; }
    [[nodiscard]] const ConnectionLimits& limits() const { return limits_; }

    // For connections: start, or restart, one of their deadlines; be destroyed, having closed.
    void start_timeout(Timeout timeout, TimeoutEntry& entry);
    void destroy(Connection& connection);
    // For connections: what was under way when begin_drain() was called is done.
    void finished_one();

  private:
    void adopt(Transport transport);
    void expire();
    void arm();
    void forget_one();
    void report_if_empty();
    void report_if_quiet();

    EventLoop& loop_;
    ConnectionLimits limits_;
    const ProtocolFactory& factory_;
    const TlsSource* tls_;
    std::array<TimeoutQueue, 5> timeouts_;
    EventLoop::TimePoint armed_ = EventLoop::TimePoint::max();
    LoopTimer timer_;
    LoopTimer grace_timer_;
    bool draining_ = false;
    bool leaving_ = false;        // drain() was called
    std::size_t unfinished_ = 0;  // connections that hold up the end
    std::function<void()> on_quiet_;
    std::function<void()> on_empty_;
    std::atomic<std::size_t> size_ = 0;
    boost::intrusive::list<Connection> connections_;
};

}  // namespace holdfast::net
