#pragma once

// What is in a file: by its first bytes, by being JSON, by its name; in this order.
//
// A small table of our own and not libmagic, which would run thousands of rules over bytes that
// strangers send, for the few dozen types that matter.

#include <cstddef>
#include <string_view>

namespace holdfast::files {

// How much of a file's beginning content_type_by_magic() looks at.
inline constexpr std::size_t magic_bytes_max = 512;

// Longer files are not read as JSON; their names have to do.
inline constexpr std::size_t json_bytes_max = 1024 * 1024;

// The type whose files begin like `head`, or nothing.
[[nodiscard]] std::string_view content_type_by_magic(std::string_view head);

// The type that files named like `name` have, by the ending of the name; application/octet-stream
// if that says nothing.
[[nodiscard]] std::string_view content_type_by_name(std::string_view name);

// A file's name, and its content, or what that begins with if it is longer than json_bytes_max.
struct NamedContent {
    std::string_view name;
    std::string_view content;
};

[[nodiscard]] std::string_view content_type(const NamedContent& file);

// Whether content_type() must see more than magic_bytes_max of a file that begins like `head`.
[[nodiscard]] bool may_be_json(std::string_view head);

}  // namespace holdfast::files
