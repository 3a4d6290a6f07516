#pragma once

// TurnedAway: connections that a server has accepted only to say that it has no room for them.
//
// How to think of it: a socket gets one short text, and the end of its output, without waiting.
// Then what the peer sends is received and thrown away until the peer closes too: a socket that is
// closed before its input was received resets the connection, and the reset can overtake the text.
// A peer that does not close is closed after kept_time_max. Of more than kept_max at a time, the
// oldest is closed at once. So a refusal costs no thread, little memory, and a descriptor only for
// a short time.
//
// Thread safety: only on its loop's thread, or while the loop does not run.

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>

#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"
#include "net/sockets/transport.h"

namespace holdfast::net {

class TurnedAway {
  public:
    static constexpr std::size_t kept_max = 64;
    static constexpr std::chrono::milliseconds kept_time_max{1'000};

    // Without a text, a connection is closed at once.
    TurnedAway(EventLoop& loop, std::string text);

    // REQUIRES: nothing was sent, and the connection is not encrypted.
    void add(Transport transport);
    void close_all();

    [[nodiscard]] std::size_t size() const { return kept_.size(); }

  private:
    struct Kept {
        Transport transport;
        EventLoop::TimePoint until;
        bool is_gone = false;
    };

    void look();

    EventLoop& loop_;
    const std::string text_;
    std::deque<Kept> kept_;  // in the order in which they came
    LoopTimer timer_;
};

}  // namespace holdfast::net
