#pragma once

// Random bits, hashes, and comparing secrets: what we use of OpenSSL, apart from TLS.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace holdfast::base {

// RandomBits: unguessable numbers, fetched many at a time from a generator that the kernel seeds.
// (The kernel itself takes 30 ns for one, whatever their number.)
//
// Thread safety: none.
class RandomBits {
  public:
    std::uint64_t operator()();

  private:
    std::array<std::uint64_t, 512> words_{};
    std::size_t next_ = words_.size();
};

// Comparing secrets without revealing how much of a guess was right.

// Whether `a` and `b` are equal. For texts of the same length, the time it takes does not depend on
// where or whether they differ. An attacker may learn from the time that the lengths differ.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b);

// Proofs that somebody knows a secret, without telling it.

inline constexpr std::size_t hmac_bytes = 32;

// HMAC-SHA256 of the message. Compare two of them with equal_in_constant_time() only.
[[nodiscard]] std::string hmac_sha256(std::string_view secret, std::string_view message);

// Sha256: the hash of bytes that come in pieces.
class Sha256 {
  public:
    using Digest = std::array<std::uint8_t, 32>;

    Sha256();
    void update(std::string_view bytes);
    // REQUIRES: called once, as the last call.
    [[nodiscard]] Digest finish();

  private:
    struct Closer {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Closer> context_;
};

[[nodiscard]] Sha256::Digest sha256(std::string_view bytes);
// The hash as 64 lower-case digits.
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace holdfast::base
