#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::store {

// CRC-32C (Castagnoli). Finds every error within 32 bits that follow one another. `before` is the
// checksum of the bytes that come before these.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

// The same without the instruction of the processor, as it is computed where there is none.
[[nodiscard]] std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t before = 0);

}  // namespace holdfast::store
