#include "scenarios/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::scenarios {

using core::Event;
using core::EventKind;
using core::Outcome;

namespace {

constexpr core::Duration usual_ttl = std::chrono::seconds{30};

std::string format_fence(core::Fence fence) {
    return fmt::format("#{}", static_cast<std::uint64_t>(fence));
}

// Whether `answer` already tells of `event`.
bool is_told_by(const Outcome& answer, const Event& event) {
    switch (answer.kind) {
        case Outcome::Kind::granted:
            return event.lease.token == answer.lease.token &&
                   (event.kind == EventKind::granted || event.kind == EventKind::renewed);
        case Outcome::Kind::renewed:
            return event.kind == EventKind::renewed && event.lease.token == answer.lease.token;
        case Outcome::Kind::released:
            return event.kind == EventKind::released && event.cause == core::Cause::request;
        case Outcome::Kind::queued:
            return event.kind == EventKind::queued && event.waiter == answer.waiter;
        case Outcome::Kind::found:
        case Outcome::Kind::refused: return false;
    }
    return false;
}

std::string_view format_cause(core::Cause cause) {
    switch (cause) {
        case core::Cause::none:
        case core::Cause::request: return "";
        case core::Cause::session_end: return " with its session";
        case core::Cause::force: return " by force";
        case core::Cause::restart: return " after a restart";
    }
    return "";
}

}  // namespace

base::Result<Result> Stage::play(const Step& step) {
    if (step.at < at_) return base::fail("time never goes back");
    if (std::exchange(is_stopped_, false)) {
        table_.advance(step.at);
        collect();
    } else {
        pass_time(step.at);
    }
    at_ = step.at;
    Result result;
    if (!step.command.empty()) {
        TRY(const Words words, parse_words(step.command));
        TRY(result.answer, perform(words));
        table_.check_invariants();
    }
    result.effects = std::exchange(effects_, {});
    return result;
}

core::TableCounts Stage::empty() {
    for (const auto& [who, session] : sessions_) {
        table_.end_session(at_, session);
        table_.check_invariants();
    }
    while (const auto next = table_.next_deadline()) {
        table_.advance(*next);
        table_.check_invariants();
    }
    return table_.counts();
}

void Stage::pass_time(core::Time until) {
    for (auto next = table_.next_deadline(); next && *next <= until;
         next = table_.next_deadline()) {
        table_.advance(*next);
        table_.check_invariants();
        collect();
    }
    table_.advance(until);
    collect();
}

base::Result<std::string> Stage::perform(const Words& words) {
    if (words.verb == "stop") {
        is_stopped_ = true;
        return "";
    }
    if (words.verb == "connect") {
        sessions_[std::string(words.object)] = table_.open_session(at_, owner(words.object));
        collect();
        return "connected";
    }
    if (words.verb == "disconnect") return disconnect(words);
    if (words.verb == "deadlocks") return list_deadlocks();
    TRY(const auto set, parse_objects(words));
    const core::Scope& scope = set.front().scope;
    if (words.verb == "show") return draw(scope);
    if (words.verb == "force") {
        const auto ended = table_.force_release(at_, scope);
        collect();
        return fmt::format("ended {}", ended);
    }
    if (words.verb == "renew" || words.verb == "release") return use_token(words, scope);
    if (words.by.empty()) return base::fail("it is not said `by` whom");
    if (words.verb == "again") return wait_on(words);
    if (words.verb == "cancel") return cancel(words);
    return ask(words, set);
}

base::Result<std::string> Stage::ask(const Words& words, const std::vector<core::SetMember>& set) {
    const core::Scope& scope = set.front().scope;
    const auto patience = words.within.value_or(core::wait_forever);
    core::AcquireRequest request{.scope = scope,
                                 .owner = owner(words.by),
                                 .mode = words.mode,
                                 .limit = words.permits,
                                 .ttl = words.ttl.value_or(usual_ttl),
                                 .grace = words.grace,
                                 .memory = words.memory,
                                 .session = session(words.by),
                                 .secret = core::Secret{++last_secret_}};
    request.members = set;
    request.notes.waiter = words.waiter;
    if (words.refuse) request.on_deadlock = core::OnDeadlock::refuse;
    Outcome outcome;
    if (words.verb == "acquire") {
        request.renew_own = true;
        outcome = table_.acquire(at_, request);
    } else if (words.verb == "try") {
        outcome = table_.acquire(at_, request);
    } else if (words.verb == "lock") {
        request.wait = patience;
        outcome = table_.acquire(at_, request);
    } else if (words.verb == "enqueue") {
        outcome = table_.enqueue(at_, request);
    } else if (words.verb == "wait") {
        outcome = table_.wait(at_, session(words.by), scope, patience);
    } else if (words.verb == "unlock") {
        outcome = table_.release_own(at_, scope, owner(words.by));
    } else {
        return base::fail(fmt::format("`{}` is not a command", words.verb));
    }
    auto answer = format_outcome(outcome);
    if (outcome.kind == Outcome::Kind::queued) {
        waiters_[{std::string(words.by), std::string(words.object)}] = outcome.waiter;
    }
    collect(&outcome);
    return answer;
}

base::Result<std::string> Stage::use_token(const Words& words, const core::Scope& scope) {
    auto fence = words.token;
    if (!fence) {
        const auto last = last_grants_.find(OwnerAndScope{words.by, words.object});
        if (last == last_grants_.end()) return base::fail("it was never granted that");
        fence = last->second;
    }
    // A token that was never given out gets a wrong secret.
    const auto known = tokens_.find(*fence);
    const auto token = known == tokens_.end() ? core::Token{*fence, core::Secret{}} : known->second;
    const auto outcome =
        words.verb == "renew"
            ? table_.renew(at_, {.token = token, .scope = scope, .owner = {}, .ttl = words.ttl})
            : table_.release(at_, {.token = token, .scope = scope, .owner = {}});
    auto answer = format_outcome(outcome);
    collect(&outcome);
    return answer;
}

base::Result<std::string> Stage::wait_on(const Words& words) {
    const auto waiter = waiters_.find(OwnerAndScope{words.by, words.object});
    if (waiter == waiters_.end()) return base::fail("it never queued for that");
    const bool is_waiting =
        table_.wait_on(at_, waiter->second, words.within.value_or(core::wait_forever));
    collect();
    return is_waiting ? "waits on" : "not waiting";
}

base::Result<std::string> Stage::cancel(const Words& words) {
    const auto waiter = waiters_.find(OwnerAndScope{words.by, words.object});
    if (waiter == waiters_.end()) return base::fail("it never queued for that");
    const bool was_waiting = table_.cancel(at_, waiter->second);
    collect();
    return was_waiting ? "cancelled" : "not waiting";
}

base::Result<std::string> Stage::disconnect(const Words& words) {
    const auto found = sessions_.find(words.object);
    if (found == sessions_.end()) return base::fail("it never connected");
    using enum core::LockTable::SessionLeases;
    const bool was_connected = table_.end_session(at_, found->second, words.keep ? keep : release);
    collect();
    return was_connected ? "disconnected" : "not connected";
}

std::string Stage::list_deadlocks() {
    const auto deadlocks = table_.list_deadlocks().cycles;
    for (const core::Cycle& deadlock : deadlocks) {
        effects_.push_back(fmt::format("| since {} {}", format_time(deadlock.since),
                                       core::describe_cycle(*core::parse_cycle(deadlock.text))));
    }
    return fmt::format("{} deadlocks", deadlocks.size());
}

std::string Stage::draw(const core::Scope& scope) {
    const auto lock = table_.inspect(scope);
    if (!lock) return "free";
    const bool is_inode = scope.is_of_inode();
    const auto part = [&](const auto& view) {
        return fmt::format("{}{}", is_inode ? " " + format_scope(view.scope) : "",
                           view.mode == core::Mode::shared ? " shared" : "");
    };
    for (const auto& lease : lock->holders) {
        const bool is_kept = lease.state == core::LeaseState::grace;
        effects_.push_back(
            fmt::format("| {} {}{} {} {}", name(lease.owner), format_fence(lease.token.fence),
                        part(lease), is_kept ? "kept until" : "until",
                        format_time(is_kept ? lease.grace_until : lease.expires_at)));
    }
    if (lock->lapsed) effects_.push_back(fmt::format("| remembers {}", name(lock->lapsed->owner)));
    for (const auto& waiter : lock->waiters) {
        effects_.push_back(fmt::format(
            "| {}. {}{} behind {}{}", waiter.position, name(waiter.owner), part(waiter),
            name(waiter.blocker),
            waiter.is_blocked_by_waiter ? "" : " " + format_fence(waiter.blocker_fence)));
    }
    return fmt::format("{} held, {} waiting", lock->holders.size(), lock->waiter_count);
}

void Stage::collect(const Outcome* answer) {
    const auto& changes = table_.changes();
    for (std::size_t i = 0; i < changes.size(); ++i) {
        const Event event = changes[i];
        if (event.kind == EventKind::granted) {
            const auto fence = event.lease.token.fence;
            const auto scopes = format_scopes(event.lease.scope, event.lease.members);
            last_grants_[{name(event.lease.owner), scopes}] = fence;
            tokens_[fence] = event.lease.token;
        }
        if (answer == nullptr || !is_told_by(*answer, event)) note(event);
    }
    table_.clear_changes();
}

void Stage::note(const Event& event) {
    const auto& lease = event.lease;
    const auto fence = format_fence(lease.token.fence);
    std::string what, more;
    switch (event.kind) {
        case EventKind::granted:
            what = "granted";
            more = fmt::format(" {} until {}", fence, format_time(lease.expires_at));
            break;
        case EventKind::expired:
            what = "expired";
            more = " " + fence;
            if (event.grace > core::Duration::zero()) {
                more += fmt::format(" kept until {}", format_time(lease.grace_until));
            }
            break;
        case EventKind::released: what = "released", more = " " + fence; break;
        case EventKind::renewed: what = "renewed", more = " " + fence; break;
        case EventKind::grace_ended: what = "freed", more = " " + fence; break;
        case EventKind::value_set: what = "value set", more = " " + fence; break;
        case EventKind::queued: what = "queued"; break;
        case EventKind::wait_timed_out: what = "timed out"; break;
        case EventKind::wait_cancelled: what = "cancelled"; break;
        case EventKind::session_opened:
        case EventKind::session_ended: return;  // the answer says so
        case EventKind::deadlock:
            effects_.push_back(fmt::format("=> {} deadlock: {}", format_time(event.at),
                                           core::describe_cycle(*core::parse_cycle(event.cycle))));
            return;
    }
    effects_.push_back(fmt::format("=> {} {} {} {}{}{}", format_time(event.at), what,
                                   format_scopes(lease.scope, lease.members), name(lease.owner),
                                   more, format_cause(event.cause)));
}

std::string Stage::format_outcome(const Outcome& outcome) const {
    const auto& lease = outcome.lease;
    const auto fence = format_fence(lease.token.fence);
    switch (outcome.kind) {
        case Outcome::Kind::granted:
            return fmt::format("granted {} until {}{}", fence, format_time(lease.expires_at),
                               outcome.previous_owner.empty()
                                   ? ""
                                   : fmt::format(" from {}", outcome.previous_owner));
        case Outcome::Kind::renewed:
            return fmt::format("renewed {} until {}", fence, format_time(lease.expires_at));
        case Outcome::Kind::found:
            return fmt::format("found {} until {}", fence, format_time(lease.expires_at));
        case Outcome::Kind::released: return "released";
        case Outcome::Kind::queued:
            return outcome.position == 0 ? "queued" : fmt::format("queued at {}", outcome.position);
        case Outcome::Kind::refused: break;
    }
    const auto why = core::to_text(outcome.refusal);
    if (outcome.refusal == core::Refusal::in_grace) {
        return fmt::format("refused {} {} until {}", why, name(lease.owner),
                           format_time(lease.grace_until));
    }
    if (outcome.refusal != core::Refusal::held) return fmt::format("refused {}", why);
    return fmt::format(
        "refused {} {} until {}{}", why, name(lease.owner), format_time(lease.expires_at),
        outcome.queue_length == 0 ? "" : fmt::format(", {} waiting", outcome.queue_length));
}

core::Owner Stage::owner(std::string_view who) {
    const auto at = std::min(who.find('@'), who.size());
    const auto door = who.substr(at);
    auto known = std::find(doors_.begin(), doors_.end(), door);
    if (known == doors_.end()) known = doors_.insert(doors_.end(), std::string(door));
    return {.door = static_cast<core::Door>(known - doors_.begin()), .name = who.substr(0, at)};
}

std::string Stage::name(const core::Owner& owner) const {
    return std::string(owner.name) + doors_.at(static_cast<std::size_t>(owner.door));
}

core::SessionId Stage::session(std::string_view who) const {
    const auto found = sessions_.find(who);
    return found == sessions_.end() ? core::SessionId{} : found->second;
}

}  // namespace holdfast::scenarios
