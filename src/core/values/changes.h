#pragma once

// What happened inside the lock table, as data.
//
// Every transition appends one Event. The events of a call are complete: they are enough to rebuild
// the leases (a store does that), to answer every waiter (the service does that), to count, to log
// and to show. Strings are copied into buffers that are reused, so that appending an event usually
// allocates nothing.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/text_arena.h"
#include "core/values/request.h"

namespace holdfast::core {

enum class EventKind : std::uint8_t {
    granted,
    renewed,
    released,
    expired,      // the deadline has passed; with grace, only the owner can get the lock now
    grace_ended,  // the grace is over, or the owner got the lock again
    queued,
    wait_timed_out,
    wait_cancelled,
    session_opened,
    session_ended,
    value_set,  // the holder has changed the value of its lease
    deadlock,   // a request has closed a cycle of clients that wait for each other
};
inline constexpr EventKind last_event_kind = EventKind::deadlock;

[[nodiscard]] std::string_view to_text(EventKind kind);

// One transition. The views point into the Changes that the event is in.
struct Event {
    EventKind kind = EventKind::granted;
    Cause cause = Cause::none;
    Time at;
    // The lease after the transition; a lease that has ended, as it was before. For a waiter: what
    // it asks for.
    LeaseView lease;
    Duration grace{0};
    Duration memory{0};
    std::uint32_t limit = 1;
    // renewed: whether the lease now has other terms (LeaseTerms), or is renewed for the first time
    // since it was restored. Only then must a store write it.
    bool has_new_terms = false;
    // granted after a wait, queued, wait_*: the waiter, and since when it waits.
    WaiterId waiter;
    Time waiting_since;
    std::string_view previous_owner;
    // Who has asked for it: as LockTable::on_behalf_of() was told. Empty: nobody, or it is not known.
    // Of renewals only those have it that are forced, and those of a lease that was transient.
    std::string_view by = {};
    // The number of waiters of the lock after the transition; of a set, of its first lock.
    std::size_t queue_length = 0;
    // deadlock: the cycle (values/cycle.h). `lease` is what its first member asks for.
    std::string_view cycle = {};
    // The events before this one belong to another step. The changes of a step are committed
    // together: those of a request, or what happened because one deadline had come.
    bool begins_step = false;
};

// All texts of an event: a copy of the event must copy them, too.
[[nodiscard]] inline std::array<std::string_view*, 10> texts_of(Event& event) {
    LeaseView& lease = event.lease;
    return {&lease.scope.name,     &lease.owner.name,
            &event.previous_owner, &lease.notes.request_id,
            &lease.notes.metadata, &lease.notes.waiter,
            &lease.members,        &lease.value,
            &event.cycle,          &event.by};
}

// How long they are together.
[[nodiscard]] std::size_t text_size_of(const Event& event);

// Whether the event must survive a restart, so that a store must write it.
[[nodiscard]] inline bool is_kept(const Event& event) {
    if (event.lease.is_transient) return false;
    switch (event.kind) {
        case EventKind::granted:
        case EventKind::released:
        case EventKind::expired:
        case EventKind::grace_ended:
        case EventKind::value_set: return true;
        case EventKind::renewed: return event.has_new_terms;
        case EventKind::queued:
        case EventKind::wait_timed_out:
        case EventKind::wait_cancelled:
        case EventKind::session_opened:
        case EventKind::session_ended:
        case EventKind::deadlock: return false;
    }
    return true;
}

// The events of one or more calls, in order. It is moved, not copied, and may be handed to another
// thread.
class Changes {
  public:
    // Appends a copy of `event`, strings included.
    void add(const Event& event) {
        copy_texts_of(events_.emplace_back(event));
        events_.back().begins_step |= std::exchange(is_at_step_, false);
    }
    // Appends an empty event after `fill(event)` has filled it. Its strings are copied.
    template <class Fill>
    void add_filled(Fill fill) {
        Event& event = events_.emplace_back();
        fill(event);
        event.begins_step = std::exchange(is_at_step_, false);
        copy_texts_of(event);
    }
    // The next event begins a step.
    void begin_step() { is_at_step_ = true; }
    void clear();
    void swap(Changes& other) noexcept;

    [[nodiscard]] bool empty() const { return events_.empty(); }
    [[nodiscard]] std::size_t size() const { return events_.size(); }
    // How much memory is allocated: in events, and in bytes for events and texts together.
    [[nodiscard]] std::size_t capacity() const { return events_.capacity(); }
    [[nodiscard]] std::size_t bytes() const {
        return events_.capacity() * sizeof(Event) + texts_.bytes();
    }
    // Event number `index`. Valid until the next add or clear; its views until the next clear.
    [[nodiscard]] const Event& operator[](std::size_t index) const { return events_[index]; }
    // REQUIRES: there is one.
    [[nodiscard]] const Event& last() const { return events_.back(); }
    [[nodiscard]] auto begin() const { return events_.begin(); }
    [[nodiscard]] auto end() const { return events_.end(); }

  private:
    void copy_texts_of(Event& event);

    std::vector<Event> events_;
    base::TextArena texts_;  // of the events
    bool is_at_step_ = false;
};

}  // namespace holdfast::core
