#pragma once

// Reply: what a command answers, before it is written in one of the two forms of Redis' protocol.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::doors::redis {

struct Reply {
    enum class Kind : std::uint8_t {
        status,      // `+OK`
        error,       // `-ERR ...`: `text` begins with the code
        integer,     // `:1`
        bulk,        // `$5 hello`: any bytes
        null,        // no value
        null_array,  // no value where a list was expected; the same as null in RESP3
        array,
        map,  // `items` are a key, its value, the next key and so on; an array in RESP2
    };

    Kind kind = Kind::null;
    std::int64_t number = 0;
    std::string text;
    std::vector<Reply> items;

    static Reply ok() { return status("OK"); }
    static Reply status(std::string_view text) {
        return {.kind = Kind::status, .text = std::string(text)};
    }
    static Reply error(std::string_view text) {
        return {.kind = Kind::error, .text = std::string(text)};
    }
    static Reply integer(std::int64_t number) { return {.kind = Kind::integer, .number = number}; }
    static Reply bulk(std::string_view text) {
        return {.kind = Kind::bulk, .text = std::string(text)};
    }
    static Reply null() { return {}; }
    static Reply array(std::vector<Reply> items) {
        return {.kind = Kind::array, .items = std::move(items)};
    }

    bool operator==(const Reply&) const = default;
    [[nodiscard]] bool is_error() const { return kind == Kind::error; }
};

// Which form of the protocol a connection speaks. Clients begin with the second; HELLO changes it.
enum class RespVersion : std::uint8_t { resp2 = 2, resp3 = 3 };

// Appends the reply to `out`. Line ends within a status or an error become blanks.
void append_reply(std::string& out, const Reply& reply, RespVersion version);

}  // namespace holdfast::doors::redis
