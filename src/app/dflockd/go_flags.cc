#include "app/dflockd/go_flags.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <system_error>

namespace holdfast::app {

namespace {

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool contains(std::initializer_list<std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// Takes the prefix that names a base off the digits, and returns the base.
int take_base(std::string_view& digits) {
    if (digits.size() < 2 || digits.front() != '0') return 10;
    const char letter = static_cast<char>(std::tolower(static_cast<unsigned char>(digits[1])));
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    digits.remove_prefix(base == 0 ? 1 : 2);
    return base == 0 ? 8 : base;
}

// The digits without the `_` between them. No value if one stands elsewhere: `had_prefix` says
// whether one may come first.
std::optional<std::string> without_underscores(std::string_view digits, bool had_prefix) {
    std::string plain;
    bool may_follow = had_prefix;
    for (const char c : digits) {
        if (c == '_' && !may_follow) return std::nullopt;
        may_follow = c != '_';
        if (c != '_') plain += c;
    }
    if (!may_follow) return std::nullopt;
    return plain;
}

// A flag and its value, if that was behind a `=`.
struct FlagWord {
    std::string_view name;
    std::optional<std::string_view> value;
};

// No value for a word that is no flag, or that Go refuses.
std::optional<FlagWord> split_flag(std::string_view word) {
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    if (word.empty() || word.front() == '-' || word.front() == '=') return std::nullopt;
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) return FlagWord{.name = word, .value = std::nullopt};
    return FlagWord{.name = word.substr(0, equals), .value = word.substr(equals + 1)};
}

// A boolean flag as one word, or none if it says what is so anyway.
std::optional<std::string> boolean_word(const FlagWord& flag) {
    const bool is_help = flag.name == "h" || flag.name == "help";
    const bool is_action = is_help || flag.name == "version";
    const std::string name = is_help ? "--help" : "--" + std::string(flag.name);
    if (!flag.value) return name;
    const auto value = parse_go_boolean(*flag.value);
    if (!value) return name + "=" + std::string(*flag.value);
    if (!is_action) return name + (*value ? "=true" : "=false");
    if (!*value) return std::nullopt;
    return name;
}

}  // namespace

std::optional<std::int64_t> parse_go_integer(std::string_view text) {
    std::string digits;
    if (text.starts_with('+') || text.starts_with('-')) {
        if (text.front() == '-') digits += '-';
        text.remove_prefix(1);
    }
    const std::size_t size = text.size();
    const int base = take_base(text);
    const auto plain = without_underscores(text, text.size() < size);
    if (!plain || plain->starts_with('-')) return std::nullopt;
    digits += *plain;
    std::int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, fault] = std::from_chars(digits.data(), end, value, base);
    if (fault != std::errc{} || stop != end) return std::nullopt;
    return value;
}

std::optional<bool> parse_go_boolean(std::string_view text) {
    if (contains({"1", "t", "T", "true", "True", "TRUE"}, text)) return true;
    if (contains({"0", "f", "F", "false", "False", "FALSE"}, text)) return false;
    return std::nullopt;
}

std::vector<std::string> read_go_flags(const std::vector<std::string>& words,
                                       const GoFlagKinds& kinds) {
    std::vector<std::string> read;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].size() < 2 || words[i].front() != '-' || words[i] == "--") break;
        const auto flag = split_flag(words[i]);
        if (!flag) {
            read.push_back(words[i]);
            continue;
        }
        if (contains(kinds.booleans, flag->name) || flag->name == "h" || flag->name == "help") {
            if (auto word = boolean_word(*flag)) read.push_back(std::move(*word));
            continue;
        }
        read.push_back("--" + std::string(flag->name));
        if (!flag->value && i + 1 == words.size()) break;  // the option will miss its value
        std::string value(flag->value ? *flag->value : std::string_view(words[++i]));
        const bool is_text = contains(kinds.texts, flag->name);
        if (const auto number = parse_go_integer(value); number && !is_text) {
            value = std::to_string(*number);
        }
        read.push_back(std::move(value));
    }
    return read;
}

}  // namespace holdfast::app
