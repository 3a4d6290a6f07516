#include "sim/checker/checker.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace holdfast::sim {

using namespace std::chrono_literals;

namespace {

// Which invariant an auditor's complaint is about.
int invariant_of(std::string_view complaint) {
    static constexpr std::pair<std::string_view, int> table[] = {
        {"it is held", 1},          {"no permit", 1},   {"the number", 2},
        {"a lease that has", 4},    {"a waiter", 4},    {"it has ended", 5},
        {"it ends too early", 5},   {"overdue", 5},     {"it was somebody", 6},
        {"the queue is not as", 6}, {"a deadlock", 12},
    };
    for (const auto& [beginning, invariant] : table) {
        if (complaint.starts_with(beginning)) return invariant;
    }
    return 4;  // something ends twice, or has not begun
}

}  // namespace

void Checker::on_submitted(const Submission& submission) {
    ledger_.on_submitted(submission);
    open_requests_.on_submitted(submission);
    unanswered_.emplace(submission.id, submission);
}

void Checker::on_answered(const Submission& submission, const Reply& reply) {
    ledger_.on_answered(submission, reply);
    open_requests_.on_answered(submission, reply);
    unanswered_.erase(submission.id);
}

void Checker::on_withheld(const Submission& submission, const Reply& reply) {
    open_requests_.on_withheld(submission, reply);
    unanswered_.erase(submission.id);
}

void Checker::on_abandoning(std::uint64_t submission) {
    const auto known = unanswered_.find(submission);
    if (known != unanswered_.end()) ledger_.on_abandoned(known->second);
}

void Checker::on_abandoned(std::uint64_t submission) {
    open_requests_.on_abandoned(submission);
    unanswered_.erase(submission);
}

void Checker::on_event(const core::Event& event) {
    const Moment at = machine_.to_world(event.at);
    world_.note("        {} {} #{} {}, {} ago", core::to_text(event.kind),
                core::to_text(event.lease.scope), core::as_number(event.lease.token.fence),
                event.lease.owner.name, world_.now() - at);
    open_requests_.on_event(event, at);
    see(event);
}

void Checker::see(const core::Event& event) {
    if (!auditor_) return;
    if (const auto complaint = auditor_->see(event)) {
        world_.accuse(invariant_of(*complaint), *complaint);
    }
}

void Checker::on_store_failed() {
    auditor_.reset();
}

// An owner that takes its lock again ends its grace and is granted the lock by one request, and so in
// one commit.
void Checker::on_commit(const service::Commit& commit) {
    for (const core::Event& event : commit.changes) {
        std::string what =
            core::to_text(event.lease.scope) + ' ' + std::string(event.lease.owner.name);
        const bool is_reclaim = event.kind == core::EventKind::granted &&
                                event.previous_owner == event.lease.owner.name;
        if (is_reclaim && ended_grace_ && ended_grace_->what == what &&
            ended_grace_->commit != commit.number) {
            world_.accuse(11, fmt::format("taking {} again is in two commits", what));
        }
        ended_grace_.reset();
        const bool ends_grace = event.kind == core::EventKind::grace_ended;
        if (ends_grace && event.cause == core::Cause::request) {
            ended_grace_ = {.what = std::move(what), .commit = commit.number};
        }
    }
}

void Checker::on_crashed() {
    ended_grace_.reset();
    unanswered_.clear();
    auditor_.reset();
    open_requests_.clear();
}

void Checker::on_recovering() {
    auditor_.emplace();
    open_requests_.clear();
    ledger_.on_recovered();
}

// For the auditor, a lease that was found again is one that was granted a moment ago.
void Checker::on_restored(const core::RestoreRequest& lease) {
    const core::Time now = machine_.now();
    const core::Time end = now + std::max(lease.remaining, core::Duration{1us});
    const std::string members =
        lease.members.size() > 1 ? core::set_to_text(lease.members) : std::string();
    core::Event event{.kind = core::EventKind::granted,
                      .at = now - 1us,
                      .lease = {.scope = lease.scope,
                                .owner = lease.owner,
                                .mode = lease.mode,
                                .token = lease.token,
                                .expires_at = lease.is_in_grace ? now : end,
                                .grace_until = lease.is_in_grace ? end : end + lease.grace},
                      .limit = lease.limit};
    event.lease.members = world_.keep(members);
    event.lease.notes.waiter = world_.keep(std::string(lease.notes.waiter));
    world_.note("        restored {} #{} {}", core::to_text(lease.scope),
                core::as_number(lease.token.fence), lease.owner.name);
    see(event);
    if (lease.is_in_grace) restored_in_grace_.push_back(event);
    ledger_.on_restored(lease, submission_of(lease.notes));
}

void Checker::on_recovered() {
    for (core::Event& event : std::exchange(restored_in_grace_, {})) {
        event.kind = core::EventKind::expired;
        event.at = machine_.now();
        see(event);
    }
}

void Checker::look(core::Duration lateness_max) {
    if (!auditor_) return;
    if (const auto complaint = auditor_->find_overdue(machine_.now() - lateness_max - 1us)) {
        world_.accuse(invariant_of(*complaint), *complaint);
    }
    open_requests_.check(lateness_max);
}

}  // namespace holdfast::sim
