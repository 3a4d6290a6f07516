// `holdfast status`: the state of the server, and its figures.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/result.h"
#include "cli/command.h"
#include "cli/screen/lock_rows.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

std::string size_text(std::int64_t bytes) {
    static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    auto size = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (size >= 1024 && unit + 1 < std::size(units)) {
        size /= 1024;
        ++unit;
    }
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", size, units[unit]);
}

void print_figures(const base::JsonValue& figures) {
    const auto count = [&](const char* name) { return number_of(figures[name]); };
    const auto line = [](const char* title, const std::string& text) {
        fmt::print("{:<11}{}\n", title, text);
    };
    line("locks", fmt::format("{} held, {} waiting, {} known", count("held"), count("waiting"),
                              count("locks")));
    line("others", fmt::format("{} sessions, {} fences", count("sessions"), count("fences")));
    line("so far", fmt::format("{} grants, {} renewals, {} releases, {} expiries, {} by force",
                               count("grants"), count("renewals"), count("releases"),
                               count("expiries"), count("forced_releases")));
    std::string disk =
        fmt::format("{}, {} commits", size_text(count("disk_bytes")), count("commits"));
    if (count("commits") > 0) {
        disk += fmt::format(" of {:.2f} ms", static_cast<double>(count("commit_microseconds")) /
                                                 static_cast<double>(count("commits")) / 1000);
    }
    line("disk", disk);
}

int print_status(const base::JsonValue& status, const Server& server) {
    const bool is_ready = status["ready"].is_true();
    const std::string health = is_ready ? "ready" : "NOT READY: " + escape(status["reason"].text());
    fmt::print("{}  {}\n", escape(server.address()),
               styled(health, is_ready ? Style::green : Style::red, wants_colour(STDOUT_FILENO)));
    fmt::print("{:<11}{}\n", "version", escape(status["version"].text()));
    fmt::print("{:<11}{}\n", "up",
               countdown(std::chrono::milliseconds{number_of(status["uptime_ms"])}));
    for (const base::JsonValue& listener : status["listeners"].items()) {
        fmt::print("{:<11}{} {}{}", "listens", escape(listener["name"].text()),
                   escape(listener["address"].text()), listener["tls"].is_true() ? " (TLS)" : "");
        // The server tells the rest only to tokens that may read everything.
        if (listener["connections"].number()) {
            fmt::print(", {} connections", number_of(listener["connections"]));
        }
        fmt::print("\n");
    }
    const base::JsonValue& cluster = status["cluster"];
    if (cluster.is_object()) {
        fmt::print("{:<11}{}, {} nodes\n", "cluster",
                   cluster["leader"].text().empty()
                       ? escape(cluster["reason"].text())
                       : fmt::format("{} leads, epoch {}", escape(cluster["leader"].text()),
                                     number_of(cluster["epoch"])),
                   cluster["nodes"].items().size());
    }
    const std::string_view data = status["configuration"]["data"].text();
    if (!data.empty()) fmt::print("{:<11}{}\n", "data", escape(data));
    if (status["figures"].is_object()) print_figures(status["figures"]);
    return is_ready ? exit_success : exit_unavailable;
}

Asked<int> show_status(const ServerOptions& options) {
    TRY(auto server, Server::open(options));
    // Without permission to see the figures, say at least that the server is alive.
    TRY(server.get("/healthz"));
    const auto status = server.get("/v1/status");
    if (!status) {
        const bool is_alive = status.error().exit_code == exit_not_permitted;
        if (is_alive && !options.is_json) fmt::print("{}  alive\n", escape(server.address()));
        return tl::unexpected(status.error());
    }
    if (!options.is_json) return print_status(status->json, server);
    std::fputs(status->text.c_str(), stdout);
    return status->json["ready"].is_true() ? exit_success : exit_unavailable;
}

}  // namespace

Command declare_status(const options::Command& program) {
    const auto options = std::make_shared<ServerOptions>();
    const options::Command command =
        program.add_command("status", "show whether the server works, and its figures");
    declare_server_options(command, *options);
    command.footer(
        "Exits with 69 if the server does not answer or cannot write to its disk.\n"
        "\n"
        "  holdfast status\n"
        "  holdfast status --json | jq .figures.held");
    return {.options = command, .run = [options] { return show_status(*options); }};
}

}  // namespace holdfast::cli
