#include "rights/token_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "base/crypto.h"
#include "base/text/hex.h"

namespace holdfast::rights {

namespace {

constexpr std::string_view blanks = " \t\r\v\f";

base::Result<TokenLine> parse_words(const std::vector<std::string_view>& words) {
    TokenLine line{.name = std::string(words.front())};
    if (!is_token_name(words.front())) {
        return base::fail(
            "a line begins with the name of a token: letters, digits, `.`, `_` and `-`, at most " +
            std::to_string(token_name_bytes_max));
    }
    for (const std::string_view taken : {auth_token_name, admin_token_name, anonymous_name}) {
        if (line.name != taken) continue;
        return base::fail("no token of a file is called " + line.name + ": the server calls so " +
                          (taken == anonymous_name
                               ? std::string("clients without a token")
                               : "the token of --" + line.name + "-token-file"));
    }
    const auto digest = words.size() > 1 ? parse_digest(words.back()) : std::nullopt;
    if (!digest) {
        return base::fail(
            "a line ends with the hash of the secret, sha256: and 64 lower-case digits, as "
            "`holdfast "
            "token new` prints it");
    }
    line.digest = *digest;
    const auto rights = std::span(words).subspan(1, words.size() - 2);
    if (std::any_of(rights.begin(), rights.end(), is_digest_text)) {
        return base::fail("a token has one secret, which stands at the end of its line");
    }
    TRY(line.grants, Grants::parse(rights));
    return line;
}

// Where names and secrets have been seen, by line.
class Seen {
  public:
    base::Result<void> add(const TokenLine& token, std::size_t line) {
        const auto [name, is_new_name] = names_.emplace(token.name, line);
        if (!is_new_name) {
            return base::fail("the name is that of line " + std::to_string(name->second));
        }
        const auto [digest, is_new_digest] = digests_.emplace(token.digest, line);
        if (is_new_digest) return {};
        return base::fail("the secret is that of line " + std::to_string(digest->second));
    }

  private:
    std::map<std::string, std::size_t> names_;
    std::map<Digest, std::size_t> digests_;
};

}  // namespace

bool is_token_name(std::string_view text) {
    const auto is_allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    };
    return !text.empty() && text.size() <= token_name_bytes_max &&
           std::all_of(text.begin(), text.end(), is_allowed);
}

std::vector<std::string_view> split_words(std::string_view line) {
    std::vector<std::string_view> words;
    while (true) {
        line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
        if (line.empty() || line.starts_with('#')) return words;
        words.push_back(line.substr(0, line.find_first_of(blanks)));
        line.remove_prefix(words.back().size());
    }
}

base::Result<std::vector<TokenLine>> parse_token_file(std::string_view text) {
    std::vector<TokenLine> tokens;
    Seen seen;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const auto words = split_words(line);
        if (words.empty()) continue;
        auto token = parse_words(words);
        const auto added = token ? seen.add(*token, number) : tl::unexpected(token.error());
        if (!added) {
            return base::fail("line " + std::to_string(number) + ": " + added.error().message);
        }
        tokens.push_back(std::move(*token));
    }
    return tokens;
}

namespace {

constexpr std::string_view scheme = "sha256:";
constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

}  // namespace

std::string new_secret() {
    constexpr std::size_t letters = 43, bits_per_letter = 6, letters_per_word = 10;
    base::RandomBits random;
    std::string secret = "hf_";
    std::uint64_t bits = 0;
    for (std::size_t index = 0; index < letters; ++index) {
        if (index % letters_per_word == 0) bits = random();
        secret += alphabet[bits % alphabet.size()];
        bits >>= bits_per_letter;
    }
    return secret;
}

std::string to_text(const Digest& digest) {
    return std::string(scheme) + base::to_hex(digest);
}

bool is_digest_text(std::string_view word) {
    return word.starts_with(scheme);
}

std::optional<Digest> parse_digest(std::string_view word) {
    Digest digest{};
    if (!is_digest_text(word)) return std::nullopt;
    word.remove_prefix(scheme.size());
    if (!base::parse_hex_bytes(word, digest)) return std::nullopt;
    return digest;
}

}  // namespace holdfast::rights
