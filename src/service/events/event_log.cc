#include "service/events/event_log.h"

#include <string>

#include "base/log/log.h"
#include "service/doors.h"

namespace holdfast::service {

namespace {

base::LogLevel level_of(core::EventKind kind) {
    switch (kind) {
        case core::EventKind::granted:
        case core::EventKind::released:
        case core::EventKind::expired:
        case core::EventKind::grace_ended: return base::LogLevel::info;
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

}  // namespace

void EventLog::on_changes(const core::Changes& changes) {
    const bool has_info = base::is_logged(base::LogLevel::info);
    const bool has_debug = base::is_logged(base::LogLevel::debug);
    if (!has_info) return;
    for (const core::Event& event : changes) {
        const base::LogLevel level = level_of(event.kind);
        if ((has_debug || level == base::LogLevel::info) && may_write(event.at)) {
            on_event(level, event);
        }
    }
}

void EventLog::on_event(base::LogLevel level, const core::Event& event) {
    const std::string scope = core::to_text(event.lease.scope);
    const std::string_view message = core::to_text(event.kind);
    const std::uint64_t number = core::as_number(event.lease.token.fence);
    const std::string_view door = to_text(event.lease.owner.door);
    switch (event.kind) {
        case core::EventKind::granted:
        case core::EventKind::renewed:
            base::log(level, message,
                      {{"lock", scope},
                       {"owner", event.lease.owner.name},
                       {"door", door},
                       {"fencing_token", number},
                       {"ttl_ms", event.lease.is_endless() ? 0 : milliseconds(event.lease.ttl)},
                       {"queue", std::uint64_t{event.queue_length}}});
            break;
        case core::EventKind::released:
        case core::EventKind::expired:
        case core::EventKind::grace_ended:
            base::log(level, message,
                      {{"lock", scope},
                       {"owner", event.lease.owner.name},
                       {"door", door},
                       {"fencing_token", number},
                       {"held_ms", milliseconds(event.at - event.lease.acquired_at)},
                       {"cause", core::to_text(event.cause)}});
            break;
        case core::EventKind::queued:
        case core::EventKind::wait_timed_out:
        case core::EventKind::wait_cancelled:
            base::log(level, message,
                      {{"lock", scope},
                       {"owner", event.lease.owner.name},
                       {"door", door},
                       {"waited_ms", milliseconds(event.at - event.waiting_since)},
                       {"queue", std::uint64_t{event.queue_length}}});
            break;
        case core::EventKind::value_set:
            base::log(level, message,
                      {{"lock", scope},
                       {"owner", event.lease.owner.name},
                       {"door", door},
                       {"fencing_token", number},
                       {"revision", event.lease.revision}});
            break;
        case core::EventKind::session_opened:
        case core::EventKind::session_ended:
            base::log(level, message,
                      {{"session", event.lease.session.serial},
                       {"owner", event.lease.owner.name},
                       {"door", door}});
            break;
    }
}

void EventLog::on_fence_refused(const FenceRefusal& refusal) {
    const base::LogLevel level = base::LogLevel::warning;
    if (!base::is_logged(level) || !may_write(refusal.at)) return;
    base::log(level, "fence_refused",
              {{"resource", refusal.resource},
               {"fencing_token", refusal.number},
               {"highest", refusal.highest}});
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
