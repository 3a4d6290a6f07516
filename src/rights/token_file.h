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
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rights/grants.h"
#include "rights/token_secret.h"

namespace holdfast::rights {

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
