#include "app/commands/config_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/json/json_writer.h"

namespace holdfast::app {

namespace {

bool is_set(const std::string& variable) {
    const char* const value = std::getenv(variable.c_str());
    return value != nullptr && *value != '\0';
}

std::string origin_of(const CLI::App& command, const CLI::Option& option) {
    if (option.count() == 0) {
        const bool is_lockserver = option.get_name() == "--data" && is_set("LOCKSERVER_DB");
        return is_lockserver ? "LOCKSERVER_DB" : "default";
    }
    const auto& named = command.parse_order();
    if (std::find(named.begin(), named.end(), &option) != named.end()) return "command line";
    if (is_set(option.get_envname())) return option.get_envname();
    if (option.get_name() == "--http" && is_set("LOCKSERVER_ADDR")) return "LOCKSERVER_ADDR";
    return command.get_option("--config")->as<std::string>();
}

std::string value_of(const CLI::Option& option, const std::string& origin) {
    if (origin == "LOCKSERVER_DB") return std::getenv("LOCKSERVER_DB");
    const bool is_flag = option.get_expected_min() == 0;
    if (option.count() == 0) return is_flag ? "false" : option.get_default_str();
    return fmt::format("{}", fmt::join(option.results(), " "));
}

}  // namespace

std::vector<OptionInForce> options_in_force(const CLI::App& command) {
    std::vector<OptionInForce> options;
    for (const CLI::Option* const option : command.get_options()) {
        if (!option->get_configurable()) continue;
        std::string origin = origin_of(command, *option);
        std::string value = value_of(*option, origin);
        options.push_back(
            {.name = option->get_name(), .value = std::move(value), .origin = std::move(origin)});
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

}  // namespace holdfast::app
