// `holdfast deadlocks`: who waits for whom, without an end.

#include <fmt/format.h>

#include <cstdio>

#include "base/json/json_writer.h"
#include "base/result.h"
#include "base/text/rfc3339.h"
#include "cli/command.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "options/options.h"
#include "sdk/lease_json.h"

namespace holdfast::cli {

namespace {

void print_json(std::string_view since, const std::vector<DeadlockMember>& cycle) {
    std::string text;
    base::JsonWriter json(text);
    json.begin_object().field("since", since);
    append_cycle(json, cycle);
    json.end_object();
    std::puts(text.c_str());
}

Asked<int> list_deadlocks(const ServerOptions& options) {
    TRY(auto server, Server::open(options));
    TRY(const auto answer, server.get("/v1/deadlocks"));
    const auto& deadlocks = answer.json["deadlocks"].items();
    for (const base::JsonValue& deadlock : deadlocks) {
        const std::vector<DeadlockMember> cycle = sdk::read_cycle(deadlock["cycle"]);
        const std::string_view since = deadlock["since"].text();
        if (options.is_json) {
            print_json(since, cycle);
        } else {
            fmt::print("{}  {}\n", escape(since), escape(to_text(cycle)));
        }
    }
    if (answer.json["truncated"].is_true()) {
        std::fputs("holdfast: too many clients wait to look at all of them: there may be more\n",
                   stderr);
    } else if (deadlocks.empty() && !options.is_json) {
        std::puts("there are no deadlocks");
    }
    return exit_success;
}

}  // namespace

Command declare_deadlocks(const options::Command& program) {
    const auto options = std::make_shared<ServerOptions>();
    const options::Command command =
        program.add_command("deadlocks", "list those who wait for one another, without an end");
    declare_server_options(command, *options);
    command.footer(
        "Each line begins with the time since when it is so. To end a deadlock, stop one of those\n"
        "who wait, or end its lease with `force-unlock`. To have none, ask for several locks with "
        "one\n"
        "`run` or `lock`.\n"
        "\n"
        "  holdfast deadlocks\n"
        "  holdfast deadlocks --json | jq -r '.cycle[].holder'");
    return {.options = command, .run = [options] { return list_deadlocks(*options); }};
}

}  // namespace holdfast::cli
