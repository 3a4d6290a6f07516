// `holdfast terraform`: the states of Terraform that the server keeps, and their versions.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "base/result.h"
#include "cli/command.h"
#include "cli/screen/lock_rows.h"
#include "cli/screen/table.h"
#include "cli/screen/terminal_text.h"
#include "cli/server.h"
#include "net/client/url.h"
#include "options/options.h"

namespace holdfast::cli {

namespace {

struct StateOptions {
    ServerOptions server;
    std::string name;
    std::uint64_t version = 0;  // 0: not given
};

std::string state_target(const std::string& name) {
    return "/v1/terraform/" + net::percent_encode(name);
}

std::string text_or_dash(const base::JsonValue& value) {
    if (value.is_null()) return "-";
    return value.text().empty() ? std::to_string(number_of(value)) : escape(value.text());
}

// The cells that a state and a version have in common.
std::vector<Cell> version_cells(const base::JsonValue& version) {
    const bool is_removed = version["removed"].is_true();
    return {std::to_string(number_of(version["version"])), text_or_dash(version["serial"]),
            is_removed ? "removed" : std::to_string(number_of(version["size_bytes"])),
            escape(version["written_at"].text()), text_or_dash(version["terraform_version"])};
}

const std::vector<Column> version_columns{{.title = "VERSION", .align = Align::right},
                                          {.title = "SERIAL", .align = Align::right},
                                          {.title = "BYTES", .align = Align::right},
                                          {.title = "WRITTEN"},
                                          {.title = "TERRAFORM"}};

void print_states(const base::JsonValue& answer) {
    std::vector<Column> columns{{.title = "STATE"}};
    columns.insert(columns.end(), version_columns.begin(), version_columns.end());
    Table table(columns);
    for (const base::JsonValue& state : answer["states"].items()) {
        std::vector<Cell> row{escape(state["name"].text())};
        for (Cell& cell : version_cells(state)) row.push_back(std::move(cell));
        table.add(std::move(row));
    }
    if (table.is_empty()) return void(std::puts("no states"));
    print(table);
}

void print_versions(const base::JsonValue& answer) {
    Table table(version_columns);
    for (const base::JsonValue& each : answer["versions"].items()) table.add(version_cells(each));
    print(table);
}

Asked<int> list(const StateOptions& options) {
    TRY(auto server, Server::open(options.server));
    const bool is_of_one = !options.name.empty();
    TRY(const auto answer,
        server.get(is_of_one ? state_target(options.name) + "/versions" : "/v1/terraform"));
    if (options.server.is_json) {
        std::fputs(answer.text.c_str(), stdout);
    } else if (is_of_one) {
        print_versions(answer.json);
    } else {
        print_states(answer.json);
    }
    return exit_success;
}

// The version that is to be shown, if it has a content.
std::optional<std::uint64_t> find_version(const base::JsonValue::Items& known,
                                          std::uint64_t wanted) {
    for (const base::JsonValue& each : known) {
        const auto number = static_cast<std::uint64_t>(number_of(each["version"]));
        const bool is_it = wanted == 0 || number == wanted;  // the newest is the first
        if (is_it && each["removed"].is_true()) return std::nullopt;
        if (is_it) return number;
    }
    return std::nullopt;
}

// Writes the state to standard output as it arrives: it may be larger than memory.
Asked<int> show(const StateOptions& options) {
    TRY(auto server, Server::open(options.server));
    // A state that is not there is told from a server that is not, before anything is written.
    TRY(const auto versions, server.get(state_target(options.name) + "/versions"));
    const auto version = find_version(versions.json["versions"].items(), options.version);
    if (!version) {
        const std::string which =
            options.version == 0 ? "now" : fmt::format("in version {}", options.version);
        return fail(exit_refused,
                    fmt::format("{} has no content {}; see `holdfast terraform ls {}`",
                                options.name, which, options.name));
    }
    bool is_written = true;
    const auto done = server.stream(
        fmt::format("{}?version={}", state_target(options.name), *version), std::chrono::minutes{5},
        [&](std::string_view bytes) {
            is_written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
            return is_written;
        });
    if (!done && is_written) return tl::unexpected(done.error());
    if (!is_written || std::fflush(stdout) != 0) {
        return fail(exit_cannot_write, "cannot write the state to the output");
    }
    return exit_success;
}

Asked<int> roll_back(const StateOptions& options) {
    TRY(auto server, Server::open(options.server));
    TRY(const auto answer,
        server.ask("POST", fmt::format("{}/rollback?version={}", state_target(options.name),
                                       options.version)));
    if (answer.status != 200) {
        const std::string_view who = answer.json["lock"]["Who"].text();
        if (who.empty()) return fail(exit_refused, std::string(answer.json["error"].text()));
        return fail(exit_refused,
                    fmt::format("{} is locked by {}; nothing was changed", options.name, who));
    }
    if (options.server.is_json) {
        std::fputs(answer.text.c_str(), stdout);
    } else {
        fmt::print("{} has the content of version {} again, as version {}\n", escape(options.name),
                   options.version, number_of(answer.json["version"]));
    }
    return exit_success;
}

}  // namespace

Command declare_terraform(const options::Command& program) {
    const auto options = std::make_shared<StateOptions>();
    const options::Command command = program.add_command(
        "terraform", "show the states of Terraform, or return to an old version");
    const options::Command ls =
        command.add_command("ls", "list the states, or the versions of one state");
    ls.add_option("name", options->name, "the state. Default: all states").takes("NAME");
    const options::Command show_command = command.add_command("show", "print a state");
    show_command.add_option("name", options->name, "the state").takes("NAME").required();
    show_command
        .add_option("--version", options->version, "an earlier version. Default: the current one")
        .takes("N");
    const options::Command rollback =
        command.add_command("rollback",
                            "write the content of an earlier version as a new version; refused "
                            "while the state is locked");
    rollback.add_option("name", options->name, "the state").takes("NAME").required();
    rollback.add_option("version", options->version, "the version").takes("N").required();
    for (options::Command each : {ls, show_command, rollback}) {
        declare_server_options(each, options->server);
    }
    ls.footer(
        "  holdfast terraform ls\n"
        "  holdfast terraform ls production");
    show_command.footer("  holdfast terraform show production --version 12 > state.json");
    rollback.footer(
        "The current version is kept as well, so you can undo this.\n"
        "\n"
        "  holdfast terraform rollback production 12");
    command.requires_commands(1, 1);
    command.footer(
        "  holdfast terraform ls\n"
        "  holdfast terraform show production\n"
        "  holdfast terraform rollback production 12");
    return {.options = command, .run = [options, show_command, rollback] {
                if (show_command.is_called()) return show(*options);
                if (rollback.is_called()) return roll_back(*options);
                return list(*options);
            }};
}

}  // namespace holdfast::cli
