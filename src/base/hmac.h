#pragma once

// Proofs that somebody knows a secret, without telling it.

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::base {

inline constexpr std::size_t hmac_bytes = 32;

// HMAC-SHA256 of the message. Compare two of them with equal_in_constant_time() only.
[[nodiscard]] std::string hmac_sha256(std::string_view secret, std::string_view message);

}  // namespace holdfast::base
