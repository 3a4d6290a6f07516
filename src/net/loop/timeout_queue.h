#pragma once

// TimeoutQueue: deadlines that all lie equally far ahead.
//
// Because every entry waits for the same length of time, the one that started first is due first: a
// plain list is a timer queue in which starting, stopping and finding the next one are O(1), and an
// entry that waits costs nothing.
//
// Lifetime: an entry leaves its queue when it is stopped or destroyed.

#include <boost/intrusive/list.hpp>

#include "net/loop/event_loop.h"

namespace holdfast::net {

class Connection;

class TimeoutEntry : public boost::intrusive::list_base_hook<
                         boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
  public:
    explicit TimeoutEntry(Connection* owner) : owner_(owner) {}

    [[nodiscard]] bool running() const { return is_linked(); }
    [[nodiscard]] EventLoop::TimePoint deadline() const { return deadline_; }
    [[nodiscard]] Connection& owner() const { return *owner_; }
    void stop() { unlink(); }

  private:
    friend class TimeoutQueue;
    Connection* owner_;
    EventLoop::TimePoint deadline_;
};

class TimeoutQueue {
  public:
    // A length of zero means never: start() then does nothing.
    explicit TimeoutQueue(EventLoop::Clock::duration length) : length_(length) {}

    // Starts or restarts the entry. REQUIRES: `now` never goes back.
    void start(TimeoutEntry& entry, EventLoop::TimePoint now) {
        entry.unlink();
        if (length_ == EventLoop::Clock::duration::zero()) return;
        entry.deadline_ = now + length_;
        entries_.push_back(entry);
    }

    [[nodiscard]] bool empty() const { return entries_.empty(); }

    // The entry that is due first. REQUIRES: !empty().
    [[nodiscard]] TimeoutEntry& front() { return entries_.front(); }

  private:
    EventLoop::Clock::duration length_;
    boost::intrusive::list<TimeoutEntry, boost::intrusive::constant_time_size<false>> entries_;
};

}  // namespace holdfast::net
