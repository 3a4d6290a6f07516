#pragma once

// The store's own folder in the root, `.holdfast`, and the temporary files in it.
//
//     .holdfast/lock          locked by the server that uses the root
//     .holdfast/tmp/          files that are being written; emptied at the start
//     .holdfast/next_inode    the first inode number that was never used (InodeNumbers)
//     .holdfast/sessions/     sessions, by the hash of their id (SessionBook)
//     .holdfast/used_events/  signed events that have logged in (UsedEvents)
//
// Thread safety: all functions may be called from any thread. All of them wait for the disk.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/crypto.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "files/disk/system.h"

namespace holdfast::files {

// TemporaryFile: a file without a path in the tree. It is removed with this object, unless it was
// renamed.
class TemporaryFile {
  public:
    TemporaryFile(int folder, std::string name, base::Descriptor descriptor)
        : folder_(folder), name_(std::move(name)), descriptor_(std::move(descriptor)) {}
    TemporaryFile(TemporaryFile&& other) noexcept = default;
    TemporaryFile& operator=(TemporaryFile&&) = delete;
    ~TemporaryFile();

    [[nodiscard]] int descriptor() const { return descriptor_.get(); }

    // Moves it to `name` in `folder` and replaces the file there. It is not removed any more.
    [[nodiscard]] SystemResult<void> rename_to(int folder, const std::string& name);

  private:
    int folder_;
    std::string name_;
    base::Descriptor descriptor_;  // none after this was moved from or renamed
};

class StateFolder {
  public:
    // Opens the folder in `root`, or makes it, and removes the files that an earlier run left in
    // `tmp`. Fails with a sentence when another server uses the root, or when its file system lacks
    // something that every store needs: case-sensitive names, openat2.
    [[nodiscard]] static base::Result<std::unique_ptr<StateFolder>> open(int root);

    // Fails with a sentence if the file system has no user attributes, for stores that need them.
    [[nodiscard]] base::Result<void> check_attributes();

    [[nodiscard]] SystemResult<TemporaryFile> make_temporary_file();

    // A folder for small files in this one; it is made if it does not exist.
    [[nodiscard]] base::Result<base::Descriptor> open_folder(const std::string& name) const;
    [[nodiscard]] int descriptor() const { return folder_.get(); }

    // Replaces a small file durably and in one step: it has the old or the new text.
    [[nodiscard]] SystemResult<void> write_small_file(int folder, const std::string& name,
                                                      std::string_view text);
    // The text of a small file, cut off after a few kilobytes.
    [[nodiscard]] static SystemResult<std::string> read_small_file(int folder,
                                                                   const std::string& name);
    // All small files of a folder, by name.
    [[nodiscard]] static SystemResult<std::map<std::string, std::string>> read_small_files(
        int folder);
    // Removes one, durably. Succeeds if it does not exist.
    [[nodiscard]] static SystemResult<void> remove_small_file(int folder, const std::string& name);

  private:
    StateFolder(base::Descriptor folder, base::Descriptor lock, base::Descriptor temporary)
        : folder_(std::move(folder)), lock_(std::move(lock)), temporary_(std::move(temporary)) {}

    [[nodiscard]] base::Result<void> remove_leftovers() const;
    [[nodiscard]] base::Result<void> check_case() const;

    base::Descriptor folder_;
    base::Descriptor lock_;  // the kernel drops the flock when the process ends, also by a crash
    base::Descriptor temporary_;
    // Temporary files of another opening never have the same names: a server that believes that it
    // still has the root cannot remove or rename the files of its successor.
    const std::uint64_t opening_ = base::RandomBits()();
    std::atomic<std::uint64_t> next_name_ = 0;
};

// InodeNumbers: a number for every file; no number is used twice.
//
// The inode numbers of the file system change whenever a file is replaced, and are reused. These
// numbers belong to a path from its first PUT to its DELETE. The disk reserves them in blocks
// before the first number of a block is used; after a crash the rest of the block is skipped.
//
// Thread safety: take() from any thread; it may wait for the disk.
class InodeNumbers {
  public:
    // `folder` outlives this. Fails when the counter cannot be read or is not a number.
    [[nodiscard]] static base::Result<std::unique_ptr<InodeNumbers>> open(StateFolder& folder);

    // The next number, from 1 on. Fails with an errno when the next block cannot be reserved.
    [[nodiscard]] SystemResult<std::uint64_t> take();

  private:
    InodeNumbers(StateFolder& folder, std::uint64_t next)
        : folder_(folder), next_(next), reserved_end_(next) {}

    StateFolder& folder_;
    std::mutex mutex_;
    std::uint64_t next_;
    std::uint64_t reserved_end_;  // as the disk says
};

}  // namespace holdfast::files
