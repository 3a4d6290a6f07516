#include "sim/checker/open_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "service/wait_limits.h"

namespace holdfast::sim {

std::uint64_t submission_of(const core::Notes& notes) {
    return notes.metadata.empty() ? 0 : std::stoull(std::string(notes.metadata));
}

void OpenRequests::add(const Submission& submission, const core::AcquireRequest& request,
                       Moment deadline) {
    open_[submission.id] = {.submission = submission, .request = request, .deadline = deadline};
}

void OpenRequests::on_submitted(const Submission& submission) {
    const service::Request& request = submission.call.request;
    if (const auto* acquire = std::get_if<core::AcquireRequest>(&request)) {
        add(submission, *acquire, add_saturating(submission.received, acquire->wait));
    } else if (const auto* enqueue = std::get_if<service::Enqueue>(&request)) {
        // A session that is over gets no place in a queue, and one that has a place gets no other,
        // even if nobody hears of the refusal.
        const bool is_ticket = open_sessions_.contains(enqueue->request.session.serial) &&
                               find_ticket(enqueue->request.session, enqueue->request.scope) == 0;
        add(submission, enqueue->request, Moment::max());
        open_[submission.id].is_ticket = is_ticket;
    } else if (const auto* wait = std::get_if<service::Wait>(&request)) {
        on_waiting(submission, *wait);
    } else if (const auto* end = std::get_if<service::EndSession>(&request)) {
        on_session_end(*end);
    }
}

// The place of a session in a queue: the number of its first half. 0: there is none.
std::uint64_t OpenRequests::find_ticket(core::SessionId session, const core::Scope& scope) const {
    const auto ticket = std::ranges::find_if(open_, [&](const auto& item) {
        const Entry& entry = item.second;
        return entry.is_ticket && entry.request.session == session && entry.request.scope == scope;
    });
    return ticket == open_.end() ? 0 : ticket->first;
}

// The second half speaks for the first.
void OpenRequests::on_waiting(const Submission& submission, const service::Wait& wait) {
    const std::uint64_t ticket = find_ticket(wait.session, wait.scope);
    if (ticket == 0) return;
    Entry& entry = open_.at(ticket);
    halves_[submission.id] = ticket;
    entry.submission = submission;
    entry.deadline = add_saturating(submission.received, wait.timeout);
    entry.is_ticket = false;
}

void OpenRequests::on_session_end(const service::EndSession& end) {
    open_sessions_.erase(end.session.serial);
    std::vector<std::uint64_t> ended;
    for (auto& [id, entry] : open_) {
        if (entry.request.session != end.session) continue;
        entry.may_hold_in_secret = end.leases == core::LockTable::SessionLeases::keep;
        ended.push_back(id);
    }
    for (const std::uint64_t id : ended) close(id);
}

void OpenRequests::close(std::uint64_t id) {
    auto node = open_.extract(id);
    if (node.empty()) return;
    node.mapped().closed_at = world_.now();
    closed_.insert(std::move(node));
}

std::uint64_t OpenRequests::entry_of(std::uint64_t submission) const {
    const auto half = halves_.find(submission);
    return half == halves_.end() ? submission : half->second;
}

const OpenRequests::Entry* OpenRequests::find_entry(std::uint64_t id) const {
    for (const auto* entries : {&open_, &closed_}) {
        if (const auto found = entries->find(id); found != entries->end()) return &found->second;
    }
    return nullptr;
}

void OpenRequests::on_answered(const Submission& submission, const Reply& reply) {
    if (reply.session) open_sessions_.insert(reply.session.serial);
    const auto found = open_.find(entry_of(submission.id));
    if (found == open_.end() || found->second.submission.id != submission.id) return;
    Entry& entry = found->second;
    if (reply.kind == core::Outcome::Kind::queued && !reply.is_failure) {
        entry.is_ticket = true;  // for a second half
        return;
    }
    if (!reply.is_failure && reply.refusal == core::Refusal::timed_out &&
        reply.decided < entry.deadline && entry.request.notes.request_id.empty()) {
        world_.accuse(
            9, fmt::format("{} is told too early that its time is over", entry.request.owner.name));
    }
    // What its first half was granted stays with the session.
    if (reply.is_failure && submission.id != found->first) entry.may_hold_in_secret = true;
    const std::uint64_t id = found->first;
    close(id);
    if (!reply.is_failure && reply.refusal == core::Refusal::still_waiting) {
        closed_.at(id).closed_at = reply.decided + service::WaitLimits{}.place_kept;
    }
}

void OpenRequests::on_withheld(const Submission& submission, const Reply& reply) {
    const auto found = open_.find(entry_of(submission.id));
    if (found != open_.end()) found->second.may_hold_in_secret = true;
    on_answered(submission, reply);
}

void OpenRequests::on_abandoned(std::uint64_t submission) {
    const auto found = open_.find(entry_of(submission));
    if (found == open_.end() || found->second.submission.id != submission) return;
    // A place in a queue belongs to its session, whoever heard of it.
    if (!found->second.is_ticket) close(found->first);
}

void OpenRequests::on_event(const core::Event& event, Moment at) {
    using core::EventKind;
    const auto entry = open_.find(submission_of(event.lease.notes));
    switch (event.kind) {
        case EventKind::granted: on_granted(event, at); break;
        case EventKind::released:
        case EventKind::expired:
        case EventKind::grace_ended:
            leases_.erase(event.lease.token.fence);
            // The first half ends with its lease.
            if (entry != open_.end() && entry->second.is_ticket) close(entry->first);
            break;
        case EventKind::queued:
        case EventKind::wait_timed_out:
        case EventKind::wait_cancelled:
            if (entry != open_.end()) entry->second.is_queued = event.kind == EventKind::queued;
            break;
        case EventKind::renewed: ++leases_[event.lease.token.fence].renewals; break;
        case EventKind::value_set:
        case EventKind::session_opened:
        case EventKind::session_ended:
        case EventKind::deadlock: break;
    }
}

// Whether somebody waited for this request then. One with an id may have been made again.
bool OpenRequests::is_awaited(const Entry& entry, Moment at) const {
    const auto waits = [at](const Entry& one) {
        return one.closed_at >= at && (at < one.deadline || at == one.submission.received);
    };
    if (waits(entry)) return true;
    if (entry.request.notes.request_id.empty()) return false;
    for (const auto* entries : {&open_, &closed_}) {
        for (const auto& [id, other] : *entries) {
            if (other.request.owner == entry.request.owner && waits(other)) return true;
        }
    }
    return false;
}

void OpenRequests::on_granted(const core::Event& event, Moment at) {
    const std::uint64_t id = submission_of(event.lease.notes);
    leases_[event.lease.token.fence] = {.submission = id};
    if (const auto open = open_.find(id); open != open_.end()) open->second.is_queued = false;
    const Entry* const entry = find_entry(id);
    if (entry != nullptr && is_awaited(*entry, at)) return;
    world_.accuse(4, fmt::format("{} is granted #{}, and does not wait for it any more",
                                 event.lease.owner.name, core::as_number(event.lease.token.fence)));
}

void OpenRequests::clear() {
    open_sessions_.clear();
    open_.clear();
    closed_.clear();
    halves_.clear();
    leases_.clear();
}

void OpenRequests::check(core::Duration lateness_max) const {
    for (const auto& [id, entry] : open_) {
        if (!entry.is_queued || entry.deadline == Moment::max()) continue;
        // A request that was made again waits as long as the last one says.
        if (!entry.request.notes.request_id.empty()) continue;
        if (entry.deadline + lateness_max >= world_.now()) continue;
        world_.accuse(
            9, fmt::format("{} waits for an answer beyond its time", entry.request.owner.name));
        return;
    }
    for (const auto& [fence, granted] : leases_) {
        if (open_.contains(granted.submission) || ledger_.knows(fence)) continue;
        // The service does not count more renewals, and lets such a lease expire.
        if (granted.renewals >= core::renewals_counted_max) continue;
        const Entry* const entry = find_entry(granted.submission);
        if (entry == nullptr || entry->may_hold_in_secret ||
            !entry->request.notes.request_id.empty()) {
            continue;
        }
        // The end of a session may take several turns.
        if (entry->request.session && entry->closed_at + lateness_max >= world_.now()) continue;
        world_.accuse(4, fmt::format("{} was given up, and has #{} without anybody knowing",
                                     entry->request.owner.name, core::as_number(fence)));
        return;
    }
}

}  // namespace holdfast::sim
