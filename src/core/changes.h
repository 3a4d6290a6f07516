#pragma once

// What happened inside the lock table, as data.
//
// Every transition appends one Event. The events of a call are complete: who reads them all can
// rebuild its leases (the store does), answer every waiter (the service does), count, log and show.
// Strings are kept in one buffer that is reused, so writing an event allocates nothing once the
// buffer has grown.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/request.h"

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

// The events of one or more calls, in order. A value: may be swapped out and handed to another
// thread.
class Changes {
  public:
    // Appends a copy of `event`, strings included.
    void add(const Event& event);
    void clear();
    void swap(Changes& other) noexcept;

    [[nodiscard]] bool empty() const { return entries_.empty(); }
    [[nodiscard]] std::size_t size() const { return entries_.size(); }
    // Event number `index`; its views are good until the next add or clear.
    [[nodiscard]] Event operator[](std::size_t index) const;

  private:
    struct Entry {
        Event event;  // its views are empty: the text is in texts_
        std::size_t text_begin;
        std::uint32_t name_size, owner_size, previous_size, request_id_size, metadata_size;
    };

    std::vector<Entry> entries_;
    std::string texts_;
};

}  // namespace holdfast::core
