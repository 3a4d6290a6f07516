#pragma once

// The system calls of the file store. Interrupted calls are repeated, short reads and writes are
// continued, and a path is only opened beneath a given directory.

#include <dirent.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/descriptor.h"

namespace holdfast::files {

// The modes of the files and directories that clients make. Others on this machine may not read what
// at the door needs a session; the server's group may, for a backup with a user of its own.
inline constexpr mode_t mode_of_new_files = 0640;
inline constexpr mode_t mode_of_new_directories = 0750;

// A value, or an errno.
template <class T>
using SystemResult = tl::expected<T, int>;

// openat2 beneath `folder`: `..`, absolute paths, links and the magic links of /proc cannot lead
// out of it, even if the tree changes meanwhile. A link anywhere in the path is ELOOP. O_CLOEXEC is
// added.
[[nodiscard]] SystemResult<base::Descriptor> open_beneath(int folder, const std::string& path,
                                                          int flags, mode_t mode = 0);

[[nodiscard]] SystemResult<struct stat> stat_of(int descriptor);
// The status of a name in a folder; of a link, the link itself.
[[nodiscard]] SystemResult<struct stat> stat_in(int folder, const std::string& name);

[[nodiscard]] SystemResult<void> sync(int descriptor);
[[nodiscard]] SystemResult<void> write_all(int descriptor, std::string_view bytes);

// Calls `visit` with the content in pieces, from the start.
[[nodiscard]] SystemResult<void> read_pieces(int descriptor,
                                             const std::function<void(std::string_view)>& visit);
// The first `bytes_max` bytes; fewer if the file is shorter.
[[nodiscard]] SystemResult<std::string> read_head(int descriptor, std::size_t bytes_max);

// Two open files, one to be read and one to be written.
struct CopyEnds {
    int from;
    int to;
};
// Copies a file to an empty one. The copy shares its blocks if the file system can do that.
[[nodiscard]] SystemResult<void> clone_file(const CopyEnds& ends);
// Copies the first `size_bytes` of one file to the position `at` of the other.
struct CopySpan {
    std::uint64_t at = 0;
    std::uint64_t size_bytes = 0;
};
[[nodiscard]] SystemResult<void> copy_bytes(const CopyEnds& ends, const CopySpan& span);

// Calls `visit` for each entry of a directory except `.` and `..`, in the order of the file system.
// `type` is the DT_... of dirent, never DT_UNKNOWN.
[[nodiscard]] SystemResult<void> read_directory(
    base::Descriptor directory,
    const std::function<void(const std::string& name, unsigned char type)>& visit);

}  // namespace holdfast::files
