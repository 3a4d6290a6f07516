#pragma once

// EventLoop: runs the connections of one thread, in turns. Poller: the sockets of a loop.
//
// A turn is one batch of ready sockets, one posted function or one due timer. What the turn appends
// to the output of connections is sent at the end of the turn, once per connection. So a function
// that answers a thousand waiting requests costs one send per connection. A function posted during
// a turn runs after everything that was ready together with it.
//
// Thread safety: post() and stop() from any thread, everything else only on the thread inside run()
// (or while no thread runs the loop).
// Lifetime: a loop outlives every timer, listener, server and connection made on it.

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace holdfast::net {

class EventLoop;

// What waits for a descriptor.
class Pollable {
  public:
    // `events` are epoll's bits. May be called once more after remove() in the same turn. So a
    // Pollable is destroyed only at the end of a turn, and ignores events after it has closed.
    virtual void on_ready(std::uint32_t events) = 0;

  protected:
    ~Pollable() = default;
};

// Poller: one epoll set inside the Asio loop.
//
// For every wait on a descriptor, Asio needs a system call to re-arm it and a pass through its
// queues. A connection waits once per request. So its descriptor is registered here instead, once,
// level-triggered, and Asio sees the whole set as a single descriptor. A batch of ready connections
// then costs one re-arm, Asio still runs timers and posted functions, and a connection needs no
// handler that could outlive it.
class Poller {
  public:
    Poller(EventLoop& loop, boost::asio::io_context& context);
    Poller(const Poller&) = delete;
    Poller& operator=(const Poller&) = delete;

    // False if the kernel watches no more descriptors.
    [[nodiscard]] bool add(int descriptor, std::uint32_t events, Pollable& pollable);
    // REQUIRES: added and not removed.
    void change(int descriptor, std::uint32_t events, Pollable& pollable);
    void remove(int descriptor);

  private:
    void wait();
    void run_ready();

    EventLoop& loop_;
    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> set_;
};

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

    // Makes run() return after the current turn. Functions that were posted and not yet run are run
    // by the next run().
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

    // The time at which this turn began. Cheap, and the same for everything in a turn.
    [[nodiscard]] TimePoint now() const { return now_; }

    // Whether a turn has begun, or a connection has received something, since this was asked last.
    [[nodiscard]] bool take_freshness() { return std::exchange(is_fresh_, false); }

    // Where every connection of this loop receives; valid until the next connection receives. So
    // idle connections need no read buffer of their own.
    [[nodiscard]] std::span<char> read_buffer() {
        is_fresh_ = true;
        return std::span(*read_buffer_).subspan(read_bytes_kept_, read_buffer_bytes);
    }

    // Preserves the first `bytes` of the read buffer until the end of this turn: other connections
    // receive behind them. False if there is no space for that.
    [[nodiscard]] bool keep_read_bytes(std::size_t bytes) {
        if (read_bytes_kept_ + bytes > read_bytes_kept_max) return false;
        read_bytes_kept_ += bytes;
        return true;
    }

    [[nodiscard]] boost::asio::io_context& context() { return context_; }
    [[nodiscard]] Poller& poller() { return *poller_; }

    // Calls the task at the end of this turn (of the next turn, if none is being run): once, even
    // if it is scheduled several times. A task that is destroyed before must be unscheduled.
    void schedule(TurnTask& task);
    void unschedule(TurnTask& task);

    // Begins a turn and ends it. For the sources of turns: Poller, LoopTimer, post().
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
