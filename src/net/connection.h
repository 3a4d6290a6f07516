#pragma once

// Connection: drives one Protocol over one Transport.
//
// Think of it as a pump with two ends. When the socket is readable it receives once into the loop's
// buffer. When all connections of the turn have done so, each lets its protocol handle every whole
// request it has received, and when that is done, each sends its answers with one non-blocking
// send. (Work of one kind after work of the same kind keeps the processor's caches warm: a
// request in a long turn takes a tenth less time than if it were answered before the next is
// received.) Only what cannot move on is kept: the beginning of a request, input held back by a
// paused protocol, output that a full socket refused.
//
// Every way in ends in settle(), the only place that decides what happens next; it destroys
// nothing. A connection that has closed is destroyed by its set at the end of the turn.
//
// Thread safety: only on its loop's thread.

#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/channel.h"
#include "net/event_loop.h"
#include "net/poller.h"
#include "net/timeout_queue.h"
#include "net/transport.h"

namespace holdfast::net {

class ConnectionSet;

// What one connection may take of memory and time. A duration of zero means for ever.
struct ConnectionLimits {
    // From the first byte of a request to its last, however slowly they trickle. As long may a
    // TLS handshake take, from the beginning of the connection.
    std::chrono::milliseconds request_timeout{10'000};
    // Without any request.
    std::chrono::milliseconds idle_timeout{75'000};
    // While the peer takes none of the output waiting for it.
    std::chrono::milliseconds write_timeout{30'000};
    // After our last byte, waiting for the peer to close its side.
    std::chrono::milliseconds linger_timeout{2'000};
    // Unsent output over which the protocol is given no more input.
    std::size_t output_bytes_max = std::size_t{256} * 1024;
    // Input received ahead of a paused protocol; beyond it only the peer's death is watched for.
    std::size_t held_input_bytes_max = std::size_t{64} * 1024;
};

class Connection final : public boost::intrusive::list_base_hook<>,
                         public Channel,
                         private Pollable,
                         private TurnTask {
  public:
    // REQUIRES: start() before anything else.
    Connection(ConnectionSet& set, Transport transport);
    ~Connection();

    // Begins to read. False when the descriptor cannot be watched: the connection is useless then.
    [[nodiscard]] bool start(std::unique_ptr<Protocol> protocol);

    // Closes as soon as nothing is owed to the peer, perhaps at once.
    void drain();
    // Closes now, whatever is owed.
    void close();
    void on_timeout(TimeoutEntry& entry);

    std::string& output() override { return output_; }
    void flush() override;
    void close_after_flush() override;
    void pause() override { paused_ = true; }
    void resume() override;
    bool congested() const override;
    bool draining() const override { return draining_; }
    EventLoop::TimePoint now() const override;

  private:
    enum class State : std::uint8_t {
        open,       // requests in, answers out
        finishing,  // no more input; closes when the output, and that it was the last, is sent
        lingering,  // all is sent; waits for the peer to close, so that no reset overtakes the
                    // answers
        closed,     // waits for the end of the turn
    };

    void on_ready(std::uint32_t events) override;
    void on_end_of_turn() override;

    void receive();
    void take_input(std::string_view fresh);
    void offer(std::string_view input);
    void offer_held_input();
    void report_end_of_input();
    void settle();
    void send_output();
    void send_all_there_is();
    bool has_to_send() const;
    void linger();
    bool may_finish() const;
    bool wants_input() const;
    void update_interest();
    void update_timeouts();

    ConnectionSet& set_;
    Transport transport_;
    std::unique_ptr<Protocol> protocol_;
    std::string output_;
    std::size_t sent_bytes_ = 0;      // of output_
    std::string_view fresh_;          // input received in this turn, and not yet looked at
    std::string held_;                // input received but not consumed
    TimeoutEntry reading_{this};      // request_timeout, idle_timeout or linger_timeout
    TimeoutEntry writing_{this};      // write_timeout
    std::uint32_t interest_ = 0;      // the events the poller watches for
    std::uint32_t input_events_ = 0;  // of these, those upon which to receive
    State state_ = State::open;
    bool paused_ = false;
    bool held_back_ = false;          // held_ was not offered since it grew: paused or congested
    bool request_timed_ = false;      // reading_ runs, or has run out, for the request in held_
    bool end_reported_ = false;       // the protocol knows that the peer has stopped sending
    bool end_received_ = false;       // ... and all it sent has been received
    bool data_end_reported_ = false;  // ... and looked at
    bool draining_ = false;
};

}  // namespace holdfast::net
