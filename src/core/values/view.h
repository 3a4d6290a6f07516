#pragma once

// The lock table as seen by people: who holds, who waits, for whom.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/values/request.h"

namespace holdfast::core {

// One place in a queue, and what is in its way.
struct WaiterView {
    WaiterId id;
    Scope scope;
    Owner owner;
    Mode mode = Mode::exclusive;
    Time since;
    Time deadline;  // Time::max(): no limit
    Notes notes;
    SessionId session;
    std::size_t position = 0;  // 1 is next

    // What it waits for: a lease, or an earlier waiter.
    Owner blocker;
    bool is_blocked_by_waiter = false;
    Fence blocker_fence{};  // when it is a lease
};

// One lock: a name, semaphore, path, or an inode with all its ranges.
struct LockView {
    Scope scope;
    std::uint32_t limit = 1;
    std::uint64_t version = 0;
    std::vector<LeaseView> holders;   // held or in grace, oldest first; perhaps only a page of them
    std::size_t holder_count = 0;     // all of them
    std::vector<WaiterView> waiters;  // in the order of the queue; perhaps only the first few
    std::size_t waiter_count = 0;     // all of them
    std::optional<LeaseView> lapsed;  // the last owner, where it is remembered
    std::optional<Time> idle_since;   // set when nobody holds, wants or remembers it
};

// Which holders of a lock to show.
struct HolderPage {
    Fence after{};  // only those granted after this one: where the last page ended
    std::size_t limit = SIZE_MAX;
};

// Which locks to list.
struct ListQuery {
    std::optional<ScopeKind> kind;  // inode stands for ranges too
    std::string_view prefix;        // of the name; inodes have none
    std::optional<Scope> after;  // only what is ordered after this one: where the last page ended
    std::size_t limit = 100;
    std::size_t waiters_max = 0;                  // how many waiters to show of each
    std::size_t holders_per_lock_max = SIZE_MAX;  // how many holders to show of each
    std::size_t holders_max = SIZE_MAX;           // ... and of all of them together
    bool with_idle = false;
};

// Which leases to list: live ones that match all that is given.
struct LeaseQuery {
    std::optional<ScopeKind> kind;
    std::optional<Scope> on;  // on this lock; of an inode or a range, what overlaps it
    std::string_view holder;  // the owner's name, whatever its door; empty: anybody
    Fence after{};            // only those granted after this one: where the last page ended
    std::size_t limit = 100;
};

// Something that takes its leases and waits with it when it ends.
struct SessionView {
    SessionId id;
    Owner owner;
    Time opened_at;
    std::size_t leases = 0;
    std::size_t waiters = 0;
};

struct SessionQuery {
    std::uint64_t after = 0;  // only those opened after the one with this serial number
    std::size_t limit = 100;
};

// How many of each there are. Kept up to date: asking costs nothing.
struct TableCounts {
    std::size_t locks = 0;  // of any kind, idle ones included
    std::size_t idle = 0;
    std::size_t leases = 0;  // live ones: neither in grace nor over
    std::size_t waiters = 0;
    std::size_t sessions = 0;
    std::size_t entries = 0;  // two-phase, those whose lease has expired included
};

}  // namespace holdfast::core
