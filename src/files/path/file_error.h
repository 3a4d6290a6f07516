#pragma once

// Why a file was not read, written or removed: a fault that decides the answer of the door, and a
// sentence for people.

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <tl/expected.hpp>
#include <utility>

namespace holdfast::files {

enum class Fault : std::uint8_t {
    not_found,       // no file or directory has this path
    is_directory,    // a file is needed, but the path is a directory
    not_a_file,      // neither a file nor a directory: a link, a device
    parent_is_file,  // a part of the path before the last one is not a directory
    exists,          // a directory cannot be made because the path exists
    no_parent,       // a directory cannot be made because its parent does not exist
    not_empty,       // a directory cannot be removed because it is not empty
    too_large,       // larger than a file may be
    over_quota,      // more bytes than all files together may have
    leaves_hole,     // a region begins after the end of its file
    bad_cursor,      // the cursor of a listing is not in the listed directory
    refused,         // the caller's check at the commit returned false
    disk_full,       // the file system is full
    failed,          // the disk failed or denied access; the message says more
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

// What a failed system call means. `doing` says what it was for ("write /a/b"). ENOENT and a link
// in the path are not_found, no space is disk_full, anything else is failed.
[[nodiscard]] inline tl::unexpected<FileError> refuse_by_errno(int error, std::string_view doing) {
    const auto fault = [error] {
        if (error == ENOENT || error == ELOOP) return Fault::not_found;
        if (error == ENOSPC || error == EDQUOT) return Fault::disk_full;
        return Fault::failed;
    }();
    return refuse(fault,
                  "cannot " + std::string(doing) + ": " + std::generic_category().message(error));
}

}  // namespace holdfast::files
