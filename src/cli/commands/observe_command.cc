// `holdfast observe`: prints who leads an election, now and at every change.

#include <chrono>
#include <cstdio>
#include <thread>

#include "base/json/json_value.h"
#include "base/result.h"
#include "cli/command.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "net/client/url.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

// The server answers after the first if nothing changes. The second is longer, for slow networks.
constexpr std::chrono::milliseconds wait{50'000};
constexpr std::chrono::milliseconds timeout{60'000};
constexpr std::chrono::seconds ask_again_after{1};

struct ObserveOptions {
    ServerOptions server;
    std::string name;
    bool is_once = false;
};

// What is printed again only if it has changed.
struct Seen {
    std::string leader;
    std::int64_t fencing_token = 0;
    std::int64_t revision = 0;

    bool operator==(const Seen&) const = default;
};

Seen seen_in(const base::JsonValue& state) {
    return {.leader = std::string(state["leader"].text()),
            .fencing_token = state["fencing_token"].number().value_or(0),
            .revision = state["revision"].number().value_or(0)};
}

// `ann leads nightly since 2024-01-15T10:30:00.000Z fence=34 value=10.0.0.1:80`.
std::string line_of(const base::JsonValue& state, const std::string& name) {
    if (state["leader"].is_null()) return "nobody leads " + escape(name);
    std::string line = escape(state["leader"].text()) + " leads " + escape(name) + " since " +
                       escape(state["since"].text()) +
                       " fence=" + std::to_string(state["fencing_token"].number().value_or(0));
    if (!state["value"].text().empty()) line += " value=" + escape(state["value"].text());
    return line;
}

Asked<int> observe(const ObserveOptions& options) {
    if (options.name.empty()) return fail(exit_usage, "the name of the election is missing");
    TRY(Server server, Server::open(options.server, timeout));
    const std::string target = "/v1/elections/" + net::percent_encode(options.name);
    std::string question = target;
    std::optional<Seen> before;
    for (;;) {
        auto answer = server.get(question);
        if (!answer) {
            // A server that was there may come back, or another one may take over.
            if (!before || answer.error().exit_code != exit_unavailable) {
                return tl::unexpected(std::move(answer).error());
            }
            std::this_thread::sleep_for(ask_again_after);
            continue;
        }
        const base::JsonValue& state = answer->json;
        const Seen now = seen_in(state);
        if (now != before) {
            const std::string text =
                options.server.is_json ? answer->text : line_of(state, options.name);
            std::fputs(text.c_str(), stdout);
            if (!text.ends_with('\n')) std::fputc('\n', stdout);
            if (std::fflush(stdout) != 0) return exit_cannot_write;  // nobody reads any more
        }
        before = now;
        if (options.is_once) return exit_success;
        question = target + "?watch=true&wait_ms=" + std::to_string(wait.count()) +
                   "&after=" + std::to_string(state["position"].number().value_or(0));
    }
}

}  // namespace

Command declare_observe(const options::Command& program) {
    const auto options = std::make_shared<ObserveOptions>();
    const options::Command command =
        program.add_command("observe", "print who leads an election, now and at every change");
    command.add_option("election", options->name, "the name of the election").takes("NAME");
    command.add_flag("--once", options->is_once, "print who leads now, and end");
    declare_server_options(command, options->server);
    command.footer(
        "A line is printed at the beginning, and whenever the leader, its value or its fencing\n"
        "number has changed. With --json each line is the answer of /v1/elections/NAME. When the\n"
        "server goes away, `observe` asks again until it is back.\n"
        "\n"
        "  holdfast observe scheduler\n"
        "  holdfast observe scheduler --once --json");
    return {.options = command, .run = [options]() -> Asked<int> { return observe(*options); }};
}

}  // namespace holdfast::cli
