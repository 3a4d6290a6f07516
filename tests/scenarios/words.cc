#include "scenarios/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/text/duration.h"
#include "base/text/number.h"

namespace holdfast::scenarios {

namespace {

// Removes the first word from `text` and returns it; empty if there is none.
std::string_view take_word(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    return word;
}

base::Result<core::Duration> parse_length(std::string_view word) {
    const auto length = base::parse_duration(word);
    if (!length) return base::fail(fmt::format("`{}` is not a duration", word));
    return std::chrono::duration_cast<core::Duration>(*length);
}

base::Result<core::Fence> parse_token(std::string_view word) {
    const auto number =
        word.starts_with('#') ? base::parse_decimal<std::uint64_t>(word.substr(1)) : std::nullopt;
    if (!number) return base::fail(fmt::format("`{}` is not a grant's number, like #1", word));
    return core::Fence{*number};
}

// Reads the option that begins with `word`. Its value, if it has one, is removed from `rest`.
base::Result<bool> parse_option(std::string_view word, std::string_view& rest, Words& words) {
    if (word == "shared") {
        words.mode = core::Mode::shared;
    } else if (word == "keep") {
        words.keep = true;
    } else if (word == "refuse") {
        words.refuse = true;
    } else if (word == "as") {
        words.waiter = take_word(rest);
        if (words.waiter.empty()) return base::fail("nobody follows `as`");
    } else if (word == "by") {
        words.by = take_word(rest);
        if (words.by.empty()) return base::fail("nobody follows `by`");
    } else if (word == "permits") {
        const auto permits = base::parse_decimal<std::uint32_t>(take_word(rest));
        if (!permits) return base::fail("no number follows `permits`");
        words.permits = *permits;
    } else if (word == "with") {
        TRY(words.token, parse_token(take_word(rest)));
    } else if (word == "ttl") {
        TRY(words.ttl, parse_length(take_word(rest)));
    } else if (word == "grace") {
        TRY(words.grace, parse_length(take_word(rest)));
    } else if (word == "memory") {
        TRY(words.memory, parse_length(take_word(rest)));
    } else if (word == "within") {
        TRY(words.within, parse_length(take_word(rest)));
    } else {
        return base::fail(fmt::format("`{}` is not understood", word));
    }
    return true;
}

}  // namespace

base::Result<Words> parse_words(std::string_view command) {
    Words words;
    words.verb = take_word(command);
    words.object = take_word(command);
    for (auto word = take_word(command); !word.empty(); word = take_word(command)) {
        const auto option = parse_option(word, command, words);
        if (!option) return tl::unexpected(option.error());
    }
    return words;
}

base::Result<core::Scope> parse_object(std::string_view object) {
    if (object.empty()) return base::fail("nothing to lock is named");
    if (object.find(':') == std::string_view::npos) return core::Scope::named(object);
    const auto scope = core::parse_scope(object);
    if (!scope) return base::fail(fmt::format("`{}` is not a scope", object));
    return *scope;
}

base::Result<std::vector<core::SetMember>> parse_objects(const Words& words) {
    std::vector<core::SetMember> members;
    for (std::string_view rest = words.object; !rest.empty();) {
        const std::string_view object = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(object.size() + 1, rest.size()));
        TRY(const core::Scope scope, parse_object(object));
        members.push_back({.scope = scope, .mode = words.mode, .limit = words.permits});
    }
    if (members.empty()) return base::fail("nothing to lock is named");
    return members;
}

std::string format_scopes(const core::Scope& scope, std::string_view members) {
    const auto set = core::parse_set(members);
    if (!set || set->empty()) return format_scope(scope);
    std::string text;
    for (const core::SetMember& member : *set) {
        text.append(text.empty() ? "" : ",").append(format_scope(member.scope));
    }
    return text;
}

std::string format_scope(const core::Scope& scope) {
    return scope.kind == core::ScopeKind::named ? std::string(scope.name) : core::to_text(scope);
}

}  // namespace holdfast::scenarios
