#include "doors/redis/commands/keyspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "doors/redis/step_budget.h"
#include "service/doors.h"

namespace holdfast::doors::redis {

namespace {

using Condition = SetRequest::Condition;
using OutcomeKind = core::Outcome::Kind;

Reply invalid_expiry(std::string_view command) {
    return Reply::error(fmt::format("ERR invalid expire time in '{}' command", command));
}

bool is_of_this_door(const core::LeaseView& lease) {
    return lease.owner.door == service::redis_door && lease.state == core::LeaseState::held;
}

bool has_value(const core::LeaseView& lease, std::string_view value) {
    return is_of_this_door(lease) && lease.owner.name == value;
}

Reply overwritten(std::string_view key) {
    return Reply::error(
        fmt::format("ERR '{}' is held with another value, and locks are not overwritten", key));
}

}  // namespace

Reply explain(core::Refusal refusal, std::string_view command) {
    switch (refusal) {
        case core::Refusal::ttl_out_of_range: return invalid_expiry(command);
        case core::Refusal::held:
            return Reply::error(
                "ERR nobody holds the lock, but another client has asked for it earlier");
        case core::Refusal::empty_key: return Reply::error("ERR the key is empty");
        case core::Refusal::key_length_max: return Reply::error("ERR the key is too long");
        case core::Refusal::name_not_utf8: return Reply::error("ERR the key is not UTF-8");
        case core::Refusal::owner_length_max: return Reply::error("ERR the value is too long");
        case core::Refusal::locks_max: return Reply::error("ERR too many locks on this server");
        case core::Refusal::leases_max:
            return Reply::error("ERR too many locks on this server (--leases-max)");
        case core::Refusal::endless_leases_max:
            return Reply::error("ERR too many locks without a time to live on this server");
        default: return Reply::error(fmt::format("ERR refused: {}", core::to_text(refusal)));
    }
}

std::string name_of(std::string_view key, unsigned database) {
    return database == 0 ? std::string(key) : fmt::format("db{}:{}", database, key);
}

core::Scope Keyspace::scope_of(std::string_view key) {
    if (database_ == 0) return core::Scope::named(key);
    name_ = name_of(key, database_);
    return core::Scope::named(name_);
}

// Why SET NX would be refused: `found` with a lease, or refused behind a waiter.
core::Outcome Keyspace::look_up(std::string_view key) {
    const core::Scope scope = scope_of(key);
    core::Outcome outcome = table_.find_holder(scope);
    if (outcome.kind != OutcomeKind::found && !outcome.is_behind_waiter) {
        outcome = table_.find_holder(core::Scope::semaphore(scope.name));
    }
    note(outcome);
    return outcome;
}

// The lease because of which SET NX would be refused.
std::optional<Keyspace::Lease> Keyspace::find(std::string_view key) {
    const core::Outcome outcome = look_up(key);
    return outcome.kind == OutcomeKind::found ? std::optional(outcome.lease) : std::nullopt;
}

// The same or, if nobody holds the lock, what the first waiter asks for: it has no token and no end.
// This is for commands that only look.
std::optional<Keyspace::Lease> Keyspace::see(std::string_view key) {
    const core::Outcome outcome = look_up(key);
    const bool is_there = outcome.kind == OutcomeKind::found || outcome.is_behind_waiter;
    return is_there ? std::optional(outcome.lease) : std::nullopt;
}

void Keyspace::note(const core::Outcome& outcome) {
    outcome_ = outcome;
    ++calls_;
}

// The views of an outcome are good until the next call on the table, so only that of a single call
// is given away. A grant or renewal after the look that led to it is one, too.
core::Outcome Keyspace::rests_on() const {
    const bool is_change =
        outcome_.kind == OutcomeKind::granted || outcome_.kind == OutcomeKind::renewed;
    const bool is_one = calls_ == 1 || (calls_ == 2 && is_change);
    return is_one ? outcome_ : core::Outcome{.kind = OutcomeKind::released};
}

// The end of a lock may be followed by the grant of the next in its queue: two changes for each key.
std::optional<Reply> Keyspace::refuse_changes(std::size_t keys) {
    const core::Changes& changes = table_.changes();
    for (; measured_ < changes.size(); ++measured_) {
        if (!core::is_kept(changes[measured_])) continue;
        ++changes_;
        changes_bytes_ += core::text_size_of(changes[measured_]);
    }
    if (changes_ + 2 * keys <= step_changes_max && changes_bytes_ <= step_changes_bytes_max) {
        return std::nullopt;
    }
    return Reply::error("ERR the script or transaction changes more than one commit may hold");
}

Reply Keyspace::get(std::string_view key) {
    const auto lease = see(key);
    return lease ? Reply::bulk(lease->owner.name) : Reply::null();
}

bool Keyspace::exists(std::string_view key) {
    return see(key).has_value();
}

std::int64_t Keyspace::time_to_live_ms(std::string_view key) {
    const auto lease = see(key);
    if (!lease) return -2;
    if (lease->is_endless()) return -1;
    const core::Duration left = lease->grace_until - table_.now();
    return std::chrono::ceil<std::chrono::milliseconds>(left).count();
}

Reply Keyspace::fence(std::string_view key) {
    const auto lease = see(key);
    const std::uint64_t number = lease ? core::as_number(lease->token.fence) : 0;
    return number == 0 ? Reply::null() : Reply::integer(static_cast<std::int64_t>(number));
}

Watched Keyspace::watch(std::string_view key) {
    Watched watched{.key = std::string(key), .database = database_};
    if (const auto lease = find(key)) {
        watched.fence = core::as_number(lease->token.fence);
        watched.version = lease->version;
    }
    return watched;
}

Reply Keyspace::set(const SetRequest& request) {
    // Asking for the lock tells whether it is there: the most frequent command looks only once.
    if (request.condition == Condition::if_absent && context_.why_no_grant.empty()) {
        return acquire(request);
    }
    const auto lease = find(request.key);
    if (!lease) {
        const bool may_take =
            request.condition == Condition::none || request.condition == Condition::if_absent;
        return may_take ? acquire(request) : Reply::null();
    }
    const core::Duration ttl = request.keeps_ttl ? lease->ttl : request.ttl;
    switch (request.condition) {
        case Condition::if_absent: return Reply::null();
        case Condition::none:
            if (!has_value(*lease, request.value)) return overwritten(request.key);
            return renew(*lease, ttl, false, "set");
        case Condition::if_equal:
            if (!has_value(*lease, request.compared)) return Reply::null();
            if (request.value != request.compared) return overwritten(request.key);
            return renew(*lease, ttl, false, "set");
        case Condition::if_present: break;
    }
    // The lease goes on with the owner that it has.
    if (has_value(*lease, request.value)) return renew(*lease, ttl, false, "set");
    if (auto refusal = refuse_change(*lease, request.key)) return std::move(*refusal);
    return renew(*lease, ttl, !is_shown(*lease, request.key), "set");
}

Reply Keyspace::set_all(std::span<const SetRequest> requests, bool if_absent) {
    for (const SetRequest& request : requests) {
        const core::Outcome outcome = look_up(request.key);
        if (outcome.kind != OutcomeKind::found) {
            if (!outcome.is_behind_waiter) continue;
            return if_absent ? Reply::integer(0) : explain(outcome.refusal, "mset");
        }
        const Lease* const lease = &outcome.lease;
        if (if_absent) return Reply::integer(0);
        if (!has_value(*lease, request.value)) return overwritten(request.key);
    }
    for (const SetRequest& request : requests) {
        if (Reply reply = set(request); reply.is_error()) return reply;
    }
    return if_absent ? Reply::integer(1) : Reply::ok();
}

Reply Keyspace::acquire(const SetRequest& request) {
    if (!context_.why_no_grant.empty()) {
        return Reply::error(fmt::format("ERR {}", context_.why_no_grant));
    }
    const core::Outcome outcome =
        table_.acquire(table_.now(), {.scope = scope_of(request.key),
                                      .owner = {.door = service::redis_door, .name = request.value},
                                      .ttl = shorten(request.ttl),
                                      .is_only_kind = true,
                                      .secret = core::Secret{context_.random()}});
    note(outcome);
    if (outcome.kind == OutcomeKind::granted) return Reply::ok();
    const bool is_there = outcome.refusal == core::Refusal::held ||
                          outcome.refusal == core::Refusal::in_grace ||
                          outcome.refusal == core::Refusal::other_kind;
    if (is_there && request.condition == Condition::if_absent) return Reply::null();
    return explain(outcome.refusal, "set");
}

Reply Keyspace::renew(const Lease& lease, core::Duration ttl, bool is_forced,
                      std::string_view command) {
    const core::Outcome outcome = table_.renew(
        table_.now(), {.token = lease.token, .ttl = shorten(ttl), .is_forced = is_forced});
    note(outcome);
    return outcome.kind == OutcomeKind::renewed ? Reply::ok() : explain(outcome.refusal, command);
}

core::Duration Keyspace::shorten(core::Duration ttl) {
    const core::Duration longest = door_.options().ttl_max;
    if (ttl == core::endless || ttl <= longest) return ttl;
    has_shortened_ = true;
    return longest;
}

bool Keyspace::is_shown(const Lease& lease, std::string_view key) const {
    const bool is_watched = std::any_of(watched_.begin(), watched_.end(), [&](const Watched* one) {
        return one->key == key && one->database == database_;
    });
    return is_watched || shown_.contains(lease.owner.name);
}

// Why the lock may not be ended or prolonged without its owner's name. No value: it may.
std::optional<Reply> Keyspace::refuse_change(const Lease& lease, std::string_view key) const {
    if (!is_of_this_door(lease)) {
        return Reply::error(
            fmt::format("ERR '{}' is held at another door ({}): only there can it be "
                        "changed",
                        key, service::to_text(lease.owner.door)));
    }
    if (!door_.options().is_strict || is_shown(lease, key)) return std::nullopt;
    return Reply::error(
        fmt::format("ERR '{}' can be changed only by a command that names its value "
                    "(--redis-strict)",
                    key));
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): as in the command
Reply Keyspace::remove_if_equal(std::string_view key, std::string_view value) {
    const auto lease = find(key);
    if (!lease || !has_value(*lease, value)) return Reply::integer(0);
    table_.release(table_.now(), {.token = lease->token});
    ++calls_;
    return Reply::integer(1);
}

void Keyspace::end(const Lease& lease, std::string_view key) {
    if (is_shown(lease, key)) {
        table_.release(table_.now(), {.token = lease.token});
    } else {
        table_.force_release(table_.now(), scope_of(key));
    }
    ++calls_;
}

Reply Keyspace::remove_all(std::span<const std::string_view> keys) {
    for (const std::string_view key : keys) {
        const auto lease = find(key);
        if (!lease) continue;
        if (auto refusal = refuse_change(*lease, key)) return std::move(*refusal);
    }
    std::int64_t count = 0;
    for (auto key = keys.begin(); key != keys.end(); ++key) {
        // The end of a lock lets the next in its queue have it: that one stays.
        if (std::find(keys.begin(), key, *key) != key) continue;
        const auto lease = find(*key);
        if (!lease) continue;
        end(*lease, *key);
        ++count;
    }
    return Reply::integer(count);
}

bool Keyspace::allows(const ExpireRequest& request, const Lease& lease) const {
    if (lease.is_endless()) return !request.only_if_ending && !request.only_later;
    if (request.only_if_endless) return false;
    // Milliseconds, as Redis counts: the same command twice in one of them changes nothing.
    using std::chrono::milliseconds;
    const auto now = std::chrono::ceil<milliseconds>(lease.expires_at - table_.now());
    const auto next =
        std::chrono::ceil<milliseconds>(std::min(request.ttl, door_.options().ttl_max));
    return (!request.only_later || next > now) && (!request.only_earlier || next < now);
}

Reply Keyspace::expire(const ExpireRequest& request) {
    const auto lease = find(request.key);
    if (!lease || !allows(request, *lease)) return Reply::integer(0);
    if (auto refusal = refuse_change(*lease, request.key)) return std::move(*refusal);
    if (request.ttl <= core::Duration::zero()) {
        end(*lease, request.key);
        return Reply::integer(1);
    }
    const bool is_forced = !is_shown(*lease, request.key);
    Reply reply = renew(*lease, request.ttl, is_forced, request.command);
    return reply.is_error() ? reply : Reply::integer(1);
}

Reply Keyspace::persist(std::string_view key) {
    const auto lease = find(key);
    if (!lease || lease->is_endless()) return Reply::integer(0);
    return expire({.key = key, .ttl = core::endless, .command = "persist"});
}

}  // namespace holdfast::doors::redis
