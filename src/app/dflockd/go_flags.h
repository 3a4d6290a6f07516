#pragma once

// Reading a command line the way programs in Go read theirs, for a program that takes the place of
// one.
//
//     -port 1   --port 1   -port=1   --port=1      are the same
//     -debug    --debug=false                      a boolean flag has its value behind `=`, or none
//     --host --port                                any other flag takes the next word, whatever it
//                                                  looks like
//     --port 0x10   --max-locks 1_000              numbers are written as in Go
//     --port 1 and --port 2 are ignored            from the first word that is no flag, or `--`
//
// Pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::app {

// The names of the flags that are not whole numbers, without dashes. A value of another flag that
// is a whole number in Go is written in decimal digits, and any other is left for its option to
// judge.
struct GoFlagKinds {
    std::vector<std::string_view> booleans;
    std::vector<std::string_view> texts;
};

// The flags at the front of `words` as CLI11 reads them: `--name` and its value as a word of its
// own, or `--name=true`. `-h` and `-help` become `--help`. What Go would refuse is left as it is,
// so that the command line refuses it by its name.
[[nodiscard]] std::vector<std::string> read_go_flags(const std::vector<std::string>& words,
                                                     const GoFlagKinds& kinds);

// The number that all of `text` is in Go's source: with a sign or without, in decimal digits or
// after `0x`, `0o`, `0b` or a leading `0` (octal), with single `_` between digits. No value if it
// is none, or does not fit.
[[nodiscard]] std::optional<std::int64_t> parse_go_integer(std::string_view text);

// `1`, `t`, `T`, `true`, `True`, `TRUE`, and likewise for false. No value if it is neither.
[[nodiscard]] std::optional<bool> parse_go_boolean(std::string_view text);

}  // namespace holdfast::app
