#pragma once

// The paths of files in requests, after percent-decoding.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace holdfast::files {

inline constexpr std::size_t path_characters_max = 4096;
inline constexpr std::size_t path_bytes_max =
    4096;  // the limit of the kernel; the NUL at the end replaces the slash at the beginning
inline constexpr std::size_t segment_bytes_max = 255;

// The folder in the root for the store's own files. No path leads there.
inline constexpr std::string_view own_folder_name = ".holdfast";

enum class PathFault : std::uint8_t {
    no_slash,
    too_long,
    too_many_bytes,
    segment_too_long,
    not_utf8,
    control_character,
    empty_segment,
    traversal,
    own_folder,
};

// The sentence for the client.
[[nodiscard]] std::string_view to_text(PathFault fault);

// FilePath: a path that is safe to use beneath the root.
//
// It begins with a slash. Its segments are UTF-8 without control characters; none is empty, `.` or
// `..`, and the first one is not the store's own folder. A file has exactly one FilePath text, so
// texts may be compared and locked.
class FilePath {
  public:
    // The path in `decoded`, or its first fault. A slash at the end means a directory; it is not
    // part of text().
    [[nodiscard]] static tl::expected<FilePath, PathFault> parse(std::string_view decoded);

    // `/a/b`; the root is `/`.
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] bool is_root() const { return text_.size() == 1; }
    [[nodiscard]] bool ends_in_slash() const { return ends_in_slash_; }

    // The path relative to the root, for system calls: `a/b`; the root is `.`.
    [[nodiscard]] std::string beneath_root() const;
    // The directory that contains it, likewise, and its name there. REQUIRES: it is not the root.
    [[nodiscard]] std::string parent_beneath_root() const;
    [[nodiscard]] std::string name() const;

    // The segments in order: views into text().
    [[nodiscard]] std::vector<std::string_view> segments() const;

    // Whether the file protocol uses this path for itself: /auth, /events and all beneath them.
    [[nodiscard]] bool is_reserved() const;

    bool operator==(const FilePath&) const = default;

  private:
    FilePath(std::string text, bool ends_in_slash)
        : text_(std::move(text)), ends_in_slash_(ends_in_slash) {}

    std::string text_;
    bool ends_in_slash_;
};

// Whether the name of a directory entry could be a segment of a FilePath.
[[nodiscard]] bool is_segment(std::string_view name);

// Whether a name in the root is that of the store's own folder, in upper or lower case.
[[nodiscard]] bool is_own_folder(std::string_view name);

}  // namespace holdfast::files
