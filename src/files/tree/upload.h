#pragma once

// Upload: one write to one path, from its first byte to its commit.
//
// The bytes go to a temporary file. commit() makes that durable, waits for its turn at the path,
// and then, in this order: looks at the version that is there, asks the caller's check, gives the
// new file its name, and makes that durable. An upload that ends without a commit leaves nothing
// behind.
//
// A region is written the same way: at its turn the present version is copied (shared, where the
// file system can), the region is laid over the copy, and the copy becomes the next version. So two
// regions may be on their way at the same time, and neither undoes the other.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "files/disk/file_info.h"
#include "files/disk/sha256.h"
#include "files/disk/state_folder.h"
#include "files/path/file_error.h"
#include "files/path/file_path.h"

namespace holdfast::files {

struct TreeState;

// Asked at the commit, with the version that is about to be replaced or removed, if there is one.
// True lets it happen. It may be asked more than once, and the last answer counts; it must not call
// the tree. It may wait for another thread, as long as that one never waits for the tree.
using CommitCheck = std::function<bool(const FileInfo* current)>;

struct UploadPlan {
    FilePath path;
    // Where in the file the bytes go; without it they are the whole file.
    std::optional<std::uint64_t> region_start;
    // How many will come, if that is known: what cannot fit is refused before it has been sent.
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

    // Takes the next bytes. Fails with too_large, over_quota, disk_full or failed; an upload that
    // has failed once fails for ever.
    [[nodiscard]] FileResult<void> append(std::string_view bytes);
    [[nodiscard]] std::uint64_t received_bytes() const { return received_bytes_; }

    // Makes the bytes the next version. Without success the path is what it was; only if the disk
    // fails after the file got its name (the message says so), that is not known before a restart.
    // A region is copied first, which may take long: `before_copy`, if given, is asked before that
    // in place of `check`. REQUIRES: called once.
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

    // Fails if what is expected cannot fit.
    [[nodiscard]] FileResult<void> expect();
    [[nodiscard]] FileResult<void> check_size(std::uint64_t bytes) const;
    [[nodiscard]] FileResult<void> take(std::string_view bytes);
    // How much a file grows that has received so many bytes.
    [[nodiscard]] std::uint64_t growth_bytes(std::uint64_t received_bytes) const;
    [[nodiscard]] FileResult<void> reserve(std::uint64_t bytes);
    [[nodiscard]] FileResult<Committed> commit_whole(const CommitCheck& check);
    [[nodiscard]] FileResult<Committed> commit_region(const CommitCheck& check,
                                                      const CommitCheck& before_copy);
    [[nodiscard]] FileResult<void> land(TemporaryFile file, const FileInfo* current,
                                        const FileInfo& next, const CommitCheck& check);
    [[nodiscard]] FileResult<void> put_in_place(TemporaryFile file, const FileInfo* current,
                                                const CommitCheck& check) const;

    TreeState* tree_;  // none once this was moved from
    UploadPlan plan_;
    Before before_;
    TemporaryFile file_;
    Sha256 hash_;  // of a whole file
    std::uint64_t received_bytes_ = 0;
    std::uint64_t reserved_bytes_ = 0;
    std::optional<FileError> failure_;
};

}  // namespace holdfast::files
