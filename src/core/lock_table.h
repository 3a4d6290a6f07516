#pragma once

// LockTable: it decides who holds what, who waits, and what happens when.
//
// How to think of it: a pure state machine. Every call brings the time along. The call first lets
// everything happen that was due by then (leases expire, waits time out), then does what was asked,
// and returns the outcome. Everything that happened is appended to changes(). The table reads no
// clock, draws no random bits, starts no thread and does no I/O. The same calls in the same order
// give the same outcomes, the same changes and the same digest.
//
// The rules:
//
//   - Strict order: a request waits if it conflicts with a holder or with an earlier waiter. This
//     is also true for a request that does not want to wait: it is refused.
//   - A lease ends exactly once: it is released, it expires, or it ends with its session. After
//     that its token proves nothing, for ever.
//   - Grace: after a lease has expired, only its last owner can get the lock until the grace is
//     over. It is then granted a new lease. A lease that was released has no grace.
//   - A lease without an end (TTL `endless`) never expires. Limits::endless_leases_max may exist.
//   - Fencing numbers grow with every grant over the whole table. No number is used twice.
//   - At every moment, waits time out before anything is granted. If the caller comes late (its
//     process was stopped), waits time out first for the whole missed time: no waiter is granted a
//     lock at a time when it no longer waited for it.
//   - A lease that has expired leaves its session: its grace and its memory outlive the session.
//   - A two-phase entry ends with its lease. After a release nothing is left of the entry. After an
//     expiry the entry tells the next wait of it. In both cases the session may enqueue again.
//   - The table has no record of a lock that nobody holds, wants or remembers.
//   - A set (several scopes, all or nothing) is one lease with one token. While it waits it holds
//     nothing, and stands in the queue of each of its scopes. It is granted when it is its turn in
//     all of them. lock_table_set.cc says why sets alone cannot deadlock.
//   - A request that joins a queue and closes a cycle of clients that wait for each other is told as
//     a change `deadlock`, and refused if it wants that (deadlock_search.h).
//
// Cost: constant for named, semaphore and path scopes, whatever the number of locks or waiters,
// plus O(log n) for the timer of a lease that is granted or ends (not for renewals). O(log n) in the
// number of ranges of an inode that are held; up to some 3000 visits if 100 000 wait for others
// (range_index.h). A set costs as much as its scopes one by one, a look for a deadlock
// at most Limits::deadlock_steps_max steps. What concerns very many leases is cut into parts
// (lock_table_parts.cc). list() looks at every lock: it is for people.
//
// Thread safety: none. Views in outcomes and changes are valid until the next non-const call.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/containers/deadline_heap.h"
#include "core/containers/own_index.h"
#include "core/containers/range_index.h"
#include "core/containers/slot_index.h"
#include "core/door_counts.h"
#include "core/records.h"
#include "core/values/changes.h"
#include "core/values/cycle.h"
#include "core/values/request.h"
#include "core/values/view.h"

namespace holdfast::core {

class LockTable {
  public:
    explicit LockTable(const TableOptions& options = {});

    // Who asks for what follows, in words of the caller, until the next call of this: the changes
    // that a request makes say so (Event::by). The text must live so long. Empty: nobody.
    void on_behalf_of(std::string_view by) { by_ = by; }

    // Asks for a lock, or for several: granted, renewed (see renew_own), queued (if it may wait) or
    // refused. A lease on a set is renewed, or had again in its grace, by asking for the same set.
    Outcome acquire(Time now, const AcquireRequest& request);

    // Removes a waiter from its queue. False if it is not there: it was granted, or has timed out.
    bool cancel(Time now, WaiterId waiter);

    // Gives a waiter a new time limit: `wait` from now on. It stays where it is in the queue. False
    // if the waiter is no longer in a queue. REQUIRES: a wait above zero.
    bool wait_on(Time now, WaiterId waiter, Duration wait);

    // The same, but never makes the time limit later than it was.
    bool wait_at_most(Time now, WaiterId waiter, Duration wait);

    // Two-phase acquire, first half: like acquire with an unlimited wait, but leaves an entry for
    // wait(); a set, for its first scope. Needs a session. Outcome: granted, queued, or refused; as
    // already_enqueued if the session has an entry for this scope that queues or holds.
    Outcome enqueue(Time now, const AcquireRequest& request);

    // Two-phase acquire, second half. In every case the entry is used up.
    //   granted                   the lease. It gets the TTL of `enqueue` again from now on
    //   queued                    a grant or a time-out will follow
    //   refused as timed_out      `timeout` is zero, and the lock is not free
    //   refused as not_enqueued   also if the lease was released or forced to end
    //   refused as lease_ended    the lease expired before the wait
    Outcome wait(Time now, SessionId session, const Scope& scope, Duration timeout);

    // Puts back a lease from a store. It expires when its remaining time is over. A restored lease
    // has no session. False, and nothing changes, if the lease conflicts with another one or makes
    // no sense: then the store is wrong. Appends no change, because nothing has happened.
    [[nodiscard]] bool restore(Time now, const RestoreRequest& request);

    // Lets the remaining time of all leases begin at `now` instead of at their restore(). For a
    // store that takes long to read. REQUIRES: after the last restore(), before anything else.
    void start_restored(Time now);

    // From now on gives out no fencing number below this one.
    void skip_fences_below(std::uint64_t number) { next_fence_ = std::max(next_fence_, number); }

    // Extends a lease: renewed, or refused as unknown_lease, lease_ended, ttl_out_of_range or
    // endless_leases_max.
    Outcome renew(Time now, const RenewRequest& request);

    // Gives a lease another value: renewed, with the lease, or refused as unknown_lease, lease_ended
    // or value_length_max. If the lease has this value already, nothing changes: a request that was
    // lost and is sent again does not count twice.
    Outcome set_value(Time now, const SetValueRequest& request);

    // Ends a lease: released, or refused as unknown_lease or lease_ended.
    Outcome release(Time now, const ReleaseRequest& request);

    // Ends the lease of `owner` on `scope` (a set, if that is a member), or its grace, or forgets
    // its name. For doors whose clients know no token. Refused as unknown_lease if there is none.
    Outcome release_own(Time now, const Scope& scope, const Owner& owner);

    // Ends all leases on `scope`, also those in grace, whoever the holders are. For a range or an
    // inode: all leases that overlap it. Returns how many.
    std::size_t force_release(Time now, const Scope& scope);

    // The same, in parts: true when it is done, otherwise call it again. Leases that are granted
    // after the first part stay.
    struct ForcedEnd {
        Fence until{};  // the newest lease that was there at the first part
        Fence after{};  // every older lease was looked at
        std::size_t count = 0;
    };
    [[nodiscard]] bool force_release_part(Time now, const Scope& scope, ForcedEnd& progress);

    // Begins a session. `owner` names it for people. Returns no session at the limit of sessions.
    SessionId open_session(Time now, const Owner& owner);

    enum class SessionLeases : std::uint8_t { release, keep };

    // Ends a session with its waiters and two-phase entries. Its leases are released or, with
    // `keep`, stay until they expire. False if there is no such session.
    bool end_session(Time now, SessionId session, SessionLeases leases = SessionLeases::release);

    // The same, in parts: true when the session is gone, otherwise call it again. From the first part
    // on the session can ask for nothing and is granted nothing.
    [[nodiscard]] bool end_session_part(Time now, SessionId session, SessionLeases leases);

    // Whether there is such a session, and nobody has begun to end it.
    [[nodiscard]] bool has_session(SessionId session) { return find_session(session) != nullptr; }

    // Lets happen what is due by `now`, as much as a part of work allows. Time never goes back: a
    // `now` before that of an earlier call counts as the earlier one.
    void advance(Time now) {
        now_ = std::max(now_, now);
        if (is_one_step_) return;
        part_began_ = visited();
        if (now_ >= next_due_) run_due();
    }

    // Whether advance() would do anything.
    [[nodiscard]] bool is_due(Time now) const { return std::max(now_, now) >= next_due_; }

    // Whether something that is due, or a hand-over, is left for later calls of advance().
    // REQUIRES: advance() was called for the present.
    [[nodiscard]] bool is_behind() const { return next_due_ <= now_; }

    // Whether what is due on these locks, while the table is behind, is too much for one call: the
    // caller should call advance() first until the table is not behind any more.
    [[nodiscard]] bool is_too_much_to_settle(const AcquireRequest& request) const;
    [[nodiscard]] bool is_too_much_to_settle(const Scope& scope) const;
    // Whether there may be such a lock.
    [[nodiscard]] bool has_crowded() const { return crowded_count_ > 0; }

    // While it exists, the calls of the table are one step: nothing that is due happens in between,
    // and their changes are committed together.
    class OneStep {
      public:
        explicit OneStep(LockTable& table) : table_(table) { table_.is_one_step_ = true; }
        ~OneStep() {
            table_.is_one_step_ = false;
            if (!table_.changes_.empty()) table_.changes_.begin_step();
        }
        OneStep(const OneStep&) = delete;
        OneStep& operator=(const OneStep&) = delete;

      private:
        LockTable& table_;
    };

    // Nothing happens by itself before this moment. No value: nothing will ever happen by itself.
    // The moment may be too early (a renewal does not move it), but is never too late.
    [[nodiscard]] std::optional<Time> next_deadline() const;

    // One lock with a page of its holders and its first `waiters_max` waiters. For a range: the
    // whole inode. No value if the table has no record of the lock.
    [[nodiscard]] std::optional<LockView> inspect(const Scope& scope,
                                                  std::size_t waiters_max = SIZE_MAX,
                                                  const HolderPage& holders = {}) const;

    // How a request for `scope` in this mode would be refused that does not wait: as held or in_grace,
    // with what is in the way, a lease or a waiter. No value if it would not be refused for that.
    [[nodiscard]] std::optional<Outcome> find_in_the_way(const Scope& scope, Mode mode) const;

    // The locks that match, ordered by kind and key. If the holders of a lock would exceed
    // query.holders_max in total, that lock is listed without its holders and ends the list; the
    // next page begins with it. This never happens to the first lock of a list.
    [[nodiscard]] std::vector<LockView> list(const ListQuery& query) const;

    // The live leases that match, in the order of their grants. Looks at every lease of the table
    // or, if the query names a lock, of that lock.
    [[nodiscard]] std::vector<LeaseView> list_leases(const LeaseQuery& query) const;

    // The deadlocks that exist now: cycles, until one of their members stops waiting. Looks for
    // them for twice Limits::deadlock_steps_max steps, however many clients wait.
    [[nodiscard]] Deadlocks list_deadlocks(std::size_t limit = 100) const;
    // Sessions that have not ended, the oldest first.
    [[nodiscard]] std::vector<SessionView> list_sessions(const SessionQuery& query) const;

    // Looks up the live lease of a token: found, or refused as unknown_lease or lease_ended. Changes
    // nothing. REQUIRES: advance() was called for the present.
    [[nodiscard]] Outcome find(Token token) const;

    // Looks up the oldest lease on a name, semaphore or path that is held or in grace: found, refused
    // as held if there is none but a waiter is in the way (Outcome::is_behind_waiter), or refused as
    // unknown_lease. Changes nothing but what settle() does. REQUIRES: advance() was called for the
    // present.
    [[nodiscard]] Outcome find_holder(const Scope& scope);

    // While the table is behind: lets happen what is due on one lock, or to one lease. Before a look
    // whose answer would otherwise tell of an end that a store does not know of yet.
    void settle(const Scope& scope);
    void settle(Token token);

    // Whether the owner has a lease on exactly what is asked for, held or in grace: the request would
    // renew it, or get it again.
    [[nodiscard]] bool has_own(const AcquireRequest& request) const;

    [[nodiscard]] TableCounts counts() const;
    [[nodiscard]] Time now() const { return now_; }
    [[nodiscard]] std::uint64_t next_fence() const { return next_fence_; }
    [[nodiscard]] std::uint64_t next_serial() const { return next_serial_; }

    // Everything that happened since the last clear, in order. Each thing that was due is a step, and
    // so is what a call does after that (Event::begins_step).
    [[nodiscard]] const Changes& changes() const { return changes_; }
    void clear_changes() { changes_.clear(); }
    // Exchanges the changes with `other`. The next changes are appended there.
    void swap_changes(Changes& other) { changes_.swap(other); }

    // How many records were looked at since the table was made, where the number depends on what
    // clients have piled up: for tests of cost.
    [[nodiscard]] std::uint64_t visited() const { return visited_ + ranges_.visits(); }

    // A hash of the whole state. Equal histories have equal digests.
    [[nodiscard]] std::uint64_t digest() const;

    // CHECKs everything that must always hold. Looks at every record: for tests.
    void check_invariants() const;

  private:
    // lock_table.cc: what is due, and the records
    void run_due();
    bool run_due_waits();
    bool run_due_leases();

    // lock_table_parts.cc: long work in parts
    [[nodiscard]] bool is_part_over() const { return visited() - part_began_ >= part_visits_; }
    void begin_step();
    // A lease that has expired, and has not been handled yet, counts as ended.
    [[nodiscard]] bool is_live(const Lease& lease) const {
        return lease.state == LeaseState::held && lease.expires_at > now_;
    }
    [[nodiscard]] bool is_over(const Lease& lease) const { return lease.grace_until() <= now_; }
    [[nodiscard]] Slot first_not_over(Slot holder) const;
    void settle(const AcquireRequest& request);
    void settle(Slot resource);
    void settle_entry(Slot entry);

    // lock_table.cc: the records
    void arm(DeadlineHeap& heap, Slot slot, Time deadline);
    [[nodiscard]] Slot find_resource(const Scope& scope) const;
    [[nodiscard]] Slot find_resource(const ResourceKey& key) const;
    Slot make_resource(const ResourceKey& key, std::uint32_t limit);
    Slot make_room_and_resource(const ResourceKey& key, std::uint32_t limit);
    void retire_if_unused(Slot resource);
    void drop_resource(Slot resource);
    void wake_idle(Slot resource);
    void forget_idle(const Scope& scope, Door asking);
    [[nodiscard]] bool has_idle_of_others(Door asking) const {
        return idle_count_ > 0 && idle_door_ && asking != *idle_door_;
    }
    [[nodiscard]] Time idle_ends_at() const;
    [[nodiscard]] Slot find_lease(Fence fence) const;
    void drop_lease(Slot lease);
    [[nodiscard]] std::size_t lease_deadlines_max() const;
    void note_restored(Slot lease);
    void sort_in(Slot lease);
    [[nodiscard]] Session* find_session(SessionId session);
    [[nodiscard]] Session* find_any_session(SessionId session);
    [[nodiscard]] Waiter* find_waiter(WaiterId waiter);

    // lock_table_acquire.cc
    [[nodiscard]] Refusal find_fault(const AcquireRequest& request) const;
    [[nodiscard]] Refusal find_fault(const Scope& scope) const;
    [[nodiscard]] static Refusal find_nonsense(const Scope& scope);
    [[nodiscard]] static bool makes_sense(const RestoreRequest& request);
    [[nodiscard]] bool is_valid_limit(const Scope& scope, std::uint32_t limit) const;
    Outcome admit(const AcquireRequest& request, bool is_two_phase);
    std::optional<Outcome> admit_owner(Slot resource, const AcquireRequest& request);
    void reclaim(Slot lease, const AcquireRequest& request);
    [[nodiscard]] bool has_room_for_leases(std::size_t records) const;
    [[nodiscard]] bool has_room_for_waiters(std::size_t records) const;
    [[nodiscard]] bool is_queue_full(Slot resource, Door door) const;
    [[nodiscard]] Refusal find_door_fault(Slot resource, Door door) const;
    [[nodiscard]] bool is_valid(Duration ttl) const;
    [[nodiscard]] bool is_one_endless_too_many(Duration ttl_before, Duration ttl) const;
    void count_endless(Duration ttl_before, Duration ttl);
    [[nodiscard]] bool is_in_use(Slot resource) const;
    [[nodiscard]] bool is_other_kind_in_use(const Scope& scope) const;
    [[nodiscard]] bool has_room_for(const Resource& resource, Mode mode) const;
    [[nodiscard]] bool is_free_for(Slot resource, const Range& range, Mode mode) const;
    // What is in the way: a lease, or else a waiter.
    struct InTheWay {
        Slot lease = no_slot, waiter = no_slot;
    };
    [[nodiscard]] InTheWay find_in_the_way(const Resource& resource, const Range& range,
                                           Mode mode) const;
    [[nodiscard]] Outcome refuse_held(Slot resource, const Range& range, Mode mode) const;
    void describe_waiter_ahead(Slot waiter, LeaseView& seen) const;
    Outcome join_queue(Slot resource, const AcquireRequest& request, bool is_two_phase);
    Slot make_waiter(Slot resource, const AcquireRequest& request, bool is_two_phase);
    void begin_waiting(Slot waiter, const AcquireRequest& request, bool is_deadlock);
    void watch_blocker(Resource& resource, Slot waiter, const Range& range);
    static void fill(Claim& claim, Slot resource, const AcquireRequest& request);
    void grant(Slot resource, const AcquireRequest& request);
    void grant_waiter(Slot waiter);
    Slot make_holder(Slot waiter);
    void note_previous_owner(Slot resource);
    void add_holder(Slot lease, const Range& range);
    void start_lease(Slot lease, Secret secret, Slot session);
    void set_deadline(Waiter& waiter, Time deadline);

    // lock_table_set.cc: several scopes, all or nothing
    struct Asked {  // one scope of a request, and its resource
        SetMember member;
        Slot resource = no_slot;
        bool is_free = true;  // nothing is in the way there
    };
    using AskedSet = std::vector<Asked>;
    Outcome admit_set(const AcquireRequest& request, bool is_two_phase);
    [[nodiscard]] Outcome find_fault_of_set(const AcquireRequest& request) const;
    [[nodiscard]] AskedSet look_up(const AcquireRequest& request) const;
    [[nodiscard]] Outcome find_mismatch(const AcquireRequest& request, const AskedSet& asked) const;
    std::optional<Outcome> admit_owner_of_set(const AskedSet& asked, const std::string& members,
                                              const AcquireRequest& request);
    [[nodiscard]] bool has_room_for_locks(const AskedSet& asked) const;
    void make_resources(AskedSet& asked);
    void grant_set(const AskedSet& asked, std::string members, const AcquireRequest& request);
    Outcome join_queues(AskedSet& asked, std::string members, const AcquireRequest& request,
                        bool is_two_phase);
    std::size_t join_queue_as_member(Slot leader, Slot record, const Asked& asked);
    void add_member(Slot leader, const Asked& asked, Slot range_item = no_slot);
    [[nodiscard]] static std::string text_of(const AskedSet& asked);
    void share_token(Slot leader);
    void reclaim_members(Slot leader);
    [[nodiscard]] Slot lead(Slot lease) const {
        return leases_[lease].is_member ? leases_[lease].leader() : lease;
    }
    [[nodiscard]] bool is_on(Slot lease, Slot resource, const Scope& scope) const;
    void touch_members(const Lease& leader);
    void end_set(Slot leader, EventKind kind, Cause cause);
    void begin_grace_of_members(const Lease& leader);
    bool hand_on_to_set(Slot record);
    [[nodiscard]] bool has_way(Slot record);
    void grant_waiting_set(Slot leader);
    void erase_waiting_set(Slot leader, EventKind kind, Cause cause);
    void hand_on_touched();
    [[nodiscard]] Slot blocked_record(Slot waiter) const;

    // lock_table_own.cc: what an owner has already
    struct OwnQuery {
        Owner owner;
        Scope scope;
        std::string_view members = {};  // not empty: a lease on this set, instead of on `scope`
        bool held = false, in_grace = false;
        bool of_sets = false;  // also a set that has `scope` as a member
    };
    enum class OwnGroup : std::uint8_t {
        single_held,
        single_in_grace,
        record_held,  // of a set, by its own scope
        record_in_grace,
        whole_set_held,  // the leading record, by all members
        whole_set_in_grace,
        any,  // every record, by no hash: in the order of the grants
    };
    [[nodiscard]] Slot find_own(Slot resource, const OwnQuery& query) const;
    [[nodiscard]] bool is_own(Slot slot, const OwnQuery& query) const;
    [[nodiscard]] static OwnIndex::Key key_of(Slot resource, OwnGroup group, std::uint64_t hash);
    [[nodiscard]] std::uint64_t hash_of_own(const Owner& owner, const Scope& scope) const;
    [[nodiscard]] std::uint64_t hash_of_own(const Owner& owner, std::string_view members) const;
    template <class Visit>
    void for_each_own_key(Slot slot, const Visit& visit) const;
    void note_own(Slot slot);
    void stop_crowding(Resource& resource);
    void add_to_own_index(Slot slot);
    void forget_own(Slot slot);
    void check_own_index() const;

    // lock_table_identity.cc: who waits, and who is waited for
    [[nodiscard]] IdentityKey identity_key(const Claim& claim) const;
    [[nodiscard]] static IdentityKey identity_key(const AcquireRequest& request);
    [[nodiscard]] std::uint32_t hash_of_identity(const IdentityKey& key) const;
    [[nodiscard]] Slot find_identity(const IdentityKey& key) const;
    Slot need_identity(const IdentityKey& key);
    void drop_identity_if_unused(Slot identity);
    void enter_identity(Slot waiter);
    void leave_identity(Slot waiter);
    void become_crowd(Slot identity);
    void count_entangled(Slot waiter, int change);
    void suspect_if_it_may_be_stuck(Slot identity);
    void mark_holders(Resource& resource);
    void mark_holder(Slot record);
    void want(Slot lease);
    void stop_wanting(Slot lease);

    // lock_table_deadlock.cc
    class DeadlockSearch;
    bool closes_cycle(const AcquireRequest& request, const Asked* asked, std::size_t count);
    Outcome refuse_deadlock(const AcquireRequest& request);
    void tell_of_deadlock(const AcquireRequest& request);

    // lock_table_session.cc
    void leave_session(Slot lease);
    [[nodiscard]] std::uint32_t hash_of_entry(Slot session, std::string_view scope) const;
    [[nodiscard]] Slot find_entry(Slot session, std::string_view scope) const;
    [[nodiscard]] Slot find_entry(const Claim& claim) const;
    void drop_entry(Slot entry);
    void end_entry(Slot lease, EventKind kind);

    // lock_table_end.cc: how leases end and waiters move up
    struct Found {
        Slot slot;
        Refusal refusal;
    };
    [[nodiscard]] Found find_held(Token token, const std::optional<Scope>& scope,
                                  const std::optional<Owner>& owner) const;
    void restart_lease(Slot lease, Time expires_at, const LeaseTerms& terms,
                       Cause cause = Cause::request);
    void end_lease(Slot lease, EventKind kind, Cause cause);
    void expire(Slot lease);
    [[nodiscard]] bool is_to_end(const Waiter& waiter) const;
    [[nodiscard]] std::pair<EventKind, Cause> end_of(const Waiter& waiter) const;
    void drop_lapsed(Slot resource);
    void remove_waiter(Slot waiter, EventKind kind, Cause cause);
    std::vector<Slot> erase_waiter(Slot waiter, EventKind kind, Cause cause);
    void hand_on(Slot resource, std::vector<Slot> watchers);
    void hand_on_later(Slot resource, std::vector<Slot> watchers);
    void hand_on_at(Slot resource, std::vector<Slot> watchers);
    [[nodiscard]] bool hand_on_in_turn(Slot resource);
    [[nodiscard]] bool hand_on_ranges(std::vector<Slot>& watchers);
    void stop_holding(Slot lease, EventKind kind);
    std::vector<Slot> leave_holders(Slot lease, EventKind kind);
    void leave_queue(Slot waiter);

    // lock_table_view.cc
    [[nodiscard]] Scope scope_of(const Resource& resource) const;
    [[nodiscard]] Scope scope_of(const Claim& claim) const;
    void describe(const Claim& claim, const Resource& resource, LeaseView& seen) const;
    void describe(const Lease& lease, const Resource& resource, LeaseView& seen) const;
    void describe_member(const Lease& lease, const Resource& resource, LeaseView& seen) const;
    template <class Record>
    void describe(EventKind kind, Cause cause, const Record& record, Event& event) const;
    [[nodiscard]] LeaseView view(const Lease& lease) const;
    [[nodiscard]] WaiterView view(Slot waiter, Slot waiter_ahead) const;
    [[nodiscard]] Slot waiter_in_the_way(Slot waiter, Slot last_exclusive) const;
    [[nodiscard]] LockView view(Slot resource, std::size_t waiters_max,
                                const HolderPage& holders) const;
    [[nodiscard]] Slot first_holder_after(const Resource& resource, Fence after) const;
    [[nodiscard]] Outcome with_lease(Outcome::Kind kind, Slot lease) const;
    [[nodiscard]] Outcome told(Outcome::Kind kind) const;
    [[nodiscard]] std::string_view asker(Cause cause) const;
    void emit(EventKind kind, Cause cause, const Lease& lease, const Waiter* waited = nullptr);
    void emit_renewed(const Lease& lease, bool has_new_terms, Cause cause, bool is_now_kept);
    void emit(EventKind kind, Cause cause, const Waiter& waiter);
    void emit(EventKind kind, const Session& session);

    // lock_table_check.cc
    void check_resource(Slot slot, const Resource& resource) const;
    void check_door_counts() const;
    void check_sessions() const;
    void check_entries() const;
    void check_sets() const;
    void check_identities() const;

    const Limits limits_;
    const std::optional<DoorLimits> door_limits_;
    const Duration idle_retention_;
    const std::optional<Door> idle_door_;
    const std::uint64_t hash_seed_;
    const std::uint32_t few_holders_max_;

    std::string_view by_;
    Time now_{};
    Time next_due_ = Time::max();  // nothing happens by itself before this; may be too early
    std::uint64_t next_fence_;
    std::uint64_t next_serial_;  // of waiters, sessions and range items

    Slab<Resource> resources_;
    Slab<Lease> leases_;
    Slab<Waiter> waiters_;
    Slab<Session> sessions_;
    Slab<Enqueued> entries_;
    Slab<Identity> identities_;
    SlotIndex resources_by_key_;
    SlotIndex leases_by_fence_;  // held ones only
    SlotIndex entries_by_scope_;
    SlotIndex identities_by_key_;
    RangeIndex ranges_;
    OwnIndex own_leases_;  // on crowded locks
    SlotList suspects_;    // identities
    DeadlineHeap lease_deadlines_;
    DeadlineHeap waiter_deadlines_;
    DoorCounts door_counts_;  // of the door that has limits of its own
    SlotList idle_;           // resources, longest idle first
    std::size_t idle_count_ = 0;
    std::size_t semaphore_count_ = 0;  // of the resources
    std::size_t endless_count_ = 0;    // leases and waiters without an end
    std::size_t lapsed_count_ = 0;     // leases of which only the owner's name is remembered
    // Records of sets that do not lead, and so are neither a lease nor a waiter of their own.
    std::size_t lease_member_count_ = 0, waiter_member_count_ = 0;
    SlotList expired_entries_;  // in the order of their expiry
    std::size_t expired_entry_count_ = 0;

    mutable std::uint64_t visited_ = 0;  // see visited()
    const std::uint64_t part_visits_;    // a part of long work ends after so many
    const std::uint64_t settled_max_;    // holders and waiters of a lock that is settled at once
    std::uint64_t part_began_ = 0;       // visited() then
    bool is_one_step_ = false;           // see OneStep
    std::size_t crowded_count_ = 0;      // resources

    Changes changes_;
    std::string previous_owner_;  // Outcome::previous_owner points to it
    std::string cycle_;           // Outcome::cycle points to it

    // Resources in whose queues waiters may move up, and the range items that watched what has gone:
    // because of a set, or because a part of work was over. Those before touched_begin_ are done.
    struct Touched {
        Slot resource = no_slot;
        std::vector<Slot> watchers;
    };
    std::vector<Touched> touched_;
    std::size_t touched_begin_ = 0;
};

}  // namespace holdfast::core
