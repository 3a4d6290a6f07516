#include "doors/redis/commands/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>

namespace holdfast::doors::redis {

namespace {

char lower_of(char character) {
    const bool is_upper = character >= 'A' && character <= 'Z';
    return is_upper ? static_cast<char>(character + ('a' - 'A')) : character;
}

}  // namespace

bool is_word(std::string_view word, std::string_view lower) {
    return std::equal(word.begin(), word.end(), lower.begin(), lower.end(),
                      [](char one, char other) { return lower_of(one) == other; });
}

std::string to_lower(std::string_view word) {
    std::string lower(word);
    std::transform(lower.begin(), lower.end(), lower.begin(), lower_of);
    return lower;
}

std::optional<std::int64_t> parse_integer(std::string_view word) {
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc{} || rest != word.data() + word.size()) return std::nullopt;
    return number;
}

Reply syntax_error() {
    return Reply::error("ERR syntax error");
}

Reply not_an_integer() {
    return Reply::error("ERR value is not an integer or out of range");
}

Reply wrong_arguments(std::string_view command) {
    return Reply::error(fmt::format("ERR wrong number of arguments for '{}' command", command));
}

Reply unknown_command(Words words) {
    constexpr std::size_t shown_max = 128;
    std::string arguments;
    for (const std::string_view word : words.subspan(1)) {
        if (arguments.size() >= shown_max) break;
        arguments += fmt::format("'{}' ", word.substr(0, shown_max - arguments.size()));
    }
    return Reply::error(fmt::format("ERR unknown command '{}', with args beginning with: {}",
                                    words[0].substr(0, shown_max), arguments));
}

std::optional<ExpiryForm> find_expiry_form(std::string_view word) {
    if (is_word(word, "ex")) return ExpiryForm{.is_seconds = true};
    if (is_word(word, "px")) return ExpiryForm{};
    if (is_word(word, "exat")) return ExpiryForm{.is_seconds = true, .is_absolute = true};
    if (is_word(word, "pxat")) return ExpiryForm{.is_absolute = true};
    return std::nullopt;
}

std::optional<core::Duration> time_until(ExpiryForm form, std::int64_t number, core::Time now,
                                         const service::Clock& clock) {
    using std::chrono::milliseconds;
    constexpr std::int64_t ms_per_second = 1000, ms_max = INT64_MAX;
    // Far more than any lease, and far from where sums would overflow.
    constexpr milliseconds farthest{std::int64_t{1} << 50};
    if (form.is_seconds) {
        if (number > ms_max / ms_per_second || number < -(ms_max / ms_per_second))
            return std::nullopt;
        number *= ms_per_second;
    }
    const auto since_1970 = std::chrono::floor<milliseconds>(clock.wall(now).time_since_epoch());
    if (!form.is_absolute && number > ms_max - since_1970.count()) return std::nullopt;
    const milliseconds given = std::clamp(milliseconds{number}, -farthest, farthest);
    return form.is_absolute ? core::Duration{given} - since_1970 : given;
}

}  // namespace holdfast::doors::redis
