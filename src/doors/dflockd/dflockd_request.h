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

// Of a line without its line feed.
inline constexpr std::size_t line_bytes_max = 256;
// Of the argument of `auth`.
inline constexpr std::size_t secret_bytes_max = std::size_t{64} * 1024;

// The three lines at the front of some input, or why there are none.
struct Frame {
    enum class State : std::uint8_t {
        whole,
        incomplete,  // so far
        too_long,    // a line is: where it would end is not known, so nothing can be read after it
        foreign,  // the first line is no command of any dflockd: the peer speaks another protocol
    };

    State state = State::incomplete;
    std::size_t size = 0;  // in bytes, line feeds included
    // Without line feeds and the carriage returns before them. They point into the input.
    std::string_view command, key, argument;
    bool is_key_word = false;  // true if the key contains no blank
};

// A command is one word of visible ASCII. A first line with anything else in it is foreign, and is
// found so before it ends: a request line or header of HTTP has a blank in it, a TLS record begins
// with a control character. So a web page cannot hide dflockd requests in what it makes a browser
// send here.
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
    std::string_view secret;              // auth; without blanks around it
};

// What the frame asks for. Nothing if it is malformed: an unknown command, a key that is empty or
// has a space, tab or carriage return in it, a field too few, too many, or with a value that makes
// no sense.
[[nodiscard]] std::optional<DflockdRequest> parse_request(const Frame& frame);

}  // namespace holdfast::doors::dflockd
