#pragma once

// FileTree: files under a root directory, written whole, one after another, and by permission.
//
// Think of each path as a variable that holds a version. A version is a file that nobody changes
// any more: a write makes a new file and gives it the name of the path in one step (Upload). So a
// reader can read one whole version for as long as it likes, and after a crash the path has the old
// version or the new one. What the store knows about a version is stored with the file
// (file_info.h), everything else in a folder of its own (state_folder.h). Other programs may read
// the tree and add files to it. The store notices files that others change in place, but such
// changes are not safe from crashes.
//
// A caller that writes or removes passes a check. The tree calls the check between the commits
// before it and this one: if the lease has ended by then, nothing changes. The check sees the
// version that would be replaced, so it can also judge preconditions.
//
// No path leads out of the root: see open_beneath() and FilePath.
//
// Thread safety: all functions may be called from any thread; an Upload from one thread at a time.
// All of them may wait for the disk and must not be called on an event loop, but on a
// base::WorkPool.
// Lifetime: the tree outlives its uploads.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "files/disk/file_info.h"
#include "files/path/file_error.h"
#include "files/path/file_path.h"
#include "files/tree/listing.h"
#include "files/tree/upload.h"
#include "service/ports/clock.h"

namespace holdfast::files {

class StateFolder;
struct TreeState;

// One change of the tree that a crash cannot undo.
struct Change {
    enum class Kind : std::uint8_t { file_put, file_deleted, directory_made, directory_removed };

    Kind kind;
    std::string path;
    std::string etag;  // file_put: of the new version
};

// Called for every change, on the thread that makes it, before the caller of the tree learns of the
// change. The changes of one path come in their order. It must not call the tree, and should be
// quick.
using OnChange = std::function<void(const Change&)>;

struct FileTreeOptions {
    std::string root;                  // a directory; it is made if it does not exist
    std::uint64_t quota_bytes = 0;     // of all files together; 0: no limit
    std::uint64_t file_bytes_max = 0;  // of one file; 0: no limit
    OnChange on_change;
};

class FileTree {
  public:
    // Fails with a sentence when the root cannot be used: because of its permissions, its file
    // system, or another server that uses it. With a quota, the sizes of all files are added up
    // first. `clock` outlives the tree.
    [[nodiscard]] static base::Result<std::unique_ptr<FileTree>> open(FileTreeOptions options,
                                                                      const service::Clock& clock);
    FileTree(const FileTree&) = delete;
    FileTree& operator=(const FileTree&) = delete;
    ~FileTree();

    // The present version, open for reading, and everything about it. Fails with is_directory, or
    // with not_found for anything else that is not a file.
    [[nodiscard]] FileResult<OpenFile> open_file(const FilePath& path);

    [[nodiscard]] FileResult<bool> is_directory(const FilePath& path);

    // Begins a write. Fails at once if the write cannot succeed: too_large, over_quota,
    // is_directory, not_a_file, parent_is_file, and for a region not_found or leaves_hole.
    [[nodiscard]] FileResult<Upload> begin_upload(UploadPlan plan);

    // Removes the file if `check` returns true for its version. Fails with not_found, is_directory,
    // refused.
    [[nodiscard]] FileResult<void> remove_file(const FilePath& path, const CommitCheck& check);

    // Fails with exists (also if a file is there) or no_parent.
    [[nodiscard]] FileResult<void> make_directory(const FilePath& path);
    // Fails with not_found (also if it is a file) or not_empty (also if it is the root).
    [[nodiscard]] FileResult<void> remove_directory(const FilePath& path);

    // See list_directory().
    [[nodiscard]] FileResult<Listing> list(const FilePath& directory, const ListOptions& options);

    // The size of all files together; known only if there is a quota.
    [[nodiscard]] std::optional<std::uint64_t> used_bytes() const;

    // The folder in which others may store what belongs to the tree.
    [[nodiscard]] StateFolder& own_folder();

  private:
    explicit FileTree(std::unique_ptr<TreeState> state);

    std::unique_ptr<TreeState> state_;
};

}  // namespace holdfast::files
