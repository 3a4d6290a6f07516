#include "core/values/changes.h"

#include <cstring>

namespace holdfast::core {

std::string_view to_text(EventKind kind) {
    switch (kind) {
        case EventKind::granted: return "granted";
        case EventKind::renewed: return "renewed";
        case EventKind::released: return "released";
        case EventKind::expired: return "expired";
        case EventKind::grace_ended: return "grace_ended";
        case EventKind::queued: return "queued";
        case EventKind::wait_timed_out: return "wait_timed_out";
        case EventKind::wait_cancelled: return "wait_cancelled";
        case EventKind::session_opened: return "session_opened";
        case EventKind::session_ended: return "session_ended";
        case EventKind::value_set: return "value_set";
        case EventKind::deadlock: return "deadlock";
    }
    return "";
}

std::string_view to_text(Cause cause) {
    switch (cause) {
        case Cause::none: return "none";
        case Cause::request: return "request";
        case Cause::session_end: return "session_end";
        case Cause::force: return "force";
        case Cause::restart: return "restart";
    }
    return "";
}

std::string_view to_text(Refusal refusal) {
    switch (refusal) {
        case Refusal::none: return "none";
        case Refusal::held: return "held";
        case Refusal::in_grace: return "in_grace";
        case Refusal::timed_out: return "timed_out";
        case Refusal::limit_mismatch: return "limit_mismatch";
        case Refusal::other_kind: return "other_kind";
        case Refusal::locks_max: return "locks_max";
        case Refusal::leases_max: return "leases_max";
        case Refusal::endless_leases_max: return "endless_leases_max";
        case Refusal::waiters_max: return "waiters_max";
        case Refusal::waiters_per_lock_max: return "waiters_per_lock_max";
        case Refusal::sessions_max: return "sessions_max";
        case Refusal::key_length_max: return "key_length_max";
        case Refusal::name_not_utf8: return "name_not_utf8";
        case Refusal::owner_length_max: return "owner_length_max";
        case Refusal::request_id_length_max: return "request_id_length_max";
        case Refusal::metadata_length_max: return "metadata_length_max";
        case Refusal::value_length_max: return "value_length_max";
        case Refusal::waiter_length_max: return "waiter_length_max";
        case Refusal::sets_max_members: return "set_members_max";
        case Refusal::permits_max: return "permits_max";
        case Refusal::ttl_out_of_range: return "ttl_out_of_range";
        case Refusal::empty_key: return "empty_key";
        case Refusal::empty_range: return "empty_range";
        case Refusal::overlapping_set: return "overlapping_set";
        case Refusal::deadlock: return "deadlock";
        case Refusal::unknown_session: return "unknown_session";
        case Refusal::already_enqueued: return "already_enqueued";
        case Refusal::not_enqueued: return "not_enqueued";
        case Refusal::unknown_lease: return "unknown_lease";
        case Refusal::lease_ended: return "lease_ended";
        case Refusal::request_mismatch: return "request_mismatch";
        case Refusal::request_ended: return "request_ended";
        case Refusal::request_superseded: return "request_superseded";
        case Refusal::still_waiting: return "still_waiting";
        case Refusal::stopping: return "stopping";
        case Refusal::scope_mismatch: return "scope_mismatch";
        case Refusal::denied: return "denied";
    }
    return "";
}

std::size_t text_size_of(const Event& event) {
    const LeaseView& lease = event.lease;
    return lease.scope.name.size() + lease.owner.name.size() + event.previous_owner.size() +
           lease.notes.request_id.size() + lease.notes.metadata.size() + lease.notes.waiter.size() +
           lease.members.size() + lease.value.size() + event.cycle.size() + event.by.size();
}

// Replaces the texts of an event by copies that do not move.
void Changes::copy_texts_of(Event& event) {
    char* place = texts_.take(text_size_of(event));
    for (std::string_view* const text : texts_of(event)) {
        if (text->empty()) continue;
        std::memcpy(place, text->data(), text->size());
        *text = {place, text->size()};
        place += text->size();
    }
}

void Changes::clear() {
    // Keeps memory for the usual case, but frees what a million expiries at once have allocated.
    constexpr std::size_t kept_events = 4096;
    if (events_.capacity() > kept_events) std::vector<Event>().swap(events_);
    events_.clear();
    texts_.clear();
    is_at_step_ = false;
}

void Changes::swap(Changes& other) noexcept {
    events_.swap(other.events_);
    texts_.swap(other.texts_);
    std::swap(is_at_step_, other.is_at_step_);
}

}  // namespace holdfast::core
