#pragma once

// Connection: drives one Protocol over one Transport.
//
// When the socket is readable, the connection receives once into the loop's buffer. When all
// connections of the turn have done so, each lets its protocol handle every whole request that it
// has received. When that is done, each sends its answers with one non-blocking send; answers to
// requests that had waited, and that a request of this turn has ended, leave first. (Doing the
// same kind of work together keeps the processor's caches warm: a request in a long turn takes a
// tenth less time than if it were answered before the next is received.) The connection stores only
// what cannot move on: the beginning of a request, input that a paused protocol does not want yet,
// output that a full socket refused.
//
// A connection has a state of its own, and four more that change independently of it:
//
//     State       event                                             next
//     open        close_after_flush(), or the conversation is over  finishing
//     finishing   all output, and its end, is sent                  lingering
//     lingering   the peer has closed its side                      closed
//     any         an error, a timeout, or close()                   closed
//     closed      the end of the turn                               destroyed by its set
//
//     PeerInput   event                                             next
//     flowing     the peer has stopped sending (EPOLLRDHUP)         ending
//     flowing     all that it sent has been received                received
//     ending      all that it sent has been received                received
//     received    the protocol has looked at all of it              consumed
//
//     Turn        event                                             next
//     ours        on_input() returned because our time was used up  over
//     over        there is input to go on with                      booked
//     ours        input can go on only after output was sent        booked
//     booked      the next turn has begun: go_on()                  ours
//     over        new input is offered                              ours
//
//     OutputEnd   event                                             next
//     none        finish_output()                                   wanted
//     wanted      all output, and its end, is sent                  sent
//
//     Shutdown    event                                             next
//     none        the server is about to end: begin_drain()         draining
//     draining    the server ends: drain()                          leaving
//
// Every event ends in decide_next(), the only place that decides what happens next. It destroys
// nothing.
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
#include "net/loop/peer.h"
#include "net/loop/timeout_queue.h"
#include "net/sockets/transport.h"

namespace holdfast::net {

class ConnectionSet;

// What one connection may take of memory and time. A duration of zero means for ever.
struct ConnectionLimits {
    // From the first byte of a request to its last. A TLS handshake may take as long, from the
    // beginning of the connection.
    std::chrono::milliseconds request_timeout{10'000};
    // Without any request.
    std::chrono::milliseconds idle_timeout{75'000};
    // While the peer receives none of the output that waits for it.
    std::chrono::milliseconds write_timeout{30'000};
    // After our last byte, until the peer closes its side; the second while the server ends.
    std::chrono::milliseconds linger_timeout{2'000};
    std::chrono::milliseconds farewell_timeout{250};
    // With more unsent output than this, the protocol is given no more input.
    std::size_t output_bytes_max = std::size_t{256} * 1024;
    // How much input is received while the protocol is paused. Beyond this, only the death of the
    // peer is watched for.
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
    // `peer` is null unless the connection came through another node.
    // REQUIRES: start() before anything else.
    Connection(ConnectionSet& set, Transport transport, std::shared_ptr<const Peer> peer = nullptr);
    ~Connection();

    // Begins to read. False if the descriptor cannot be watched: the connection is useless then.
    [[nodiscard]] bool start(std::unique_ptr<Protocol> protocol);

    // The server is about to end: tells the protocol. The connection goes on. Returns whether
    // something is under way that should be finished first; calls ConnectionSet::finished_one()
    // when that is done.
    bool begin_drain();
    // Closes as soon as nothing is owed to the peer, perhaps at once.
    void drain();
    // Closes now, even if something is owed.
    void close();
    void on_timeout(TimeoutEntry& entry);
    // The turn that the connection asked its set for has begun: goes on with the input it holds.
    void go_on();
    [[nodiscard]] bool awaits_turn() const { return turn_ == Turn::booked; }
    // There is room for waiting answers again.
    void on_room();

    std::string& output() override { return output_; }
    void flush() override;
    void close_after_flush() override;
    void finish_output() override;
    void cut() override;
    void pause() override { paused_ = true; }
    void resume() override;
    bool congested() const override;
    bool should_return() override;
    void count_waiting(std::ptrdiff_t bytes) override;
    bool has_room_to_wait() override;
    bool draining() const override { return shutdown_ != Shutdown::none; }
    std::string client_address() const override;
    bool is_client_lost() const override { return peer_ && !peer_->has_left; }
    EventLoop::TimePoint now() const override;

  private:
    enum class State : std::uint8_t {
        open,       // requests in, answers out
        finishing,  // no more input; output, and then its end, is being sent
        lingering,  // waits for the peer to close, so that no reset overtakes the answers
        closed,
    };
    enum class PeerInput : std::uint8_t {
        flowing,
        ending,    // the protocol knows that the peer has stopped sending
        received,  // ... and all that it sent has been received
        consumed,  // ... and the protocol has looked at it
    };
    enum class Turn : std::uint8_t { ours, over, booked };
    enum class OutputEnd : std::uint8_t { none, wanted, sent };
    enum class Shutdown : std::uint8_t { none, draining, leaving };
    // What reading_ runs for.
    enum class Reading : std::uint8_t {
        other,    // nothing, a handshake, the next request, the peer to close
        request,  // the rest of a request; stays so when it has run out
    };

    void on_ready(std::uint32_t events) override;
    void on_end_of_turn() override;

    void receive();
    void take_input(std::string_view fresh);
    void offer(std::string_view input);
    void offer_held_input();
    void note_consumed(std::size_t consumed);
    [[nodiscard]] bool may_go_on() const;
    [[nodiscard]] bool has_input_to_offer() const;
    [[nodiscard]] bool has_received_all() const { return peer_input_ >= PeerInput::received; }
    void report_end_of_input();
    void report_end_of_data();
    void decide_next();
    void send_output();
    void send_all_there_is();
    bool has_to_send() const;
    void linger();
    bool may_finish() const;
    bool owes_something() const;
    void report_if_finished();
    bool wants_input() const;
    void update_interest();
    void watch(bool is_wanted);
    void update_timeouts();

    ConnectionSet& set_;
    Transport transport_;
    std::shared_ptr<const Peer> peer_;
    std::unique_ptr<Protocol> protocol_;
    std::string output_;
    std::size_t sent_bytes_ = 0;      // of output_
    std::string_view fresh_;          // input received in this turn that nobody has looked at
    std::string held_;                // input received but not consumed
    std::size_t waiting_bytes_ = 0;   // of answers that the protocol stores for their turn
    EventLoop::TimePoint turn_end_;   // when this connection's share of the turn is used up
    std::size_t asked_ = 0;           // how often should_return() was asked in this on_input()
    TimeoutEntry reading_{this};      // request_timeout, idle_timeout or linger_timeout
    TimeoutEntry writing_{this};      // write_timeout
    std::uint32_t interest_ = 0;      // the events that the poller watches for
    std::uint32_t input_events_ = 0;  // of these, the events upon which to receive
    State state_ = State::open;
    PeerInput peer_input_ = PeerInput::flowing;
    Turn turn_ = Turn::ours;
    OutputEnd output_end_ = OutputEnd::none;
    Shutdown shutdown_ = Shutdown::none;
    Reading reading_for_ = Reading::other;
    bool paused_ = false;       // by the protocol
    bool awaits_room_ = false;  // paused because there was no room for waiting answers
    bool held_back_ = false;    // the protocol may find more requests in held_ as it is
    bool delays_end_ = false;   // the end of the server waits for what is under way here
    bool is_cut_ = false;       // cut() was called
    bool is_hung_up_ = false;   // the peer has closed both ways, and the protocol wants all input
    bool is_watched_ = false;   // by the poller
    bool lets_others_go_first_ = false;  // has handled its input, and not yet sent
};

}  // namespace holdfast::net
