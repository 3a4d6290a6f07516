#pragma once

// Why a file was not read, written or removed: what the doors answer by, and a sentence.

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace holdfast::files {

enum class Fault : std::uint8_t {
    not_found,       // nothing of that kind has this path
    is_directory,    // a file was wanted and a directory is there
    not_a_file,      // neither file nor directory: a link, a device; nothing of ours
    parent_is_file,  // a part of the path before its last is no directory
    exists,          // a directory is to be made where something is
    no_parent,       // a directory is to be made in none
    not_empty,       // a directory is to be removed that is not empty
    too_large,       // above the size a file may have
    over_quota,      // above what all files together may have
    leaves_hole,     // a region begins behind the end of its file
    bad_cursor,      // a listing is to go on behind something that is not in it
    refused,         // the caller's own check at the commit said no
    disk_full,       // the file system has no room
    failed,          // the disk or its rights; the message says what
};

struct FileError {
    Fault fault = Fault::failed;
    std::string message;
};

template <class T>
using FileResult = tl::expected<T, FileError>;

// The failing side of any FileResult<T>.
[[nodiscard]] inline tl::unexpected<FileError> refuse(Fault fault, std::string message) {
    return tl::unexpected<FileError>(FileError{.fault = fault, .message = std::move(message)});
}

// What a failed system call means, `doing` being what it was for ("write /a/b"). ENOENT, and a link
// in the way, are not_found; no room is disk_full; anything else failed.
[[nodiscard]] tl::unexpected<FileError> refuse_by_errno(int error, std::string_view doing);

}  // namespace holdfast::files
