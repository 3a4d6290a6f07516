#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::base {

// The bytes that `text` spells in Base64 (RFC 4648), padded with `=` to a multiple of four
// characters. Nothing for any other text: no space and no line end is skipped.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace holdfast::base
