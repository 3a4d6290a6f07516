#include "files/tree/upload.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text/hex.h"
#include "files/tree/tree_state.h"

namespace holdfast::files {
namespace {

constexpr std::uint64_t file_bytes_ever = std::uint64_t{1} << 62;  // so that sums do not overflow
constexpr int naming_attempts_max = 100;

// The version at the path.
FileResult<std::optional<OpenFile>> find_current(TreeState& tree, const FilePath& path) {
    TRY(auto found, find_file(tree, path));
    if (!found) return std::nullopt;
    TRY(auto info, complete_info(tree, *found, path, InfoDepth::whole));
    return OpenFile{.descriptor = std::move(found->descriptor), .info = std::move(info)};
}

// Closes the file and returns what is known about it. It is closed before the rename, because the
// kernel frees the blocks of a replaced file when its last descriptor is closed, and that takes
// time.
const FileInfo* close_file(std::optional<OpenFile>& file) {
    if (!file) return nullptr;
    file->descriptor = base::Descriptor();
    return &file->info;
}

// Whether `next` may replace `current`: it has the same number and mode, and a later timestamp.
bool follows(const FileInfo& next, const FileInfo* current) {
    if (current == nullptr) return true;
    return (next.inode_number == current->inode_number || current->inode_number == 0) &&
           next.timestamp_ms > current->timestamp_ms && next.mode == current->mode;
}

// Gives `next` the number, mode and timestamp with which it may replace `current`, writes them to
// the file, and makes the file durable.
FileResult<void> seal(TreeState& tree, const FilePath& path, int descriptor, FileInfo& next,
                      const FileInfo* current) {
    next.timestamp_ms = tree.now_ms();
    if (current != nullptr) {
        next.timestamp_ms = std::max(next.timestamp_ms, current->timestamp_ms + 1);
        next.mode = current->mode;
    }
    if (current != nullptr && current->inode_number != 0) {
        next.inode_number = current->inode_number;
    } else if (next.inode_number == 0) {
        const auto number = tree.inode_numbers->take();
        if (!number) return refuse_by_errno(number.error(), "number " + path.text());
        next.inode_number = *number;
    }
    const auto status = stat_of(descriptor);
    if (!status) return refuse_by_errno(status.error(), "write " + path.text());
    next.size_bytes = static_cast<std::uint64_t>(status->st_size);
    if (const auto done = write_info(descriptor, *status, next); !done) {
        return refuse_by_errno(done.error(), "describe " + path.text());
    }
    if (const auto done = sync(descriptor); !done) {
        return refuse_by_errno(done.error(), "write " + path.text());
    }
    return {};
}

}  // namespace

Upload::Upload(TreeState& tree, UploadPlan plan, Before before, TemporaryFile file)
    : tree_(&tree), plan_(std::move(plan)), before_(std::move(before)), file_(std::move(file)) {}

Upload::Upload(Upload&& other) noexcept
    : tree_(std::exchange(other.tree_, nullptr)),
      plan_(std::move(other.plan_)),
      before_(std::move(other.before_)),
      file_(std::move(other.file_)),
      hash_(std::move(other.hash_)),
      received_bytes_(other.received_bytes_),
      reserved_bytes_(other.reserved_bytes_),
      failure_(std::move(other.failure_)) {}

Upload::~Upload() {
    if (tree_ != nullptr) tree_->quota.release(reserved_bytes_);
}

FileResult<void> Upload::append(std::string_view bytes) {
    if (failure_) return tl::unexpected(*failure_);
    auto written = write(bytes);
    if (!written) failure_ = written.error();
    return written;
}

// Only checks whether the expected bytes fit. They are reserved as they come: a client that
// announces much and sends nothing takes no room from others.
FileResult<void> Upload::expect() {
    if (!plan_.expected_bytes) return {};
    TRY(check_size(*plan_.expected_bytes));
    TRY(reserve(growth_bytes(*plan_.expected_bytes)));
    tree_->quota.release(std::exchange(reserved_bytes_, 0));
    return {};
}

FileResult<void> Upload::check_size(std::uint64_t bytes) const {
    const std::uint64_t start = plan_.region_start.value_or(0);
    const std::uint64_t limit =
        tree_->file_bytes_max == 0 ? file_bytes_ever : tree_->file_bytes_max;
    if (start > limit || bytes > limit - start) {
        return refuse(Fault::too_large, "The file is larger than files may be here");
    }
    return {};
}

std::uint64_t Upload::growth_bytes(std::uint64_t received_bytes) const {
    const std::uint64_t end = plan_.region_start.value_or(0) + received_bytes;
    return end - std::min(end, before_.size_bytes);
}

FileResult<void> Upload::write(std::string_view bytes) {
    TRY(check_size(received_bytes_ + bytes.size()));
    TRY(reserve(growth_bytes(received_bytes_ + bytes.size())));
    if (const auto done = write_all(file_.descriptor(), bytes); !done) {
        return refuse_by_errno(done.error(), "write " + plan_.path.text());
    }
    if (!plan_.region_start) hash_.update(bytes);
    received_bytes_ += bytes.size();
    return {};
}

FileResult<void> Upload::reserve(std::uint64_t bytes) {
    if (bytes <= reserved_bytes_) return {};
    if (!tree_->quota.reserve(bytes - reserved_bytes_)) {
        return refuse(Fault::over_quota, "The file does not fit into the quota");
    }
    reserved_bytes_ = bytes;
    return {};
}

FileResult<Committed> Upload::commit(const CommitCheck& check, const CommitCheck& before_copy) {
    if (failure_) return tl::unexpected(*failure_);
    auto committed = plan_.region_start ? commit_region(check, before_copy ? before_copy : check)
                                        : commit_whole(check);
    failure_ = FileError{.message = "the upload is over"};
    return committed;
}

// The file is sealed before its turn, on the assumption that the version at the path is the one
// that was there at the beginning. So a commit usually costs one sync of the file and one of the
// directory.
FileResult<Committed> Upload::commit_whole(const CommitCheck& check) {
    const int descriptor = file_.descriptor();
    auto type = find_content_type(descriptor, plan_.path.name());
    if (!type) return refuse_by_errno(type.error(), "read " + plan_.path.text());
    FileInfo next{.hash = base::to_hex(hash_.finish()),
                  .content_type = std::move(*type),
                  .mode = mode_of_new_files};
    const FileInfo* const likely = before_.info ? &*before_.info : nullptr;
    TRY(seal(*tree_, plan_.path, descriptor, next, likely));

    const auto pass = tree_->gates.enter(plan_.path.text());
    TRY(auto current, find_current(*tree_, plan_.path));
    const FileInfo* const info = close_file(current);
    const bool is_other_number =
        likely != nullptr && info == nullptr;  // the file was removed meanwhile
    if (is_other_number) {
        next.inode_number = 0;
        next.mode = mode_of_new_files;
    }
    if (is_other_number || !follows(next, info)) {
        TRY(seal(*tree_, plan_.path, descriptor, next, info));
    }
    TRY(replace(std::move(file_), info, next, check));
    return Committed{.info = std::move(next), .is_new = info == nullptr};
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): named in the header, and called once
FileResult<Committed> Upload::commit_region(const CommitCheck& check,
                                            const CommitCheck& before_copy) {
    const std::string doing = "write " + plan_.path.text();
    const auto pass = tree_->gates.enter(plan_.path.text());
    TRY(auto current, find_current(*tree_, plan_.path));
    if (!current) return refuse(Fault::not_found, "There is no file to write into");
    if (*plan_.region_start > current->info.size_bytes) {
        return refuse(Fault::leaves_hole, "The region begins behind the end of the file");
    }
    // The copy may take long, so a caller that has lost the right to write is refused before it.
    if (!before_copy(&current->info)) {
        return refuse(Fault::refused, "The write is not allowed any more");
    }

    auto copy = tree_->own_folder->make_temporary_file();
    if (!copy) return refuse_by_errno(copy.error(), doing);
    auto done = clone_file({.from = current->descriptor.get(), .to = copy->descriptor()});
    if (done) {
        done = copy_bytes({.from = file_.descriptor(), .to = copy->descriptor()},
                          {.at = *plan_.region_start, .size_bytes = received_bytes_});
    }
    if (!done) return refuse_by_errno(done.error(), doing);
    auto hash = hash_content(copy->descriptor());
    if (!hash) return refuse_by_errno(hash.error(), doing);
    auto type = find_content_type(copy->descriptor(), plan_.path.name());
    if (!type) return refuse_by_errno(type.error(), doing);
    FileInfo next{.hash = std::move(*hash), .content_type = std::move(*type)};
    TRY(seal(*tree_, plan_.path, copy->descriptor(), next, &current->info));
    TRY(replace(std::move(*copy), close_file(current), next, check));
    return Committed{.info = std::move(next)};
}

// REQUIRES: inside the gate; the file is sealed.
FileResult<void> Upload::replace(TemporaryFile file, const FileInfo* current, const FileInfo& next,
                                 const CommitCheck& check) {
    const std::uint64_t old_bytes = current == nullptr ? 0 : current->size_bytes;
    // This is more than was reserved if the file has become smaller since the upload began.
    TRY(reserve(next.size_bytes - std::min(next.size_bytes, old_bytes)));
    TRY(put_in_place(std::move(file), current, check));
    tree_->quota.apply({.reserved_bytes = std::exchange(reserved_bytes_, 0),
                        .old_bytes = old_bytes,
                        .new_bytes = next.size_bytes});
    tree_->tell(Change::Kind::file_put, plan_.path.text(), next.etag());
    return {};
}

FileResult<void> Upload::put_in_place(TemporaryFile file, const FileInfo* current,
                                      const CommitCheck& check) const {
    const std::string& path = plan_.path.text();
    for (int attempt = 0; attempt < naming_attempts_max; ++attempt) {
        auto parent = open_parent(*tree_, plan_.path);
        if (!parent && parent.error().fault != Fault::not_found) {
            return tl::unexpected(std::move(parent).error());
        }
        if (!check(current)) return refuse(Fault::refused, "The write is not allowed any more");
        if (!parent) {
            TRY(make_parents(*tree_, plan_.path));
            continue;
        }
        if (const auto done = file.rename_to(parent->get(), plan_.path.name()); !done) {
            if (done.error() == ENOENT) continue;  // the directory has been removed meanwhile
            if (done.error() == EISDIR)
                return refuse(Fault::is_directory, path + " is a directory");
            return refuse_by_errno(done.error(), "write " + path);
        }
        if (const auto done = sync(parent->get()); done) return {};
        return refuse(Fault::failed, "the disk failed when " + path +
                                         " had its new content already; that may be lost");
    }
    return refuse(Fault::failed, "the directory of " + path + " is removed again and again");
}

}  // namespace holdfast::files
