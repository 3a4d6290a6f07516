#include "model/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::model {

using namespace core;

namespace {

template <class Id>
std::size_t find_number(const std::vector<Id>& ids, Id id) {
    if (!id) return 0;
    // The latest first: most questions are about them.
    for (std::size_t index = ids.size(); index-- > 0;) {
        if (ids[index] == id) return index + 1;
    }
    return ids.size() + 1;
}

std::string_view to_text(Outcome::Kind kind) {
    switch (kind) {
        case Outcome::Kind::granted: return "granted";
        case Outcome::Kind::renewed: return "renewed";
        case Outcome::Kind::found: return "found";
        case Outcome::Kind::released: return "released";
        case Outcome::Kind::queued: return "queued";
        case Outcome::Kind::refused: return "refused";
    }
    return "";
}

std::string_view to_text(LeaseState state) {
    switch (state) {
        case LeaseState::held: return "held";
        case LeaseState::grace: return "grace";
        case LeaseState::lapsed: return "lapsed";
    }
    return "";
}

// The members of a set behind its first scope; nothing for a single scope.
std::string of_set(std::string_view members) {
    return members.empty() ? "" : fmt::format(" of {}", members);
}

}  // namespace

std::size_t Names::number_of(WaiterId id) const {
    return find_number(waiters, id);
}
std::size_t Names::number_of(SessionId id) const {
    return find_number(sessions, id);
}

std::string to_text(Time time) {
    if (time == Time::max()) return "never";
    return fmt::format("{}us", time.time_since_epoch().count());
}

std::string to_text(const Owner& owner) {
    return fmt::format("{}@{}", owner.name, static_cast<int>(owner.door));
}

std::string to_text(const Notes& notes) {
    return fmt::format("'{}' '{}' '{}'", notes.request_id, notes.metadata, notes.waiter);
}

std::string to_text(const LeaseView& lease, const Names& names) {
    return fmt::format("{}{} {} by {} #{}/{} {} from {} to {} grace {} ttl {}{} s{} {} '{}' {}",
                       core::to_text(lease.scope), of_set(lease.members), core::to_text(lease.mode),
                       to_text(lease.owner), static_cast<std::uint64_t>(lease.token.fence),
                       static_cast<std::uint64_t>(lease.token.secret), to_text(lease.state),
                       to_text(lease.acquired_at), to_text(lease.expires_at),
                       to_text(lease.grace_until), lease.ttl.count(),
                       lease.is_transient ? " transient" : "", names.number_of(lease.session),
                       to_text(lease.notes), lease.value, lease.revision);
}

std::string to_text(const Outcome& outcome, const Names& names) {
    const std::string_view kind = to_text(outcome.kind);
    switch (outcome.kind) {
        case Outcome::Kind::granted:
            return fmt::format("{} {} after '{}'", kind, to_text(outcome.lease, names),
                               outcome.previous_owner);
        case Outcome::Kind::renewed:
        case Outcome::Kind::found: return fmt::format("{} {}", kind, to_text(outcome.lease, names));
        case Outcome::Kind::released: return std::string(kind);
        case Outcome::Kind::queued:
            return fmt::format("{} w{} at {}", kind, names.number_of(outcome.waiter),
                               outcome.position);
        case Outcome::Kind::refused: break;
    }
    if (outcome.refusal == Refusal::held || outcome.refusal == Refusal::in_grace) {
        return fmt::format("{} as held or in_grace at {}, {} in queue{}", kind, outcome.member,
                           outcome.queue_length, outcome.is_queue_full ? ", full" : "");
    }
    return fmt::format("{} as {} at {}", kind, core::to_text(outcome.refusal), outcome.member);
}

std::string to_text(const Event& event, const Names& names) {
    std::string line = fmt::format("{} {} at {} ", core::to_text(event.kind),
                                   core::to_text(event.cause), to_text(event.at));
    switch (event.kind) {
        case EventKind::granted:
        case EventKind::value_set:
        case EventKind::renewed: line += to_text(event.lease, names); break;
        case EventKind::released:
        case EventKind::expired:
        case EventKind::grace_ended:
            // Whether state and session are shown as before or after the end is left open.
            line += fmt::format("{}{} by {} #{} to {}", core::to_text(event.lease.scope),
                                of_set(event.lease.members), to_text(event.lease.owner),
                                static_cast<std::uint64_t>(event.lease.token.fence),
                                to_text(event.lease.expires_at));
            break;
        case EventKind::queued:
        case EventKind::wait_timed_out:
        case EventKind::wait_cancelled:
            line += fmt::format("{}{} {} by {} ttl {} s{} {}", core::to_text(event.lease.scope),
                                of_set(event.lease.members), core::to_text(event.lease.mode),
                                to_text(event.lease.owner), event.lease.ttl.count(),
                                names.number_of(event.lease.session), to_text(event.lease.notes));
            break;
        case EventKind::session_opened:
        case EventKind::session_ended:
            return line + fmt::format("{} s{}", to_text(event.lease.owner),
                                      names.number_of(event.lease.session));
        case EventKind::deadlock:
            return line + fmt::format("{} by {}", core::to_text(event.lease.scope),
                                      to_text(event.lease.owner));
    }
    if (event.has_new_terms) line += " on new terms";
    return line + fmt::format(" grace {} memory {} limit {} w{} since {} after '{}'",
                              event.grace.count(), event.memory.count(), event.limit,
                              names.number_of(event.waiter), to_text(event.waiting_since),
                              event.previous_owner);
}

std::string to_text(const LockView& lock, const Names& names) {
    std::string text = fmt::format("{} limit {} version {} idle since {}, {} holding, {} waiting\n",
                                   core::to_text(lock.scope), lock.limit, lock.version,
                                   lock.idle_since ? to_text(*lock.idle_since) : "-",
                                   lock.holder_count, lock.waiter_count);
    for (const LeaseView& lease : lock.holders) {
        text += fmt::format("  holder {}\n", to_text(lease, names));
    }
    for (const WaiterView& waiter : lock.waiters) {
        text += fmt::format("  {}. w{} {}{} {} by {} from {} to {} s{} {}\n", waiter.position,
                            names.number_of(waiter.id), core::to_text(waiter.scope),
                            of_set(waiter.members), core::to_text(waiter.mode),
                            to_text(waiter.owner), to_text(waiter.since), to_text(waiter.deadline),
                            names.number_of(waiter.session), to_text(waiter.notes));
    }
    if (lock.lapsed) text += fmt::format("  last {}\n", to_text(*lock.lapsed, names));
    return text;
}

std::string to_text(const SessionView& session, const Names& names) {
    return fmt::format("s{} of {} since {}, {} leases, {} waiters", names.number_of(session.id),
                       to_text(session.owner), to_text(session.opened_at), session.leases,
                       session.waiters);
}

std::string to_text(const TableCounts& counts) {
    return fmt::format("{} locks, {} idle, {} leases, {} waiters, {} sessions, {} entries",
                       counts.locks, counts.idle, counts.leases, counts.waiters, counts.sessions,
                       counts.entries);
}

std::string join_sorted(std::vector<std::string> lines) {
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) text.append(line).append("\n");
    return text;
}

}  // namespace holdfast::model
