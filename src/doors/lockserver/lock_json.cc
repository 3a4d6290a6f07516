#include "doors/lockserver/lock_json.h"

#include <algorithm>

#include "base/text/hex.h"
#include "doors/answers/page_text.h"
#include "doors/answers/scope_object.h"
#include "doors/lockserver/lease_id.h"
#include "service/doors.h"

namespace holdfast::doors::lockserver {

namespace {

// Whether the client may know what is in the way of this waiter: a wait on several scopes may be for
// any of them.
bool may_know_blocker(const core::WaiterView& waiter, const core::ScopeFilter* readable) {
    if (readable == nullptr) return true;
    return std::ranges::all_of(
        answers::members_of(waiter.members),
        [readable](const core::SetMember& member) { return readable->includes(member.scope); });
}

void append_waiter(base::JsonWriter& json, const core::WaiterView& waiter,
                   const core::ScopeFilter* readable, const service::Clock& clock) {
    json.begin_object()
        .field("place", waiter.position)
        .field("owner_id", waiter.owner.name)
        .field("door", service::to_text(waiter.owner.door))
        .field("mode", core::to_text(waiter.mode))
        .field("waiting_since_ms", unix_ms(waiter.since, clock));
    if (waiter.deadline != core::Time::max()) {
        json.field("wait_until_ms", unix_ms(waiter.deadline, clock));
    }
    if (may_know_blocker(waiter, readable)) json.field("waits_for", waiter.blocker.name);
    if (waiter.scope.kind == core::ScopeKind::range) {
        json.field("scope", core::to_text(waiter.scope));
    }
    answers::append_scope_texts(json, waiter.members, readable);
    if (!waiter.notes.metadata.empty()) json.field("metadata", waiter.notes.metadata);
    json.end_object();
}

// What an answer shows of leases, besides what everybody may see.
struct Shown {
    LeaseIds ids;
    const core::ScopeFilter* readable;  // which other locks of a holder; null: all
};

template <class Request>
Shown shown_to(const Request& request) {
    return {.ids = request.with_lease_ids ? LeaseIds::shown : LeaseIds::hidden,
            .readable = request.readable.get()};
}

// Appends at most `shown_holders_max` holders, as far as the page has room, and where the next page
// begins: if these are not all, or `has_more`. A set may have several records on an inode: they are
// on one page.
void append_holders(base::JsonWriter& json, const core::LockView& lock, const Shown& fields,
                    bool has_more, const answers::PageText& page, const service::Clock& clock) {
    std::size_t shown = 0;
    json.begin_array("holders");
    for (; shown < lock.holders.size(); ++shown) {
        const core::LeaseView& lease = lock.holders[shown];
        const bool is_full = shown >= shown_holders_max || (shown > 0 && page.is_full());
        if (is_full && lease.token != lock.holders[shown - 1].token) break;
        json.begin_object();
        append_lease(json, lease, fields.ids, clock);
        json.field("door", service::to_text(lease.owner.door));
        json.field("acquired_ms", unix_ms(lease.acquired_at, clock));
        if (!lease.is_endless()) {
            json.field("ttl_ms",
                       std::chrono::duration_cast<std::chrono::milliseconds>(lease.ttl).count());
        }
        if (lease.session) json.field("session", lease.session.serial);
        if (lease.scope.kind == core::ScopeKind::range) {
            json.field("scope", core::to_text(lease.scope));
        }
        answers::append_scope_texts(json, lease.members, fields.readable);
        json.end_object();
    }
    json.end_array();
    if ((has_more && shown > 0) || shown < lock.holders.size()) {
        json.field("holder_count", lock.holder_count);
        const std::uint64_t last = core::as_number(lock.holders[shown - 1].token.fence);
        json.field("holders_next", std::to_string(last));
    }
}

void append_listed(base::JsonWriter& json, const core::LockView& lock, const Shown& fields,
                   const answers::PageText& page, const service::Clock& clock) {
    json.begin_object();
    answers::append_name(json, "lock_name", shown_name(lock.scope));
    json.field("kind", core::to_text(lock.scope.kind))
        .field("held", lock.holder_count > 0)
        .field("version", lock.version)
        .field("waiters", lock.waiter_count);
    if (lock.scope.kind == core::ScopeKind::semaphore) json.field("limit", lock.limit);
    append_holders(json, lock, fields, lock.holders.size() < lock.holder_count, page, clock);
    json.end_object();
}

// How many locks are on the page: not more than the limit, and not a last one whose holders did not
// fit.
std::size_t count_shown(const std::vector<core::LockView>& locks, std::size_t limit) {
    if (locks.empty()) return 0;
    const core::LockView& last = locks.back();
    const bool is_cut_short = locks.size() > 1 && last.holders.empty() && last.holder_count > 0;
    return std::min(is_cut_short ? locks.size() - 1 : locks.size(), limit);
}

}  // namespace

std::int64_t unix_ms(core::Time time, const service::Clock& clock) {
    return std::chrono::floor<std::chrono::milliseconds>(clock.wall(time))
        .time_since_epoch()
        .count();
}

void append_end(base::JsonWriter& json, std::string_view name, core::Time time,
                const service::Clock& clock) {
    if (time != core::Time::max()) json.field(name, unix_ms(time, clock));
}

std::string shown_name(const core::Scope& scope) {
    return scope.is_of_inode() ? std::to_string(scope.inode) : std::string(scope.name);
}

void append_lease(base::JsonWriter& json, const core::LeaseView& lease, LeaseIds ids,
                  const service::Clock& clock) {
    json.field("owner_id", lease.owner.name);
    if (ids == LeaseIds::shown && lease.owner.door == service::lockserver_door) {
        std::string lease_id;
        append_lease_id(lease_id, {.kind = lease.scope.kind, .token = lease.token});
        json.field("lease_id", lease_id);
    }
    json.field("fencing_token", core::as_number(lease.token.fence));
    append_end(json, "lease_expiry_ms", lease.expires_at, clock);
    if (lease.mode == core::Mode::shared) json.field("mode", core::to_text(lease.mode));
    if (lease.state == core::LeaseState::grace) {
        json.field("grace_until_ms", unix_ms(lease.grace_until, clock));
    }
    if (!lease.notes.metadata.empty()) json.field("metadata", lease.notes.metadata);
}

void append_lock(std::string& out, const Get& request, const core::LockView* lock,
                 std::uint64_t position, const service::Clock& clock) {
    const answers::PageText page(out);
    base::JsonWriter json(out);
    const Shown fields = shown_to(request);
    const bool is_held = lock != nullptr && lock->holder_count > 0;
    json.begin_object();
    answers::append_name(json, "lock_name", request.lock_name);
    json.field("held", is_held);
    if (is_held) {
        // A later page does not contain the oldest holder.
        const bool is_first_page = !request.holders_after.has_value();
        if (is_first_page) {
            const core::LeaseView& oldest = lock->holders.front();
            append_lease(json, oldest, fields.ids, clock);
            if (oldest.scope.kind == core::ScopeKind::range) {
                json.field("scope", core::to_text(oldest.scope));
            }
            answers::append_scope_texts(json, oldest.members, fields.readable);
        }
        json.field("version", lock->version);
        if (lock->scope.kind == core::ScopeKind::semaphore) json.field("limit", lock->limit);
        if (!is_first_page || lock->holder_count > 1) {
            append_holders(json, *lock, fields, false, page, clock);
        }
    }
    if (request.with_queue) {
        json.field("queue_length", lock == nullptr ? 0 : lock->waiter_count).begin_array("queue");
        if (lock != nullptr) {
            for (const core::WaiterView& waiter : lock->waiters) {
                if (page.is_full()) break;
                append_waiter(json, waiter, fields.readable, clock);
            }
        }
        json.end_array();
    }
    if (position > 0) json.field("position", position);
    json.end_object();
}

void append_page(std::string& out, const ListLocks& request,
                 const std::vector<core::LockView>& locks, std::uint64_t position,
                 const service::Clock& clock) {
    const Shown fields = shown_to(request);
    const std::size_t shown_max = count_shown(locks, request.limit);
    const answers::PageText page(out);
    std::size_t shown = 0;
    base::JsonWriter json(out);
    json.begin_object().begin_array("locks");
    for (; shown < shown_max && !page.is_full(); ++shown) {
        append_listed(json, locks[shown], fields, page, clock);
    }
    json.end_array();
    if (shown < locks.size())
        json.field("next", base::to_hex(core::to_text(locks[shown - 1].scope)));
    if (position > 0) json.field("position", position);
    json.end_object();
}

}  // namespace holdfast::doors::lockserver
