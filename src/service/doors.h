#pragma once

// The doors of the house. A door's number is written to disk: it is never given to another.

#include <string_view>

#include "core/values/ids.h"

namespace holdfast::service {

inline constexpr core::Door homelab_door{1};
inline constexpr core::Door lockserver_door{2};
inline constexpr core::Door dflockd_door{3};
inline constexpr core::Door scoped_door{4};
inline constexpr core::Door hengdang_door{5};
inline constexpr core::Door embedded_door{6};  // no door: the program the engine is part of
inline constexpr core::Door redis_door{7};
inline constexpr core::Door terraform_door{8};

// What people call it.
[[nodiscard]] constexpr std::string_view to_text(core::Door door) {
    if (door == homelab_door) return "homelab";
    if (door == lockserver_door) return "lockserver";
    if (door == dflockd_door) return "dflockd";
    if (door == scoped_door) return "scoped";
    if (door == hengdang_door) return "hengdang";
    if (door == embedded_door) return "embedded";
    if (door == redis_door) return "redis";
    if (door == terraform_door) return "terraform";
    return "unknown";
}

}  // namespace holdfast::service
