#pragma once

// The secrets of tokens. A server keeps only their hashes, in memory as well as in its file.
//
// A secret that the program makes has 256 random bits. Nobody can try so many, however quickly a hash
// can be computed, so SHA-256 is enough, and every request can afford it (docs/decisions/0035).

#include <optional>
#include <string>
#include <string_view>

#include "base/sha256.h"

namespace holdfast::rights {

using Digest = base::Sha256::Digest;

// A new one: `hf_` and 43 letters, digits, `-` and `_`.
[[nodiscard]] std::string new_secret();

// The hash as the file has it: `sha256:` and 64 digits. Another hash would have another name in front.
[[nodiscard]] std::string to_text(const Digest& digest);
[[nodiscard]] bool is_digest_text(std::string_view word);  // begins so, right or wrong
[[nodiscard]] std::optional<Digest> parse_digest(std::string_view word);

}  // namespace holdfast::rights
