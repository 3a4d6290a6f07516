#pragma once

// Listing a directory, one page at a time.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "files/path/file_error.h"
#include "files/path/file_path.h"

namespace holdfast::files {

struct TreeState;

inline constexpr std::size_t list_limit_default = 100;
inline constexpr std::size_t list_limit_max = 1000;

struct ListOptions {
    std::size_t limit = list_limit_default;
    // The page begins after this path, the last one of the page before. It need not exist any more.
    std::optional<FilePath> cursor;
    bool is_reverse = false;
    bool is_shallow = true;  // only the directory itself, not the directories in it
    // Whether a path is listed. Nothing below a directory that is not listed is. Null: all are.
    std::function<bool(const std::string& path, bool is_directory)> is_shown = {};
};

struct ListEntry {
    std::string path;
    bool is_directory = false;
    std::uint64_t size_bytes = 0;
    std::string content_type;  // of a file
    std::int64_t last_modified_ms = 0;
    std::uint64_t inode_number = 0;  // of a file; 0 if it has none
};

struct Listing {
    std::vector<ListEntry> entries;
    bool has_more = false;  // then the path of the last entry is the next cursor
};

// One page. A directory comes before its content, and names are in the order of their bytes; the
// reverse is exactly that order backwards. A client that reads all pages sees every entry that
// existed all the time exactly once. Only files and directories that a FilePath can name are
// listed.
//
// Needs memory for one page, and time to read all names in the directories of the page. Fails with
// not_found, parent_is_file (the path is a file), or bad_cursor.
// REQUIRES: 1 <= limit <= list_limit_max.
[[nodiscard]] FileResult<Listing> list_directory(TreeState& tree, const FilePath& directory,
                                                 const ListOptions& options);

}  // namespace holdfast::files
