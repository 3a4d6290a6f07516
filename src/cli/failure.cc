#include "cli/failure.h"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "base/json/json.h"
#include "base/json/json_writer.h"
#include "cli/screen/terminal_text.h"

namespace holdfast::cli {

namespace {

// The code of a failure in JSON. The server's answers and the other clients have the same ones.
std::string_view code_of(int exit_code) {
    switch (exit_code) {
        case exit_refused: return "Refused";
        case exit_usage: return "BadRequest";
        case exit_unavailable: return "ServerUnavailable";
        case exit_cannot_write: return "CannotWrite";
        case exit_not_got: return "LockHeld";
        case exit_lost: return "LockLost";
        case exit_not_permitted: return "NotPermitted";
        case exit_not_executable:
        case exit_not_found: return "CannotRun";
        default: return "Internal";
    }
}

// `"name":value`, of which a Failure has some.
class Facts {
  public:
    // NOLINTNEXTLINE(bugprone-easily-swappable-parameters): first the name, as in the text
    Facts& text(std::string_view name, std::string_view value) {
        begin(name);
        base::append_json_string(text_, value);
        return *this;
    }
    Facts& number(std::string_view name, std::uint64_t value) {
        begin(name);
        text_ += std::to_string(value);
        return *this;
    }
    [[nodiscard]] std::string take() { return std::move(text_); }

  private:
    void begin(std::string_view name) {
        if (!text_.empty()) text_ += ',';
        text_ += fmt::format("\"{}\":", name);
    }

    std::string text_;
};

Failure held_failure(const LockHeld& held, const std::string& title) {
    if (held.holder.empty()) {
        return {exit_not_got, fmt::format("{} was not granted in time", title),
                Facts().text("error", "WaitTimedOut").text("scope", title).take()};
    }
    const bool is_endless = held.expires_at == std::chrono::system_clock::time_point::max();
    const auto until =
        std::chrono::floor<std::chrono::milliseconds>(held.expires_at.time_since_epoch());
    const std::string end = is_endless ? "it is released" : moment(until.count());
    Facts facts;
    facts.text("error", "LockHeld").text("scope", held.scope.to_text()).text("holder", held.holder);
    if (!is_endless) facts.text("expires_at", end);
    if (held.retry_after) {
        facts.number("retry_after_ms", static_cast<std::uint64_t>(held.retry_after->count()));
    }
    return {exit_not_got, fmt::format("{} is held by {} until {}", title, held.holder, end),
            facts.take()};
}

Failure deadlock_failure(const LockDeadlock& deadlock, const std::string& title) {
    std::string cycle;
    base::JsonWriter json(cycle);
    json.begin_object();
    append_cycle(json, deadlock.cycle);
    json.end_object();
    Facts facts;
    facts.text("error", "Deadlock").text("scope", deadlock.scope.to_text());
    // Without the braces of the object.
    return {exit_not_got,
            fmt::format("waiting for {} would never end: {}", title, to_text(deadlock.cycle)),
            facts.take() + "," + cycle.substr(1, cycle.size() - 2)};
}

Failure stale_failure(const StaleFence& stale) {
    return {exit_refused,
            fmt::format("{} is too old for {}: the largest fencing number is {}. Do not write.",
                        stale.fencing_token, stale.resource, stale.highest),
            Facts()
                .text("error", "StaleFence")
                .text("resource", stale.resource)
                .number("fencing_token", stale.fencing_token)
                .number("highest", stale.highest)
                .take()};
}

Failure with_code(int exit_code, std::string message, std::string_view code) {
    return {exit_code, std::move(message), Facts().text("error", code).take()};
}

}  // namespace

void append_cycle(base::JsonWriter& json, const std::vector<DeadlockMember>& cycle) {
    json.begin_array("cycle");
    for (const DeadlockMember& member : cycle) {
        json.begin_object();
        if (member.is_hidden) {
            json.field("hidden", true);
        } else {
            json.field("holder", member.holder);
            if (!member.waiter.empty()) json.field("waiter", member.waiter);
            json.field("door", member.door)
                .field("waits_for", member.waits_for.to_text())
                .field("held_by", member.held_by);
            if (member.fencing_token > 0) json.field("fencing_token", member.fencing_token);
        }
        json.end_object();
    }
    json.end_array();
}

Failure to_failure(const LockError& error, const std::string& title) {
    if (const auto* const held = std::get_if<LockHeld>(&error)) return held_failure(*held, title);
    if (const auto* const deadlock = std::get_if<LockDeadlock>(&error)) {
        return deadlock_failure(*deadlock, title);
    }
    if (const auto* const stale = std::get_if<StaleFence>(&error)) return stale_failure(*stale);
    const std::string message = to_text(error);
    if (std::holds_alternative<LockExpired>(error)) {
        return with_code(exit_refused, "the lease has ended: somebody else may hold the lock",
                         "LockExpired");
    }
    if (std::holds_alternative<LockNotFound>(error)) {
        return with_code(exit_refused, "no lease has this token", "LockNotFound");
    }
    if (std::holds_alternative<ServerUnavailable>(error)) {
        const bool is_question = message.ends_with('?');
        return {exit_unavailable,
                message + (is_question ? " See --server"
                                       : "; is `holdfast serve` running there? see --server")};
    }
    if (std::holds_alternative<NotPermitted>(error)) {
        return {exit_not_permitted, message + "; see --token-file"};
    }
    if (std::holds_alternative<InvalidLockRequest>(error)) return {exit_usage, message};
    if (std::holds_alternative<LockLimitReached>(error) ||
        std::holds_alternative<LockStoreFailure>(error)) {
        return with_code(exit_unavailable, message, "LimitReached");
    }
    return {exit_refused, message};
}

int complain(const Failure& failure, Telling telling) {
    if (telling == Telling::sentence) {
        std::fprintf(stderr, "holdfast: %s\n", escape(failure.message).c_str());
        return failure.exit_code;
    }
    std::string facts = failure.facts;
    if (facts.empty()) facts = Facts().text("error", code_of(failure.exit_code)).take();
    facts += "," + Facts().text("message", failure.message).take();
    facts += fmt::format(",\"exit_code\":{}", failure.exit_code);
    std::fprintf(telling == Telling::json ? stdout : stderr, "{%s}\n", facts.c_str());
    return failure.exit_code;
}

}  // namespace holdfast::cli
