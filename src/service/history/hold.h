#pragma once

// The history of holds: who held what, from when to when, and how it ended.
//
// A *hold* is the time during which somebody holds a lock: it begins with the grant of a lease and
// ends when the lease is released or expires. (A lease in grace is not held any more.) A store that
// keeps a history writes one row for each hold that has ended, in the commit that ends it:
//
//     ended       how the hold ended
//     released    the holder has released the lock
//     expired     the holder did not renew in time
//     forced      somebody else has ended it
//     session     the connection or login that it belonged to has ended
//     restart     it expired after a restart of the server or a change of leader, since which the
//                 holder had not renewed it
//
// Rows are numbered in the order in which the holds ended. A query returns them newest first.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/values/changes.h"
#include "core/values/scope.h"
#include "core/values/scope_set.h"
#include "core/values/turn_limits.h"
#include "core/values/view.h"
#include "service/ports/clock.h"

namespace holdfast::service {

enum class Ending : std::uint8_t { released, expired, forced, session, restart };
inline constexpr Ending last_ending = Ending::restart;

[[nodiscard]] std::string_view to_text(Ending ending);
[[nodiscard]] std::optional<Ending> parse_ending(std::string_view text);

// How the hold of the lease in `event` ended. REQUIRES: the event is `released` or `expired`.
[[nodiscard]] Ending ending_of(const core::Event& event);
// When it ended, also if `event` is the end of the grace that followed.
[[nodiscard]] core::Time end_of(const core::Event& event);
// How long the lock was held.
[[nodiscard]] inline core::Duration held_of(const core::Event& event) {
    return end_of(event) - event.lease.acquired_at;
}

// How long the holder waited for the grant in `event`.
[[nodiscard]] inline core::Duration waited_of(const core::Event& event) {
    return event.waiter ? event.at - event.waiting_since : core::Duration::zero();
}

// A hold that has ended.
struct Hold {
    std::uint64_t number = 0;  // in the order of the ends; 0: it has none yet
    std::uint64_t fence = 0;
    core::ScopeKind kind = core::ScopeKind::named;
    std::string name = {};
    std::uint64_t inode = 0;
    core::Range range = {};
    std::string owner = {};
    core::Door door{};
    core::Mode mode = core::Mode::exclusive;
    core::Duration waited{0};
    WallTime acquired_at = {};
    WallTime ended_at = {};
    Ending ending = Ending::released;
    std::string metadata = {};
    std::string members = {};  // core::set_to_text() of a lease on several scopes; otherwise empty
    // Who has asked for the grant and for the end: Event::by. Empty: nobody, or it is not known.
    std::string granted_by = {};
    std::string ended_by = {};

    bool operator==(const Hold&) const = default;

    // Valid as long as this object is neither moved nor changed.
    [[nodiscard]] core::Scope scope() const {
        return {.kind = kind, .name = name, .inode = inode, .range = range};
    }
    // Everything that was held: the members of a set, or the one scope. Valid as scope() is.
    [[nodiscard]] std::vector<core::SetMember> scopes() const;
    // The memory that it takes.
    [[nodiscard]] std::size_t bytes() const {
        return sizeof(Hold) + name.size() + owner.size() + metadata.size() + members.size() +
               granted_by.size() + ended_by.size();
    }
};

// What the grant of a lease says of its hold, and the end does not.
struct HoldBegin {
    core::Duration waited{0};
    std::string_view by = {};  // who has asked for the lease

    [[nodiscard]] bool is_usual() const { return waited == waited.zero() && by.empty(); }
};

// The hold that has ended with `event`. `epoch` is what the wall clock showed at the engine's time
// zero. REQUIRES: as ending_of().
[[nodiscard]] Hold to_hold(const core::Event& event, const HoldBegin& begin, WallTime epoch);

// How much is kept.
struct HistoryLimits {
    core::Duration age_max{0};  // of a row, after the end of its hold; zero: no history at all
    std::size_t rows_max = 1'000'000;
    std::size_t bytes_max = SIZE_MAX;  // in memory and in etcd; a file has no limit but the rows
    // If there is no history: the rows of earlier runs are removed. Otherwise they stay as they are,
    // as for a command that only opens the file.
    bool removes_old_rows = false;

    [[nodiscard]] bool is_on() const { return age_max > core::Duration::zero() && rows_max > 0; }
};

// Which rows to read: those that match everything that is given, newest first.
struct HistoryQuery {
    // On this lock; for an inode or a range: holds that overlap it. A set is on each of its members.
    std::optional<core::ScopeKind> kind = {};
    std::string name = {};
    std::uint64_t inode = 0;
    core::Range range = {};

    std::string prefix = {};             // of the name; inodes have none
    std::string owner = {};              // at any door; empty: every owner
    std::optional<WallTime> since = {};  // holds that had not ended before this time
    std::optional<WallTime> until = {};  // holds that began before this time
    std::uint64_t after = 0;             // only rows before this one, the last of the page before
    std::size_t limit = 100;
    std::shared_ptr<const core::ScopeFilter> filter = {};  // null: every row may be seen
};

// Whether a hold is one of those that are asked for, whatever `after` and `limit` say.
[[nodiscard]] bool matches(const HistoryQuery& query, const Hold& hold);

// Ends behind the row with which it is full, if there is another one.
struct HistoryPage {
    std::vector<Hold> holds;                  // newest first
    std::uint64_t next = 0;                   // `after` of the next page; 0: this is the last
    std::optional<WallTime> kept_since = {};  // when the oldest hold of all that are kept ended
    std::size_t bytes = 0;                    // of `holds`

    void add(Hold hold) {
        bytes += hold.bytes();
        holds.push_back(std::move(hold));
    }
    [[nodiscard]] bool is_full(const HistoryQuery& query) const {
        return holds.size() == query.limit || bytes >= core::copied_max;
    }
};

}  // namespace holdfast::service
