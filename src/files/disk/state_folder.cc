#include "files/disk/state_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/xattr.h>

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text/hex.h"
#include "base/text/number.h"
#include "files/path/file_path.h"

namespace holdfast::files {
namespace {

constexpr std::size_t small_file_bytes_max = 4096;
constexpr const char* counter_name = "next_inode";
constexpr std::uint64_t block_numbers = 1024;

tl::unexpected<base::Error> fail_at(std::string_view doing, int error) {
    return base::fail("cannot " + std::string(doing) + ": " +
                      std::generic_category().message(error));
}

base::Result<base::Descriptor> make_and_open(int parent, const std::string& name) {
    if (mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
        return fail_at("make the folder " + name, errno);
    }
    auto opened = open_beneath(parent, name, O_RDONLY | O_DIRECTORY);
    if (!opened && opened.error() == ENOSYS) {
        return base::fail("this kernel has no openat2, without which no path is safe");
    }
    if (!opened) return fail_at("open the folder " + name, opened.error());
    return std::move(*opened);
}

base::Result<base::Descriptor> lock_root(int folder) {
    auto opened = open_beneath(folder, "lock", O_RDWR | O_CREAT, 0600);
    if (!opened) return fail_at("open the lock file of the files' root", opened.error());
    if (flock(opened->get(), LOCK_EX | LOCK_NB) == 0) return std::move(*opened);
    if (errno != EWOULDBLOCK) return fail_at("lock the files' root", errno);
    return base::fail("another server uses the files' root");
}

}  // namespace

TemporaryFile::~TemporaryFile() {
    if (descriptor_) unlinkat(folder_, name_.c_str(), 0);
}

SystemResult<void> TemporaryFile::rename_to(int folder, const std::string& name) {
    if (renameat(folder_, name_.c_str(), folder, name.c_str()) != 0) {
        return tl::unexpected<int>(errno);
    }
    descriptor_ = base::Descriptor();
    return {};
}

base::Result<std::unique_ptr<StateFolder>> StateFolder::open(int root) {
    TRY(auto folder, make_and_open(root, std::string(own_folder_name)));
    TRY(auto lock, lock_root(folder.get()));
    TRY(auto temporary, make_and_open(folder.get(), "tmp"));
    std::unique_ptr<StateFolder> state(
        new StateFolder(std::move(folder), std::move(lock), std::move(temporary)));
    TRY(state->remove_leftovers());
    TRY(state->check_case());
    if (const auto done = sync(root); !done) return fail_at("sync the files' root", done.error());
    return state;
}

SystemResult<TemporaryFile> StateFolder::make_temporary_file() {
    std::string name;
    base::append_hex(name, opening_);
    name += '-';
    base::append_hex(name, next_name_.fetch_add(1));
    auto opened =
        open_beneath(temporary_.get(), name, O_RDWR | O_CREAT | O_EXCL, mode_of_new_files);
    if (!opened) return tl::unexpected(opened.error());
    return TemporaryFile(temporary_.get(), std::move(name), std::move(*opened));
}

base::Result<base::Descriptor> StateFolder::open_folder(const std::string& name) const {
    TRY(auto folder, make_and_open(folder_.get(), name));
    if (const auto done = sync(folder_.get()); !done) {
        return fail_at("sync the folder of " + name, done.error());
    }
    return folder;
}

SystemResult<void> StateFolder::write_small_file(int folder, const std::string& name,
                                                 std::string_view text) {
    auto file = make_temporary_file();
    if (!file) return tl::unexpected(file.error());
    if (fchmod(file->descriptor(), 0600) != 0) return tl::unexpected<int>(errno);
    if (auto done = write_all(file->descriptor(), text); !done) return done;
    if (auto done = sync(file->descriptor()); !done) return done;
    if (auto done = file->rename_to(folder, name); !done) return done;
    return sync(folder);
}

SystemResult<std::string> StateFolder::read_small_file(int folder, const std::string& name) {
    const auto file = open_beneath(folder, name, O_RDONLY);
    if (!file) return tl::unexpected(file.error());
    return read_head(file->get(), small_file_bytes_max);
}

SystemResult<std::map<std::string, std::string>> StateFolder::read_small_files(int folder) {
    auto again = open_beneath(folder, ".", O_RDONLY | O_DIRECTORY);
    if (!again) return tl::unexpected(again.error());
    std::map<std::string, std::string> texts;
    int error = 0;
    const auto done = read_directory(std::move(*again), [&](const std::string& name, auto) {
        auto text = read_small_file(folder, name);
        if (!text) {
            error = text.error();
        } else {
            texts.emplace(name, std::move(*text));
        }
    });
    if (!done) return tl::unexpected(done.error());
    if (error != 0) return tl::unexpected(error);
    return texts;
}

SystemResult<void> StateFolder::remove_small_file(int folder, const std::string& name) {
    if (unlinkat(folder, name.c_str(), 0) != 0 && errno != ENOENT) {
        return tl::unexpected<int>(errno);
    }
    return sync(folder);
}

base::Result<void> StateFolder::remove_leftovers() const {
    auto again = open_beneath(temporary_.get(), ".", O_RDONLY | O_DIRECTORY);
    if (!again) return fail_at("read the temporary files", again.error());
    std::vector<std::string> names;
    const auto done = read_directory(std::move(*again),
                                     [&](const std::string& name, auto) { names.push_back(name); });
    if (!done) return fail_at("read the temporary files", done.error());
    for (const std::string& name : names) {
        if (unlinkat(temporary_.get(), name.c_str(), 0) != 0) {
            return fail_at("remove the temporary file " + name, errno);
        }
    }
    return {};
}

base::Result<void> StateFolder::check_attributes() {
    const auto probe = make_temporary_file();
    if (!probe) return fail_at("write into the files' root", probe.error());
    if (fsetxattr(probe->descriptor(), "user.holdfast.probe", "1", 1, 0) == 0) return {};
    return base::fail(
        "the file system of the files' root keeps no user attributes, in which hashes and "
        "inode numbers are kept (ext4, xfs, btrfs and, from Linux 6.6 on, tmpfs do): " +
        std::generic_category().message(errno));
}

base::Result<void> StateFolder::check_case() const {
    if (stat_in(folder_.get(), "LOCK")) {
        return base::fail(
            "the file system of the files' root takes upper and lower case for the same, so that "
            "one file would have several locks");
    }
    return {};
}

base::Result<std::unique_ptr<InodeNumbers>> InodeNumbers::open(StateFolder& folder) {
    const auto text = StateFolder::read_small_file(folder.descriptor(), counter_name);
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
        const std::uint64_t end = next_ + block_numbers;
        const auto done =
            folder_.write_small_file(folder_.descriptor(), counter_name, std::to_string(end));
        if (!done) return tl::unexpected(done.error());
        reserved_end_ = end;
    }
    return next_++;
}

}  // namespace holdfast::files
