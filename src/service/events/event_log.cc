#include "service/events/event_log.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/log/log.h"
#include "base/text/percent.h"
#include "base/text/utf8.h"
#include "core/values/cycle.h"
#include "service/doors.h"
#include "service/history/hold.h"

namespace holdfast::service {

namespace {

base::LogLevel level_of(core::EventKind kind) {
    switch (kind) {
        case core::EventKind::granted:
        case core::EventKind::released:
        case core::EventKind::expired:
        case core::EventKind::grace_ended: return base::LogLevel::info;
        case core::EventKind::deadlock: return base::LogLevel::warning;
        case core::EventKind::renewed:
        case core::EventKind::queued:
        case core::EventKind::wait_timed_out:
        case core::EventKind::wait_cancelled:
        case core::EventKind::session_opened:
        case core::EventKind::session_ended:
        case core::EventKind::value_set: break;
    }
    return base::LogLevel::debug;
}

std::uint64_t milliseconds(core::Duration duration) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

// The scope of a lease; of a set, all of them: `a, path:/b`.
std::string scopes_of(const core::LeaseView& lease) {
    const auto members = core::parse_set(lease.members);
    if (!members || members->empty()) return core::to_text(lease.scope);
    std::string text;
    for (const core::SetMember& member : *members) {
        text.append(text.empty() ? "" : ", ").append(core::to_text(member.scope));
    }
    return text;
}

// Ends that are not as usual tell why. What else happens is asked for by its client, unless it is
// forced.
bool tells_cause(const core::Event& event) {
    switch (event.kind) {
        case core::EventKind::released:
        case core::EventKind::expired:
        case core::EventKind::grace_ended: return event.cause > core::Cause::request;
        case core::EventKind::wait_cancelled: return event.cause == core::Cause::session_end;
        case core::EventKind::renewed: return event.cause == core::Cause::force;
        default: return false;
    }
}

}  // namespace

void EventLog::on_changes(const core::Changes& changes) {
    if (!base::is_logged(base::LogLevel::warning)) return;
    const bool has_info = base::is_logged(base::LogLevel::info);
    const bool has_debug = base::is_logged(base::LogLevel::debug);
    for (const core::Event& event : changes) {
        const base::LogLevel level = level_of(event.kind);
        const bool is_wanted = level == base::LogLevel::debug  ? has_debug
                               : level == base::LogLevel::info ? has_info
                                                               : true;
        if (is_wanted && may_write(event.at)) on_event(level, event);
    }
}

void EventLog::on_event(base::LogLevel level, const core::Event& event) {
    const std::string_view message = core::to_text(event.kind);
    const core::LeaseView& lease = event.lease;
    if (event.kind == core::EventKind::deadlock) {
        const auto cycle = core::parse_cycle(event.cycle);
        if (cycle) base::log(level, message, {{"cycle", core::describe_cycle(*cycle)}});
        return;
    }
    const bool is_of_session = event.kind == core::EventKind::session_opened ||
                               event.kind == core::EventKind::session_ended;
    const std::string scope = is_of_session ? std::string() : scopes_of(lease);
    std::vector<base::LogField> fields;
    const auto add = [&fields](std::string_view key, auto value) {
        fields.push_back({.key = key, .value = value});
    };
    if (is_of_session) {
        add("session", lease.session.serial);
    } else {
        add("lock", std::string_view(scope));
    }
    // Of names that earlier versions have stored; new ones are UTF-8.
    const std::string bytes = base::is_utf8(scope) ? std::string() : base::percent_encode(scope);
    if (!bytes.empty()) add("name_bytes", std::string_view(bytes));
    add("owner", lease.owner.name);
    add("door", to_text(lease.owner.door));
    const std::uint64_t number = core::as_number(lease.token.fence);
    if (number > 0) add("fencing_token", number);
    switch (event.kind) {
        case core::EventKind::granted:
        case core::EventKind::renewed:
            add("ttl_ms", lease.is_endless() ? 0 : milliseconds(lease.ttl));
            add("queue", std::uint64_t{event.queue_length});
            break;
        case core::EventKind::released:
        case core::EventKind::expired:
        case core::EventKind::grace_ended: add("held_ms", milliseconds(held_of(event))); break;
        case core::EventKind::queued:
        case core::EventKind::wait_timed_out:
        case core::EventKind::wait_cancelled:
            add("waited_ms", milliseconds(event.at - event.waiting_since));
            add("queue", std::uint64_t{event.queue_length});
            break;
        case core::EventKind::value_set: add("revision", lease.revision); break;
        case core::EventKind::session_opened:
        case core::EventKind::session_ended:
        case core::EventKind::deadlock: break;
    }
    if (tells_cause(event)) add("cause", core::to_text(event.cause));
    if (!event.by.empty()) add("by", event.by);
    base::log(level, message, fields);
}

void EventLog::on_fence_refused(const FenceRefusal& refusal) {
    const base::LogLevel level = base::LogLevel::warning;
    if (!base::is_logged(level) || !may_write(refusal.at)) return;
    base::log(level, "fence_refused",
              {{"resource", refusal.resource},
               {"fencing_token", refusal.number},
               {"highest", refusal.highest}});
}

void EventLog::on_act(const AdminAct& act) {
    base::log(base::LogLevel::warning, "audit",
              {{"action", to_text(act.action)}, {"what", act.what}, {"by", act.by}});
}

bool EventLog::may_write(core::Time now) {
    if (now - second_began_ >= std::chrono::seconds{1}) {
        if (left_out_ > 0) {
            base::log(base::LogLevel::info, "lock transitions not logged", {{"count", left_out_}});
        }
        second_began_ = now;
        lines_ = 0;
        left_out_ = 0;
    }
    if (lines_ < lines_per_second_max) {
        ++lines_;
        return true;
    }
    ++left_out_;
    return false;
}

}  // namespace holdfast::service
