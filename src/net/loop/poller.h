#pragma once

// Poller: the sockets of a loop, as one epoll set inside the Asio loop.
//
// Asio pays, for every wait on a descriptor, a system call to re-arm it and a pass through its
// queues. A connection waits once per request, so its descriptor lives here instead: registered
// once, level-triggered, and the whole set is a single descriptor to Asio. A batch of ready
// connections then costs one re-arm in all, timers and posted functions stay Asio's, and a
// connection needs no handler that could outlive it.
//
// Thread safety: only on the loop's thread (or while nobody runs the loop).

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>

namespace holdfast::net {

class EventLoop;

// Whoever waits for a descriptor.
class Pollable {
  public:
    // `events` are epoll's bits. May come once more after remove() in the same turn, so a Pollable
    // is destroyed at the end of a turn only, and ignores what comes after it has closed.
    virtual void on_ready(std::uint32_t events) = 0;

  protected:
    ~Pollable() = default;
};

class Poller {
  public:
    Poller(EventLoop& loop, boost::asio::io_context& context);
    Poller(const Poller&) = delete;
    Poller& operator=(const Poller&) = delete;

    // False when the kernel will watch no more descriptors.
    [[nodiscard]] bool add(int descriptor, std::uint32_t events, Pollable& pollable);
    // REQUIRES: added and not removed.
    void change(int descriptor, std::uint32_t events, Pollable& pollable);
    void remove(int descriptor);

  private:
    void wait();
    void run_ready();

    EventLoop& loop_;
    boost::asio::posix::stream_descriptor set_;
};

}  // namespace holdfast::net
