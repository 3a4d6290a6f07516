#pragma once

// DflockdProtocol: one dflockd connection on the common engine.
//
// A key is a named lock, or a semaphore, shared with all other doors. Everything a connection holds
// or waits for belongs to one session of the engine, which begins with the first request that needs
// one and ends with the connection.
//
// How to think of it: requests are handled strictly one after another. A request that cannot wait
// for a lock goes to the service at once, so that many requests share a commit or a hand-over to
// another thread; their answers line up in `owed_`. A request that may wait for a lock holds back
// all requests after it until it is answered. `stats` has a long answer: it waits until all answers
// before it have left, and it holds back the requests after it. So the answers in `owed_` are short
// lines, at most `owed_max` of them.
//
// Three states, which do not depend on one another:
//
//     admission   pending         the peer has not shown the secret yet
//                 refused         the secret was wrong or missing; the peer is told after a delay
//                 admitted        no secret is needed, or it was right
//                 authenticated   `auth` was answered with ok; a second `auth` is an error
//     session     none            no request has needed a session yet, or it has ended
//                 opening         the service was asked for one
//                 failed          the service could not open one; the next request says so
//                 open            its leases and waiters end with it
//     blocked by  nothing
//                 a wait          the last request in `owed_` may wait for a lock
//                 stats           `stats` waits for the answers in `owed_`, or is one of them
//
// The leases of a session are released with it. They stay for their TTL if the client may come back
// with its tokens: the server shuts down, or the node that passed the connection on was lost
// (Channel::is_client_lost()). Requests that wait are given up in any case: an answer that is given
// up has never been written, so no client can have heard it.
//
// A peer that has stopped sending while its request waits for a lock counts as dead: its session
// ends at once, so that no lock is granted to it.
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
#include "rights/denial.h"
#include "service/ports/port.h"

namespace holdfast::doors::dflockd {

// The surroundings of a connection. All of it outlives the connection.
struct DflockdContext {
    DflockdDoor& door;
    service::Port& port;
    net::EventLoop& loop;
};

class DflockdProtocol final : public net::Protocol {
  public:
    // The channel outlives the protocol.
    DflockdProtocol(net::Channel& channel, const DflockdContext& context);
    ~DflockdProtocol() override;

    std::size_t on_input(std::string_view input) override;
    void on_end_of_input() override;
    void on_drain() override;
    void on_read_timeout() override;
    void on_closed() override;
    bool idle() const override {
        return owed_.empty() && session_state_ != SessionState::opening &&
               admission_ != Admission::refused;
    }

  private:
    enum class Admission : std::uint8_t { pending, refused, admitted, authenticated };
    enum class SessionState : std::uint8_t { none, opening, failed, open };
    enum class BlockedBy : std::uint8_t { nothing, wait, stats };

    // An answer that is not sent yet. The service borrows it.
    struct Owed final : service::Answer {
        explicit Owed(DflockdProtocol& protocol) : owner(protocol) {}
        void take(const service::Response& response) override { owner.on_late(*this, response); }
        void drop() override {}

        DflockdProtocol& owner;
        Verb verb{};                   // of a request that the service was asked
        service::PromiseId promise{};  // while there is no text
        std::string text;              // empty: not known yet
        bool is_last = false;          // the connection closes after it
    };

    // Whether the next request has to wait for something.
    [[nodiscard]] bool is_held_up() const;
    // False: the same frame has to be handled again, when there is a session or nothing is owed.
    [[nodiscard]] bool handle(const Frame& frame);
    [[nodiscard]] bool admit(const std::optional<DflockdRequest>& request);
    [[nodiscard]] bool is_denied(const DflockdRequest& request);
    void call_gate_timer(std::chrono::milliseconds delay);
    void on_gate_timer();
    [[nodiscard]] bool ask(const DflockdRequest& request);
    [[nodiscard]] std::string_view by();
    [[nodiscard]] const service::AllowedScopes& allowed();
    [[nodiscard]] core::Duration patience(const DflockdRequest& request) const;
    [[nodiscard]] core::AcquireRequest to_acquire(const DflockdRequest& request) const;
    [[nodiscard]] service::Request to_service(const DflockdRequest& request) const;
    void open_session();
    void set_session(const service::Response& response);
    void end_session();
    void leave_if_blocked();
    void answer(std::string_view line, bool is_last = false);
    void append(std::string& out, Verb verb, const service::Response& response);
    void on_late(Owed& owed, const service::Response& response);
    void end_wait();
    void send_answered();
    void go_on();

    net::Channel& channel_;
    DflockdDoor& door_;
    service::Port& port_;
    net::EventLoop& loop_;
    const std::string owner_;

    Admission admission_ = Admission::pending;
    rights::TokenPtr client_;         // null: the peer is not admitted yet, or needs no secret
    std::string by_;                  // by(), once it was called
    service::AllowedScopes allowed_;  // of client_, once allowed() was called
    // While the admission is pending: the end of the time in which the peer may show the secret.
    // While it is refused: the time at which the peer is told.
    std::unique_ptr<net::LoopTimer> gate_timer_;

    SessionState session_state_ = SessionState::none;
    core::SessionId session_;                  // while open
    service::PromiseId opening_{};             // while opening
    std::optional<service::PromiseId> probe_;  // see leave_if_blocked()

    std::deque<Owed> owed_;  // in the order of their requests
    BlockedBy blocked_by_ = BlockedBy::nothing;
    bool is_over_ = false;   // the input that follows is ignored
    bool is_ended_ = false;  // the peer sends no more
};

}  // namespace holdfast::doors::dflockd
