#pragma once

// Http2Connection: calls to one member of etcd over one socket.
//
//     state        what goes on                               next
//     starting     nothing yet; it begins in the next turn    looking_up
//     looking_up   the name is looked up on another thread    connecting, closed
//     connecting   TCP, one address of the host after the     greeting, closed
//                  other
//     greeting     TLS, then the peer's first frame           open, closed
//     open         calls are sent and answered                closed
//     closed       nothing; it never opens again
//
// Calls that are made before it is open wait inside. Up to `open` has a limit in time. When the
// connection closes, calls that were not sent have failed as not_done, or as rejected if the other
// side cannot be trusted or does not trust us; calls that were sent have failed as unknown.
//
// While a call waits and nothing arrives for a while, the peer is asked for a sign of life, because a
// watch has no limit in time of its own. etcd does not suffer that more often than every 5 seconds.
//
// Thread safety: none; everything on the thread of the loop.
// Lifetime: destroyed between turns only: the owner calls close() and hands the object to
// EventLoop::post(). The listener is called from the loop or from the end of a turn, never from
// inside call(), cancel() and close().

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "etcd/cluster_url.h"
#include "etcd/wire/http2_session.h"
#include "net/client/address_lookup.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"
#include "net/sockets/transport.h"

namespace holdfast::etcd {

using CallId = std::uint64_t;

struct ConnectionTimes {
    std::chrono::milliseconds connect_timeout{2000};
    std::chrono::milliseconds ping_after{6000};    // without any byte from the peer
    std::chrono::milliseconds ping_timeout{4000};  // still without any byte
};

class Http2Connection;

class ConnectionListener {
  public:
    virtual void on_message(CallId call, std::string message) = 0;
    // The last that is heard of a call: its end as the member says it, or the failure of the
    // connection.
    virtual void on_end(CallId call, StreamEnd end) = 0;
    virtual void on_failure(CallId call, Failure failure) = 0;
    // Takes no more calls. Those that it has go on, unless is_closed().
    virtual void on_leaving(Http2Connection& connection) = 0;

  protected:
    ~ConnectionListener() = default;
};

class Http2Connection final : private net::Pollable, private net::TurnTask, private Http2Listener {
  public:
    // `trust` null: plain.
    Http2Connection(net::EventLoop& loop, Member member, std::shared_ptr<const net::TlsTrust> trust,
                    ConnectionTimes times, ConnectionListener& listener);
    ~Http2Connection();
    Http2Connection(const Http2Connection&) = delete;
    Http2Connection& operator=(const Http2Connection&) = delete;

    // REQUIRES: is_usable(); the id is not that of another call.
    void call(CallId id, Http2Request request);
    // Nothing more is heard of the call. Unknown ids are ignored.
    void cancel(CallId id);
    // All calls fail, with this reason, if there is no better one.
    void abandon(const std::string& reason);
    // Silently: nothing is heard of any call.
    void close();

    [[nodiscard]] bool is_usable() const;
    [[nodiscard]] bool is_closed() const { return state_ == State::closed; }
    [[nodiscard]] bool is_idle() const { return waiting_.empty() && sent_.empty(); }
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    enum class State : std::uint8_t { starting, looking_up, connecting, greeting, open, closed };

    void on_ready(std::uint32_t events) override;
    void on_end_of_turn() override;
    void on_message(StreamId stream, std::string message) override;
    void on_end(StreamId stream, StreamEnd end) override;
    void on_timer();

    void start();
    void use_addresses();
    void try_next_address(std::string last_fault);
    void greet();
    void receive();
    void note_progress();
    void send_waiting();
    void flush();
    void watch_events(int descriptor, std::uint32_t events);
    void unwatch();
    void set_timer();
    void fail(Failure::Kind kind, const std::string& reason);
    void fail_io();
    void fail_session();

    net::EventLoop& loop_;
    const Member member_;
    const std::string name_;  // for people
    const std::shared_ptr<const net::TlsTrust> trust_;
    const ConnectionTimes times_;
    ConnectionListener& listener_;

    State state_ = State::starting;
    std::unique_ptr<net::AddressLookup> lookup_;
    std::vector<net::SocketAddress> addresses_;  // not tried yet, the next one last
    std::unique_ptr<net::Transport> transport_;
    int watched_ = -1;  // descriptor in the poller
    std::uint32_t watched_events_ = 0;
    std::unique_ptr<Http2Session> session_;

    std::map<CallId, Http2Request> waiting_;  // for the connection to open
    std::map<StreamId, CallId> sent_;
    net::LoopTimer timer_;
    net::EventLoop::TimePoint connect_deadline_;
    net::EventLoop::TimePoint heard_;  // when the last bytes arrived
    bool is_pinged_ = false;           // since then
    net::EventLoop::TimePoint pinged_;
    bool has_said_leaving_ = false;
};

}  // namespace holdfast::etcd
