#include "service/history/hold.h"

#include <algorithm>

namespace holdfast::service {

std::string_view to_text(Ending ending) {
    switch (ending) {
        case Ending::released: return "released";
        case Ending::expired: return "expired";
        case Ending::forced: return "forced";
        case Ending::session: return "session";
        case Ending::restart: return "restart";
    }
    return "";
}

std::optional<Ending> parse_ending(std::string_view text) {
    for (std::uint8_t number = 0; number <= static_cast<std::uint8_t>(last_ending); ++number) {
        if (to_text(Ending{number}) == text) return Ending{number};
    }
    return std::nullopt;
}

Ending ending_of(const core::Event& event) {
    switch (event.cause) {
        case core::Cause::force: return Ending::forced;
        case core::Cause::session_end: return Ending::session;
        case core::Cause::restart: return Ending::restart;
        case core::Cause::none:
        case core::Cause::request: break;
    }
    return event.kind == core::EventKind::expired ? Ending::expired : Ending::released;
}

// A lease that expires has ended at its deadline, however late the server looked at the clock.
core::Time end_of(const core::Event& event) {
    const bool has_expired =
        event.kind == core::EventKind::expired || event.kind == core::EventKind::grace_ended;
    return has_expired ? event.lease.expires_at : event.at;
}

Hold to_hold(const core::Event& event, const HoldBegin& begin, WallTime epoch) {
    const core::LeaseView& lease = event.lease;
    return {.fence = core::as_number(lease.token.fence),
            .kind = lease.scope.kind,
            .name = std::string(lease.scope.name),
            .inode = lease.scope.inode,
            .range = lease.scope.range,
            .owner = std::string(lease.owner.name),
            .door = lease.owner.door,
            .mode = lease.mode,
            .waited = begin.waited,
            .acquired_at = epoch + lease.acquired_at.time_since_epoch(),
            .ended_at = epoch + end_of(event).time_since_epoch(),
            .ending = ending_of(event),
            .metadata = std::string(lease.notes.metadata),
            .members = std::string(lease.members),
            .granted_by = std::string(begin.by),
            .ended_by = std::string(event.by)};
}

std::vector<core::SetMember> Hold::scopes() const {
    auto set = core::parse_set(members);
    if (set && !set->empty()) return *std::move(set);
    return {{.scope = scope(), .mode = mode}};
}

namespace {

// Whether one scope of a hold is what the query asks for.
bool is_asked_for(const HistoryQuery& query, const core::Scope& scope) {
    if (!query.prefix.empty() && (scope.is_of_inode() || !scope.name.starts_with(query.prefix))) {
        return false;
    }
    if (!query.kind) return true;
    const core::Scope asked{
        .kind = *query.kind, .name = query.name, .inode = query.inode, .range = query.range};
    if (asked.is_of_inode()) {
        return scope.is_of_inode() && scope.inode == asked.inode &&
               scope.range.overlaps(asked.range);
    }
    return scope.kind == asked.kind && scope.name == asked.name;
}

}  // namespace

bool matches(const HistoryQuery& query, const Hold& hold) {
    if (!query.owner.empty() && hold.owner != query.owner) return false;
    if (query.since && hold.ended_at < *query.since) return false;
    if (query.until && hold.acquired_at >= *query.until) return false;
    const auto scopes = hold.scopes();
    // A client sees a set if it may see all of it.
    return std::ranges::any_of(scopes,
                               [&query](const core::SetMember& member) {
                                   return is_asked_for(query, member.scope);
                               }) &&
           std::ranges::all_of(scopes, [&query](const core::SetMember& member) {
               return !query.filter || query.filter->includes(member.scope);
           });
}

}  // namespace holdfast::service
