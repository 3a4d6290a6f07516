#pragma once

// Bodies in pieces, for handlers of bodies that are too large for memory: a handler gets each piece
// as it arrives. And the budget for bodies that are gathered in memory.
//
// Thread safety: only on the thread of the connection's loop, but for BodyBudget.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "net/http/http_message.h"
#include "net/syntax/http_fault.h"

namespace holdfast::net {

// Receives the body of one request. The connection owns the sink, and destroys it when the body is
// whole or has failed; or, without a call before, when the connection is gone.
class BodySink {
  public:
    virtual ~BodySink() = default;

    // One more piece, valid during the call; never an empty one.
    virtual void on_piece(std::string_view piece) = 0;

    // The last piece has come.
    virtual void on_whole() = 0;

    // The body is malformed, or too slow. `fault` is the answer to give if none was given. The
    // connection closes after it.
    virtual void on_fault(const HttpFault& fault) = 0;

    // Whether no more pieces should come for now; BodySource::resume() says when they may again. A
    // client that asks before it sends its body (`Expect: 100-continue`) waits for that as well.
    [[nodiscard]] virtual bool is_congested() const = 0;

    // Whether the body is still of use. If not, it is skipped, and a client that has asked whether
    // to send it gets the answer instead of `100 Continue`.
    [[nodiscard]] virtual bool is_wanted() const { return true; }
};

// Where a sink's body comes from. Lives as long as the sink.
class BodySource {
  public:
    // The sink is no longer congested.
    virtual void resume() = 0;

  protected:
    ~BodySource() = default;
};

// BodyBudget: how many bytes of bodies that are not whole yet a listener keeps in memory at a time.
//
// Thread safety: any thread.
class BodyBudget {
  public:
    explicit BodyBudget(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    // False, and nothing is taken, if that would be too much.
    [[nodiscard]] bool take(std::size_t bytes) {
        if (used_.fetch_add(bytes) + bytes <= bytes_max_) return true;
        used_.fetch_sub(bytes);
        return false;
    }
    void give_back(std::size_t bytes) { used_.fetch_sub(bytes); }

    [[nodiscard]] std::size_t used() const { return used_; }

  private:
    const std::size_t bytes_max_;
    std::atomic<std::size_t> used_ = 0;
};

// How slowly a body in pieces may arrive.
struct BodyPaceLimits {
    // During this time the body may be as slow as it likes. Zero: there is no limit at all.
    std::chrono::milliseconds grace{10'000};
    // After that, this many bytes per second must have arrived on average. 0: there is no limit.
    std::uint64_t bytes_per_second_min = 1024;
};

// BodyPace: whether a body arrives fast enough.
//
// With a timeout that restarts at every byte, a peer that sends a byte now and then could continue
// a request for ever, and hold the lock of the request as long. So the average counts: a body may
// take the grace, and one second more for each bytes_per_second_min that have arrived. Only time
// counts in which the server was ready to read: run() and pause() tell when that is.
//
// Thread safety: none.
class BodyPace {
  public:
    using Clock = std::chrono::steady_clock;
    using TimePoint = Clock::time_point;

    // The server reads from now on. Does nothing if it read before.
    void run(TimePoint now) {
        if (!running_since_) running_since_ = now;
    }
    // The server does not read.
    void pause(TimePoint now) {
        if (running_since_) spent_ += now - *running_since_;
        running_since_.reset();
    }
    void count(std::uint64_t bytes) { bytes_ += bytes; }

    [[nodiscard]] bool is_too_slow(const BodyPaceLimits& limits, TimePoint now) const {
        if (limits.grace == limits.grace.zero() || limits.bytes_per_second_min == 0) return false;
        const auto spent = running_since_ ? spent_ + (now - *running_since_) : spent_;
        if (spent <= limits.grace) return false;
        const std::chrono::duration<double> beyond = spent - limits.grace;
        const auto needed = beyond.count() * static_cast<double>(limits.bytes_per_second_min);
        return static_cast<double>(bytes_) < needed;
    }

  private:
    std::optional<TimePoint> running_since_;
    Clock::duration spent_{0};
    std::uint64_t bytes_ = 0;
};

}  // namespace holdfast::net
