#include "options/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>
#include <utility>

#include "base/text/duration.h"
#include "options/faults.h"

namespace holdfast::options {

namespace {

// More than anybody types.
constexpr int values_max = 1000;

template <class Value>
Option declare(CLI::App& app, const std::string& names, Value& value, const std::string& help) {
    return Option(app.add_option(names, value, help));
}

class UsageFormatter : public CLI::Formatter {
  public:
    explicit UsageFormatter(std::string words) : words_(std::move(words)) {}

    std::string make_usage(const CLI::App* /*app*/, std::string name) const override {
        return fmt::format("Usage: {} {}\n", name, words_);
    }

  private:
    std::string words_;
};

}  // namespace

Option Option::takes(const std::string& word) const {
    return Option(option_->type_name(word));
}

Option Option::variable(const std::string& name) const {
    return Option(option_->envname(name));
}

Option Option::shows_default() const {
    return Option(option_->capture_default_str());
}

Option Option::shows_default(const std::string& text) const {
    return Option(option_->default_str(text));
}

Option Option::required() const {
    return Option(option_->required());
}

Option Option::group(const std::string& heading) const {
    return Option(option_->group(heading));
}

Option Option::among(const std::vector<std::string>& words, bool is_listed) const {
    const auto find_fault = [words](const std::string& text) {
        return find_choice_fault(text, words);
    };
    return Option(option_->check(
        CLI::Validator(find_fault, is_listed ? fmt::format("{{{}}}", fmt::join(words, ",")) : "")));
}

Option Option::between(double least, double most, bool is_shown) const {
    const auto find_fault = [least, most](const std::string& text) {
        return find_number_fault(text, least, most);
    };
    return Option(option_->check(
        CLI::Validator(find_fault, is_shown ? fmt::format("in [{} - {}]", least, most) : "")));
}

Option Option::above_zero(bool is_shown) const {
    const auto find_fault = [](const std::string& text) {
        std::string fault = find_number_fault(text, 0, HUGE_VAL);
        if (!fault.empty()) return fault;
        return std::string(std::stod(text) > 0 ? ""
                                               : text + " is too small; it must be at least 1");
    };
    return Option(option_->check(CLI::Validator(find_fault, is_shown ? "POSITIVE" : "")));
}

Option Option::existing_file() const {
    return Option(option_->check(CLI::ExistingFile.description("")));
}

Option Option::checked_by(std::function<std::string(const std::string&)> find_fault) const {
    return Option(option_->check(CLI::Validator(std::move(find_fault), "")));
}

Option Option::repeatable(char delimiter) const {
    option_->type_size(1)->expected(1, values_max)->allow_extra_args(false);
    option_->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    if (delimiter != '\0') option_->delimiter(delimiter);
    return *this;
}

Option Option::last_counts() const {
    return Option(option_->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
}

Option Option::not_in_files() const {
    return Option(option_->configurable(false));
}

Option Option::excludes(const Option& other) const {
    return Option(option_->excludes(other.option_));
}

bool Option::is_given() const {
    return option_->count() > 0;
}

std::string Option::value() const {
    return option_->as<std::string>();
}

void Option::set(const std::string& value) const {
    option_->add_result(value);
    option_->run_callback();
}

Command Command::add_command(const std::string& name, const std::string& help) const {
    return Command(app_->add_subcommand(name, help));
}

Option Command::add_option(const std::string& names, std::string& value,
                           const std::string& help) const {
    return declare(*app_, names, value, help);
}

Option Command::add_option(const std::string& names, std::vector<std::string>& value,
                           const std::string& help) const {
    return declare(*app_, names, value, help);
}

Option Command::add_option(const std::string& names, double& value, const std::string& help) const {
    return declare(*app_, names, value, help);
}

Option Command::add_option(const std::string& names, int& value, const std::string& help) const {
    return declare(*app_, names, value, help);
}

Option Command::add_option(const std::string& names, std::uint16_t& value,
                           const std::string& help) const {
    return declare(*app_, names, value, help);
}

Option Command::add_option(const std::string& names, std::uint32_t& value,
                           const std::string& help) const {
    return declare(*app_, names, value, help);
}

Option Command::add_option(const std::string& names, std::uint64_t& value,
                           const std::string& help) const {
    return declare(*app_, names, value, help);
}

Option Command::add_option(const std::string& names, TakeValues take,
                           const std::string& help) const {
    return Option(app_->add_option(names, std::move(take), help));
}

Option Command::add_option(const std::string& names, const std::string& help) const {
    return Option(app_->add_option(names, help));
}

Option Command::add_flag(const std::string& names, bool& value, const std::string& help) const {
    return Option(app_->add_flag(names, value, help));
}

Option Command::add_duration(const std::string& names,
                             std::function<void(std::chrono::nanoseconds)> take,
                             const std::string& help) const {
    const auto parse = [take = std::move(take)](const std::vector<std::string>& texts) {
        take(base::parse_duration(texts.back()).value());
        return true;
    };
    return add_option(names, TakeValues(parse), help)
        .takes("DURATION")
        .checked_by(find_duration_fault);
}

std::string Command::to_text(std::chrono::nanoseconds duration) {
    return base::format_duration(duration);
}

Option Command::add_choice(const std::string& names, TakeValues take,
                           const std::vector<std::string>& words, const std::string& help,
                           bool is_listed) const {
    return add_option(names, std::move(take), help).among(words, is_listed);
}

void Command::footer(const std::string& text) const {
    app_->footer(text);
}

void Command::usage(const std::string& words) const {
    app_->formatter(std::make_shared<UsageFormatter>(words));
}

void Command::group(const std::string& heading) const {
    app_->group(heading);
}

void Command::help_column(std::size_t column) const {
    app_->get_formatter()->column_width(column);
}

void Command::version(const std::string& flag, const std::string& text) const {
    app_->set_version_flag(flag, text);
}

void Command::requires_commands(std::size_t least, std::size_t most) const {
    app_->require_subcommand(least, most);
}

void Command::begin_group(const std::string& heading) const {
    app_->option_defaults()->group(heading);
}

void Command::last_options_count() const {
    for (CLI::Option* const option : app_->get_options()) {
        option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
}

void Command::name_variables(const std::string& prefix) const {
    for (CLI::Option* const option : app_->get_options()) {
        if (option == app_->get_help_ptr() || option->get_lnames().empty()) continue;
        std::string variable = prefix + option->get_lnames().front();
        std::transform(variable.begin(), variable.end(), variable.begin(),
                       [](unsigned char letter) {
                           return letter == '-' ? '_' : static_cast<char>(std::toupper(letter));
                       });
        option->envname(variable);
    }
}

void Command::on_parsed(std::function<void()> callback) const {
    app_->parse_complete_callback(std::move(callback));
}

Option Command::option(const std::string& name) const {
    return Option(app_->get_option(name));
}

// CLI11's own config files belong to a whole program, not to one of its commands, and beat the
// environment.
void Command::read_file(const std::string& path) const {
    CLI::ConfigBase file;
    for (const CLI::ConfigItem& item : file.from_file(path)) {
        CLI::Option* const option =
            item.parents.empty() ? app_->get_option_no_throw("--" + item.name) : nullptr;
        if (option == nullptr || !option->get_configurable()) {
            throw CLI::ConfigError(path + ": there is no option " + item.fullname());
        }
        if (option->count() > 0) continue;
        const bool is_flag = option->get_expected_min() == 0;
        option->add_result(is_flag ? std::vector{file.to_flag(item)} : item.inputs);
        option->run_callback();
    }
}

void Command::refuse(const std::string& fault) {
    throw CLI::ValidationError(fault);
}

std::vector<Setting> Command::settings() const {
    const auto& named = app_->parse_order();
    const auto value_of = [](const CLI::Option& option) -> std::string {
        const bool is_flag = option.get_expected_min() == 0;
        const std::string& by_default = option.get_default_str();
        if (option.count() == 0) return is_flag && by_default.empty() ? "false" : by_default;
        std::string value;
        for (const std::string& text : option.results()) {
            value += (value.empty() ? "" : " ") + text;
        }
        return value;
    };
    std::vector<Setting> settings;
    for (CLI::Option* const option : app_->get_options()) {
        if (!option->get_configurable()) continue;
        settings.push_back(
            {.name = option->get_name(),
             .value = value_of(*option),
             .variable = option->get_envname(),
             .is_given = option->count() > 0,
             .is_on_command_line = std::find(named.begin(), named.end(), option) != named.end()});
    }
    return settings;
}

bool Command::takes_value(const std::string& name) const {
    const CLI::Option* const option = app_->get_option_no_throw(name);
    return option != nullptr && option->get_expected_max() > 0 && option->get_type_size() > 0;
}

bool Command::has_flag(const std::string& name) const {
    const CLI::Option* const option = app_->get_option_no_throw(name);
    if (option != nullptr && option->count() > 0) return true;
    return std::ranges::any_of(app_->get_subcommands(), [&](CLI::App* const below) {
        return Command(below).has_flag(name);
    });
}

bool Command::is_called() const {
    return app_->parsed();
}

std::string Command::name() const {
    return app_->get_name();
}

bool is_flag_value(const std::string& text) {
    try {
        CLI::detail::to_flag_value(text);
        return true;
    } catch (const std::invalid_argument&) {
        return false;
    }
}

bool to_flag_value(const std::string& text) {
    return CLI::detail::to_flag_value(text) > 0;
}

int Stop::show() const {
    std::fputs(output.c_str(), stdout);
    std::fputs(errors.c_str(), stderr);
    return exit_code;
}

Program::Program(const std::string& name, const std::string& description)
    : app_(std::make_unique<CLI::App>(description, name)) {}

Program::~Program() = default;

Command Program::root() const {
    return Command(app_.get());
}

std::optional<Stop> Program::parse(std::vector<std::string> words) const {
    std::vector<std::string> commands;
    for (const CLI::App* const command : app_->get_subcommands({})) {
        commands.push_back(command->get_name());
    }
    const std::string first = words.empty() ? "" : words.front();
    const bool is_word = !first.empty() && !first.starts_with('-') && !commands.empty();
    if (is_word && first == "help") {  // `help` is --help, and `help run` is `run --help`
        words.erase(words.begin());
        words.emplace_back("--help");
    } else if (is_word && first == "version") {
        words.front() = "--version";
    } else if (is_word && std::ranges::find(commands, first) == commands.end()) {
        return refuse("", explain_unknown(first, commands));
    }
    const std::string command = is_word && first != "help" && first != "version" ? first : "";
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    try {
        app_->parse(std::move(words));
        return std::nullopt;
    } catch (const CLI::Success& success) {
        std::ostringstream output, errors;
        app_->exit(success, output, errors);
        return Stop{.output = output.str(), .errors = errors.str()};
    } catch (const CLI::ParseError& error) {
        return refuse(command, explain(error));
    }
}

Stop Program::refuse(const std::string& command, const std::string& message) const {
    const std::string& name = app_->get_name();
    return {.exit_code = exit_usage,
            .message = message,
            .errors = fmt::format("{0}: {1}\n  `{0}{2}{3} --help` shows what is possible\n",
                                  name.empty() ? "error" : name, message,
                                  command.empty() ? "" : " ", command)};
}

std::optional<Stop> Program::parse(int argument_count, char** arguments) const {
    return parse(std::vector<std::string>(arguments + 1, arguments + argument_count));
}

}  // namespace holdfast::options
