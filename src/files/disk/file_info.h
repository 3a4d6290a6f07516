#pragma once

// What the store knows about a file beside its content, and where that is stored.
//
// It is stored in an attribute (`user.holdfast`) of the file itself, which is written before the
// file gets its name. So the content and its description change in one step. The attribute also
// says which file it was written for (the file system's inode number, the size and the time of the
// last change). If another program has changed the file in place, or copied it with its attributes,
// the attribute is ignored.

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
    std::string hash;               // SHA-256, 64 digits; empty if only a listing needed the info
    std::int64_t timestamp_ms = 0;  // of the last change, wall time; grows with every version
    std::uint64_t inode_number =
        0;  // ours, not the file system's; 0 if we may not write to the file
    std::string content_type;
    mode_t mode = 0;  // the permission bits

    bool operator==(const FileInfo&) const = default;

    // `"<hash>-<timestamp>"`, the quotes included.
    [[nodiscard]] std::string etag() const;
};

// One version of a file, open for reading: later versions are other files.
struct OpenFile {
    base::Descriptor descriptor;
    FileInfo info;
};

// The content of the attribute, if the file has one that was written for its present content. The
// hash may be missing.
[[nodiscard]] std::optional<FileInfo> read_info(int descriptor, const struct stat& status);

// The inode number in the attribute, even if the content has changed since it was written.
[[nodiscard]] std::optional<std::uint64_t> read_inode_number(int descriptor,
                                                             const struct stat& status);

// Sets the attribute and the permission bits of the open file. `info` describes the content that
// the file had when its status was `status`.
[[nodiscard]] SystemResult<void> write_info(int descriptor, const struct stat& status,
                                            const FileInfo& info);

// The time of the last change, in milliseconds or nanoseconds.
[[nodiscard]] std::int64_t changed_ms(const struct stat& status);
[[nodiscard]] std::int64_t changed_ns(const struct stat& status);

// Read the file to find its hash and its content type.
[[nodiscard]] SystemResult<std::string> hash_content(int descriptor);
[[nodiscard]] SystemResult<std::string> find_content_type(int descriptor, std::string_view name);

}  // namespace holdfast::files
