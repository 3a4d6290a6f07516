#pragma once

#include <cstdint>

namespace holdfast::files {

// What a session may do: look at files, or change and lock them as well.
enum class Permission : std::uint8_t { read, read_write };

}  // namespace holdfast::files
