#pragma once

// The words and numbers of dflockd's requests, read character by character.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fuzz {

inline constexpr std::size_t line_length_max = 256;
inline constexpr std::size_t secret_length_max = 65536;
inline constexpr std::int64_t default_lease_s = 33;
inline constexpr std::int64_t lease_max_s = std::int64_t{366} * 24 * 3600;
inline constexpr std::uint64_t limit_max = 1'000'000;
inline constexpr std::uint64_t limit_in_32_bits =
    4'294'967'295;  // beyond it a request is malformed
inline constexpr std::int64_t for_ever_s = std::int64_t{1} << 40;

inline bool is_space(char c) {
    return std::string_view(" \t\v\f\r").find(c) != std::string_view::npos;
}

inline std::string without_returns(std::string line) {
    while (!line.empty() && line.back() == '\r') line.pop_back();
    return line;
}

inline std::string trimmed(const std::string& text) {
    std::size_t begin = 0, end = text.size();
    while (begin < end && is_space(text[begin])) ++begin;
    while (end > begin && is_space(text[end - 1])) --end;
    return text.substr(begin, end - begin);
}

inline std::vector<std::string> fields_of(const std::string& argument) {
    std::vector<std::string> fields(1);
    for (const char c : argument) {
        if (!is_space(c)) {
            fields.back() += c;
        } else if (!fields.back().empty()) {
            fields.emplace_back();
        }
    }
    if (fields.back().empty()) fields.pop_back();
    return fields;
}

// A number from zero on. No value for anything else.
inline std::optional<std::uint64_t> number_of(const std::string& field) {
    const bool has_sign = !field.empty() && (field[0] == '+' || field[0] == '-');
    const std::string digits = field.substr(has_sign ? 1 : 0);
    if (digits.empty()) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : digits) {
        if (c < '0' || c > '9') return std::nullopt;
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
        value = value * 10 + digit;
    }
    if (has_sign && field[0] == '-' && value != 0) return std::nullopt;
    return value;
}

// Seconds; what is longer than any test is for ever.
inline std::optional<std::int64_t> seconds_of(const std::string& field) {
    const auto number = number_of(field);
    if (!number) return std::nullopt;
    return static_cast<std::int64_t>(std::min<std::uint64_t>(*number, for_ever_s));
}

inline bool is_command_so_far(const std::string& line) {
    const std::string command = without_returns(line.substr(0, line_length_max));
    return std::all_of(command.begin(), command.end(), [](char c) { return c >= '!' && c <= '~'; });
}

inline bool is_key(const std::string& key) {
    return !key.empty() && key.find_first_of(" \t\r") == std::string::npos;
}

// The lease that the field at `index` asks for, or the server's. No value if it makes no sense: not
// a number, or zero. One that is too long is larger than lease_max_s.
inline std::optional<std::int64_t> lease_of(const std::vector<std::string>& fields,
                                            std::size_t index) {
    if (fields.size() == index) return default_lease_s;
    if (fields.size() > index + 1) return std::nullopt;
    const auto lease = seconds_of(fields[index]);
    return lease && *lease > 0 ? lease : std::nullopt;
}

}  // namespace holdfast::fuzz
