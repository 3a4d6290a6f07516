#pragma once

// The lock table as it is shown to people: who holds, who waits, and for whom.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/values/request.h"

namespace holdfast::core {

// A waiter, and what is in its way.
struct WaiterView {
    WaiterId id;
    Scope scope;
    Owner owner;
    Mode mode = Mode::exclusive;
    Time since;
    Time deadline;  // Time::max(): no limit
    Notes notes;
    SessionId session;
    std::size_t position = 0;  // in the queue; 1 is the next to be granted

    // What it waits for: a lease, or an earlier waiter.
    Owner blocker;
    bool is_blocked_by_waiter = false;
    Fence blocker_fence{};  // if it waits for a lease

    // Of a request for several scopes: all of them, as set_to_text() writes them. `scope` and `mode`
    // are those of the member that is on this lock. If nothing is in its way there, `blocker` is in the
    // way of another member.
    std::string_view members = {};
};

// One lock: a name, semaphore, path, or an inode with all its ranges.
struct LockView {
    Scope scope;
    std::uint32_t limit = 1;
    std::uint64_t version = 0;
    std::vector<LeaseView> holders;   // held or in grace, oldest first; perhaps only a page
    std::size_t holder_count = 0;     // of all holders
    std::vector<WaiterView> waiters;  // in the order of the queue; perhaps only the first few
    std::size_t waiter_count = 0;     // of all waiters
    std::optional<LeaseView> lapsed;  // the lease of the last owner, if its name is remembered
    std::optional<Time> idle_since;   // set if nobody holds, wants or remembers the lock
};

// Which holders of a lock to show.
struct HolderPage {
    Fence after{};  // only leases granted after this one: the last of the page before
    std::size_t limit = SIZE_MAX;
};

// Which locks somebody may see. It does not change, and may be asked on any thread.
class ScopeFilter {
  public:
    virtual ~ScopeFilter() = default;
    [[nodiscard]] virtual bool includes(const Scope& scope) const = 0;
};

// Which locks to list.
struct ListQuery {
    std::optional<ScopeKind> kind;  // inode includes ranges
    std::string_view prefix;        // of the name; inodes have none
    std::optional<Scope> after;     // only locks after this one: the last of the page before
    std::size_t limit = 100;
    std::size_t waiters_max = 0;                  // shown of each lock
    std::size_t holders_per_lock_max = SIZE_MAX;  // shown of each lock
    std::size_t holders_max = SIZE_MAX;           // shown of all locks together
    bool with_idle = false;
    std::shared_ptr<const ScopeFilter> filter = {};  // null: every lock may be seen
};

// Which leases to list: live leases that match everything that is given.
struct LeaseQuery {
    std::optional<ScopeKind> kind;
    std::optional<Scope> on;  // on this lock; for an inode or a range: leases that overlap it
    std::string_view holder;  // the name of the owner, at any door; empty: every owner
    Fence after{};            // only leases granted after this one: the last of the page before
    std::size_t limit = 100;
    std::shared_ptr<const ScopeFilter> filter = {};  // null: every lease may be seen
};

// A connection or login that has not ended.
struct SessionView {
    SessionId id;
    Owner owner;
    Time opened_at;
    std::size_t leases = 0;
    std::size_t waiters = 0;
};

struct SessionQuery {
    std::uint64_t after = 0;  // only sessions with a larger serial number
    std::size_t limit = 100;
};

// How many of each there are. The table counts all the time, so asking costs nothing.
struct TableCounts {
    std::size_t locks = 0;  // of any kind, idle ones included
    std::size_t idle = 0;
    std::size_t leases = 0;  // live ones: not in grace, not ended
    std::size_t waiters = 0;
    std::size_t sessions = 0;
    std::size_t entries = 0;  // two-phase, including those whose lease has expired
};

}  // namespace holdfast::core
