#pragma once

// The file of `--tokens`: one token a line.
//
//     # name     rights                            hash of its secret
//     ci         lock deploy/* read * @http        sha256:9b74c9897bac770f...
//     dashboard  read *                            sha256:0cc175b9c0f1b6a8...
//
// A name consists of letters, digits, `.`, `_` and `-`. grants.h says how rights are written. A word that begins
// with `#` begins a comment. No two tokens have the same name or the same secret.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/crypto.h"
#include "base/result.h"
#include "rights/grants.h"

namespace holdfast::rights {

// The secrets of tokens. A server keeps only their hashes, in memory as well as in its file.
//
// A secret that the program makes has 256 random bits. Nobody can try so many, however quickly a hash
// can be computed, so SHA-256 is enough, and every request can afford it (docs/decisions/0035).

using Digest = base::Sha256::Digest;

// A new one: `hf_` and 43 letters, digits, `-` and `_`.
[[nodiscard]] std::string new_secret();

// The hash as the file has it: `sha256:` and 64 digits. Another hash would have another name in front.
[[nodiscard]] std::string to_text(const Digest& digest);
[[nodiscard]] bool is_digest_text(std::string_view word);  // begins so, right or wrong
[[nodiscard]] std::optional<Digest> parse_digest(std::string_view word);

// The file.

inline constexpr std::size_t token_file_bytes_max = std::size_t{1024} * 1024;
inline constexpr std::size_t token_name_bytes_max = 64;

struct TokenLine {
    std::string name;
    Grants grants;
    Digest digest{};
};

// The names of tokens that are in no file: those of --auth-token-file and --admin-token-file, and that
// of clients without a token.
inline constexpr std::string_view auth_token_name = "auth";
inline constexpr std::string_view admin_token_name = "admin";
inline constexpr std::string_view anonymous_name = "anonymous";

[[nodiscard]] bool is_token_name(std::string_view text);

// Reads the whole file. An error begins with `line 7: `, and repeats no word that may be a secret.
[[nodiscard]] base::Result<std::vector<TokenLine>> parse_token_file(std::string_view text);

// The words of a line, without its comment.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view line);

}  // namespace holdfast::rights
