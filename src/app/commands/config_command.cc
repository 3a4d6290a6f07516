#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "app/commands/commands.h"
#include "app/serve_options.h"
#include "base/json/json_writer.h"
#include "options/options.h"

namespace holdfast::app {

namespace {

bool is_set(const std::string& variable) {
    const char* const value = std::getenv(variable.c_str());
    return value != nullptr && *value != '\0';
}

std::string origin_of(const options::Command& command, const ServeOptions& options,
                      const options::Setting& setting) {
    const auto borrowed = options.borrowed.find(setting.name);
    if (borrowed != options.borrowed.end()) return borrowed->second;
    if (!setting.is_given) return "default";
    if (setting.is_on_command_line) return "command line";
    if (is_set(setting.variable)) return setting.variable;
    return command.option("--config").value();
}

}  // namespace

std::vector<OptionInForce> options_in_force(const options::Command& command,
                                            const ServeOptions& parsed) {
    std::vector<OptionInForce> options;
    for (options::Setting& setting : command.settings()) {
        const std::string origin = origin_of(command, parsed, setting);
        if (origin == "LOCKSERVER_DB") setting.value = std::getenv("LOCKSERVER_DB");
        if (setting.name == "--data" && origin == "default") {
            setting.value = absolute_path(or_default_data_folder(""));
        }
        options.push_back(
            {.name = std::move(setting.name), .value = std::move(setting.value), .origin = origin});
    }
    return options;
}

std::string to_table(const std::vector<OptionInForce>& options) {
    std::size_t name_width = 0, value_width = 0;
    for (const OptionInForce& option : options) {
        name_width = std::max(name_width, option.name.size());
        value_width = std::max(value_width, option.value.size());
    }
    std::string table;
    for (const OptionInForce& option : options) {
        table += fmt::format("{:<{}}  {:<{}}  {}\n", option.name, name_width, option.value,
                             value_width, option.origin);
    }
    return table;
}

std::string to_json(const std::vector<OptionInForce>& options) {
    std::string text;
    base::JsonWriter json(text);
    json.begin_object().begin_array("options");
    for (const OptionInForce& option : options) {
        json.begin_object()
            .field("name", option.name)
            .field("value", option.value)
            .field("from", option.origin)
            .end_object();
    }
    json.end_array().end_object();
    return text + "\n";
}

namespace {

int show_config(const options::Command& command, const ServeOptions& options, bool is_json) {
    const auto in_force = options_in_force(command, options);
    for (const UnusedVariable& unused : options.unused) {
        std::fprintf(stderr, "holdfast: %s has no effect; instead: %s\n", unused.name.c_str(),
                     unused.instead.c_str());
    }
    std::fputs((is_json ? to_json(in_force) : to_table(in_force)).c_str(), stdout);
    const auto checked = check(options);
    if (checked) return EXIT_SUCCESS;
    std::fprintf(stderr, "holdfast: serve would not start: %s\n", checked.error().message.c_str());
    return exit_cannot_start;
}

}  // namespace

cli::Command declare_config(const options::Command& program) {
    const auto options = std::make_shared<ServeOptions>();
    const auto is_json = std::make_shared<bool>(false);
    const options::Command command = program.add_command(
        "config", "show every option of `serve`, its value, and where the value comes from");
    declare_serve_options(command, *options);
    command.add_flag("--json", *is_json, "print JSON").not_in_files();
    command.footer(
        "Takes the options of `serve`. Exits with 1 if `serve` would not start with them.\n"
        "To see the options of a running server: holdfast status --json");
    return {command, [=] { return show_config(command, *options, *is_json); }};
}

}  // namespace holdfast::app
