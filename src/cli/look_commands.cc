// `holdfast ls`, `show` and `watch`: the holders and waiters of locks, and what happens to them.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/event_feed.h"
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
    std::string kind;
    bool is_json = false;
};

void print(const Table& table) {
    const TableLook look{.width_max = terminal_width(STDOUT_FILENO),
                         .has_colour = wants_colour(STDOUT_FILENO)};
    for (const std::string& line : table.lines(look)) std::puts(line.c_str());
}

Cell time_left(const HolderRow& holder, std::int64_t now_ms) {
    if (holder.grace_until_ms > 0) return {"grace", Style::faint};
    const std::chrono::milliseconds left{holder.expires_ms - now_ms};
    return {countdown(left), left < std::chrono::seconds{2} ? Style::red : Style::plain};
}

void add_rows(Table& table, const LockRow& lock, std::int64_t now_ms) {
    const std::string waiting = std::to_string(lock.waiter_count);
    for (const HolderRow& holder : lock.holders) {
        table.add({escape(holder.scope.empty() ? lock.name : holder.scope), kind_text(lock),
                   escape(holder.owner), holder.mode, time_left(holder, now_ms), waiting,
                   std::to_string(holder.fencing_token), holder.door});
    }
    if (lock.holders.empty()) {
        table.add({escape(lock.name), kind_text(lock), "-", "", "", waiting, "", ""});
    }
}

int list(const LookOptions& options) {
    auto server = Server::open(options.server);
    if (!server) return complain(server.error());
    const auto offset = server->clock_offset();
    if (!offset) return complain(offset.error());
    const std::int64_t now_ms = unix_now_ms() + offset->count();
    Table table({{.title = "LOCK", .width_min = 12},
                 {.title = "KIND"},
                 {.title = "HOLDER", .width_min = 8},
                 {.title = "MODE"},
                 {.title = "LEFT", .align = Align::right},
                 {.title = "WAITING", .align = Align::right},
                 {.title = "FENCE", .align = Align::right},
                 {.title = "DOOR"}});
    std::string after;
    while (true) {
        std::string target = "/v1/locks?limit=1000&prefix=" + net::percent_encode(options.name);
        if (!after.empty()) target += "&after=" + net::percent_encode(after);
        const auto page = server->get(target);
        if (!page) return complain(page.error());
        for (const base::JsonValue& lock : page->json["locks"].items()) {
            if (options.is_json) {
                std::puts(lock.to_json().c_str());
            } else {
                LockRow row = read_listed_lock(lock);
                if (const auto all = add_other_holders(row, *server); !all) {
                    return complain(all.error());
                }
                add_rows(table, row, now_ms);
            }
        }
        after = page->json["next"].text();
        if (after.empty()) break;
    }
    if (options.is_json) return exit_success;
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
        table.add({std::to_string(++position), escape(waiter.owner), waiter.mode, countdown(since),
                   waiter.until_ms == 0 ? "" : countdown(until), escape(waiter.waits_for),
                   waiter.door, escape(waiter.metadata)});
    }
    std::puts("");
    print(table);
}

void print_lock(const LockRow& lock, std::int64_t now_ms) {
    const std::string name = escape(lock.name);
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
            table.add({escape(holder.owner), holder.mode, time_left(holder, now_ms),
                       moment(holder.expires_ms), std::to_string(holder.fencing_token),
                       escape(holder.metadata)});
        }
        print(table);
    }
    if (!lock.waiters.empty()) print_queue(lock, now_ms);
}

int show(const LookOptions& options) {
    auto server = Server::open(options.server);
    if (!server) return complain(server.error());
    const auto lock = server->get(shown_lock_target(options.name, options.kind));
    if (!lock) return complain(lock.error());
    if (options.is_json) {
        std::fputs(lock->text.c_str(), stdout);
        return exit_success;
    }
    const auto offset = server->clock_offset();
    if (!offset) return complain(offset.error());
    LockRow row = read_shown_lock(lock->json);
    if (!options.kind.empty()) row.kind = options.kind;
    if (const auto all = add_other_holders(row, *server); !all) return complain(all.error());
    print_lock(row, unix_now_ms() + offset->count());
    return exit_success;
}

struct WatchOptions {
    ServerOptions server;
    std::string prefix;
    bool is_json = false;
};

int watch(const WatchOptions& options) {
    auto server = Server::open(options.server);
    if (!server) return complain(server.error());
    const bool has_colour = wants_colour(STDOUT_FILENO);
    std::stop_source stop;
    const auto say = [&](const LockEvent& event) {
        const std::string line =
            options.is_json ? event_json(event) : event_line(event, has_colour);
        const bool is_said = std::fputs((line + "\n").c_str(), stdout) >= 0;
        if (std::fflush(stdout) != 0 || !is_said) stop.request_stop();  // nobody reads any more
    };
    const auto warn = [](const std::string& trouble) {
        const std::string text = trouble.empty() ? "connected again" : trouble;
        std::fprintf(stderr, "holdfast: %s\n", escape(text).c_str());
    };
    const auto ended = follow_events(
        *server,
        {.prefix = options.prefix, .on_event = say, .on_trouble = warn, .stop = stop.get_token()});
    return ended ? exit_success : complain(ended.error());
}

}  // namespace

Command declare_ls(const options::Command& program) {
    const auto options = std::make_shared<LookOptions>();
    const options::Command command =
        program.add_command("ls", "list what is held and waited for, of every kind and door");
    command.add_option("prefix", options->name, "only locks whose names begin so").takes("PREFIX");
    command.add_flag("--json", options->is_json, "a JSON object on each line");
    declare_server_options(command, options->server);
    command.footer(
        "  holdfast ls\n"
        "  holdfast ls nightly-\n"
        "  holdfast ls --json | jq -r 'select(.waiters > 0).lock_name'");
    return {.options = command, .run = [options] { return list(*options); }};
}

Command declare_show(const options::Command& program) {
    const auto options = std::make_shared<LookOptions>();
    const options::Command command =
        program.add_command("show", "show who holds a lock, and who waits for whom");
    command.add_option("name", options->name, "the lock").takes("NAME").required();
    declare_kind_option(command, options->kind);
    command.add_flag("--json", options->is_json, "the server's own answer");
    declare_server_options(command, options->server);
    command.footer(
        "  holdfast show nightly\n"
        "  holdfast show --kind path /srv/photos\n"
        "  holdfast show --json nightly | jq .held");
    return {.options = command, .run = [options] { return show(*options); }};
}

Command declare_watch(const options::Command& program) {
    const auto options = std::make_shared<WatchOptions>();
    const options::Command command =
        program.add_command("watch", "show what happens to locks, as it happens");
    command.add_option("prefix", options->prefix, "only of locks whose names begin so")
        .takes("PREFIX");
    command.add_flag("--json", options->is_json, "a JSON object on each line");
    declare_server_options(command, options->server);
    command.footer(
        "Without an end: when the connection breaks, it goes on after the last event seen.\n"
        "\n"
        "  holdfast watch nightly-\n"
        "  holdfast watch --json | jq 'select(.event == \"expired\")'");
    return {.options = command, .run = [options] { return watch(*options); }};
}

}  // namespace holdfast::cli
