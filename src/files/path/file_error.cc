#include "files/path/file_error.h"

#include <cerrno>
#include <system_error>

namespace holdfast::files {

tl::unexpected<FileError> refuse_by_errno(int error, std::string_view doing) {
    const auto fault = [error] {
        if (error == ENOENT || error == ELOOP) return Fault::not_found;
        if (error == ENOSPC || error == EDQUOT) return Fault::disk_full;
        return Fault::failed;
    }();
    return refuse(fault,
                  "cannot " + std::string(doing) + ": " + std::generic_category().message(error));
}

}  // namespace holdfast::files
