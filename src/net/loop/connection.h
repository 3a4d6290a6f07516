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

#include "net/loop/channel.h"
#include "net/loop/event_loop.h"
#include "net/loop/poller.h"
#include "net/loop/timeout_queue.h"
#include "net/loop/transport.h"

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
    // After our last byte, waiting for the peer to close its side; and while the server ends.
    std::chrono::milliseconds linger_timeout{2'000};
    std::chrono::milliseconds farewell_timeout{250};
    // Unsent output over which the protocol is given no more input.
    std::size_t output_bytes_max = std::size_t{256} * 1024;
    // Input received ahead of a protocol that is held back; beyond it only the peer's death is
    // watched for.
    std::size_t held_input_bytes_max = std::size_t{64} * 1024;
    // How long a connection may handle requests that arrived together before other connections
    // have their turn. One request is always handled.
    std::chrono::microseconds turn_share{5'000};
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

    // The server is about to end: tells the protocol. The connection goes on. Returns whether
    // something is under way that should be finished first; ConnectionSet::finished_one() is told
    // when that is done.
    bool begin_drain();
    // Closes as soon as nothing is owed to the peer, perhaps at once.
    void drain();
    // Closes now, whatever is owed.
    void close();
    void on_timeout(TimeoutEntry& entry);
    // The turn that it asked the set for has begun: goes on with the input that was held back.
    void go_on();
    [[nodiscard]] bool awaits_turn() const { return awaits_turn_; }
    // There is room for waiting answers again.
    void on_room();

    std::string& output() override { return output_; }
    void flush() override;
    void close_after_flush() override;
    void pause() override { paused_ = true; }
    void resume() override;
    bool congested() const override;
    bool should_return() override;
    void count_waiting(std::ptrdiff_t bytes) override;
    bool has_room_to_wait() override;
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
    void note_consumed(std::size_t consumed);
    [[nodiscard]] bool may_go_on() const;
    void report_end_of_input();
    void settle();
    void send_output();
    void send_all_there_is();
    bool has_to_send() const;
    void linger();
    bool may_finish() const;
    bool owes_something() const;
    void report_if_finished();
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
    std::size_t waiting_bytes_ = 0;   // of answers that the protocol keeps for their turn
    EventLoop::TimePoint turn_end_;   // when this connection's share of the turn is used up
    std::size_t asked_ = 0;           // how often should_return() was asked in this on_input()
    TimeoutEntry reading_{this};      // request_timeout, idle_timeout or linger_timeout
    TimeoutEntry writing_{this};      // write_timeout
    std::uint32_t interest_ = 0;      // the events the poller watches for
    std::uint32_t input_events_ = 0;  // of these, those upon which to receive
    State state_ = State::open;
    bool paused_ = false;
    bool is_turn_over_ = false;       // on_input() returned because its share was used up
    bool awaits_turn_ = false;        // the set will call go_on()
    bool awaits_room_ = false;        // paused because there was no room for waiting answers
    bool held_back_ = false;          // held_ is to be offered although it has not grown
    bool request_timed_ = false;      // reading_ runs, or has run out, for the request in held_
    bool end_reported_ = false;       // the protocol knows that the peer has stopped sending
    bool end_received_ = false;       // ... and all it sent has been received
    bool data_end_reported_ = false;  // ... and looked at
    bool draining_ = false;
    bool leaving_ = false;   // closes when nothing is owed
    bool holds_up_ = false;  // the end of the server waits for what is under way here
};

}  // namespace holdfast::net
