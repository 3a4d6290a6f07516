// `holdfast watch`: what happens to locks, as it happens.

#include <unistd.h>

#include <cstdio>

#include "cli/command.h"
#include "cli/event_feed.h"
#include "cli/exit_codes.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

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
        std::fprintf(stderr, "holdfast: %s\n", shown(text).c_str());
    };
    const auto ended = follow_events(
        *server,
        {.prefix = options.prefix, .on_event = say, .on_trouble = warn, .stop = stop.get_token()});
    return ended ? exit_success : complain(ended.error());
}

}  // namespace

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
