#include "core/changes.h"

#include <utility>

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
    }
    return "";
}

std::string_view to_text(Cause cause) {
    switch (cause) {
        case Cause::request: return "request";
        case Cause::session_end: return "session_end";
        case Cause::force: return "force";
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
        case Refusal::locks_max: return "locks_max";
        case Refusal::waiters_max: return "waiters_max";
        case Refusal::waiters_per_lock_max: return "waiters_per_lock_max";
        case Refusal::key_length_max: return "key_length_max";
        case Refusal::owner_length_max: return "owner_length_max";
        case Refusal::request_id_length_max: return "request_id_length_max";
        case Refusal::metadata_length_max: return "metadata_length_max";
        case Refusal::permits_max: return "permits_max";
        case Refusal::ttl_out_of_range: return "ttl_out_of_range";
        case Refusal::empty_key: return "empty_key";
        case Refusal::empty_range: return "empty_range";
        case Refusal::unknown_session: return "unknown_session";
        case Refusal::already_enqueued: return "already_enqueued";
        case Refusal::not_enqueued: return "not_enqueued";
        case Refusal::unknown_lease: return "unknown_lease";
        case Refusal::lease_ended: return "lease_ended";
        case Refusal::request_ended: return "request_ended";
        case Refusal::request_superseded: return "request_superseded";
        case Refusal::scope_mismatch: return "scope_mismatch";
    }
    return "";
}

void Changes::add(const Event& event) {
    const auto append = [this](std::string_view text) {
        texts_.append(text);
        return static_cast<std::uint32_t>(text.size());
    };
    const std::size_t text_begin = texts_.size();
    entries_.push_back({.event = event,
                        .text_begin = text_begin,
                        .name_size = append(event.lease.scope.name),
                        .owner_size = append(event.lease.owner.name),
                        .previous_size = append(event.previous_owner),
                        .request_id_size = append(event.lease.notes.request_id),
                        .metadata_size = append(event.lease.notes.metadata)});
}

void Changes::clear() {
    // Keeps a buffer for the usual case, but not the one a million expiries at once have grown.
    constexpr std::size_t kept_entries = 4096, kept_text = 256 * 1024;
    if (entries_.capacity() > kept_entries) std::vector<Entry>().swap(entries_);
    if (texts_.capacity() > kept_text) std::string().swap(texts_);
    entries_.clear();
    texts_.clear();
}

void Changes::swap(Changes& other) noexcept {
    entries_.swap(other.entries_);
    texts_.swap(other.texts_);
}

Event Changes::operator[](std::size_t index) const {
    const Entry& entry = entries_[index];
    Event event = entry.event;
    const char* next = texts_.data() + entry.text_begin;
    const auto take = [&next](std::uint32_t size) {
        const std::string_view text(next, size);
        next += size;
        return text;
    };
    event.lease.scope.name = take(entry.name_size);
    event.lease.owner.name = take(entry.owner_size);
    event.previous_owner = take(entry.previous_size);
    event.lease.notes.request_id = take(entry.request_id_size);
    event.lease.notes.metadata = take(entry.metadata_size);
    return event;
}

}  // namespace holdfast::core
