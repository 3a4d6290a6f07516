#include "service/request_memory.h"

#include <utility>

namespace holdfast::service {

namespace {

using State = RequestMemory::Known::State;

// Every part but the last is preceded by its length, so that no two requests have one key.
std::string key_of(const core::Owner& owner, const core::Scope& scope, std::string_view id) {
    const std::string scope_text = core::to_text(scope);
    std::string key = std::to_string(static_cast<unsigned>(owner.door));
    for (const std::string_view part : {owner.name, std::string_view(scope_text)}) {
        key.append(":").append(std::to_string(part.size())).append(":").append(part);
    }
    return key.append(":").append(id);
}

}  // namespace

const RequestMemory::Known* RequestMemory::find(const core::AcquireRequest& request) const {
    if (request.notes.request_id.empty()) return nullptr;
    const auto found = known_.find(key_of(request.owner, request.scope, request.notes.request_id));
    return found == known_.end() ? nullptr : &found->second;
}

void RequestMemory::on_event(const core::Event& event) {
    const core::LeaseView& lease = event.lease;
    if (lease.notes.request_id.empty()) return;
    const std::string key = key_of(lease.owner, lease.scope, lease.notes.request_id);
    switch (event.kind) {
        case core::EventKind::queued:
            known_[key] = {.state = State::waiting, .waiter = event.waiter};
            break;
        case core::EventKind::granted:
            known_[key] = {.state = State::held, .waiter = event.waiter, .token = lease.token};
            break;
        case core::EventKind::wait_timed_out:
        case core::EventKind::wait_cancelled: known_.erase(key); break;
        case core::EventKind::released:
        case core::EventKind::expired: end(key, event); break;
        case core::EventKind::renewed:
        case core::EventKind::grace_ended:
        case core::EventKind::session_opened:
        case core::EventKind::session_ended: break;
    }
    forget_old(event.at);
}

void RequestMemory::forget(const core::Event& event) {
    const core::LeaseView& lease = event.lease;
    known_.erase(key_of(lease.owner, lease.scope, lease.notes.request_id));
}

void RequestMemory::on_restored(const core::RestoreRequest& lease) {
    if (lease.notes.request_id.empty() || lease.is_in_grace) return;
    known_[key_of(lease.owner, lease.scope, lease.notes.request_id)] = {.state = State::held,
                                                                        .token = lease.token};
}

void RequestMemory::end(const std::string& key, const core::Event& event) {
    known_[key] = {.state = State::ended, .token = event.lease.token};
    ended_.push_back({.key = key, .token = event.lease.token, .at = event.at});
}

void RequestMemory::forget_old(core::Time now) {
    while (!ended_.empty() &&
           (ended_.size() > ended_max || now - ended_.front().at >= ended_kept)) {
        const auto found = known_.find(ended_.front().key);
        const bool is_the_same = found != known_.end() && found->second.state == State::ended &&
                                 found->second.token == ended_.front().token;
        if (is_the_same) known_.erase(found);
        ended_.pop_front();
    }
}

}  // namespace holdfast::service
