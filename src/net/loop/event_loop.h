#pragma once

// EventLoop: one thread's share of the network.
//
// Think of it as a sequence of turns. A turn is one batch of ready sockets, one posted function or
// one due timer; whatever the turn appended to any connection's output is sent at its end, once per
// connection. So a function that answers a thousand waiting requests costs one send per connection,
// and a function posted during a turn runs after everything that was ready together with it.
//
// Thread safety: post() and stop() from anywhere, everything else only on the thread inside run()
// (or while nobody runs the loop). Lifetime: a loop outlives every timer, listener, server and
// connection made on it.

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace holdfast::net {

class Poller;

// Something that has work left for the end of the turn.
class TurnTask {
  public:
    virtual void on_end_of_turn() = 0;

  protected:
    ~TurnTask() = default;

  private:
    friend class EventLoop;
    bool scheduled_ = false;
};

class EventLoop {
  public:
    using Clock = std::chrono::steady_clock;
    using TimePoint = Clock::time_point;

    static constexpr std::size_t read_buffer_bytes = std::size_t{64} * 1024;

    EventLoop();
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    // Runs turns on the calling thread until stop(). A stopped loop may be run again.
    void run();

    // Makes run() return after the turn at hand. Functions posted but not yet run are kept for the
    // next run().
    void stop();

    // Runs `function` in a turn of its own on the loop's thread, never inside this call, in the
    // order of posting.
    template <class Function>
    void post(Function&& function) {
        boost::asio::post(context_, [this, run = std::forward<Function>(function)]() mutable {
            Turn turn(*this);
            run();
        });
    }

    // The time at which this turn began: cheap, and the same for all that happened at once.
    [[nodiscard]] TimePoint now() const { return now_; }

    // Whether a turn has begun, or a connection has received something, since this was asked last.
    [[nodiscard]] bool take_freshness() { return std::exchange(is_fresh_, false); }

    // Where every connection of this loop receives; valid until the next connection does. Idle
    // connections therefore hold no read buffer of their own.
    [[nodiscard]] std::span<char> read_buffer() {
        is_fresh_ = true;
        return std::span(*read_buffer_).subspan(read_bytes_kept_, read_buffer_bytes);
    }

    // Keeps the first `bytes` of the read buffer until the end of this turn: later connections
    // receive behind them. False if there is no room for that.
    [[nodiscard]] bool keep_read_bytes(std::size_t bytes) {
        if (read_bytes_kept_ + bytes > read_bytes_kept_max) return false;
        read_bytes_kept_ += bytes;
        return true;
    }

    [[nodiscard]] boost::asio::io_context& context() { return context_; }
    [[nodiscard]] Poller& poller() { return *poller_; }

    // Calls the task at the end of this turn (of the next one, if no turn is being run), once
    // however often it is scheduled. A task that goes away first must be unscheduled.
    void schedule(TurnTask& task);
    void unschedule(TurnTask& task);

    // A turn, for those who call into the loop's world: Poller, LoopTimer, post().
    class Turn {
      public:
        explicit Turn(EventLoop& loop);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

      private:
        EventLoop& loop_;
    };

  private:
    static constexpr std::size_t read_bytes_kept_max = 8 * read_buffer_bytes;
    using ReadBuffer = std::array<char, read_bytes_kept_max + read_buffer_bytes>;

    void finish_turn();

    boost::asio::io_context context_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> keep_running_;
    TimePoint now_;
    bool in_turn_ = false;
    bool is_fresh_ = true;
    std::vector<TurnTask*> tasks_;
    std::unique_ptr<ReadBuffer> read_buffer_;
    std::size_t read_bytes_kept_ = 0;
    std::unique_ptr<Poller> poller_;
};

}  // namespace holdfast::net
