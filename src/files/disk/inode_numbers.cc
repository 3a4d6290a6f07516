#include "files/disk/inode_numbers.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "base/text/number.h"

namespace holdfast::files {
namespace {

constexpr const char* file_name = "next_inode";
constexpr std::uint64_t block_size = 1024;

}  // namespace

base::Result<std::unique_ptr<InodeNumbers>> InodeNumbers::open(StateFolder& folder) {
    const auto text = StateFolder::read_small_file(folder.descriptor(), file_name);
    if (!text && text.error() != ENOENT) {
        return base::fail("cannot read the counter of inode numbers: " +
                          std::generic_category().message(text.error()));
    }
    std::uint64_t next = 1;
    if (text) {
        const auto number = base::parse_decimal<std::uint64_t>(*text);
        if (!number || *number == 0) {
            return base::fail(
                "the counter of inode numbers, .holdfast/next_inode in the files' root, is "
                "damaged: "
                "write a number there that is larger than that of any file");
        }
        next = *number;
    }
    return std::unique_ptr<InodeNumbers>(new InodeNumbers(folder, next));
}

SystemResult<std::uint64_t> InodeNumbers::take() {
    const std::lock_guard lock(mutex_);
    if (next_ == reserved_end_) {
        const std::uint64_t end = next_ + block_size;
        const auto done =
            folder_.write_small_file(folder_.descriptor(), file_name, std::to_string(end));
        if (!done) return tl::unexpected(done.error());
        reserved_end_ = end;
    }
    return next_++;
}

}  // namespace holdfast::files
