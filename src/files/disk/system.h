#pragma once

// The system calls of the file store, without their pitfalls: interrupted calls are repeated, short
// reads and writes go on, and nothing is opened but beneath a given directory.

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

// A value, or an errno.
template <class T>
using SystemResult = tl::expected<T, int>;

// openat2 beneath `folder`: neither `..`, nor an absolute path, nor a link, nor /proc's magic leads
// out, however the tree changes meanwhile; a link anywhere in the path is ELOOP. O_CLOEXEC is
// added.
[[nodiscard]] SystemResult<base::Descriptor> open_beneath(int folder, const std::string& path,
                                                          int flags, mode_t mode = 0);

[[nodiscard]] SystemResult<struct stat> stat_of(int descriptor);
// Of a name in a folder, itself and not what it links to.
[[nodiscard]] SystemResult<struct stat> stat_in(int folder, const std::string& name);

[[nodiscard]] SystemResult<void> sync(int descriptor);
[[nodiscard]] SystemResult<void> write_all(int descriptor, std::string_view bytes);

// Visits the content from the start, in pieces.
[[nodiscard]] SystemResult<void> read_pieces(int descriptor,
                                             const std::function<void(std::string_view)>& visit);
// The first `bytes_max` bytes, or all there are.
[[nodiscard]] SystemResult<std::string> read_head(int descriptor, std::size_t bytes_max);

// Two open files, one to be read and one to be written.
struct CopyEnds {
    int from;
    int to;
};
// Makes the other file, which is empty, a copy of the first: shared where the file system can.
[[nodiscard]] SystemResult<void> clone_file(const CopyEnds& ends);
// Copies the first bytes of one file over what is in the other one from `at` on.
struct CopySpan {
    std::uint64_t at = 0;
    std::uint64_t size_bytes = 0;
};
[[nodiscard]] SystemResult<void> copy_bytes(const CopyEnds& ends, const CopySpan& span);

// Visits what is in a directory except `.` and `..`, in the file system's order; `type` is the
// DT_... of dirent, never DT_UNKNOWN.
[[nodiscard]] SystemResult<void> read_directory(
    base::Descriptor directory,
    const std::function<void(const std::string& name, unsigned char type)>& visit);

}  // namespace holdfast::files
