#pragma once

// The state that the parts of the file store share. Not for use outside this folder: see
// file_tree.h.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "base/descriptor.h"
#include "files/disk/file_info.h"
#include "files/disk/state_folder.h"
#include "files/path/file_error.h"
#include "files/path/file_path.h"
#include "files/tree/file_tree.h"
#include "files/tree/path_gates.h"
#include "service/ports/clock.h"

namespace holdfast::files {

// Quota: how many bytes all files have together, and how many they may have.
//
// Uploads that are not committed count, too: an upload reserves the bytes that it will add, piece
// by piece, and its commit turns the reservation into used bytes. So uploads that fit one by one
// cannot exceed the limit together.
//
// Thread safety: any thread.
class Quota {
  public:
    struct Start {
        std::uint64_t limit_bytes = 0;  // 0: no limit
        std::uint64_t used_bytes = 0;
    };
    explicit Quota(const Start& start)
        : limit_bytes_(start.limit_bytes), used_bytes_(start.used_bytes) {}

    // Reserves the bytes; false if there is no room for them.
    [[nodiscard]] bool reserve(std::uint64_t bytes);
    void release(std::uint64_t bytes);

    // A file has got another size, and the reservation for that ends. REQUIRES: the reservation is
    // not smaller than the growth.
    struct SizeChange {
        std::uint64_t reserved_bytes = 0;
        std::uint64_t old_bytes = 0;
        std::uint64_t new_bytes = 0;
    };
    void apply(const SizeChange& change);

    [[nodiscard]] std::uint64_t used_bytes() const;
    [[nodiscard]] std::uint64_t limit_bytes() const { return limit_bytes_; }

  private:
    const std::uint64_t limit_bytes_;
    mutable std::mutex mutex_;
    std::uint64_t used_bytes_;
    std::uint64_t reserved_bytes_ = 0;
};

// Thread safety: all members protect themselves. A thread that is inside a gate may lock
// `directories`, never the other way round.
struct TreeState {
    base::Descriptor root;
    std::unique_ptr<StateFolder> own_folder;
    std::unique_ptr<InodeNumbers> inode_numbers;
    Quota quota;
    std::uint64_t file_bytes_max;  // 0: no limit
    const service::Clock& clock;
    OnChange on_change;

    // Keeps the commits to one path in order. A commit is inside the gate from looking at the
    // present version until the next version is durable and reported.
    PathGates gates;

    // Locked alone to make or remove directories, until that is durable; shared to look one up. So
    // a directory that was found stays there.
    std::shared_mutex directories;

    void tell(Change::Kind kind, const std::string& path, std::string etag = "") const;
    // Wall time.
    [[nodiscard]] std::int64_t now_ms() const;
};

// A regular file that was found, and its status.
struct FoundFile {
    base::Descriptor descriptor;
    struct stat status;
};

// The file at `path`, open for reading; nothing if the path does not exist. Fails if the path is
// something else: is_directory, not_a_file, parent_is_file.
[[nodiscard]] FileResult<std::optional<FoundFile>> find_file(const TreeState& tree,
                                                             const FilePath& path);

enum class InfoDepth : std::uint8_t { without_hash, whole };

// Everything about a file. If another program has put the file into the tree, it is examined now
// and the result is stored with the file, not yet durably. REQUIRES: inside the gate of the path.
[[nodiscard]] FileResult<FileInfo> complete_info(TreeState& tree, const FoundFile& file,
                                                 const FilePath& path, InfoDepth depth);

// The file at `path` and everything about it. REQUIRES: this thread is inside no gate.
struct DescribedFile {
    OpenFile file;
    bool is_newly_described = false;  // the result of an examination, which is not durable yet
};
[[nodiscard]] FileResult<std::optional<DescribedFile>> describe_file(TreeState& tree,
                                                                     const FilePath& path,
                                                                     InfoDepth depth);

// The directory that contains `path`. Fails with not_found, parent_is_file.
[[nodiscard]] FileResult<base::Descriptor> open_parent(TreeState& tree, const FilePath& path);
// Makes the missing directories above `path`, durably.
[[nodiscard]] FileResult<void> make_parents(TreeState& tree, const FilePath& path);

}  // namespace holdfast::files
