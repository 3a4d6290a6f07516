#pragma once

// Cuts the text of a script into the words and signs of Lua.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace holdfast::doors::redis {

// Scripts with more bytes than this are refused. (The largest of those that lock clients send has
// 1325.)
inline constexpr std::size_t script_bytes_max = std::size_t{16} * 1024;
// How many words and signs a script may have. The size of its tree follows from that.
inline constexpr std::size_t script_tokens_max = 4096;

struct ScriptToken {
    enum class Kind : std::uint8_t {
        name,    // also the reserved words: `text` tells them apart
        number,  // `number`
        text,    // `text`: what is between the quotes
        sign,    // `text`: `==`, `(` and so on
        end,     // of the script
    };

    Kind kind = Kind::end;
    std::string text;
    double number = 0;
    int line = 1;

    [[nodiscard]] bool is(std::string_view word) const {
        return (kind == Kind::name || kind == Kind::sign) && text == word;
    }
};

// All tokens, the last one `end`. The error names the line and what was not understood.
[[nodiscard]] base::Result<std::vector<ScriptToken>> cut_script(std::string_view text);

}  // namespace holdfast::doors::redis
