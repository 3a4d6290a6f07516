// `holdfast completion`: scripts that teach a shell to ask `holdfast complete`; see complete.h.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "app/commands/commands.h"

namespace holdfast::app {

namespace {

// Bash ends words at colons, which scopes have; so the line is read again, and what stands before
// the last colon is left out of the replies.
std::string_view bash_completion() {
    return R"(# bash completion of holdfast, made by `holdfast completion bash`.

_holdfast() {
    local line=${COMP_LINE:0:COMP_POINT} word help current before index
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    current=${words[-1]}
    before=${current%"${current##*[:=]}"}
    COMPREPLY=()
    while IFS=$'\t' read -r word help; do
        case $word in
        :files)
            compopt -o filenames 2>/dev/null
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current")
            ;;
        :folders)
            compopt -o filenames 2>/dev/null
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$current")
            ;;
        :command*)
            index=$((${word#:command } + 1))
            if ((index == ${#words[@]} - 1)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$current")
            elif declare -F _command_offset >/dev/null; then
                _command_offset "$index"
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$current")
            fi
            return
            ;;
        *) COMPREPLY+=("${word#"$before"}") ;;
        esac
    done < <(holdfast complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _holdfast holdfast
)";
}

std::string_view zsh_completion() {
    return R"(#compdef holdfast
# zsh completion of holdfast, made by `holdfast completion zsh`.

_holdfast() {
    local line add=''
    local -a offers
    for line in "${(@f)$(holdfast complete -- "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}"; do
        case $line in
        '') ;;
        :*) add=$line ;;
        *) offers+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    case $add in
    :files) _files ;;
    :folders) _files -/ ;;
    :command*)
        local begin=${add#:command }
        shift $((begin + 1)) words
        ((CURRENT -= begin + 1))
        _normal
        return
        ;;
    esac
    (($#offers)) && _describe holdfast offers
}

if [[ $funcstack[1] == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
)";
}

std::string_view fish_completion() {
    return R"(# fish completion of holdfast, made by `holdfast completion fish`.

function __holdfast_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in (holdfast complete -- $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path $current
            case ':folders'
                __fish_complete_directories $current
            case ':command*'
                set -l begin (math (string replace ':command ' '' -- $line) + 2)
                complete -C (string join ' ' -- $words[$begin..-1] $current)
            case '*'
                echo $line
        end
    end
end

complete -c holdfast -f -a '(__holdfast_complete)'
)";
}

}  // namespace

cli::Command declare_completion(const options::Command& program) {
    const auto shell = std::make_shared<std::string>();
    const options::Command command =
        program.add_command("completion", "print a completion script for a shell");
    command.add_option("SHELL", *shell, "the shell").required().among({"bash", "zsh", "fish"});
    command.footer(
        "  bash: source <(holdfast completion bash)\n"
        "  zsh:  source <(holdfast completion zsh)\n"
        "  fish: holdfast completion fish | source\n"
        "\n"
        "The script also completes the names of locks: it asks the server for them.");
    return {command, [shell] {
                const std::string_view script = *shell == "bash"  ? bash_completion()
                                                : *shell == "zsh" ? zsh_completion()
                                                                  : fish_completion();
                std::fwrite(script.data(), 1, script.size(), stdout);
                return EXIT_SUCCESS;
            }};
}

}  // namespace holdfast::app
