#pragma once

// Upload: one write to one path, from its first byte to its commit.
//
// The bytes go to a temporary file. commit() makes that file durable and waits for its turn at the
// path. Then, in this order, it looks at the version that is there, calls the caller's check, gives
// the new file its name, and makes the name durable. An upload that ends without a commit leaves
// nothing behind.
//
// A region is written the same way: at its turn the present version is copied (the copy shares its
// blocks, if the file system can do that), the region is written into the copy, and the copy
// becomes the next version. So two regions may be uploaded at the same time, and neither undoes the
// other.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/crypto.h"
#include "files/disk/file_info.h"
#include "files/disk/state_folder.h"
#include "files/path/file_error.h"
#include "files/path/file_path.h"

namespace holdfast::files {

struct TreeState;

// Called at the commit with the version that is about to be replaced or removed, or with null if
// there is none. The commit goes on only if it returns true. It may be called more than once; the
// last result counts. It must not call the tree. It may wait for another thread, as long as that
// thread never waits for the tree.
using CommitCheck = std::function<bool(const FileInfo* current)>;

struct UploadPlan {
    FilePath path;
    // Where in the file the bytes begin; without it they are the whole file.
    std::optional<std::uint64_t> region_start;
    // How many bytes will come, if that is known: too many are refused before they are sent.
    std::optional<std::uint64_t> expected_bytes;
};

struct Committed {
    FileInfo info;
    bool is_new = false;  // there was no file at this path
};

class Upload {
  public:
    Upload(Upload&& other) noexcept;
    Upload& operator=(Upload&&) = delete;
    ~Upload();

    // Writes the next bytes. Fails with too_large, over_quota, disk_full or failed; after a failure
    // every further call fails.
    [[nodiscard]] FileResult<void> append(std::string_view bytes);
    [[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }

    // Makes the bytes the next version. If it fails, the path has its old version. There is one
    // exception, and its message says so: if the disk fails after the file got its name, a restart
    // decides which version the path has. For a region the present version is copied first, which
    // may take long: `before_copy`, if given, is called before the copy in place of `check`.
    // REQUIRES: called once.
    [[nodiscard]] FileResult<Committed> commit(const CommitCheck& check,
                                               const CommitCheck& before_copy = {});

  private:
    friend class FileTree;
    // The version at the path when the upload begins, as far as it is known.
    struct Before {
        std::uint64_t size_bytes = 0;
        std::optional<FileInfo> info;
    };
    Upload(TreeState& tree, UploadPlan plan, Before before, TemporaryFile file);

    // Fails if the expected bytes cannot fit.
    [[nodiscard]] FileResult<void> expect();
    [[nodiscard]] FileResult<void> check_size(std::uint64_t bytes) const;
    [[nodiscard]] FileResult<void> write(std::string_view bytes);
    // By how much the file grows when it has received so many bytes.
    [[nodiscard]] std::uint64_t growth_bytes(std::uint64_t received_bytes) const;
    [[nodiscard]] FileResult<void> reserve(std::uint64_t bytes);
    [[nodiscard]] FileResult<Committed> commit_whole(const CommitCheck& check);
    [[nodiscard]] FileResult<Committed> commit_region(const CommitCheck& check,
                                                      const CommitCheck& before_copy);
    [[nodiscard]] FileResult<void> replace(TemporaryFile file, const FileInfo* current,
                                           const FileInfo& next, const CommitCheck& check);
    [[nodiscard]] FileResult<void> put_in_place(TemporaryFile file, const FileInfo* current,
                                                const CommitCheck& check) const;

    TreeState* tree_;  // null after this was moved from
    UploadPlan plan_;
    Before before_;
    TemporaryFile file_;
    base::Sha256 hash_;  // of an upload that is a whole file
    std::uint64_t received_bytes_ = 0;
    std::uint64_t reserved_bytes_ = 0;
    std::optional<FileError> failure_;
};

}  // namespace holdfast::files
