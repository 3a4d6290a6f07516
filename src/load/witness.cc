#include "load/witness.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::load {

Witness::Question Witness::ask() const {
    const std::lock_guard guard(mutex_);
    return {.asked_at = now_(), .number_seen = largest_number_};
}

Witness::Hold Witness::see_grant(const Question& question, const Answer& answer) {
    const std::lock_guard guard(mutex_);
    const TimePoint now = now_();
    ++grants_;
    const bool has_number = answer.fencing_number != 0;
    const Hold hold{.id = grants_,
                    .number = has_number ? answer.fencing_number : grants_,
                    .asked_at = question.asked_at,
                    .seen_at = now};
    const TimePoint until = question.asked_at + answer.ttl;
    for (const auto& [id, other] : holders_) {
        if (now >= other.until || now >= until) continue;
        report(fmt::format("{} was granted to {} (number {}) while {} (number {}) still held it",
                           lock_, answer.owner, hold.number, other.owner, other.number));
    }
    if (has_number && hold.number <= question.number_seen) {
        report(fmt::format("{} was granted to {} under number {}, after number {} had been seen",
                           lock_, answer.owner, hold.number, question.number_seen));
    } else if (has_number && hold.number == largest_number_) {
        report(fmt::format("{} was granted twice under number {}", lock_, hold.number));
    }
    largest_number_ = std::max(largest_number_, hold.number);
    if (now < until) {
        holders_.insert({hold.id, {.owner = answer.owner, .number = hold.number, .until = until}});
    }
    return hold;
}

bool Witness::write(const Hold& hold) {
    const std::lock_guard guard(mutex_);
    if (!downstream_.write(hold.number)) return false;
    if (hold.seen_at < writer_asked_at_) {
        report(fmt::format("{}: a write under number {} was accepted after that of a later holder",
                           lock_, hold.number));
    }
    writer_asked_at_ = std::max(writer_asked_at_, hold.asked_at);
    return true;
}

void Witness::see_release(const Hold& hold) {
    const std::lock_guard guard(mutex_);
    holders_.erase(hold.id);
}

Downstream Witness::downstream() const {
    const std::lock_guard guard(mutex_);
    return downstream_;
}

std::vector<std::string> Witness::faults() const {
    const std::lock_guard guard(mutex_);
    return faults_;
}

std::uint64_t Witness::fault_count() const {
    const std::lock_guard guard(mutex_);
    return fault_count_;
}

void Witness::report(std::string fault) {
    constexpr std::size_t faults_max = 100;
    ++fault_count_;
    if (faults_.size() < faults_max) faults_.push_back(std::move(fault));
}

}  // namespace holdfast::load
