#pragma once

// FileTree: files under a root directory, written whole, one after another, and by permission.
//
// Think of each path as a variable that holds a version. A version is a file that nobody changes
// any more: a write makes a new file, and gives it the path's name in one step (Upload). So a
// reader has the whole of one version for as long as it likes, and after a crash there is the old
// version or the new one. What the store knows about a version is kept with the file (file_info.h),
// what it knows beside that in a folder of its own (state_folder.h). The tree may be looked at and
// added to with other programs; what those change in place is noticed, but is not safe from
// crashes.
//
// Whoever writes or removes brings a check with it, which is asked between the commits before and
// this one: a fencing token that is no longer valid at that moment cannot land anything. It is
// asked with the version that would be replaced, so that preconditions are judged there as well.
//
// No path leads out of the root: see open_beneath() and FilePath.
//
// Thread safety: all functions may be called from any thread; an Upload from one at a time. All of
// them may wait for the disk, and must not be called on an event loop: that is what base::WorkPool
// is for. Lifetime: the tree outlives its uploads.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "files/disk/file_info.h"
#include "files/path/file_error.h"
#include "files/path/file_path.h"
#include "files/tree/change.h"
#include "files/tree/listing.h"
#include "files/tree/upload.h"
#include "service/ports/clock.h"

namespace holdfast::files {

class StateFolder;
struct TreeState;

struct FileTreeOptions {
    std::string root;                  // a directory; it is made if it is not there
    std::uint64_t quota_bytes = 0;     // of all files together; 0: no limit
    std::uint64_t file_bytes_max = 0;  // of one; 0: no limit
    OnChange on_change;
};

class FileTree {
  public:
    // Fails with a sentence when the root cannot be used: by its rights, its file system, or
    // another server. With a quota, all files are counted first. `clock` outlives the tree.
    [[nodiscard]] static base::Result<std::unique_ptr<FileTree>> open(FileTreeOptions options,
                                                                      const service::Clock& clock);
    FileTree(const FileTree&) = delete;
    FileTree& operator=(const FileTree&) = delete;
    ~FileTree();

    // The present version: its content, to be read at any time, and all about it. Fails with
    // is_directory, or not_found for anything else that is no file.
    [[nodiscard]] FileResult<OpenFile> open_file(const FilePath& path);

    [[nodiscard]] FileResult<bool> is_directory(const FilePath& path);

    // Begins a write. Fails at once where the end is certain: too_large, over_quota, is_directory,
    // not_a_file, parent_is_file, and for a region not_found or leaves_hole.
    [[nodiscard]] FileResult<Upload> begin_upload(UploadPlan plan);

    // Removes the file if `check` agrees to the removal of the version it is shown. Fails with
    // not_found, is_directory, refused.
    [[nodiscard]] FileResult<void> remove_file(const FilePath& path, const CommitCheck& check);

    // Fails with exists (be it a file) or no_parent.
    [[nodiscard]] FileResult<void> make_directory(const FilePath& path);
    // Fails with not_found (also if it is a file) or not_empty (also if it is the root).
    [[nodiscard]] FileResult<void> remove_directory(const FilePath& path);

    // See list_directory().
    [[nodiscard]] FileResult<Listing> list(const FilePath& directory, const ListOptions& options);

    // What all files have together; known only if there is a quota.
    [[nodiscard]] std::optional<std::uint64_t> used_bytes() const;

    // Where others may keep what belongs to the tree.
    [[nodiscard]] StateFolder& own_folder();

  private:
    explicit FileTree(std::unique_ptr<TreeState> state);

    std::unique_ptr<TreeState> state_;
};

}  // namespace holdfast::files
