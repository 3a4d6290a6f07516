#pragma once

// The doors of the house. A door's number is written to disk: it is never given to another.

#include <string_view>

#include "core/ids.h"

namespace holdfast::service {

inline constexpr core::Door homelab_door{1};

// What people call it.
[[nodiscard]] constexpr std::string_view to_text(core::Door door) {
    return door == homelab_door ? "homelab" : "unknown";
}

}  // namespace holdfast::service
