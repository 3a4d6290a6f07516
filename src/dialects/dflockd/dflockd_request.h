#pragma once

// Reading a dflockd request: three lines, `command`, `key` and `argument`.
//
// Pure functions of the bytes: the same input gives the same result however it was cut into pieces,
// once it is whole.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ids.h"
#include "core/scope.h"
#include "core/time.h"

namespace holdfast::dialects::dflockd {

// Of a line without its line feed.
inline constexpr std::size_t line_bytes_max = 256;
// Of the argument of `auth`.
inline constexpr std::size_t secret_bytes_max = std::size_t{64} * 1024;

// The three lines at the front of some input, or why there are none.
struct Frame {
    enum class State : std::uint8_t {
        whole,
        incomplete,  // so far
        too_long,  // a line is, and where it would end nobody knows: there is nothing to go on from
    };

    State state = State::incomplete;
    std::size_t size = 0;  // in bytes, line feeds included
    // Without line feeds and a carriage return before them. They point into the input.
    std::string_view command, key, argument;
    bool is_key_word = false;  // no blank is in it, which was seen when its end was looked for
};

[[nodiscard]] Frame read_frame(std::string_view input);

enum class Verb : std::uint8_t { lock, release, renew, enqueue, wait, stats, ping, auth };

// One request, whatever its verb needs of it. A view of its frame.
struct DflockdRequest {
    Verb verb = Verb::ping;
    core::Scope scope;                    // all but stats, ping, auth
    core::Duration timeout{0};            // lock, wait
    std::uint32_t limit = 1;              // lock, enqueue of a semaphore
    std::optional<core::Duration> lease;  // lock, enqueue, renew, if it was given
    core::Token token;                    // release, renew
    std::string_view secret;              // auth
};

// What the frame asks for. Nothing if it is malformed: an unknown command, a key that is empty or
// has a space or tab in it, a field too few, too many, or with a value that makes no sense.
[[nodiscard]] std::optional<DflockdRequest> parse_request(const Frame& frame);

}  // namespace holdfast::dialects::dflockd
