#include "app/commands/complete.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "app/commands/commands.h"
#include "cli/lock_argument.h"
#include "cli/server.h"

namespace holdfast::app {

namespace {

using options::CommandEntry;
using options::CommandOption;

const CommandEntry* find_child(const std::vector<CommandEntry>& commands,
                               const CommandEntry& parent, const std::string& word) {
    std::vector<std::string> words = parent.words;
    words.push_back(word);
    const auto found = std::ranges::find(commands, words, &CommandEntry::words);
    return found == commands.end() ? nullptr : &*found;
}

// The option that wants the next word as its value; null if the word is none such.
const CommandOption* find_option(const CommandEntry& command, const std::string& word) {
    for (const CommandOption& option : command.options) {
        const bool is_named = std::ranges::find(option.names, word) != option.names.end();
        if (is_named && !option.value.empty()) return &option;
    }
    return nullptr;
}

bool is_option(const std::string& word) {
    return word.starts_with('-') && word.size() > 1;
}

// Where the words before the last one lead.
struct Place {
    const CommandEntry* command;
    const CommandOption* option = nullptr;  // whose value the last word is
    std::size_t positionals = 0;            // that were given already
};

class Completer {
  public:
    Completer(const std::vector<CommandEntry>& commands, const std::vector<std::string>& words,
              const FindLocks& find_locks)
        : commands_(commands), words_(words), current_(words.back()), find_locks_(find_locks) {}

    Completion run() {
        Place place{.command = &commands_.front()};
        const auto last = words_.end() - 1;
        if (const auto dashes = std::find(words_.begin(), last, "--"); dashes != last) {
            return foreign_command(static_cast<std::size_t>(dashes - words_.begin()) + 1);
        }
        for (std::size_t index = 0; index + 1 < words_.size(); ++index) {
            if (begins_command(place) && !is_option(words_[index])) return foreign_command(index);
            walk(place, words_[index]);
        }
        if (place.option != nullptr) {
            offer_value(*place.option);
        } else if (current_.starts_with('-')) {
            offer_options(*place.command);
        } else if (begins_command(place)) {
            return foreign_command(words_.size() - 1);
        } else {
            offer_words(place);
        }
        return std::move(done_);
    }

  private:
    // `run LOCK command arguments...`. (Names of further locks are not offered: without the dashes
    // behind them, they are the command.)
    static bool begins_command(const Place& place) {
        return place.option == nullptr && place.positionals == 1 &&
               place.command->words.back() == "run";
    }

    void walk(Place& place, const std::string& word) const {
        if (std::exchange(place.option, nullptr) != nullptr) return;
        if (is_option(word)) {
            place.option = find_option(*place.command, word);
        } else if (const CommandEntry* const child = find_child(commands_, *place.command, word)) {
            place.command = child;
        } else {
            ++place.positionals;
        }
    }

    Completion foreign_command(std::size_t begin) {
        return {.offers = {}, .add = Completion::Add::command, .command_begin = begin};
    }

    void offer(const std::string& word, const std::string& help) {
        if (word.starts_with(current_)) done_.offers.push_back({.word = word, .help = help});
    }

    void offer_value(const CommandOption& option) {
        for (const std::string& choice : option.choices) offer(choice, "");
        if (option.value == "FILE") done_.add = Completion::Add::files;
        if (option.value == "DIR") done_.add = Completion::Add::folders;
        if (option.value == "LOCK" || option.value == "PREFIX") {
            for (const std::string& lock : find_locks_(current_)) offer(lock, "");
        }
    }

    void offer_options(const CommandEntry& command) {
        for (const CommandOption& option : command.options) {
            for (const std::string& name : option.names) offer(name, option.help);
        }
    }

    void offer_words(const Place& place) {
        for (const std::string& child : place.command->children) {
            offer(child, find_child(commands_, *place.command, child)->help);
        }
        const auto& positionals = place.command->positionals;
        if (place.positionals < positionals.size()) {
            offer_value(positionals[place.positionals]);
        } else if (!positionals.empty() && positionals.back().takes_many) {
            offer_value(positionals.back());
        }
        const bool has_something =
            !done_.offers.empty() || done_.add != Completion::Add::nothing || !current_.empty();
        if (!has_something) offer_options(*place.command);
    }

    const std::vector<CommandEntry>& commands_;
    const std::vector<std::string>& words_;
    const std::string& current_;
    const FindLocks& find_locks_;
    Completion done_;
};

// The server that the words name, or the environment.
cli::ServerOptions server_in(const std::vector<std::string>& words) {
    const auto read = [&](std::string_view name, const char* variable, std::string& value) {
        if (const char* const text = std::getenv(variable)) value = text;
        for (std::size_t index = 0; index < words.size() && words[index] != "--"; ++index) {
            const std::string& word = words[index];
            if (word == name && index + 1 < words.size()) value = words[index + 1];
            if (word.starts_with(std::string(name) + "=")) value = word.substr(name.size() + 1);
        }
    };
    cli::ServerOptions options;
    read("--server", "HOLDFAST_SERVER", options.server);
    read("--token-file", "HOLDFAST_TOKEN_FILE", options.token_file);
    read("--ca-file", "HOLDFAST_CA_FILE", options.ca_file);
    return options;
}

}  // namespace

Completion complete(const std::vector<CommandEntry>& commands,
                    const std::vector<std::string>& words, const FindLocks& find_locks) {
    return Completer(commands, words, find_locks).run();
}

std::string to_text(const Completion& completion) {
    std::string text;
    for (const Offer& offer : completion.offers) {
        const std::string help = offer.help.substr(0, offer.help.find('\n'));
        text += fmt::format("{}\t{}\n", offer.word, help);
    }
    switch (completion.add) {
        case Completion::Add::nothing: break;
        case Completion::Add::files: text += ":files\n"; break;
        case Completion::Add::folders: text += ":folders\n"; break;
        case Completion::Add::command:
            text += fmt::format(":command {}\n", completion.command_begin);
            break;
    }
    return text;
}

int print_completion(const options::Command& program, std::vector<std::string> words) {
    if (!words.empty() && words.front() == "--") words.erase(words.begin());
    if (words.empty()) words.emplace_back();
    const auto find_locks = [&](const std::string& beginning) {
        return cli::find_locks(server_in(words), beginning);
    };
    const Completion completion = complete(options::list_commands(program), words, find_locks);
    std::fputs(to_text(completion).c_str(), stdout);
    return EXIT_SUCCESS;
}

}  // namespace holdfast::app
