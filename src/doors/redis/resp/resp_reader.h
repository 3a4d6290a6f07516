#pragma once

// Reads commands as Redis' clients send them: arrays of bulk strings, or lines of words for people
// with a terminal ("inline commands").

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::doors::redis {

// The limits of one command. What is beyond them ends the connection, as bytes do that are no
// command: nothing says where the next command begins.
inline constexpr std::size_t words_max = 1024;
inline constexpr std::size_t word_bytes_max = std::size_t{64} * 1024;
inline constexpr std::size_t command_bytes_max = std::size_t{256} * 1024;
inline constexpr std::size_t line_bytes_max = std::size_t{64} * 1024;

// One command. Words point into the input, or into `unescaped` if the client wrote them in quotes.
struct RespCommand {
    std::vector<std::string_view> words;  // none: an empty line, which means nothing
    std::deque<std::string> unescaped;
};

struct RespFrame {
    enum class State : std::uint8_t {
        incomplete,
        whole,
        broken,   // `fault` says why; the connection ends after that answer
        foreign,  // a browser or another HTTP client: the connection ends without an answer
    };

    State state = State::incomplete;
    std::size_t size = 0;  // whole: of the command
    std::string fault;     // broken: as Redis says it, with the code
};

// Reads the command at the front of `input` into `command`, whose old content is dropped.
[[nodiscard]] RespFrame read_command(std::string_view input, RespCommand& command);

}  // namespace holdfast::doors::redis
