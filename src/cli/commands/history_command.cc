// `holdfast history`: who held what, from when to when, and how it ended.

#include "cli/commands/history_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/json/json_value.h"
#include "base/result.h"
#include "base/text/duration.h"
#include "base/text/number.h"
#include "base/text/rfc3339.h"
#include "cli/command.h"
#include "cli/screen/table.h"
#include "cli/screen/terminal_text.h"
#include "net/client/url.h"
#include "options/options.h"
#include "sdk/lease_json.h"

namespace holdfast::cli {

namespace {

constexpr std::uint64_t page_max = 1'000;

// Milliseconds since 1970. `2h` is two hours before `now_ms`.
Asked<std::int64_t> read_time(const char* option, const std::string& text, std::int64_t now_ms) {
    if (const auto time = base::parse_rfc3339(text)) return time->time_since_epoch().count();
    if (const auto ago = base::parse_long_duration(text); ago && *ago >= ago->zero()) {
        return now_ms - std::chrono::duration_cast<std::chrono::milliseconds>(*ago).count();
    }
    if (const auto ms = base::parse_decimal<std::int64_t>(text); ms && *ms >= 0) return *ms;
    return fail(exit_usage,
                fmt::format("{}: '{}' is neither a duration (so long ago), such as 2h or 7d, nor a "
                            "time, such as 2026-01-15T10:30:00Z",
                            option, text));
}

std::int64_t ms_of(const base::JsonValue& time) {
    const auto read = base::parse_rfc3339(time.text());
    return read ? read->time_since_epoch().count() : 0;
}

Cell ended_cell(std::string_view ended) {
    const bool is_usual = ended == "released";
    return {escape(ended), is_usual ? Style::plain : Style::red};
}

std::string scope_text(const base::JsonValue& json) {
    const auto scope = sdk::read_scope(json);
    return scope ? scope->to_text() : "";
}

// The lock, or all locks of a set.
std::string title_of(const base::JsonValue& hold) {
    std::string text;
    for (const base::JsonValue& member : hold["scopes"].items()) {
        if (!text.empty()) text += ' ';
        text += scope_text(member["scope"]);
    }
    return text.empty() ? scope_text(hold["scope"]) : text;
}

void add_row(Table& table, const base::JsonValue& hold) {
    const std::int64_t began = ms_of(hold["acquired_at"]), ended = ms_of(hold["ended_at"]);
    const std::int64_t waited = hold["waited_ms"].number().value_or(0);
    table.add({escape(title_of(hold)), escape(hold["holder"].text()), moment(began),
               countdown(std::chrono::milliseconds{std::max(ended - began, std::int64_t{0})}),
               waited == 0 ? "" : countdown(std::chrono::milliseconds{waited}),
               ended_cell(hold["ended"].text()),
               std::to_string(hold["fencing_token"].natural().value_or(0)),
               escape(hold["door"].text()), escape(hold["granted_by"].text()),
               escape(hold["ended_by"].text()), escape(hold["metadata"].text())});
}

// Calls `take` for each row, newest first, page by page.
template <class Take>
Asked<void> for_each_row(Server& server, const HistoryOptions& options, Take take) {
    TRY(const auto offset, server.clock_offset());
    const std::int64_t now_ms = unix_now_ms() + offset.count();
    std::string after;
    std::uint64_t left = options.limit;
    do {
        TRY(std::string target, history_target(options, std::min(left, page_max), now_ms));
        if (!after.empty()) target += "&after=" + net::percent_encode(after);
        TRY(const auto page, server.get(target));
        for (const base::JsonValue& hold : page.json["history"].items()) take(hold);
        left -= std::min<std::uint64_t>(left, page.json["history"].items().size());
        TRY(after, next_page(page.json["next"], after));
    } while (!after.empty() && left > 0);
    return {};
}

Asked<int> show_history(const HistoryOptions& options) {
    TRY(auto server, Server::open(options.server));
    if (options.server.is_json) {
        TRY(for_each_row(server, options,
                         [](const base::JsonValue& hold) { std::puts(hold.to_json().c_str()); }));
        return exit_success;
    }
    Table table({{.title = "LOCK", .width_min = 12},
                 {.title = "HOLDER", .width_min = 8},
                 {.title = "FROM"},
                 {.title = "HELD", .align = Align::right},
                 {.title = "WAITED", .align = Align::right},
                 {.title = "ENDED"},
                 {.title = "FENCE", .align = Align::right},
                 {.title = "DOOR"},
                 {.title = "ACQUIRED BY"},
                 {.title = "ENDED BY"},
                 {.title = "METADATA", .width_min = 8}});
    TRY(for_each_row(server, options,
                     [&table](const base::JsonValue& hold) { add_row(table, hold); }));
    if (table.is_empty()) {
        std::puts("nothing was held, or the history does not remember it");
    } else {
        print(table);
    }
    return exit_success;
}

}  // namespace

Asked<std::string> history_target(const HistoryOptions& options, std::uint64_t limit,
                                  std::int64_t now_ms) {
    std::string target = "/v1/history?limit=" + std::to_string(limit);
    if (!options.lock.empty()) target += "&scope=" + net::percent_encode(options.lock);
    if (!options.owner.empty()) target += "&owner=" + net::percent_encode(options.owner);
    if (!options.since.empty()) {
        TRY(const auto since, read_time("--since", options.since, now_ms));
        target += "&since=" + std::to_string(std::max(since, std::int64_t{0}));
    }
    if (!options.until.empty()) {
        TRY(const auto until, read_time("--until", options.until, now_ms));
        target += "&until=" + std::to_string(std::max(until, std::int64_t{0}));
    }
    return target;
}

Command declare_history(const options::Command& program) {
    const auto options = std::make_shared<HistoryOptions>();
    const options::Command command =
        program.add_command("history", "show who held a lock, from when to when, and how it ended");
    command
        .add_option("lock", options->lock,
                    "a name, or what `ls` prints: path:/a, semaphore:s. Default: all locks")
        .takes("LOCK");
    command.add_option("--owner", options->owner, "only what this owner held").takes("OWNER");
    command
        .add_option("--since", options->since,
                    "only what was held after this time: 2h (ago), 7d, or 2026-01-15T10:30:00Z")
        .takes("TIME");
    command.add_option("--until", options->until, "only what was held before this time")
        .takes("TIME");
    command.add_option("--limit", options->limit, "largest number of rows, newest first")
        .above_zero()
        .shows_default();
    declare_server_options(command, options->server);
    command.footer(
        "A hold is shown when it has ended; `holdfast show` shows those that last.\n"
        "\n"
        "  holdfast history nightly\n"
        "  holdfast history --owner ann --since 2h\n"
        "  holdfast history --json | jq 'select(.ended != \"released\")'");
    return {.options = command, .run = [options] { return show_history(*options); }};
}

}  // namespace holdfast::cli
