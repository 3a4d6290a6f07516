// `holdfast ls`, `show` and `watch`: the holders and waiters of locks, and what happens to them.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/result.h"
#include "cli/command.h"
#include "cli/event_feed.h"
#include "cli/lock_argument.h"
#include "cli/lock_json.h"
#include "cli/screen/lock_rows.h"
#include "cli/screen/table.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "net/client/url.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

struct LookOptions {
    ServerOptions server;
    std::string name;  // or the beginning of names, for ls
};

Cell time_left(const HolderRow& holder, std::int64_t now_ms) {
    if (holder.grace_until_ms > 0) return {"grace", Style::faint};
    if (holder.is_endless()) return "no end";
    const std::chrono::milliseconds left{holder.expires_ms - now_ms};
    return {countdown(left), left < std::chrono::seconds{2} ? Style::red : Style::plain};
}

void add_rows(Table& table, const LockRow& lock, std::int64_t now_ms) {
    const std::string waiting = std::to_string(lock.waiter_count);
    for (const HolderRow& holder : lock.holders) {
        const std::string scope = scope_text(lock, holder);
        table.add({escape(scope + set_text(scope, holder.scopes)), kind_text(lock),
                   escape(holder.owner), holder.mode, time_left(holder, now_ms), waiting,
                   std::to_string(holder.fencing_token), holder.door});
    }
    if (lock.holders.empty()) {
        table.add({escape(scope_text(lock)), kind_text(lock), "-", "", "", waiting, "", ""});
    }
}

Asked<int> list(const LookOptions& options) {
    TRY(auto server, Server::open(options.server));
    TRY(const auto offset, server.clock_offset());
    const std::int64_t now_ms = unix_now_ms() + offset.count();
    const bool is_json = options.server.is_json;
    Table table({{.title = "LOCK", .width_min = 12},
                 {.title = "KIND"},
                 {.title = "HOLDER", .width_min = 8},
                 {.title = "MODE"},
                 {.title = "LEFT", .align = Align::right},
                 {.title = "WAITING", .align = Align::right},
                 {.title = "FENCE", .align = Align::right},
                 {.title = "DOOR"}});
    std::string after;
    do {
        std::string target = "/v1/locks?limit=1000&prefix=" + net::percent_encode(options.name);
        if (!after.empty()) target += "&after=" + net::percent_encode(after);
        TRY(const auto page, server.get(target));
        for (const base::JsonValue& lock : page.json["locks"].items()) {
            LockRow row = read_listed_lock(lock);
            TRY(add_other_holders(row, server));
            if (is_json) {
                std::puts(lock_json(row, scope_text(row), false).c_str());
            } else {
                add_rows(table, row, now_ms);
            }
        }
        TRY(after, next_page(page.json["next"], after));
    } while (!after.empty());
    if (is_json) return exit_success;
    if (table.is_empty()) {
        std::puts("nothing is held");
    } else {
        print(table);
    }
    return exit_success;
}

void print_queue(const LockRow& lock, std::int64_t now_ms) {
    Table table({{.title = "#", .align = Align::right},
                 {.title = "WAITS", .width_min = 8},
                 {.title = "MODE"},
                 {.title = "SINCE", .align = Align::right},
                 {.title = "AT MOST", .align = Align::right},
                 {.title = "FOR", .width_min = 8},
                 {.title = "DOOR"},
                 {.title = "METADATA", .width_min = 8}});
    std::size_t position = 0;
    for (const WaiterRow& waiter : lock.waiters) {
        const std::chrono::milliseconds since{now_ms - waiter.since_ms};
        const std::chrono::milliseconds until{waiter.until_ms - now_ms};
        const std::string scope = waiter.scope.empty() ? scope_text(lock) : waiter.scope;
        table.add({std::to_string(++position),
                   escape(waiter.owner + set_text(scope, waiter.scopes)), waiter.mode,
                   countdown(since), waiter.until_ms == 0 ? "" : countdown(until),
                   escape(waiter.waits_for), waiter.door, escape(waiter.metadata)});
    }
    std::puts("");
    print(table);
}

void print_lock(const LockRow& lock, const std::string& text, std::int64_t now_ms) {
    const std::string name = escape(text);
    if (lock.holders.empty()) {
        std::puts((name + " is free").c_str());
    } else {
        std::puts(fmt::format("{} is held{}", name,
                              lock.kind == "semaphore" ? ", " + kind_text(lock) : "")
                      .c_str());
        std::puts("");
        Table table({{.title = "HOLDER", .width_min = 8},
                     {.title = "MODE"},
                     {.title = "LEFT", .align = Align::right},
                     {.title = "UNTIL"},
                     {.title = "FENCE", .align = Align::right},
                     {.title = "METADATA", .width_min = 8}});
        for (const HolderRow& holder : lock.holders) {
            const std::string others = set_text(scope_text(lock, holder), holder.scopes);
            table.add({escape(holder.owner + others), holder.mode, time_left(holder, now_ms),
                       holder.is_endless() ? "-" : moment(holder.expires_ms),
                       std::to_string(holder.fencing_token), escape(holder.metadata)});
        }
        print(table);
    }
    if (!lock.waiters.empty()) print_queue(lock, now_ms);
}

Asked<int> show(const LookOptions& options) {
    TRY(auto server, Server::open(options.server));
    TRY(const auto lock, look_at(server, options.name));
    if (options.server.is_json) {
        std::puts(lock_json(lock, options.name, true).c_str());
        return exit_success;
    }
    TRY(const auto offset, server.clock_offset());
    const std::int64_t now_ms = unix_now_ms() + offset.count();
    print_lock(lock, options.name, now_ms);
    // Whoever writes a path as a name probably means the path.
    if (!lock.holders.empty() || !options.name.starts_with('/')) return exit_success;
    const std::string path = "path:" + options.name;
    const auto lock_of_path = look_at(server, path);
    if (lock_of_path && !lock_of_path->holders.empty()) {
        std::puts("");
        print_lock(*lock_of_path, path, now_ms);
    }
    return exit_success;
}

struct WatchOptions {
    ServerOptions server;
    std::string prefix;
};

Asked<int> watch(const WatchOptions& options) {
    TRY(auto server, Server::open(options.server));
    const bool has_colour = wants_colour(STDOUT_FILENO);
    std::stop_source stop;
    const auto say = [&](const LockEvent& event) {
        const std::string line =
            options.server.is_json ? event_json(event) : event_line(event, has_colour);
        const bool is_said = std::fputs((line + "\n").c_str(), stdout) >= 0;
        if (std::fflush(stdout) != 0 || !is_said) stop.request_stop();  // nobody reads any more
    };
    const auto warn = [](const std::string& trouble) {
        const std::string text = trouble.empty() ? "connected again" : trouble;
        std::fprintf(stderr, "holdfast: %s\n", escape(text).c_str());
    };
    TRY(follow_events(
        server,
        {.prefix = options.prefix, .on_event = say, .on_trouble = warn, .stop = stop.get_token()}));
    return exit_success;
}

}  // namespace

Command declare_ls(const options::Command& program) {
    const auto options = std::make_shared<LookOptions>();
    const options::Command command =
        program.add_command("ls", "list all locks that are held or waited for");
    command.add_option("prefix", options->name, "only locks whose names begin with this")
        .takes("PREFIX");
    declare_server_options(command, options->server);
    command.footer(
        "  holdfast ls\n"
        "  holdfast ls nightly-\n"
        "  holdfast ls --json | jq -r 'select(.queue_length > 0).scope'");
    return {.options = command, .run = [options] { return list(*options); }};
}

Command declare_show(const options::Command& program) {
    const auto options = std::make_shared<LookOptions>();
    const options::Command command =
        program.add_command("show", "show who holds a lock, and who waits for whom");
    command.add_option("lock", options->name, "a name, or what `ls` prints: path:/a, range:7:0-9")
        .takes("LOCK")
        .required();
    declare_server_options(command, options->server);
    command.footer(
        "  holdfast show nightly\n"
        "  holdfast show path:/srv/photos\n"
        "  holdfast show --json nightly | jq .held");
    return {.options = command, .run = [options] { return show(*options); }};
}

Command declare_watch(const options::Command& program) {
    const auto options = std::make_shared<WatchOptions>();
    const options::Command command =
        program.add_command("watch", "print what happens to locks, as it happens");
    command
        .add_option("prefix", options->prefix, "only events of locks whose names begin with this")
        .takes("PREFIX");
    declare_server_options(command, options->server);
    command.footer(
        "Runs until you stop it. If the connection breaks, it continues after the last event.\n"
        "\n"
        "  holdfast watch nightly-\n"
        "  holdfast watch --json | jq 'select(.event == \"expired\")'");
    return {.options = command, .run = [options] { return watch(*options); }};
}

}  // namespace holdfast::cli
