#pragma once

// What the parts of the file store share. Not for use outside this folder: see file_tree.h.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>

#include "base/descriptor.h"
#include "files/disk/file_info.h"
#include "files/disk/inode_numbers.h"
#include "files/disk/state_folder.h"
#include "files/path/file_error.h"
#include "files/path/file_path.h"
#include "files/tree/change.h"
#include "files/tree/path_gates.h"
#include "files/tree/quota.h"
#include "service/ports/clock.h"

namespace holdfast::files {

// Thread safety: all members protect themselves. A thread that is inside a gate may take
// `directories`, never the other way round.
struct TreeState {
    base::Descriptor root;
    std::unique_ptr<StateFolder> own_folder;
    std::unique_ptr<InodeNumbers> inode_numbers;
    Quota quota;
    std::uint64_t file_bytes_max;  // 0: no limit
    const service::Clock& clock;
    OnChange on_change;

    // The commits to one path are in order. Inside: from looking at the present version until the
    // next one is durable and told.
    PathGates gates;

    // Alone for whoever makes or removes directories, until that is durable; so that whoever finds
    // a directory, together with others, may rely on it.
    std::shared_mutex directories;

    void tell(Change::Kind kind, const std::string& path, std::string etag = "") const;
    // Wall time.
    [[nodiscard]] std::int64_t now_ms() const;
};

// A regular file that was found, and how.
struct FoundFile {
    base::Descriptor descriptor;
    struct stat status;
};

// The file at `path`, open for reading; nothing, if nothing is there. Fails when something else is:
// is_directory, not_a_file, parent_is_file.
[[nodiscard]] FileResult<std::optional<FoundFile>> find_file(const TreeState& tree,
                                                             const FilePath& path);

enum class InfoDepth : std::uint8_t { without_hash, whole };

// What is known about a file, and found out now where it is not: of a file that came to the tree by
// other means. That is kept with the file, not yet durably. REQUIRES: inside the path's gate.
[[nodiscard]] FileResult<FileInfo> complete_info(TreeState& tree, const FoundFile& file,
                                                 const FilePath& path, InfoDepth depth);

// The file at `path` and all about it. REQUIRES: outside of gates.
struct DescribedFile {
    OpenFile file;
    bool is_newly_described = false;  // what was found out is to be synced
};
[[nodiscard]] FileResult<std::optional<DescribedFile>> describe_file(TreeState& tree,
                                                                     const FilePath& path,
                                                                     InfoDepth depth);

// The directory that `path` is in; not_found, parent_is_file.
[[nodiscard]] FileResult<base::Descriptor> open_parent(TreeState& tree, const FilePath& path);
// Makes the directories that `path` is in, as far as they are not there, durably.
[[nodiscard]] FileResult<void> make_parents(TreeState& tree, const FilePath& path);

}  // namespace holdfast::files
