#include "service/events/election.h"

#include "base/json/json_writer.h"
#include "base/text/percent.h"
#include "base/text/rfc3339.h"
#include "base/text/utf8.h"
#include "service/events/event_scopes.h"

namespace holdfast::service {

namespace {

using core::EventKind;

Election::Leader leader_of(const core::LeaseView& lease) {
    return {.holder = std::string(lease.owner.name),
            .value = std::string(lease.value),
            .revision = lease.revision,
            .fence = lease.token.fence,
            .since = lease.acquired_at};
}

}  // namespace

void Election::begin(const Response& response) {
    holders_.clear();
    waiters_ = 0;
    position_ = response.position;
    if (response.locks().empty()) return;
    const core::LockView& lock = response.locks().front();
    waiters_ = lock.waiter_count;
    for (const core::LeaseView& lease : lock.holders) {
        if (lease.state != core::LeaseState::held) continue;
        holders_.emplace(lease.token.fence, leader_of(lease));
    }
}

bool Election::is_about(const FeedEvent& event) const {
    if (!event.is_transition()) return false;
    const core::Scope scope = core::Scope::named(name_);
    return is_any_scope(event.event.lease, [&](const core::Scope& one) { return one == scope; });
}

bool Election::is_change(const FeedEvent& event) const {
    const EventKind kind = event.event.kind;
    const bool may_change = kind == EventKind::granted || kind == EventKind::released ||
                            kind == EventKind::expired || kind == EventKind::value_set;
    return may_change && is_about(event);
}

bool Election::follow(const FeedEvent& event) {
    if (event.id <= position_) return false;
    position_ = event.id;
    if (!is_about(event)) return false;
    const core::LeaseView& lease = event.event.lease;
    const auto before = leader();
    // The queue of a lease on several scopes is that of the first.
    if (lease.members.empty()) waiters_ = event.event.queue_length;
    switch (event.event.kind) {
        case EventKind::granted:
        case EventKind::value_set:
            holders_.insert_or_assign(lease.token.fence, leader_of(lease));
            break;
        case EventKind::released:
        case EventKind::expired: holders_.erase(lease.token.fence); break;
        default: return false;
    }
    return leader() != before;
}

std::optional<Election::Leader> Election::leader() const {
    if (holders_.empty()) return std::nullopt;
    return holders_.begin()->second;
}

void Election::append_json(std::string& out, const Clock& clock) const {
    base::JsonWriter json(out);
    json.begin_object().field("election", name_);
    if (!base::is_utf8(name_)) json.field("name_bytes", base::percent_encode(name_));
    if (const auto leading = leader()) {
        json.field("leader", leading->holder);
        if (leading->revision > 0) {
            json.field("value", leading->value).field("revision", leading->revision);
        }
        std::string since;
        base::append_rfc3339_milliseconds(since, clock.wall(leading->since));
        json.field("fencing_token", core::as_number(leading->fence)).field("since", since);
    }
    json.field("candidates", holders_.size() + waiters_).field("position", position_);
    json.end_object();
}

}  // namespace holdfast::service
