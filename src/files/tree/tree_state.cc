#include "files/tree/tree_state.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <utility>

#include "base/check.h"

namespace holdfast::files {
namespace {

constexpr int examine_attempts_max = 5;

bool is_same_content(const struct stat& a, const struct stat& b) {
    return a.st_size == b.st_size && changed_ns(a) == changed_ns(b);
}

// Examines a file as it is now. Nothing if another program changes it meanwhile.
FileResult<std::optional<FileInfo>> examine(TreeState& tree, const FoundFile& file,
                                            const FilePath& path, InfoDepth depth) {
    const std::string doing = "read " + path.text();
    const int descriptor = file.descriptor.get();
    const auto before = stat_of(descriptor);
    if (!before) return refuse_by_errno(before.error(), doing);
    FileInfo info{.size_bytes = static_cast<std::uint64_t>(before->st_size),
                  .timestamp_ms = changed_ms(*before),
                  .mode = before->st_mode & 0777};
    auto type = find_content_type(descriptor, path.name());
    if (!type) return refuse_by_errno(type.error(), doing);
    info.content_type = std::move(*type);
    if (depth == InfoDepth::whole) {
        auto hash = hash_content(descriptor);
        if (!hash) return refuse_by_errno(hash.error(), doing);
        info.hash = std::move(*hash);
    }
    const auto after = stat_of(descriptor);
    if (!after) return refuse_by_errno(after.error(), doing);
    if (!is_same_content(*before, *after)) return std::nullopt;

    const auto earlier_number = read_inode_number(descriptor, *before);
    const auto number =
        earlier_number ? SystemResult<std::uint64_t>(*earlier_number) : tree.inode_numbers->take();
    if (!number) return refuse_by_errno(number.error(), "number " + path.text());
    info.inode_number = *number;
    if (const auto done = write_info(descriptor, *before, info); !done) {
        const bool is_read_only =
            done.error() == EACCES || done.error() == EPERM || done.error() == EROFS;
        if (!is_read_only) return refuse_by_errno(done.error(), "describe " + path.text());
        info.inode_number = earlier_number.value_or(0);
    }
    return info;
}

bool is_deep_enough(const FileInfo& info, InfoDepth depth) {
    return depth == InfoDepth::without_hash || !info.hash.empty();
}

}  // namespace

bool Quota::reserve(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t taken_bytes = used_bytes_ + reserved_bytes_;
    const bool fits =
        limit_bytes_ == 0 || (taken_bytes <= limit_bytes_ && bytes <= limit_bytes_ - taken_bytes);
    if (bytes > 0 && !fits) return false;
    reserved_bytes_ += bytes;
    return true;
}

void Quota::release(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    CHECK(bytes <= reserved_bytes_);
    reserved_bytes_ -= bytes;
}

void Quota::apply(const SizeChange& change) {
    const std::lock_guard lock(mutex_);
    CHECK(change.reserved_bytes <= reserved_bytes_);
    CHECK(change.new_bytes <= change.old_bytes + change.reserved_bytes);
    // The writes of other programs are not counted, so one file may be larger than all files were
    // thought to be.
    used_bytes_ = used_bytes_ - std::min(used_bytes_, change.old_bytes) + change.new_bytes;
    reserved_bytes_ -= change.reserved_bytes;
}

std::uint64_t Quota::used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
}

void TreeState::tell(Change::Kind kind, const std::string& path, std::string etag) const {
    if (on_change) on_change({.kind = kind, .path = path, .etag = std::move(etag)});
}

std::int64_t TreeState::now_ms() const {
    const service::WallTime now = clock.wall(clock.now());
    return std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()).count();
}

FileResult<std::optional<FoundFile>> find_file(const TreeState& tree, const FilePath& path) {
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    auto opened = open_beneath(tree.root.get(), path.beneath_root(),
                               O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    if (!opened) {
        const int error = opened.error();
        if (error == ENOENT) return std::nullopt;
        if (error == ENOTDIR) {
            return refuse(Fault::parent_is_file, "A part of the path is not a directory");
        }
        if (error == ELOOP || error == ENXIO || error == ENODEV) {
            return refuse(Fault::not_a_file, "The path leads to something that is not a file");
        }
        return refuse_by_errno(error, "open " + path.text());
    }
    const auto status = stat_of(opened->get());
    if (!status) return refuse_by_errno(status.error(), "open " + path.text());
    if (S_ISDIR(status->st_mode)) return refuse(Fault::is_directory, "The path is a directory");
    if (!S_ISREG(status->st_mode)) {
        return refuse(Fault::not_a_file, "The path leads to something that is not a file");
    }
    if (path.ends_in_slash()) {
        return refuse(Fault::parent_is_file, "The path is a file, not a directory");
    }
    return FoundFile{.descriptor = std::move(*opened), .status = *status};
}

FileResult<FileInfo> complete_info(TreeState& tree, const FoundFile& file, const FilePath& path,
                                   InfoDepth depth) {
    auto known = read_info(file.descriptor.get(), file.status);
    if (known && is_deep_enough(*known, depth)) return std::move(*known);
    for (int attempt = 0; attempt < examine_attempts_max; ++attempt) {
        TRY(auto info, examine(tree, file, path, depth));
        if (info) return std::move(*info);
    }
    return refuse(Fault::failed, path.text() + " is being changed by another program");
}

FileResult<std::optional<DescribedFile>> describe_file(TreeState& tree, const FilePath& path,
                                                       InfoDepth depth) {
    TRY(auto found, find_file(tree, path));
    if (!found) return std::nullopt;
    if (auto known = read_info(found->descriptor.get(), found->status);
        known && is_deep_enough(*known, depth)) {
        return DescribedFile{.file = {std::move(found->descriptor), std::move(*known)}};
    }
    const auto pass = tree.gates.enter(path.text());
    TRY(auto again, find_file(tree, path));
    if (!again) return std::nullopt;
    TRY(auto info, complete_info(tree, *again, path, depth));
    return DescribedFile{.file = {std::move(again->descriptor), std::move(info)},
                         .is_newly_described = true};
}

FileResult<base::Descriptor> open_parent(TreeState& tree, const FilePath& path) {
    const std::shared_lock lock(tree.directories);
    auto opened = open_beneath(tree.root.get(), path.parent_beneath_root(), O_RDONLY | O_DIRECTORY);
    if (opened) return std::move(*opened);
    if (opened.error() == ENOTDIR || opened.error() == ELOOP) {
        return refuse(Fault::parent_is_file, "A part of the path is not a directory");
    }
    return refuse_by_errno(opened.error(), "open the directory of " + path.text());
}

FileResult<void> make_parents(TreeState& tree, const FilePath& path) {
    const std::unique_lock lock(tree.directories);
    auto folder = open_beneath(tree.root.get(), ".", O_RDONLY | O_DIRECTORY);
    auto segments = path.segments();
    segments.pop_back();
    std::string made;
    for (const std::string_view segment : segments) {
        if (!folder) break;
        const std::string name(segment);
        made += '/' + name;
        const bool is_new = mkdirat(folder->get(), name.c_str(), mode_of_new_directories) == 0;
        if (!is_new && errno != EEXIST) return refuse_by_errno(errno, "make " + made);
        if (is_new) {
            if (const auto done = sync(folder->get()); !done) {
                return refuse_by_errno(done.error(), "make " + made);
            }
            tree.tell(Change::Kind::directory_made, made);
        }
        folder = open_beneath(folder->get(), name, O_RDONLY | O_DIRECTORY);
    }
    if (folder) return {};
    if (folder.error() == ENOTDIR || folder.error() == ELOOP) {
        return refuse(Fault::parent_is_file, "A part of the path is not a directory");
    }
    return refuse_by_errno(folder.error(), "open " + made);
}

}  // namespace holdfast::files
