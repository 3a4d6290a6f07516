#pragma once

// The command line of a program: its commands, their options, and reading them.
//
// Everything here is a handle on CLI11, which is hidden because its header takes ten seconds to
// compile in each file that includes it. Program owns what the handles Command and Option refer to.
//
//     Program program("holdfast", "what it is");
//     Command serve = program.root().add_command("serve", "start the server");
//     serve.add_option("--http", address, "where to listen").takes("ADDR:PORT").shows_default();
//     if (const auto stop = program.parse(words)) return stop->show();
//     if (serve.is_called()) ...
//
// A value that an option writes to must outlive the parsing.
//
// Thread safety: none.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): theirs
class App;
class Option;
}  // namespace CLI

namespace holdfast::options {

// One option or positional argument. Its functions refine it, and return it for the next one.
class Option {
  public:
    explicit Option(CLI::Option* option) : option_(option) {}

    // The word that stands for the value in the help, such as FILE.
    Option takes(const std::string& word) const;
    // The environment variable that gives the value where the command line does not.
    Option variable(const std::string& name) const;
    // The help shows what the value is now, or this text, as the default.
    Option shows_default() const;
    Option shows_default(const std::string& text) const;
    Option required() const;
    // The heading in the help; empty: the option is not shown.
    Option group(const std::string& heading) const;

    // Only these words. `is_listed`: the help lists them.
    Option among(const std::vector<std::string>& words, bool is_listed = true) const;
    // Only numbers from `least` to `most`, or above zero. `is_shown`: the help says so.
    Option between(double least, double most, bool is_shown = true) const;
    Option above_zero(bool is_shown = true) const;
    // The path of a file that is there.
    Option existing_file() const;
    // What is wrong with a text; empty: nothing.
    Option checked_by(std::function<std::string(const std::string&)> find_fault) const;

    // May be given several times, one value each; with a delimiter also several values in one text.
    Option repeatable(char delimiter = '\0') const;
    // If it is given several times, the last one counts. (By default that is an error.)
    Option last_counts() const;
    // Read from the command line and the environment only, never from a file.
    Option not_in_files() const;
    Option excludes(const Option& other) const;

    [[nodiscard]] bool is_given() const;
    // REQUIRES: is_given().
    [[nodiscard]] std::string value() const;
    // As if it had been given with this value.
    void set(const std::string& value) const;

  private:
    friend class Command;
    CLI::Option* option_;
};

// What one option of a command that was parsed has for a value, and where that is from.
struct Setting {
    std::string name;      // `--http`
    std::string value;     // several are separated by blanks; `true` or `false` for a flag
    std::string variable;  // the environment variable that could give it
    bool is_given = false;
    bool is_on_command_line = false;
};

// A command such as `serve`, or the program itself.
class Command {
  public:
    using TakeValues = std::function<bool(const std::vector<std::string>&)>;

    explicit Command(CLI::App* app) : app_(app) {}

    Command add_command(const std::string& name, const std::string& help) const;

    // `names`: `-w,--wait` for an option, `name` for a positional. The value is written to `value`.
    Option add_option(const std::string& names, std::string& value, const std::string& help) const;
    Option add_option(const std::string& names, std::vector<std::string>& value,
                      const std::string& help) const;
    Option add_option(const std::string& names, double& value, const std::string& help) const;
    Option add_option(const std::string& names, int& value, const std::string& help) const;
    Option add_option(const std::string& names, std::uint16_t& value,
                      const std::string& help) const;
    Option add_option(const std::string& names, std::uint32_t& value,
                      const std::string& help) const;
    Option add_option(const std::string& names, std::uint64_t& value,
                      const std::string& help) const;
    // `take` is called with all values; false: they are not valid.
    Option add_option(const std::string& names, TakeValues take, const std::string& help) const;
    // An option whose value is only asked for by Option::value().
    Option add_option(const std::string& names, const std::string& help) const;
    // An option whose value is the path of a file.
    Option add_file(const std::string& names, std::string& path, const std::string& help) const {
        return add_option(names, path, help).takes("FILE");
    }
    Option add_flag(const std::string& names, bool& value, const std::string& help) const;

    // An option whose value is a duration such as 30s, 1m30s or 250ms. `take` is called with it.
    // Negative durations are refused.
    Option add_duration(const std::string& names,
                        std::function<void(std::chrono::nanoseconds)> take,
                        const std::string& help) const;
    // The same, written to `value` and rounded up. The help shows the default.
    template <class Rep, class Period>
    Option add_duration(const std::string& names, std::chrono::duration<Rep, Period>& value,
                        const std::string& help) const {
        const auto take = [&value](std::chrono::nanoseconds duration) {
            value = std::chrono::ceil<std::chrono::duration<Rep, Period>>(duration);
        };
        return add_duration(names, std::function<void(std::chrono::nanoseconds)>(take), help)
            .shows_default(to_text(value));
    }

    // An option whose value is one of these words. `is_listed`: the help lists them.
    template <class Value>
    Option add_choice(const std::string& names, Value& value,
                      const std::map<std::string, Value>& choices, const std::string& help,
                      bool is_listed) const {
        std::vector<std::string> words;
        words.reserve(choices.size());
        for (const auto& [word, meaning] : choices) words.push_back(word);
        const auto take = [&value, choices](const std::vector<std::string>& texts) {
            value = choices.at(texts.back());
            return true;
        };
        return add_choice(names, TakeValues(take), words, help, is_listed);
    }

    // Printed at the end of the help.
    void footer(const std::string& text) const;
    // What follows the name of the command in its usage line, if its options do not tell.
    void usage(const std::string& words) const;
    // The heading under which the program's help lists this command; empty: it is not listed.
    void group(const std::string& heading) const;
    // Where the explanations of options begin in the help.
    void help_column(std::size_t column) const;
    void version(const std::string& flag, const std::string& text) const;
    void requires_commands(std::size_t least, std::size_t most) const;
    // The options that are declared from now on are below this heading in the help.
    void begin_group(const std::string& heading) const;
    // If an option is given several times, the last one counts. For all options declared so far.
    void last_options_count() const;
    // Lets every option declared so far, except --help, take its value from a variable: with the
    // prefix HOLDFAST_ that of --data is HOLDFAST_DATA.
    void name_variables(const std::string& prefix) const;
    // Called when this command and its environment variables were read, before anything is checked.
    void on_parsed(std::function<void()> callback) const;

    // REQUIRES: it was declared.
    [[nodiscard]] Option option(const std::string& name) const;
    // Gives the options that neither the command line nor the environment named their values from
    // a file of lines `name = value`. Only inside the callback of on_parsed(): a fault in the file
    // ends the parsing.
    void read_file(const std::string& path) const;
    // Ends the parsing because of this fault. Only inside the callback of on_parsed().
    [[noreturn]] static void refuse(const std::string& fault);
    // Of all options that a file may name, in the order of the help.
    [[nodiscard]] std::vector<Setting> settings() const;

    // Whether there is an option of this name, such as `--wait` or `-w`, that a value follows.
    [[nodiscard]] bool takes_value(const std::string& name) const;

    // Whether this flag was given to this command, or to the one below it that was called. Only after
    // parsing.
    [[nodiscard]] bool has_flag(const std::string& name) const;

    // Whether the command line called this command. Only after parsing.
    [[nodiscard]] bool is_called() const;
    [[nodiscard]] std::string name() const;

    [[nodiscard]] const CLI::App& parser() const { return *app_; }

  private:
    static std::string to_text(std::chrono::nanoseconds duration);
    Option add_choice(const std::string& names, TakeValues take,
                      const std::vector<std::string>& words, const std::string& help,
                      bool is_listed) const;

    CLI::App* app_;
};

// Whether a text can be the value of a flag: true, false, on, off, yes, no, a number.
[[nodiscard]] bool is_flag_value(const std::string& text);
// Which of them it is. REQUIRES: is_flag_value().
[[nodiscard]] bool to_flag_value(const std::string& text);

// The exit code for a command line that makes no sense, as sysexits.h has it.
inline constexpr int exit_usage = 64;

// Why a program has nothing more to do after parsing: help was asked for, or there is a fault.
struct Stop {
    int exit_code = 0;
    std::string message;  // one line
    std::string output;   // for the standard output,
    std::string errors;   // and for the standard error

    // Prints both, and returns the exit code.
    int show() const;
};

class Program {
  public:
    explicit Program(const std::string& name = "", const std::string& description = "");
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] Command root() const;

    // Reads the words of a command line, without the name of the program.
    [[nodiscard]] std::optional<Stop> parse(std::vector<std::string> words) const;
    [[nodiscard]] std::optional<Stop> parse(int argument_count, char** arguments) const;

  private:
    [[nodiscard]] Stop refuse(const std::string& command, const std::string& message) const;

    std::unique_ptr<CLI::App> app_;
};

}  // namespace holdfast::options
