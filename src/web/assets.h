#pragma once

// The dashboard's files, as they stand in this folder; built into the program.

#include <span>
#include <string_view>

namespace holdfast::web {

struct Asset {
    std::string_view path;  // that it is served at: `/ui/main.js`
    std::string_view content_type;
    std::string_view bytes;
    std::string_view tag;  // changes with the bytes; in quotes, as an ETag
};

[[nodiscard]] std::span<const Asset> assets();

// Null if there is none at this path.
[[nodiscard]] const Asset* find_asset(std::string_view path);

}  // namespace holdfast::web
