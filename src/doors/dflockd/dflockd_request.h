#pragma once

// Reading a dflockd request: three lines, `command`, `key` and `argument`.
//
// Pure functions of the bytes: the same input gives the same result however it was cut into pieces,
// once it is whole.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/values/ids.h"
#include "core/values/scope.h"

namespace holdfast::doors::dflockd {

// The size of a line without its line feed.
inline constexpr std::size_t line_bytes_max = 256;
// The size of the argument of `auth`.
inline constexpr std::size_t secret_bytes_max = std::size_t{64} * 1024;

// The three lines at the front of some input, or the reason why there are none.
struct Frame {
    enum class State : std::uint8_t {
        whole,
        incomplete,  // more input may make it whole
        too_long,    // a line is too long; its end is unknown, so nothing after it can be read
        foreign,     // the first line cannot be a command: the peer speaks another protocol
    };

    State state = State::incomplete;
    std::size_t size = 0;  // in bytes, line feeds included
    // Without line feeds and the carriage returns before them. They point into the input.
    std::string_view command, key, argument;
    bool is_key_word = false;  // true if the key contains no blank
};

// A command is one word of visible ASCII. A first line that contains any other character is
// foreign, and is reported as foreign before the line ends. The first line of an HTTP request
// contains a blank, and a TLS record begins with a control character. So a web page cannot make a
// browser send dflockd requests hidden in an HTTP request.
[[nodiscard]] Frame read_frame(std::string_view input);

enum class Verb : std::uint8_t { lock, release, renew, enqueue, wait, stats, ping, auth };
inline constexpr Verb last_verb = Verb::auth;

// One request. The comments name the verbs that use a field. Its views point into the frame.
struct DflockdRequest {
    Verb verb = Verb::ping;
    core::Scope scope;                    // all but stats, ping, auth
    core::Duration timeout{0};            // lock, wait
    std::uint32_t limit = 1;              // lock and enqueue of a semaphore
    std::optional<core::Duration> lease;  // lock, enqueue, renew; nothing if it was not given
    core::Token token;                    // release, renew
    std::string_view secret;              // auth; without the blanks around it
};

// The request in a frame. Nothing if it is malformed:
//
// - the command is unknown;
// - the key is empty, or contains a space, tab or carriage return;
// - a field is missing, is one too many, or has a value that makes no sense.
[[nodiscard]] std::optional<DflockdRequest> parse_request(const Frame& frame);

}  // namespace holdfast::doors::dflockd
