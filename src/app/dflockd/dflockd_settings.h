#pragma once

// The settings of dflockd that a server here has, too, each declared once: how `holdfast serve`
// spells it, how dflockd spells it as a flag and as a variable, and what it changes. `serve` and
// `holdfast dflockd` are the same server: they differ in the spelling and in the defaults.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/serve_options.h"

namespace holdfast::app {

// Longer than any server runs, and shorter than what a clock can hold.
inline constexpr std::chrono::hours for_ever{24 * 366};

inline constexpr std::uint16_t dflockd_port_usual = 6388;

struct DflockdSetting {
    // Where the value is. A number of zero means no limit.
    using Place = std::variant<core::Duration*, std::chrono::milliseconds*, std::size_t*, bool*>;

    std::string option;                  // of `serve`
    std::string flag;                    // of dflockd, and so of `holdfast dflockd`
    std::vector<std::string> variables;  // of dflockd; they have had other names
    std::string help, flag_help;
    Place (*place)(ServeOptions& options);
    // Whether the option concerns this door alone. Otherwise `serve` declares it elsewhere.
    bool is_of_door = true;
    bool is_above_zero = false;
};

[[nodiscard]] std::span<const DflockdSetting> dflockd_settings();

// What no version of dflockd refuses to start with, and nothing here stands behind.
struct IgnoredSetting {
    std::string flag;
    std::vector<std::string> variables;
    std::string instead;   // what there is in its place
    bool is_time = false;  // seconds that dflockd's clients do not notice: nobody is warned
};

[[nodiscard]] std::span<const IgnoredSetting> ignored_settings();

// Declares the options of dflockd's door for `serve`.
void declare_dflockd_door(const options::Command& command, ServeOptions& options);

// ---- The values of dflockd's flags and variables ----

// Seconds as dflockd writes them, or with a fraction. False: the text is none.
[[nodiscard]] bool parse_seconds(std::string_view text, std::chrono::duration<double>& value);
// A whole number as dflockd writes it in a variable: decimal, with a sign or without.
[[nodiscard]] bool parse_count(std::string_view text, std::size_t& value);

// The value of a variable of the environment; empty if it is not set.
[[nodiscard]] std::string variable_of(const std::string& name);

// The address to listen on. Of a name: its first IPv4 address, or else the first. `source` says in
// an error where the host is from.
[[nodiscard]] base::Result<std::string> find_address(std::string host, std::uint16_t port,
                                                     const std::string& source);

// A secret as dflockd takes it, without the blanks around it, which `auth` drops too.
[[nodiscard]] base::Result<std::string> clean_secret(const std::string& text,
                                                     std::string_view source);

}  // namespace holdfast::app
