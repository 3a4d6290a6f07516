#include "doors/redis/resp/resp_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

namespace holdfast::doors::redis {

namespace {

using FrameState = RespFrame::State;

// The longest line that says how many words or bytes follow.
constexpr std::size_t length_line_max = 32;

RespFrame broken(std::string_view why) {
    return {.state = FrameState::broken, .fault = fmt::format("ERR Protocol error: {}", why)};
}

RespFrame whole(std::size_t size) {
    return {.state = FrameState::whole, .size = size};
}

// The number in a line such as `*3` or `$-1`, and where the line ends.
struct LengthLine {
    enum class State : std::uint8_t { incomplete, wrong, good } state = State::incomplete;
    std::int64_t number = 0;
    std::size_t size = 0;  // with the sign and the end of the line
};

// As clients write nearly all lengths: a few digits and `\r\n`. A line that is not good may still
// be good by read_any_length().
LengthLine read_usual_length(std::string_view input) {
    constexpr std::size_t digits_max = 6;
    LengthLine line;
    std::size_t at = 1;
    for (; at < input.size() && at <= digits_max; ++at) {
        const unsigned digit = static_cast<unsigned char>(input[at]) - unsigned{'0'};
        if (digit > 9) break;
        line.number = line.number * 10 + digit;
    }
    if (at == 1 || input.size() - at < 2 || input[at] != '\r' || input[at + 1] != '\n') return {};
    line.state = LengthLine::State::good;
    line.size = at + 2;
    return line;
}

LengthLine read_any_length(std::string_view input) {
    const std::size_t end = input.substr(0, length_line_max).find('\n');
    if (end == std::string_view::npos) {
        const bool is_long = input.size() >= length_line_max;
        return {.state = is_long ? LengthLine::State::wrong : LengthLine::State::incomplete};
    }
    std::string_view digits = input.substr(1, end - 1);
    if (!digits.empty() && digits.back() == '\r') digits.remove_suffix(1);
    LengthLine line{.state = LengthLine::State::good, .size = end + 1};
    const auto [rest, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), line.number);
    if (error != std::errc{} || rest != digits.data() + digits.size()) {
        line.state = LengthLine::State::wrong;
    }
    return line;
}

LengthLine read_length(std::string_view input) {
    const LengthLine usual = read_usual_length(input);
    return usual.state == LengthLine::State::good ? usual : read_any_length(input);
}

// Reads `$5\r\nhello\r\n` at `at`, moves `at` behind it and adds the word.
RespFrame read_word(std::string_view input, std::size_t& at, RespCommand& command) {
    if (at >= input.size()) return {};
    if (input[at] != '$') {
        return broken(fmt::format("expected '$', got '{}'", input[at] < ' ' ? ' ' : input[at]));
    }
    const LengthLine line = read_length(input.substr(at));
    if (line.state == LengthLine::State::incomplete) return {};
    const auto length = static_cast<std::size_t>(line.number);
    if (line.state == LengthLine::State::wrong || line.number < 0 || length > word_bytes_max) {
        return broken("invalid bulk length");
    }
    const std::size_t begin = at + line.size;
    if (begin + length > command_bytes_max) return broken("invalid bulk length");
    if (input.size() < begin + length + 2) return {};
    if (input.substr(begin + length, 2) != "\r\n") return broken("invalid bulk length");
    command.words.push_back(input.substr(begin, length));
    at = begin + length + 2;
    return whole(at);
}

RespFrame read_array(std::string_view input, RespCommand& command) {
    const LengthLine line = read_length(input);
    if (line.state == LengthLine::State::incomplete) return {};
    if (line.state == LengthLine::State::wrong ||
        line.number > static_cast<std::int64_t>(words_max)) {
        return broken("invalid multibulk length");
    }
    std::size_t at = line.size;
    for (std::int64_t count = 0; count < line.number; ++count) {
        RespFrame frame = read_word(input, at, command);
        if (frame.state != FrameState::whole) return frame;
    }
    return whole(at);
}

bool is_blank(char character) {
    return character == ' ' || character == '\t' || character == '\r' || character == '\n';
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
    if (text.size() != lower.size()) return false;
    for (std::size_t index = 0; index < text.size(); ++index) {
        const char character = text[index];
        const bool is_upper = character >= 'A' && character <= 'Z';
        if ((is_upper ? character + ('a' - 'A') : character) != lower[index]) return false;
    }
    return true;
}

// What `\n` and the like in double quotes stand for.
char unescape(char character) {
    switch (character) {
        case 'n': return '\n';
        case 'r': return '\r';
        case 't': return '\t';
        case 'b': return '\b';
        case 'a': return '\a';
        default: return character;
    }
}

// The byte of `\x41`, from behind the x on.
std::optional<char> read_hex_byte(std::string_view text) {
    unsigned char byte = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), byte, 16);
    if (text.size() != 2 || error != std::errc{} || rest != text.data() + 2) return std::nullopt;
    return static_cast<char>(byte);
}

// Reads a word in quotes from its first quote on, and moves `at` behind it. No value if the quotes
// do not end, or something follows them directly.
std::optional<std::string> read_quoted(std::string_view line, std::size_t& at) {
    const char quote = line[at++];
    std::string word;
    for (; at < line.size(); ++at) {
        const char character = line[at];
        if (character == quote) {
            ++at;
            const bool ends = at == line.size() || is_blank(line[at]);
            return ends ? std::optional(word) : std::nullopt;
        }
        if (character != '\\' || at + 1 == line.size()) {
            word += character;
        } else if (quote == '\'') {
            if (line[at + 1] == '\'') ++at;
            word += line[at];
        } else if (const auto byte =
                       line[at + 1] == 'x' ? read_hex_byte(line.substr(at + 2, 2)) : std::nullopt;
                   byte) {
            word += *byte;
            at += 3;
        } else {
            word += unescape(line[++at]);
        }
    }
    return std::nullopt;
}

// Cuts a line into words. False if its quotes are not balanced.
bool split_line(std::string_view line, RespCommand& command) {
    for (std::size_t at = 0; at < line.size();) {
        if (is_blank(line[at])) {
            ++at;
        } else if (line[at] == '"' || line[at] == '\'') {
            auto word = read_quoted(line, at);
            if (!word) return false;
            command.words.push_back(command.unescaped.emplace_back(std::move(*word)));
        } else {
            const std::size_t begin = at;
            while (at < line.size() && !is_blank(line[at])) ++at;
            command.words.push_back(line.substr(begin, at - begin));
        }
    }
    return true;
}

// A web page can make a browser send a request to this port. Its lines would be commands.
bool is_http(const std::vector<std::string_view>& words) {
    if (words.empty()) return false;
    if (equals_ignoring_case(words[0], "post") || equals_ignoring_case(words[0], "host:")) {
        return true;
    }
    return words.size() == 3 && words[2].starts_with("HTTP/");
}

RespFrame read_line(std::string_view input, RespCommand& command) {
    const std::size_t end = input.substr(0, line_bytes_max).find('\n');
    if (end == std::string_view::npos) {
        if (input.size() >= line_bytes_max) return broken("too big inline request");
        return {};
    }
    if (!split_line(input.substr(0, end), command)) return broken("unbalanced quotes in request");
    if (command.words.size() > words_max) return broken("too big inline request");
    if (is_http(command.words)) return {.state = FrameState::foreign};
    return whole(end + 1);
}

}  // namespace

RespFrame read_command(std::string_view input, RespCommand& command) {
    command.words.clear();
    command.unescaped.clear();
    if (input.empty()) return {};
    return input.front() == '*' ? read_array(input, command) : read_line(input, command);
}

}  // namespace holdfast::doors::redis
