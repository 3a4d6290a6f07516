#pragma once

// DflockdProtocol: one dflockd connection on the common engine.
//
// A key is a named lock, or a semaphore, shared with all other doors. Everything a connection holds
// or waits for belongs to one session of the engine, which begins with the first request that needs
// one and ends with the connection.
//
// How to think of it: requests are handled strictly one after another. Whatever cannot wait for a
// lock goes to the service at once, so that many requests share a commit or a hand-over to another
// thread, and their answers line up in `owed_`. A request that may wait for a lock holds back all
// that follow it until it is answered. `stats`, whose answer may be long, waits until all answers
// before it have left, and holds back what follows: so what lines up is short lines, `owed_max` at
// most.
//
// A peer that has stopped sending while its request waits for a lock is taken for dead: its session
// ends there and then, so nothing is granted to nobody.
//
// Thread safety: only on the connection's loop.

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "doors/dflockd/dflockd_door.h"
#include "doors/dflockd/dflockd_request.h"
#include "net/loop/channel.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"
#include "service/ports/port.h"

namespace holdfast::doors::dflockd {

// Where a connection lives. All of it outlives the connection.
struct DflockdPlace {
    DflockdDoor& door;
    service::Port& port;
    net::EventLoop& loop;
};

class DflockdProtocol final : public net::Protocol {
  public:
    // The channel outlives the protocol.
    DflockdProtocol(net::Channel& channel, const DflockdPlace& place);
    ~DflockdProtocol() override;

    std::size_t on_input(std::string_view input) override;
    void on_end_of_input() override;
    void on_drain() override;
    void on_read_timeout() override;
    void on_closed() override;
    bool idle() const override { return owed_.empty() && !opening_ && !is_refused_; }

  private:
    // An answer that is not sent yet. The service has it on loan.
    struct Owed final : service::Answer {
        explicit Owed(DflockdProtocol& protocol) : owner(protocol) {}
        void take(const service::Response& response) override { owner.on_late(*this, response); }
        void drop() override {}

        DflockdProtocol& owner;
        Verb verb{};                   // of the request, if the service was asked
        service::PromiseId promise{};  // while there is no text
        std::string text;              // empty: not known yet
        bool is_last = false;          // the connection closes after it
    };

    // Whether the next request has to wait for something.
    [[nodiscard]] bool is_held_up() const;
    // False: come back with the same frame when there is a session, or nothing is owed.
    [[nodiscard]] bool take(const Frame& frame);
    [[nodiscard]] bool admit(const std::optional<DflockdRequest>& request);
    void refuse();
    void call_gate_timer(std::chrono::milliseconds delay);
    void on_gate_timer();
    [[nodiscard]] bool ask(const DflockdRequest& request);
    [[nodiscard]] core::Duration patience(const DflockdRequest& request) const;
    [[nodiscard]] core::AcquireRequest to_acquire(const DflockdRequest& request) const;
    [[nodiscard]] service::Request to_service(const DflockdRequest& request) const;
    void open_session();
    void take_session(const service::Response& response);
    void end_session();
    void leave_if_blocked();
    void answer(std::string_view line, bool is_last = false);
    void append(std::string& out, Verb verb, const service::Response& response);
    void on_late(Owed& owed, const service::Response& response);
    void send_answered();
    void go_on();

    net::Channel& channel_;
    DflockdDoor& door_;
    service::Port& port_;
    net::EventLoop& loop_;
    const std::string owner_;

    core::SessionId session_;
    std::optional<service::PromiseId> opening_;  // the session that is
    std::optional<service::PromiseId> probe_;    // whether the peer's death ends a wait
    bool has_no_session_ = false;                // it could not be opened
    std::deque<Owed> owed_;                      // in the order of their requests
    bool is_waiting_ = false;                    // the last one owed may wait for a lock
    bool is_stats_next_ = false;                 // `stats` waits for what is owed, or is owed
    bool is_admitted_ = false;                   // the gate is open, or the peer knows the secret
    bool is_refused_ = false;                    // it does not, and will hear of it
    bool has_shown_secret_ = false;              // `auth` has been answered with ok
    bool is_over_ = false;                       // what follows is not looked at
    bool is_ended_ = false;                      // the peer sends no more
    // Until the peer is admitted, where a secret is asked for: when its time is over, or when it
    // hears that it is refused.
    std::unique_ptr<net::LoopTimer> gate_timer_;
};

}  // namespace holdfast::doors::dflockd
