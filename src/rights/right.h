#pragma once

// What a client may do, and where.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::rights {

// Each includes those before it.
enum class Right : std::uint8_t {
    none,
    read,   // look at locks, who holds them and who waits
    lock,   // acquire, renew and release them
    admin,  // end what others hold
};

// Where a right holds. These are the names of the listeners, as users know them from `--http`,
// `--dflockd`, `--redis` and `--files`.
enum class Door : std::uint8_t { http, dflockd, redis, files };
inline constexpr std::size_t doors_count = 4;

// A set of doors: bit 1 << door.
using DoorSet = std::uint8_t;
inline constexpr DoorSet all_doors = (1U << doors_count) - 1;
[[nodiscard]] constexpr DoorSet only(Door door) {
    return static_cast<DoorSet>(1U << static_cast<unsigned>(door));
}

[[nodiscard]] constexpr std::string_view to_text(Right right) {
    switch (right) {
        case Right::read: return "read";
        case Right::lock: return "lock";
        case Right::admin: return "admin";
        case Right::none: break;
    }
    return "none";
}

[[nodiscard]] constexpr std::string_view to_text(Door door) {
    switch (door) {
        case Door::http: return "http";
        case Door::dflockd: return "dflockd";
        case Door::redis: return "redis";
        case Door::files: break;
    }
    return "files";
}

// `read`, `lock` or `admin`; no value for any other text.
[[nodiscard]] constexpr std::optional<Right> parse_right(std::string_view text) {
    for (const Right right : {Right::read, Right::lock, Right::admin}) {
        if (text == to_text(right)) return right;
    }
    return std::nullopt;
}

[[nodiscard]] constexpr std::optional<Door> parse_door(std::string_view text) {
    for (const Door door : {Door::http, Door::dflockd, Door::redis, Door::files}) {
        if (text == to_text(door)) return door;
    }
    return std::nullopt;
}

}  // namespace holdfast::rights
