#include "cli/event_feed.h"

#include <fmt/format.h>

#include "base/json/json_value.h"
#include "cli/screen/lock_rows.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "sdk/http/events.h"
#include "sdk/lease_json.h"
#include "sdk/patience.h"

namespace holdfast::cli {

namespace {

constexpr std::chrono::seconds connect_again_after{1};

Style style_of(std::string_view kind) {
    if (kind == "granted") return Style::green;
    if (kind == "queued") return Style::cyan;
    if (kind == "renewed") return Style::faint;
    if (kind == "expired" || kind == "fence_refused" || kind == "deadlock" || kind == "gap") {
        return Style::red;
    }
    return kind.starts_with("wait_") || kind == "audit" ? Style::yellow : Style::plain;
}

// The thing that the event is about: a scope, a resource or a session.
std::string subject(const base::JsonValue& data) {
    if (!data["cycle"].is_null()) return escape(to_text(sdk::read_cycle(data["cycle"])));
    if (const std::string scope = scope_of_event(data); !scope.empty()) {
        return escape(scope + set_text(scope, read_texts(data["scopes"])));
    }
    if (!data["action"].is_null()) return escape(data["what"].text());
    if (!data["resource"].is_null()) return "fence:" + escape(data["resource"].text());
    if (!data["session"].is_null()) return fmt::format("session:{}", number_of(data["session"]));
    return "";
}

std::string details(const std::string& kind, const base::JsonValue& data) {
    std::string text;
    const auto add = [&](std::string_view name, const std::string& value) {
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
    };
    const auto milliseconds = [&](const char* field) {
        return countdown(std::chrono::milliseconds{number_of(data[field])});
    };
    if (!data["action"].text().empty()) add("action", escape(data["action"].text()));
    if (data["mode"].text() == "shared") add("mode", "shared");
    if (const auto fence = data["fencing_token"].number()) add("fence", std::to_string(*fence));
    if (const auto highest = data["highest"].number()) add("highest", std::to_string(*highest));
    if (kind == "granted" || kind == "renewed") {
        const auto end_ms = data["lease_expiry_ms"].number();
        add("ttl", end_ms ? countdown(std::chrono::milliseconds{*end_ms - number_of(data["at_ms"])})
                          : "none");
    }
    if (!data["held_ms"].is_null()) add("held", milliseconds("held_ms"));
    if (!data["waited_ms"].is_null()) add("waited", milliseconds("waited_ms"));
    if (!data["cause"].text().empty()) add("cause", escape(data["cause"].text()));
    if (!data["by"].text().empty()) add("by", escape(data["by"].text()));
    if (number_of(data["queue_length"]) > 0) {
        add("queue", std::to_string(number_of(data["queue_length"])));
    }
    if (!data["metadata"].text().empty()) add("metadata", escape(data["metadata"].text()));
    return text;
}

}  // namespace

Asked<void> follow_events(Server& server, const Follower& follower) {
    bool was_open = false;
    const auto on_open = [&] {
        if (was_open) follower.on_trouble("");
        was_open = true;
        follower.on_open();
        return true;
    };
    const auto on_event = [&](const LockEvent& event) {
        follower.on_event(event);
        return true;
    };
    const auto on_break = [&](const sdk::NoAnswer& none) {
        const Failure failure = server.to_failure(none, "/v1/events");
        if (!was_open || failure.exit_code != exit_unavailable) return false;
        follower.on_trouble(failure.message + "; trying again");
        return sdk::sleep_for(connect_again_after, follower.stop);
    };
    const auto followed = sdk::follow_events(server.exchange(), {.prefix = follower.prefix,
                                                                 .after = {},
                                                                 .on_open = on_open,
                                                                 .on_event = on_event,
                                                                 .on_break = on_break,
                                                                 .stop = follower.stop});
    if (!followed) return tl::unexpected(server.to_failure(followed.error(), "/v1/events"));
    return {};
}

std::string event_line(const LockEvent& event, bool has_colour) {
    const auto data = base::JsonValue::parse(event.data).value_or(base::JsonValue());
    const std::string at =
        data["at_ms"].is_null() ? std::string(24, '-') : moment(number_of(data["at_ms"]));
    std::string line = fmt::format(
        "{}  {}", styled(at, Style::faint, has_colour),
        styled(fmt::format("{:<14}", escape(event.kind)), style_of(event.kind), has_colour));
    for (const std::string& part :
         {subject(data), escape(data["owner_id"].text()), details(event.kind, data)}) {
        if (!part.empty()) line += "  " + part;
    }
    if (event.kind == "gap") line += "  some events are missing";
    return line;
}

}  // namespace holdfast::cli
