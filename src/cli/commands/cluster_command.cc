// `holdfast cluster`: the nodes of a cluster, and what an admin can do to it.

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <thread>

#include "base/json/json_writer.h"
#include "base/result.h"
#include "cli/command.h"
#include "cli/screen/lock_rows.h"
#include "cli/screen/table.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

struct ClusterOptions {
    ServerOptions server;
    bool is_sure = false;
};

void print_nodes(const base::JsonValue& cluster, std::int64_t now_ms) {
    Table table({{.title = "NODE"},
                 {.title = "ROLE"},
                 {.title = "PEERS REACH IT AT"},
                 {.title = "UP FOR", .align = Align::right},
                 {.title = "VERSION"}});
    for (const base::JsonValue& node : cluster["nodes"].items()) {
        const std::chrono::milliseconds age{now_ms - number_of(node["started_ms"])};
        table.add({escape(node["name"].text()), node["leads"].is_true() ? "leads" : "follows",
                   escape(node["peer"].text()), countdown(age), escape(node["version"].text())});
    }
    print(table);
}

int print_cluster(const base::JsonValue& cluster, std::int64_t now_ms) {
    const std::string_view leader = cluster["leader"].text();
    if (leader.empty()) {
        fmt::print("{}\n", styled(escape(cluster["reason"].text()), Style::red,
                                  wants_colour(STDOUT_FILENO)));
    } else {
        const std::chrono::milliseconds age{now_ms - number_of(cluster["since_ms"])};
        fmt::print("{} leads for {}, epoch {}\n", escape(leader), countdown(age),
                   number_of(cluster["epoch"]));
    }
    const base::JsonValue& etcd = cluster["etcd"];
    fmt::print("etcd {}, {} of {} MiB used\n", escape(etcd["version"].text()),
               number_of(etcd["in_use_bytes"]) >> 20, number_of(etcd["quota_bytes"]) >> 20);
    const std::string_view trouble = etcd["refuses_growth"].text();
    if (!trouble.empty()) fmt::print("{}\n", escape(trouble));
    for (const base::JsonValue& warning : etcd["warnings"].items()) {
        fmt::print("warning: {}\n", escape(warning.text()));
    }
    print_nodes(cluster, now_ms);
    return leader.empty() ? exit_unavailable : exit_success;
}

Asked<int> show_cluster(const ClusterOptions& options) {
    TRY(auto server, Server::open(options.server));
    TRY(const auto offset, server.clock_offset());
    TRY(const auto answer, server.get("/v1/cluster"));
    if (!options.server.is_json) return print_cluster(answer.json, unix_now_ms() + offset.count());
    std::fputs(answer.text.c_str(), stdout);
    return answer.json["leader"].text().empty() ? exit_unavailable : exit_success;
}

int print_done(const ClusterOptions& options, std::string_view done) {
    std::string text = escape(done);
    if (options.server.is_json) {
        text.clear();
        base::JsonWriter(text).begin_object().field("done", done).end_object();
    }
    fmt::print("{}\n", text);
    return exit_success;
}

// Prints what the server says that it has done.
Asked<int> change(const ClusterOptions& options, const std::string& target) {
    TRY(auto server, Server::open(options.server));
    TRY(const auto answer, server.ask("POST", target));
    if (answer.status == 200) return print_done(options, answer.json["done"].text());
    return fail(exit_refused, std::string(answer.json["error"].text()));
}

// What the cluster says of itself when it has a leader whose epoch is larger than `epoch`. Nodes learn
// of a new leader one after the other, so this asks again for as long as any request is repeated.
Asked<Answer> wait_for_leader(Server& server, std::int64_t epoch) {
    const auto deadline = std::chrono::steady_clock::now() + server.exchange().options().retry_for;
    while (true) {
        auto cluster = server.get("/v1/cluster");
        if (!cluster && cluster.error().exit_code != exit_unavailable) return cluster;
        if (cluster && number_of(cluster->json["epoch"]) > epoch) return cluster;
        if (std::chrono::steady_clock::now() > deadline) {
            return cluster ? fail(exit_unavailable, std::string(cluster->json["reason"].text()))
                           : cluster;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

// The connection may end before the answer is here, because the node that was asked leads no more.
// Then a larger epoch says that it has handed over.
Asked<int> hand_over(const ClusterOptions& options) {
    TRY(auto server, Server::open(options.server));
    TRY(const auto before, wait_for_leader(server, 0));
    auto done = change(options, "/v1/cluster/resign");
    if (done || done.error().exit_code != exit_unavailable) return done;
    const auto after = wait_for_leader(server, number_of(before.json["epoch"]));
    if (!after) return done;
    return print_done(options,
                      fmt::format("node {} has handed over, and node {} leads",
                                  before.json["leader"].text(), after->json["leader"].text()));
}

Asked<int> begin_epoch(const ClusterOptions& options) {
    if (!options.is_sure) {
        return fail(exit_usage,
                    "use this only after etcd was restored from a backup: it makes fencing numbers "
                    "jump ahead permanently. Add --yes if you are sure");
    }
    TRY(auto server, Server::open(options.server));
    const auto before = server.get("/v1/cluster");
    auto done = change(options, "/v1/cluster/new-epoch");
    if (done || done.error().exit_code != exit_unavailable || !before) return done;
    // The leader gives up its lead before it answers, and with it the connections that another node has
    // passed on. An epoch that is so much larger says that it was done.
    constexpr std::int64_t epochs_skipped = 1'000'000;
    const std::int64_t largest_before = number_of(before->json["epoch"]);
    const auto after = wait_for_leader(server, largest_before + epochs_skipped - 1);
    if (!after) return done;
    return print_done(options,
                      fmt::format("node {} leads in epoch {}, after a new epoch was begun",
                                  after->json["leader"].text(), number_of(after->json["epoch"])));
}

}  // namespace

Command declare_cluster(const options::Command& program) {
    const auto options = std::make_shared<ClusterOptions>();
    const options::Command command =
        program.add_command("cluster", "show the nodes of a cluster, or let another node lead");
    const options::Command show = command.add_command("show", "show the nodes (the default)");
    const options::Command resign = command.add_command(
        "resign", "let another node lead, for example before an upgrade (admin)");
    const options::Command epoch = command.add_command(
        "new-epoch",
        "continue with larger fencing numbers after etcd was restored from a backup (admin)");
    epoch.add_flag("-y,--yes", options->is_sure, "confirm that etcd was restored from a backup");
    show.footer("  holdfast cluster show");
    resign.footer("  holdfast cluster resign --server http://node-a:8080");
    epoch.footer(
        "After etcd was restored, its fencing numbers are older than those that clients have "
        "seen.\n"
        "This makes all new numbers larger than any that can have been given out.\n"
        "\n"
        "  holdfast cluster new-epoch --yes");
    command.requires_commands(0, 1);
    for (options::Command each : {command, show, resign, epoch}) {
        declare_server_options(each, options->server);
    }
    command.footer(
        "Exits with 69 if no node leads.\n"
        "\n"
        "  holdfast cluster\n"
        "  holdfast cluster resign");
    return {.options = command, .run = [options, resign, epoch] {
                if (resign.is_called()) return hand_over(*options);
                if (epoch.is_called()) return begin_epoch(*options);
                return show_cluster(*options);
            }};
}

}  // namespace holdfast::cli
