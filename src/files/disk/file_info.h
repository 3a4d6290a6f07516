#pragma once

// What is known about a file beside its content, and how it is kept.
//
// It lies in an attribute (`user.holdfast`) of the file itself, written before the file gets its
// name, so that content and knowledge change in one step. The attribute also says which file it was
// written for (the file system's inode number, the size and the time of the last change): if
// somebody has changed the file in place or copied it with its attributes, it is no longer
// believed.

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "files/disk/system.h"

namespace holdfast::files {

struct FileInfo {
    std::uint64_t size_bytes = 0;
    std::string hash;                // SHA-256, 64 digits; empty in a listing that did not need it
    std::int64_t timestamp_ms = 0;   // of the last change, wall time; grows with every version
    std::uint64_t inode_number = 0;  // ours; 0 for a file that we may not write to
    std::string content_type;
    mode_t mode = 0;  // its rights

    bool operator==(const FileInfo&) const = default;

    // `"<hash>-<timestamp>"`, the quotes included.
    [[nodiscard]] std::string etag() const;
};

// A file, open for reading, as it was at one moment: later versions are other files.
struct OpenFile {
    base::Descriptor descriptor;
    FileInfo info;
};

// What the attribute of the open file says, if there is one and it is about this very content. The
// hash may be missing.
[[nodiscard]] std::optional<FileInfo> read_info(int descriptor, const struct stat& status);

// What the attribute says about the inode number, though the content may have changed since.
[[nodiscard]] std::optional<std::uint64_t> read_inode_number(int descriptor,
                                                             const struct stat& status);

// Sets the attribute, and the rights, of the open file with that status; `info` tells of what the
// file held when it had it.
[[nodiscard]] SystemResult<void> write_info(int descriptor, const struct stat& status,
                                            const FileInfo& info);

// The time of the last change, in milliseconds and exactly.
[[nodiscard]] std::int64_t changed_ms(const struct stat& status);
[[nodiscard]] std::int64_t changed_ns(const struct stat& status);

// Hash and content type of the file `name`, by reading it.
[[nodiscard]] SystemResult<std::string> hash_content(int descriptor);
[[nodiscard]] SystemResult<std::string> find_content_type(int descriptor, std::string_view name);

}  // namespace holdfast::files
