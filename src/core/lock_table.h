#pragma once

// LockTable: the truth about who holds what, who waits, and what happens when.
//
// How to think of it: a pure state machine. Every call brings the time along, first lets everything
// happen that was due by then (leases end, waits time out), then does what was asked, and returns
// the outcome. What happened on the way is appended to changes(). The table reads no clock, draws
// no random bits, starts no thread and does no I/O; the same calls in the same order give the same
// answers, the same changes and the same digest.
//
// The rules:
//   - Strict FIFO: a request waits when it conflicts with a holder or with an earlier waiter. A try
//   does
//     not overtake either. Nobody is granted out of turn, and a waiter that is gone is gone.
//   - A lease ends exactly once: released, expired, or with its session. After that its token
//   proves
//     nothing, for ever.
//   - Grace: an expired lock is kept for its last owner, who may ask again before everybody else
//   and gets
//     a new lease. Explicit releases have no grace.
//   - Fencing numbers grow with every grant over the whole table and are never used twice.
//   - A wait whose time has come is over before anything is granted at that moment. When the caller
//     comes late (its process was stopped), that holds for everything due meanwhile: nobody is
//     granted a lock at a time when it no longer waited for it.
//   - A lease that has expired is no longer its session's: its grace and memory outlive the
//   session.
//   - A two-phase entry ends with its lease. After a release nothing is left of it; after an
//     expiry only what the next wait is told. Either way its session may enqueue again.
//   - Nothing is kept for locks that nobody holds, wants or remembers.
//
// Cost: constant for named, semaphore and path scopes, whatever the number of locks or waiters,
// plus O(log n) for the timer of a lease that is granted or ends (not for renewals); O(log n) in
// the ranges of an inode. list() looks at every lock: it is for people.
//
// Thread safety: none. Lifetime: views in outcomes and changes are good until the next non-const
// call.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/containers/deadline_heap.h"
#include "core/containers/range_index.h"
#include "core/containers/slot_index.h"
#include "core/records.h"
#include "core/values/changes.h"
#include "core/values/limits.h"
#include "core/values/request.h"
#include "core/values/view.h"

namespace holdfast::core {

class ResourceKey;

class LockTable {
  public:
    explicit LockTable(const TableOptions& options = {});

    // Asks for a lock: granted, renewed (see renew_own), queued (if it may wait) or refused.
    Outcome acquire(Time now, const AcquireRequest& request);

    // Leaves the queue. False if the waiter is no longer in it: it was granted, or has timed out.
    bool cancel(Time now, WaiterId waiter);

    // Keeps the place in the queue, and waits there for `wait` from now on, whatever it was to wait
    // before. False if the waiter is no longer in the queue. REQUIRES: a wait above zero.
    bool wait_on(Time now, WaiterId waiter, Duration wait);

    // The same, but the wait never becomes longer than it was.
    bool wait_at_most(Time now, WaiterId waiter, Duration wait);

    // Two-phase, first half: like acquire with unlimited patience, but the place in the queue (or
    // the lease) is remembered for `wait`. Needs a session. Outcome: granted, queued or refused,
    // as already_enqueued while an earlier one on this scope queues or holds.
    Outcome enqueue(Time now, const AcquireRequest& request);

    // Two-phase, second half. Granted: the lease, running anew for the TTL that was enqueued with,
    // whatever a renewal made of it since. Queued: a grant or a time-out will follow. Refused:
    // timed_out, not_enqueued (also when the lease was given back or forced to end), or lease_ended
    // when the lease expired before the wait. Either way the entry of `enqueue` is used up.
    Outcome wait(Time now, SessionId session, const Scope& scope, Duration timeout);

    // Puts back a lease from a store. It ends when its remaining time is over; a restored lease has
    // no session. False, and nothing changes, if it conflicts with what is there or makes no sense:
    // then the store is wrong. No event: nothing has happened.
    [[nodiscard]] bool restore(Time now, const RestoreRequest& request);

    // Lets the time of all leases begin at `now`: each has as long to go as it had when it was
    // restored. For a store that took long to read. REQUIRES: after the last restore(), and before
    // anything else.
    void start_restored(Time now);

    // Gives out no fencing number below this one from now on.
    void skip_fences_below(std::uint64_t number) { next_fence_ = std::max(next_fence_, number); }

    // Extends a lease: renewed, or refused as unknown_lease, lease_ended or ttl_out_of_range.
    Outcome renew(Time now, const RenewRequest& request);

    // Ends a lease: released, or refused as unknown_lease or lease_ended.
    Outcome release(Time now, const ReleaseRequest& request);

    // Ends whatever `owner` has on `scope`: its lease, its grace, or the memory of it. For doors
    // whose clients know no token. Refused as unknown_lease when there is nothing.
    Outcome release_own(Time now, const Scope& scope, const Owner& owner);

    // Ends all holds on `scope` (for a range or inode: all that overlap it), grace included,
    // whoever has them. Returns how many.
    std::size_t force_release(Time now, const Scope& scope);

    // Begins a session. `owner` is who it is for people. No session when there are as many as there
    // may be.
    SessionId open_session(Time now, const Owner& owner);

    enum class SessionLeases : std::uint8_t { release, keep };

    // Ends a session: its waiters and two-phase entries go, and its leases are released or, with
    // `keep`, live on until they expire. False if there is no such session.
    bool end_session(Time now, SessionId session, SessionLeases leases = SessionLeases::release);

    // Lets everything happen that is due by `now`. A `now` earlier than the last one counts as that
    // one.
    void advance(Time now) {
        now_ = std::max(now_, now);
        if (now_ >= next_due_) let_happen_what_is_due();
    }

    // No transition happens by itself before this moment; nothing if none will. May be early (a
    // renewal does not move it), never late.
    [[nodiscard]] std::optional<Time> next_deadline() const;

    // One lock with a page of its holders and the first `waiters_max` of its queue. For a range:
    // the whole inode. Nothing if the table knows nothing of it.
    [[nodiscard]] std::optional<LockView> inspect(const Scope& scope,
                                                  std::size_t waiters_max = SIZE_MAX,
                                                  const HolderPage& holders = {}) const;

    // The locks that match, ordered by kind and key. The list ends with the first lock (but never
    // the very first) whose holders would make more than query.holders_max: that one is there
    // without its holders, and is where the next page begins.
    [[nodiscard]] std::vector<LockView> list(const ListQuery& query) const;

    // The live leases that match, in the order of their grants. Looks at every lease, or at every
    // holder of the lock asked for.
    [[nodiscard]] std::vector<LeaseView> list_leases(const LeaseQuery& query) const;

    // Sessions that have not ended, the oldest first.
    [[nodiscard]] std::vector<SessionView> list_sessions(const SessionQuery& query) const;

    // The live lease of a token. Outcome: renewed with the lease (nothing changes), or refused as
    // unknown_lease or lease_ended. Call advance first.
    [[nodiscard]] Outcome find(Token token) const;

    [[nodiscard]] TableCounts counts() const;
    [[nodiscard]] Time now() const { return now_; }
    [[nodiscard]] std::uint64_t next_fence() const { return next_fence_; }
    [[nodiscard]] std::uint64_t next_serial() const { return next_serial_; }

    // What happened since the last clear, in order.
    [[nodiscard]] const Changes& changes() const { return changes_; }
    void clear_changes() { changes_.clear(); }
    // Exchanges them with `other`, in which the next ones are written down.
    void swap_changes(Changes& other) { changes_.swap(other); }

    // A hash of the whole state. Equal histories have equal digests.
    [[nodiscard]] std::uint64_t digest() const;

    // CHECKs everything that must always hold. Looks at every record: for tests.
    void check_invariants() const;

  private:
    // lock_table.cc: finding and keeping records
    void let_happen_what_is_due();
    void arm(DeadlineHeap& heap, Slot slot, Time deadline);
    [[nodiscard]] Slot find_resource(const Scope& scope) const;
    [[nodiscard]] Slot find_resource(const ResourceKey& key) const;
    Slot make_resource(const ResourceKey& key, std::uint32_t limit);
    void settle(Slot resource);
    void drop_resource(Slot resource);
    void wake_idle(Slot resource);
    [[nodiscard]] Time idle_ends_at() const;
    [[nodiscard]] Slot find_lease(Fence fence) const;
    void drop_lease(Slot lease);
    [[nodiscard]] std::size_t lease_deadlines_max() const;
    [[nodiscard]] Session* find_session(SessionId session);

    // lock_table_acquire.cc
    [[nodiscard]] Refusal find_fault(const AcquireRequest& request) const;
    Outcome admit(const AcquireRequest& request, bool is_two_phase);
    std::optional<Outcome> take_own(Slot resource, const AcquireRequest& request);
    void reclaim(Slot lease, const AcquireRequest& request);
    [[nodiscard]] bool has_all_leases() const;
    [[nodiscard]] bool has_room_for(const Resource& resource, Mode mode) const;
    [[nodiscard]] bool is_free_for(Slot resource, const AcquireRequest& request) const;
    [[nodiscard]] Outcome refuse_held(Slot resource, const AcquireRequest& request) const;
    Outcome join_queue(Slot resource, const AcquireRequest& request, bool is_two_phase);
    void watch_blocker(Resource& resource, Slot waiter, const Range& range);
    Slot grant(Slot resource, const AcquireRequest& request, const Waiter* waited, Slot range_item);
    Slot add_holder(Slot resource, const AcquireRequest& request, Slot range_item);
    void start_lease(Slot lease, const AcquireRequest& request);

    // lock_table_two_phase.cc
    [[nodiscard]] std::uint32_t hash_of_entry(Slot session, std::string_view scope) const;
    [[nodiscard]] Slot find_entry(Slot session, std::string_view scope) const;
    [[nodiscard]] Slot find_entry(const Waiter& waiter) const;
    [[nodiscard]] Slot find_entry(const Lease& lease) const;
    void drop_entry(Slot entry);
    void end_entry(Slot lease, EventKind kind);

    // lock_table_end.cc: how leases end and waiters move up
    struct Found {
        Slot slot;
        Refusal refusal;
    };
    [[nodiscard]] Found find_held(Token token, const std::optional<Scope>& scope,
                                  const std::optional<Owner>& owner) const;
    void restart_lease(Slot lease, Time expires_at, const LeaseTerms& terms);
    void end_lease(Slot lease, EventKind kind, Cause cause);
    void expire(Slot lease);
    void drop_lapsed(Slot resource);
    void remove_waiter(Slot waiter, EventKind kind, Cause cause);
    std::vector<Slot> take_out_waiter(Slot waiter, EventKind kind, Cause cause);
    void hand_on(Slot resource, std::vector<Slot> watchers);
    void hand_on_in_turn(Slot resource);
    void hand_on_ranges(Slot resource, std::vector<Slot> watchers);
    void grant_waiter(Slot waiter);
    void stop_holding(Slot lease, EventKind kind);
    std::vector<Slot> leave_holders(Slot lease, EventKind kind);
    void leave_queue(Slot waiter);

    // lock_table_view.cc
    [[nodiscard]] Scope scope_of(const Resource& resource, ScopeKind kind, Slot range_item) const;
    void describe(const Resource& resource, ScopeKind kind, Slot range_item, Scope& scope) const;
    void describe(const Lease& lease, const Resource& resource, LeaseView& seen) const;
    void describe(EventKind kind, Cause cause, const Lease& lease, Event& event) const;
    [[nodiscard]] LeaseView view(const Lease& lease) const;
    [[nodiscard]] WaiterView view(const Waiter& waiter, Slot waiter_ahead) const;
    [[nodiscard]] LockView view(Slot resource, std::size_t waiters_max,
                                const HolderPage& holders) const;
    [[nodiscard]] Slot first_holder_after(const Resource& resource, Fence after) const;
    [[nodiscard]] Outcome with_lease(Outcome::Kind kind, Slot lease) const;
    [[nodiscard]] Outcome granted(Slot lease) const;
    void emit(EventKind kind, Cause cause, const Lease& lease, const Waiter* waited = nullptr);
    void emit_renewed(const Lease& lease, bool has_new_terms);
    void emit(EventKind kind, Cause cause, const Waiter& waiter);
    void emit(EventKind kind, const Session& session);

    // lock_table_check.cc
    void check_resource(Slot slot, const Resource& resource) const;
    void check_sessions() const;
    void check_entries() const;

    const Limits limits_;
    const Duration idle_retention_;
    const std::uint64_t hash_seed_;

    Time now_{};
    Time next_due_ = Time::max();  // nothing happens by itself before; may be early
    std::uint64_t next_fence_;
    std::uint64_t next_serial_;  // of waiters, sessions and range items

    Slab<Resource> resources_;
    Slab<Lease> leases_;
    Slab<Waiter> waiters_;
    Slab<Session> sessions_;
    Slab<Enqueued> entries_;
    SlotIndex resources_by_key_;
    SlotIndex leases_by_fence_;  // held ones only
    SlotIndex entries_by_scope_;
    RangeIndex ranges_;
    DeadlineHeap lease_deadlines_;
    DeadlineHeap waiter_deadlines_;
    SlotList idle_;  // resources, longest idle first
    std::size_t idle_count_ = 0;
    std::size_t lapsed_count_ = 0;  // leases of which only the owner's name is remembered
    SlotList expired_entries_;      // the first to expire first
    std::size_t expired_entry_count_ = 0;

    Changes changes_;
    std::string previous_owner_;  // what Outcome::previous_owner points to
};

}  // namespace holdfast::core
