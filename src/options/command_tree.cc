#include "options/command_tree.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace holdfast::options {

namespace {

bool is_shown(const CLI::App& command) {
    return !command.get_name().empty() && !command.get_group().empty();
}

// CLI11 shows them as `{text,json}`, behind whatever else it says of the type.
std::vector<std::string> choices_in(const std::string& type) {
    std::vector<std::string> choices;
    const auto begin = type.find('{');
    const auto end = type.find('}', begin);
    if (begin == std::string::npos || end == std::string::npos) return choices;
    std::istringstream list(type.substr(begin + 1, end - begin - 1));
    for (std::string choice; std::getline(list, choice, ',');) {
        choices.push_back(choice.substr(0, choice.find("->")));  // of a transformer
    }
    return choices;
}

CommandOption describe(const CLI::Option& option) {
    CommandOption described{.help = option.get_description(),
                            .default_value = option.get_default_str(),
                            .variable = option.get_envname(),
                            .is_required = option.get_required(),
                            .takes_many = option.get_items_expected_max() > 1};
    for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
    if (option.get_positional()) described.names = {option.get_name(true)};
    if (option.get_items_expected_max() == 0) return described;
    const std::string type = option.get_type_name();
    described.choices = choices_in(type);
    described.value = described.choices.empty() ? type : type.substr(0, type.find(":{"));
    return described;
}

void add(const CLI::App& command, const std::vector<std::string>& way,
         std::vector<CommandEntry>& entries) {
    CommandEntry entry{
        .words = way, .help = command.get_description(), .footer = command.get_footer()};
    for (const CLI::Option* const option : command.get_options()) {
        if (option->get_group().empty()) continue;
        (option->get_positional() ? entry.positionals : entry.options).push_back(describe(*option));
    }
    const auto children =
        command.get_subcommands([](const CLI::App* child) { return is_shown(*child); });
    for (const CLI::App* const child : children) entry.children.push_back(child->get_name());
    entries.push_back(std::move(entry));
    for (const CLI::App* const child : children) {
        std::vector<std::string> further = way;
        further.push_back(child->get_name());
        add(*child, further, entries);
    }
}

}  // namespace

std::vector<CommandEntry> list_commands(const Command& program) {
    std::vector<CommandEntry> entries;
    add(program.parser(), {"holdfast"}, entries);
    return entries;
}

}  // namespace holdfast::options
