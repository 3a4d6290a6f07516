#include "base/text/duration.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ratio>

#include "base/text/number.h"

namespace holdfast::base {
namespace {

using namespace std::chrono_literals;

// The magnitude of the most negative duration. Positive ones end one nanosecond earlier.
constexpr std::uint64_t magnitude_max = std::uint64_t{1} << 63;

constexpr std::uint64_t ns_per_us = 1'000;
constexpr std::uint64_t ns_per_ms = 1'000 * ns_per_us;
constexpr std::uint64_t ns_per_second = 1'000 * ns_per_ms;
constexpr std::uint64_t ns_per_minute = 60 * ns_per_second;
constexpr std::uint64_t ns_per_hour = 60 * ns_per_minute;

struct Unit {
    std::string_view name;
    std::uint64_t ns;
};

constexpr std::array<Unit, 8> units = {{
    {"ns", 1},
    {"us", ns_per_us},
    {"\u00B5s", ns_per_us},  // the micro sign
    {"\u03BCs", ns_per_us},  // the Greek letter mu
    {"ms", ns_per_ms},
    {"s", ns_per_second},
    {"m", ns_per_minute},
    {"h", ns_per_hour},
}};

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Cuts the longest prefix off `text` whose characters all satisfy `belongs`.
template <class Predicate>
std::string_view take_while(std::string_view& text, Predicate belongs) {
    const auto end = std::find_if_not(text.begin(), text.end(), belongs);
    const auto length = static_cast<std::size_t>(end - text.begin());
    const std::string_view taken = text.substr(0, length);
    text.remove_prefix(length);
    return taken;
}

// Appends one digit to a decimal number; no value beyond the largest magnitude.
std::optional<std::uint64_t> with_digit(std::uint64_t number, char digit) {
    if (number > magnitude_max / 10) return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(digit - '0');
    if (number > magnitude_max) return std::nullopt;
    return number;
}

std::optional<std::uint64_t> whole_number(std::string_view digits) {
    std::optional<std::uint64_t> value = 0;
    for (const char digit : digits) {
        value = with_digit(*value, digit);
        if (!value) break;
    }
    return value;
}

// The part of a unit that the digits after a point stand for, cut to whole nanoseconds. Digits that
// do not fit are ignored. Done with doubles, and in this order, because Go does so: doing it better
// would give other nanoseconds.
std::uint64_t fraction_ns(std::string_view digits, std::uint64_t unit_ns) {
    std::uint64_t numerator = 0;
    double denominator = 1;
    for (const char digit : digits) {
        const auto longer = with_digit(numerator, digit);
        if (!longer) break;
        numerator = *longer;
        denominator *= 10;
    }
    const double scale = static_cast<double>(unit_ns) / denominator;
    return static_cast<std::uint64_t>(static_cast<double>(numerator) * scale);
}

// Cuts one number with its unit off `text`: the magnitude in nanoseconds.
std::optional<std::uint64_t> take_term(std::string_view& text) {
    const std::string_view whole = take_while(text, is_digit);
    std::string_view fraction;
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        fraction = take_while(text, is_digit);
    }
    if (whole.empty() && fraction.empty()) return std::nullopt;

    const auto name = take_while(text, [](char c) { return c != '.' && !is_digit(c); });
    const auto* const unit = std::ranges::find(units, name, &Unit::name);
    if (unit == units.end()) return std::nullopt;

    const auto count = whole_number(whole);
    if (!count || *count > magnitude_max / unit->ns) return std::nullopt;
    return *count * unit->ns + fraction_ns(fraction, unit->ns);
}

// Appends `ns` in units of `unit_ns` (a power of ten), with as many decimals as it takes.
void append_decimal(std::string& out, std::uint64_t ns, std::uint64_t unit_ns) {
    out += std::to_string(ns / unit_ns);
    std::uint64_t rest = ns % unit_ns;
    if (rest == 0) return;
    out += '.';
    while (rest > 0) {
        rest *= 10;
        out += static_cast<char>('0' + rest / unit_ns);
        rest %= unit_ns;
    }
}

void append_below_second(std::string& out, std::uint64_t ns) {
    if (ns < ns_per_us) {
        out += std::to_string(ns) + "ns";
    } else if (ns < ns_per_ms) {
        append_decimal(out, ns, ns_per_us);
        out += "\u00B5s";
    } else {
        append_decimal(out, ns, ns_per_ms);
        out += "ms";
    }
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    if (text == "0") return 0ns;
    if (text.empty()) return std::nullopt;

    std::uint64_t magnitude = 0;
    while (!text.empty()) {
        const auto term = take_term(text);
        if (!term || *term > magnitude_max - magnitude) return std::nullopt;
        magnitude += *term;
    }
    if (negative) return std::chrono::nanoseconds(static_cast<std::int64_t>(0 - magnitude));
    if (magnitude == magnitude_max) return std::nullopt;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(magnitude));
}

std::optional<std::chrono::nanoseconds> parse_long_duration(std::string_view text) {
    using Days = std::chrono::duration<std::int64_t, std::ratio<86'400>>;
    constexpr std::int64_t days_max = 100'000;
    const std::size_t days_end = text.find('d');
    if (days_end == std::string_view::npos) return parse_duration(text);
    const auto days = parse_decimal<std::int64_t>(text.substr(0, days_end));
    if (!days || *days < 0 || *days > days_max) return std::nullopt;
    const std::chrono::nanoseconds whole = Days{*days};
    const std::string_view rest = text.substr(days_end + 1);
    if (rest.empty()) return whole;
    const auto more = parse_duration(rest);
    if (!more || *more < more->zero() || *more > std::chrono::nanoseconds::max() - whole) {
        return std::nullopt;
    }
    return whole + *more;
}

std::string format_duration(std::chrono::nanoseconds duration) {
    const auto count = static_cast<std::uint64_t>(duration.count());
    const std::uint64_t ns = duration < 0ns ? 0 - count : count;
    std::string out = duration < 0ns ? "-" : "";
    if (ns > 0 && ns < ns_per_second) {
        append_below_second(out, ns);
        return out;
    }
    if (ns >= ns_per_hour) out += std::to_string(ns / ns_per_hour) + 'h';
    if (ns % ns_per_hour >= ns_per_minute) {
        out += std::to_string(ns % ns_per_hour / ns_per_minute) + 'm';
    }
    if (ns == 0 || ns % ns_per_minute > 0) {
        append_decimal(out, ns % ns_per_minute, ns_per_second);
        out += 's';
    }
    return out;
}

}  // namespace holdfast::base
