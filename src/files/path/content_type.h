#pragma once

// The content type of a file: by its first bytes, by being JSON, by its name; in this order.
//
// A small table of a few dozen types. libmagic would run thousands of rules over bytes that
// strangers send.

#include <cstddef>
#include <string_view>

namespace holdfast::files {

// content_type_by_magic() looks only at this many bytes at the beginning of a file.
inline constexpr std::size_t magic_bytes_max = 512;

// Longer files are not tested for JSON; their names decide.
inline constexpr std::size_t json_bytes_max = 1024 * 1024;

// The type whose files begin like `head`, or nothing.
[[nodiscard]] std::string_view content_type_by_magic(std::string_view head);

// The type that belongs to the ending of the name; application/octet-stream for an unknown ending.
[[nodiscard]] std::string_view content_type_by_name(std::string_view name);

// The name of a file and its content; of a content longer than json_bytes_max, its beginning.
struct NamedContent {
    std::string_view name;
    std::string_view content;
};

[[nodiscard]] std::string_view content_type(const NamedContent& file);

// Whether content_type() needs more than magic_bytes_max of a file that begins like `head`.
[[nodiscard]] bool may_be_json(std::string_view head);

}  // namespace holdfast::files
