#include "rights/token_secret.h"

#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "base/text/hex.h"

namespace holdfast::rights {

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
