// `holdfast force-unlock` and `holdfast session`: ending leases and sessions of others.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/result.h"
#include "cli/command.h"
#include "cli/lock_argument.h"
#include "cli/lock_json.h"
#include "cli/screen/lock_rows.h"
#include "cli/screen/table.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "holdfast/client.h"
#include "net/client/url.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

struct ForceOptions {
    ServerOptions server;
    std::string name;
    bool is_sure = false;
};

struct SessionOptions {
    ServerOptions server;
    std::string id;
};

// The holders, for the question whether their leases shall be ended.
std::string holders_text(const LockRow& lock) {
    std::string text;
    for (const HolderRow& holder : lock.holders) {
        text += (text.empty() ? "" : ", ") + escape(holder.owner);
    }
    if (lock.holders_left_out > 0) text += fmt::format(" and {} more", lock.holders_left_out);
    return text;
}

// Asks the person at the terminal. True if the person agrees.
Asked<bool> confirm(Server& server, const ForceOptions& options) {
    TRY(const LockRow lock, look_at(server, options.name));
    if (lock.holders.empty()) return true;  // the server will say so
    fmt::print(stderr,
               "{} is held by {}. The holder may still be working, and this does not stop it.\n"
               "End the lease anyway? [y/N] ",
               escape(options.name), holders_text(lock));
    std::string line;
    std::getline(std::cin, line);
    return line == "y" || line == "Y" || line == "yes";
}

Asked<int> force_unlock(const ForceOptions& options) {
    TRY(const LockScope scope, read_scope(options.name));
    if (!options.is_sure) {
        TRY(auto server, Server::open(options.server));
        if (::isatty(STDIN_FILENO) != 1) {
            return fail(exit_usage,
                        "there is no terminal to ask for confirmation: add --yes if you are sure");
        }
        TRY(const bool is_sure, confirm(server, options));
        if (!is_sure) return fail(exit_refused, "nothing was released");
    }
    TRY(Client client, asked(Client::open(to_client_options(options.server))));
    TRY(const std::uint64_t holders, asked(client.force_release(scope)));
    if (holders == 0) return fail(exit_refused, options.name + " is not held");
    if (options.server.is_json) {
        fmt::print("{{\"released\":true,\"holders\":{}}}\n", holders);
    } else {
        fmt::print("released {} from {} {}\n", escape(options.name), holders,
                   holders == 1 ? "holder" : "holders");
    }
    return exit_success;
}

Asked<int> list_sessions(const SessionOptions& options) {
    TRY(auto server, Server::open(options.server));
    TRY(const auto offset, server.clock_offset());
    const std::int64_t now_ms = unix_now_ms() + offset.count();
    Table table({{.title = "ID"},
                 {.title = "DOOR"},
                 {.title = "OWNER", .width_min = 8},
                 {.title = "OPEN FOR", .align = Align::right},
                 {.title = "LEASES", .align = Align::right},
                 {.title = "WAITS", .align = Align::right}});
    std::string after;
    do {
        TRY(const auto page,
            server.get("/v1/sessions?limit=1000" +
                       (after.empty() ? "" : "&after=" + net::percent_encode(after))));
        for (const base::JsonValue& session : page.json["sessions"].items()) {
            if (options.server.is_json) std::puts(session_json(session).c_str());
            const std::chrono::milliseconds age{now_ms - number_of(session["opened_at_ms"])};
            table.add({escape(session["id"].text()), escape(session["door"].text()),
                       escape(session["owner_id"].text()), countdown(age),
                       std::to_string(number_of(session["leases"])),
                       std::to_string(number_of(session["waits"]))});
        }
        TRY(after, next_page(page.json["next"], after));
    } while (!after.empty());
    if (options.server.is_json) return exit_success;
    if (table.is_empty()) {
        std::puts("there are no sessions");
    } else {
        print(table);
    }
    return exit_success;
}

Asked<int> end_session(const SessionOptions& options) {
    TRY(auto server, Server::open(options.server));
    TRY(const auto answer, server.ask("DELETE", "/v1/sessions/" + net::percent_encode(options.id)));
    if (answer.status != 200) return fail(exit_refused, "there is no session " + options.id);
    if (options.server.is_json) {
        fmt::print("{{\"ended\":true}}\n");
    } else {
        fmt::print("ended {}\n", escape(options.id));
    }
    return exit_success;
}

}  // namespace

Command declare_force_unlock(const options::Command& program) {
    const auto options = std::make_shared<ForceOptions>();
    const options::Command command =
        program.add_command("force-unlock", "end every lease on a lock, whoever holds it (admin)");
    command.add_option("lock", options->name, "a name, or what `ls` prints: path:/a, range:7:0-9")
        .takes("LOCK")
        .required();
    command.add_flag("-y,--yes", options->is_sure, "do not ask for confirmation");
    declare_server_options(command, options->server);
    command.footer(
        "This does not stop the holder, which notices it at its next renewal. The next waiter is\n"
        "granted the lock at once.\n"
        "\n"
        "  holdfast force-unlock nightly");
    return {.options = command, .run = [options] { return force_unlock(*options); }};
}

Command declare_session(const options::Command& program) {
    const auto options = std::make_shared<SessionOptions>();
    const options::Command command = program.add_command(
        "session", "list or end sessions: the connections and logins that own locks");
    const options::Command ls = command.add_command("ls", "list the sessions (the default)");
    const options::Command end =
        command.add_command("end", "end a session and all its leases (admin)");
    end.add_option("id", options->id, "the session, as `session ls` shows it")
        .takes("ID")
        .required();
    ls.footer("  holdfast session ls");
    end.footer("  holdfast session end 17-3");
    command.requires_commands(0, 1);
    for (options::Command each : {command, ls, end}) declare_server_options(each, options->server);
    command.footer(
        "  holdfast session\n"
        "  holdfast session end 17-3");
    return {.options = command, .run = [options, end] {
                return end.is_called() ? end_session(*options) : list_sessions(*options);
            }};
}

}  // namespace holdfast::cli
