#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace holdfast::base {

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
