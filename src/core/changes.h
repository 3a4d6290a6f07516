#pragma once

// What happened inside the lock table, as data.
//
// Every transition appends one Event. The events of a call are complete: who reads them all can
// rebuild its leases (the store does), answer every waiter (the service does), count, log and show.
// Strings are kept in buffers that are reused, so writing an event allocates nothing once there is
// one.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
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

// Whether the event is part of what must survive a restart.
[[nodiscard]] bool is_kept(const Event& event);

// The events of one or more calls, in order. A value that is moved, not copied: may be swapped out
// and handed to another thread.
class Changes {
  public:
    Changes() = default;
    Changes(Changes&& other) noexcept { swap(other); }
    Changes& operator=(Changes&& other) noexcept {
        Changes(std::move(other)).swap(*this);
        return *this;
    }
    Changes(const Changes&) = delete;
    Changes& operator=(const Changes&) = delete;
    ~Changes() = default;

    // Appends a copy of `event`, strings included.
    void add(const Event& event);
    void clear();
    void swap(Changes& other) noexcept;

    [[nodiscard]] bool empty() const { return events_.empty(); }
    [[nodiscard]] std::size_t size() const { return events_.size(); }
    // Event number `index`, good until the next add or clear; its views, until the next clear.
    [[nodiscard]] const Event& operator[](std::size_t index) const { return events_[index]; }
    [[nodiscard]] auto begin() const { return events_.begin(); }
    [[nodiscard]] auto end() const { return events_.end(); }

  private:
    // Makes `text` one of ours, which stays where it is.
    void keep(std::string_view& text);
    void make_room(std::size_t size);

    std::vector<Event> events_;
    // The events' texts: a block that is filled, and those that are full.
    std::unique_ptr<char[]> block_;
    std::size_t block_size_ = 0, block_used_ = 0;
    std::vector<std::unique_ptr<char[]>> full_blocks_;
};

}  // namespace holdfast::core
