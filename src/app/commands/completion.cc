// All three scripts think alike. The words before the cursor lead to a place in the tree of
// commands, written as ` serve`; the word just before it may be an option that wants a value; and
// at each place there are some words to choose from.

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "app/commands/commands.h"
#include "app/commands/reference.h"

namespace holdfast::app {

namespace {

// In single quotes, for bash and zsh.
std::string quote(const std::string& text) {
    std::string quoted = "'";
    for (const char letter : text) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
    return quoted + "'";
}

// In single quotes, for fish.
std::string quote_fish(const std::string& text) {
    std::string quoted = "'";
    for (const char letter : text) {
        if (letter == '\'' || letter == '\\') quoted += '\\';
        quoted += letter;
    }
    return quoted + "'";
}

std::string place_of(const options::CommandEntry& command) {
    std::string place;
    for (std::size_t index = 1; index < command.words.size(); ++index) {
        place += " " + command.words[index];
    }
    return place;
}

std::string join(const std::vector<std::string>& words, const char* between) {
    return fmt::format("{}", fmt::join(words, between));
}

// All places but the program itself, as a pattern of a shell's `case`.
std::string places_pattern(const std::vector<options::CommandEntry>& commands,
                           const char* between) {
    std::vector<std::string> places;
    for (const options::CommandEntry& command : commands) {
        if (command.words.size() > 1) places.push_back(quote(place_of(command)));
    }
    return join(places, between);
}

const std::string& help_of(const std::vector<options::CommandEntry>& commands,
                           const options::CommandEntry& parent, const std::string& child) {
    std::vector<std::string> words = parent.words;
    words.push_back(child);
    return std::find_if(
               commands.begin(), commands.end(),
               [&](const options::CommandEntry& command) { return command.words == words; })
        ->help;
}

// How a shell completes a value of some kind.
struct ValueWays {
    std::string files;
    std::string folders;
    std::string nothing;
    std::function<std::string(const std::vector<std::string>&)> choices;
};

std::string complete_value(const options::CommandOption& option, const ValueWays& ways) {
    if (!option.choices.empty()) return ways.choices(option.choices);
    if (option.value == "FILE") return ways.files;
    if (option.value == "DIR") return ways.folders;
    return ways.nothing;
}

// The arms of a `case` over the place and the word before the cursor.
std::string value_arms(const std::vector<options::CommandEntry>& commands, const ValueWays& ways) {
    std::string arms;
    for (const options::CommandEntry& command : commands) {
        for (const options::CommandOption& option : command.options) {
            if (option.value.empty()) continue;
            std::vector<std::string> patterns;
            for (const std::string& name : option.names) {
                patterns.push_back(quote(place_of(command) + " " + name));
            }
            arms += fmt::format("        {}) {}; return ;;\n", join(patterns, " | "),
                                complete_value(option, ways));
        }
    }
    return arms;
}

// What can be said at a place, beside values of options.
std::vector<std::string> words_at(const options::CommandEntry& command) {
    std::vector<std::string> words = command.children;
    for (const options::CommandOption& positional : command.positionals) {
        words.insert(words.end(), positional.choices.begin(), positional.choices.end());
    }
    for (const options::CommandOption& option : command.options) {
        words.insert(words.end(), option.names.begin(), option.names.end());
    }
    return words;
}

}  // namespace

std::string bash_completion(const std::vector<options::CommandEntry>& commands) {
    const ValueWays ways{
        .files = "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$current\")",
        .folders = "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$current\")",
        .nothing = ":",
        .choices = [](const std::vector<std::string>& choices) {
            return fmt::format("mapfile -t COMPREPLY < <(compgen -W {} -- \"$current\")",
                               quote(join(choices, " ")));
        }};
    std::string arms;
    for (const options::CommandEntry& command : commands) {
        arms += fmt::format("        {}) choices={} ;;\n", quote(place_of(command)),
                            quote(join(words_at(command), " ")));
    }
    return fmt::format(R"(# bash completion of holdfast, made by `holdfast completion bash`.

_holdfast() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
    local place='' choices='' index
    COMPREPLY=()
    for ((index = 1; index < COMP_CWORD; index++)); do
        if [[ ${{COMP_WORDS[index]}} == -- ]]; then  # then comes a command of somebody else
            mapfile -t COMPREPLY < <(compgen -c -- "$current")
            return
        fi
        case "$place ${{COMP_WORDS[index]}}" in
        {places}) place="$place ${{COMP_WORDS[index]}}" ;;
        esac
    done
    case "$place $previous" in
{values}    esac
    case "$place" in
{words}    esac
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$current")
}}
complete -F _holdfast holdfast
)",
                       fmt::arg("places", places_pattern(commands, " | ")),
                       fmt::arg("values", value_arms(commands, ways)), fmt::arg("words", arms));
}

std::string zsh_completion(const std::vector<options::CommandEntry>& commands) {
    const ValueWays ways{.files = "_files",
                         .folders = "_files -/",
                         .nothing = "_message value",
                         .choices = [](const std::vector<std::string>& choices) {
                             return "compadd -- " + join(choices, " ");
                         }};
    std::string arms;
    for (const options::CommandEntry& command : commands) {
        std::vector<std::string> words, options;
        for (const std::string& child : command.children) {
            words.push_back(quote(child + ":" + help_of(commands, command, child)));
        }
        for (const options::CommandOption& positional : command.positionals) {
            words.insert(words.end(), positional.choices.begin(), positional.choices.end());
        }
        for (const options::CommandOption& option : command.options) {
            for (const std::string& name : option.names) {
                options.push_back(quote(name + ":" + option.help));
            }
        }
        arms += fmt::format("        {})\n            choices=({})\n            options=({}) ;;\n",
                            quote(place_of(command)), join(words, "\n                "),
                            join(options, "\n                "));
    }
    return fmt::format(R"(#compdef holdfast
# zsh completion of holdfast, made by `holdfast completion zsh`.

_holdfast() {{
    local place='' index
    local -a choices options
    for ((index = 2; index < CURRENT; index++)); do
        if [[ ${{words[index]}} == -- ]]; then  # then comes a command of somebody else
            shift $index words
            (( CURRENT -= index ))
            _normal
            return
        fi
        case "$place ${{words[index]}}" in
        {places}) place="$place ${{words[index]}}" ;;
        esac
    done
    case "$place ${{words[CURRENT - 1]}}" in
{values}    esac
    case "$place" in
{words}    esac
    (( $#choices )) && _describe command choices
    _describe -o option options
}}

if [[ $funcstack[1] == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
)",
                       fmt::arg("places", places_pattern(commands, " | ")),
                       fmt::arg("values", value_arms(commands, ways)), fmt::arg("words", arms));
}

std::string fish_completion(const std::vector<options::CommandEntry>& commands) {
    const ValueWays ways{.files = " -r -F",
                         .folders = " -x -a '(__fish_complete_directories)'",
                         .nothing = " -x",
                         .choices = [](const std::vector<std::string>& choices) {
                             return " -x -a " + quote_fish(join(choices, " "));
                         }};
    std::string lines;
    const auto add = [&](const options::CommandEntry& command, const std::string& what,
                         const std::string& help) {
        lines += fmt::format("complete -c holdfast -n {}{} -d {}\n",
                             quote_fish("__holdfast_at " + quote_fish(place_of(command))), what,
                             quote_fish(help));
    };
    for (const options::CommandEntry& command : commands) {
        for (const std::string& child : command.children) {
            add(command, " -a " + child, help_of(commands, command, child));
        }
        for (const options::CommandOption& positional : command.positionals) {
            if (positional.choices.empty()) continue;
            add(command, " -a " + quote_fish(join(positional.choices, " ")), positional.help);
        }
        for (const options::CommandOption& option : command.options) {
            std::string what;
            for (const std::string& name : option.names) {
                const bool is_long = name.starts_with("--");
                what += is_long ? " -l " + name.substr(2) : " -s " + name.substr(1);
            }
            if (!option.value.empty()) what += complete_value(option, ways);
            add(command, what, option.help);
        }
    }
    return fmt::format(R"(# fish completion of holdfast, made by `holdfast completion fish`.

# Whether the words so far lead to this place.
function __holdfast_at
    set -l place ''
    set -l words (commandline -opc)
    contains -- -- $words; and return 1
    for word in $words[2..-1]
        switch "$place $word"
            case {places}
                set place "$place $word"
        end
    end
    test "$place" = "$argv[1]"
end

# What there is for the words behind --, which are a command of somebody else.
function __holdfast_foreign
    set -l words (commandline -opc)
    set -e words[1..(contains -i -- -- $words)]
    complete -C (string join ' ' -- $words (commandline -ct))
end

complete -c holdfast -f
complete -c holdfast -n 'contains -- -- (commandline -opc)' -a '(__holdfast_foreign)'
{lines})",
                       fmt::arg("places", places_pattern(commands, " ")), fmt::arg("lines", lines));
}

cli::Command declare_completion(const options::Command& program) {
    const auto shell = std::make_shared<std::string>();
    const options::Command command =
        program.add_command("completion", "print a script that completes commands in a shell");
    command.add_option("SHELL", *shell, "for which shell")
        .required()
        .among({"bash", "zsh", "fish"});
    command.footer(
        "  bash: source <(holdfast completion bash)\n"
        "  zsh:  source <(holdfast completion zsh)\n"
        "  fish: holdfast completion fish | source");
    return {command, [program, shell] {
                const auto commands = options::list_commands(program);
                const auto complete = *shell == "bash"  ? bash_completion
                                      : *shell == "zsh" ? zsh_completion
                                                        : fish_completion;
                std::fputs(complete(commands).c_str(), stdout);
                return EXIT_SUCCESS;
            }};
}

}  // namespace holdfast::app
