#pragma once

// What happened inside the lock table, as data.
//
// Every transition appends one Event. The events of a call are complete: who reads them all can
// rebuild its leases (the store does), answer every waiter (the service does), count, log and show.
// Strings are kept in buffers that are reused, so writing an event allocates nothing once there is
// one.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text/text_arena.h"
#include "core/values/request.h"

namespace holdfast::core {

enum class EventKind : std::uint8_t {
    granted,
    renewed,
    released,
    expired,      // the lease ended by itself; with grace, the lock is kept for its owner
    grace_ended,  // the owner did not come back in time
    queued,
    wait_timed_out,
    wait_cancelled,
    session_opened,
    session_ended,
};

// By whom or what.
enum class Cause : std::uint8_t { request, session_end, force };

[[nodiscard]] std::string_view to_text(EventKind kind);
[[nodiscard]] std::string_view to_text(Cause cause);

// One transition. Views point into the Changes it came from.
struct Event {
    EventKind kind = EventKind::granted;
    Cause cause = Cause::request;
    Time at;
    // The lease after the transition (or, when it ended, as it was). For waiters: what they ask
    // for.
    LeaseView lease;
    Duration grace{0};
    Duration memory{0};
    std::uint32_t limit = 1;
    // renewed: whether the lease is now kept on other terms (its TTL, grace or memory), or is
    // renewed for the first time since it was restored. Only then does a store need to know of it.
    bool has_new_terms = false;
    // granted after a wait, queued, wait_*: whose wait, and since when.
    WaiterId waiter;
    Time waiting_since;
    std::string_view previous_owner;
    // Of the lock, after the transition.
    std::size_t queue_length = 0;
};

// Whether the event is part of what must survive a restart.
[[nodiscard]] bool is_kept(const Event& event);

// The events of one or more calls, in order. A value that is moved, not copied: may be swapped out
// and handed to another thread.
class Changes {
  public:
    // Appends a copy of `event`, strings included.
    void add(const Event& event) { keep_texts_of(events_.emplace_back(event)); }
    // Appends what `fill(event)` makes of an event that says nothing; its strings are copied.
    template <class Fill>
    void add_filled(Fill fill) {
        Event& event = events_.emplace_back();
        fill(event);
        keep_texts_of(event);
    }
    void clear();
    void swap(Changes& other) noexcept;

    [[nodiscard]] bool empty() const { return events_.empty(); }
    [[nodiscard]] std::size_t size() const { return events_.size(); }
    // How much memory it has taken, for the events and in all; not less than they need.
    [[nodiscard]] std::size_t capacity() const { return events_.capacity(); }
    [[nodiscard]] std::size_t bytes() const {
        return events_.capacity() * sizeof(Event) + texts_.bytes();
    }
    // Event number `index`, good until the next add or clear; its views, until the next clear.
    [[nodiscard]] const Event& operator[](std::size_t index) const { return events_[index]; }
    [[nodiscard]] auto begin() const { return events_.begin(); }
    [[nodiscard]] auto end() const { return events_.end(); }

  private:
    void keep_texts_of(Event& event);

    std::vector<Event> events_;
    base::TextArena texts_;  // of the events
};

}  // namespace holdfast::core
