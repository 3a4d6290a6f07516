#include "files/disk/system.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace holdfast::files {
namespace {

constexpr std::size_t piece_bytes = 128 * 1024;

tl::unexpected<int> last_error() {
    return tl::unexpected<int>(errno);
}

template <class Call>
auto repeat(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) result = call();
    return result;
}

SystemResult<void> write_at(int descriptor, std::string_view bytes, off_t at) {
    while (!bytes.empty()) {
        const ssize_t put =
            repeat([&] { return pwrite(descriptor, bytes.data(), bytes.size(), at); });
        if (put < 0) return last_error();
        bytes.remove_prefix(static_cast<std::size_t>(put));
        at += put;
    }
    return {};
}

// For copies that copy_file_range cannot do: between file systems, or on an old one. Continues
// after the first `done` bytes of the span.
SystemResult<void> copy_through_memory(const CopyEnds& ends, const CopySpan& span,
                                       std::uint64_t done) {
    const auto buffer = std::make_unique<char[]>(piece_bytes);
    while (done < span.size_bytes) {
        const auto wanted = std::min<std::uint64_t>(span.size_bytes - done, piece_bytes);
        const ssize_t got = repeat(
            [&] { return pread(ends.from, buffer.get(), wanted, static_cast<off_t>(done)); });
        if (got < 0) return last_error();
        if (got == 0) return tl::unexpected<int>(EIO);  // it was truncated meanwhile
        const std::string_view piece(buffer.get(), static_cast<std::size_t>(got));
        if (auto put = write_at(ends.to, piece, static_cast<off_t>(span.at + done)); !put) {
            return put;
        }
        done += piece.size();
    }
    return {};
}

}  // namespace

SystemResult<base::Descriptor> open_beneath(int folder, const std::string& path, int flags,
                                            mode_t mode) {
    struct open_how how {};
    how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
    how.mode = mode;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const auto call = [&] { return syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how); };
    long opened = repeat(call);
    // The kernel fails with EAGAIN when the tree changes meanwhile; the call may be repeated.
    for (int attempt = 0; opened < 0 && errno == EAGAIN && attempt < 100; ++attempt) {
        opened = repeat(call);
    }
    if (opened < 0) return last_error();
    return base::Descriptor(static_cast<int>(opened));
}

SystemResult<struct stat> stat_of(int descriptor) {
    struct stat status {};
    if (fstat(descriptor, &status) != 0) return last_error();
    return status;
}

SystemResult<struct stat> stat_in(int folder, const std::string& name) {
    struct stat status {};
    if (fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return last_error();
    return status;
}

SystemResult<void> sync(int descriptor) {
    if (repeat([&] { return fsync(descriptor); }) != 0) return last_error();
    return {};
}

SystemResult<void> write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t put = repeat([&] { return write(descriptor, bytes.data(), bytes.size()); });
        if (put < 0) return last_error();
        bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return {};
}

SystemResult<void> read_pieces(int descriptor, const std::function<void(std::string_view)>& visit) {
    const auto buffer = std::make_unique<char[]>(piece_bytes);
    off_t at = 0;
    while (true) {
        const ssize_t got =
            repeat([&] { return pread(descriptor, buffer.get(), piece_bytes, at); });
        if (got < 0) return last_error();
        if (got == 0) return {};
        visit({buffer.get(), static_cast<std::size_t>(got)});
        at += got;
    }
}

SystemResult<std::string> read_head(int descriptor, std::size_t bytes_max) {
    std::string head(bytes_max, '\0');
    std::size_t size = 0;
    while (size < bytes_max) {
        const ssize_t got = repeat([&] {
            return pread(descriptor, head.data() + size, bytes_max - size,
                         static_cast<off_t>(size));
        });
        if (got < 0) return last_error();
        if (got == 0) break;
        size += static_cast<std::size_t>(got);
    }
    head.resize(size);
    return head;
}

SystemResult<void> clone_file(const CopyEnds& ends) {
    if (ioctl(ends.to, FICLONE, ends.from) == 0) return {};
    const auto status = stat_of(ends.from);
    if (!status) return tl::unexpected(status.error());
    return copy_bytes(ends, {.size_bytes = static_cast<std::uint64_t>(status->st_size)});
}

SystemResult<void> copy_bytes(const CopyEnds& ends, const CopySpan& span) {
    off_t from_at = 0;
    auto to_at = static_cast<off_t>(span.at);
    std::uint64_t done = 0;
    while (done < span.size_bytes) {
        const auto piece =
            static_cast<std::size_t>(std::min<std::uint64_t>(span.size_bytes - done, 1U << 30));
        const ssize_t copied =
            repeat([&] { return copy_file_range(ends.from, &from_at, ends.to, &to_at, piece, 0); });
        if (copied < 0 && errno == ENOSPC) return last_error();
        if (copied <= 0) return copy_through_memory(ends, span, done);
        done += static_cast<std::uint64_t>(copied);
    }
    return {};
}

SystemResult<void> read_directory(
    base::Descriptor directory,
    const std::function<void(const std::string& name, unsigned char type)>& visit) {
    const auto closer = [](DIR* stream) { closedir(stream); };
    const std::unique_ptr<DIR, decltype(closer)> stream(fdopendir(directory.get()), closer);
    if (!stream) return last_error();
    const int folder = directory.release();  // from now on the stream closes it
    while (true) {
        errno = 0;
        const dirent* const entry = readdir(stream.get());
        if (entry == nullptr && errno == 0) return {};
        if (entry == nullptr) return last_error();
        const std::string name = entry->d_name;
        if (name == "." || name == "..") continue;
        unsigned char type = entry->d_type;
        if (type == DT_UNKNOWN) {
            const auto status = stat_in(folder, name);
            if (!status) continue;  // removed meanwhile
            type = static_cast<unsigned char>(IFTODT(status->st_mode));
        }
        visit(name, type);
    }
}

}  // namespace holdfast::files
