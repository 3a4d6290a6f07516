#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "files/disk/state_folder.h"

namespace holdfast::files {

// InodeNumbers: a number for every file, never given to another.
//
// The file system's own inode numbers change whenever a file is replaced, and are used again. These
// belong to a path from its first PUT to its DELETE. They are reserved on disk in blocks, before
// the first of a block is given out; after a crash the rest of the block is left out.
//
// Thread safety: take() from any thread; it may wait for the disk.
class InodeNumbers {
  public:
    // `folder` outlives this. Fails when the counter cannot be read or is none.
    [[nodiscard]] static base::Result<std::unique_ptr<InodeNumbers>> open(StateFolder& folder);

    // From 1 on. Fails with an errno when the next block cannot be reserved.
    [[nodiscard]] SystemResult<std::uint64_t> take();

  private:
    InodeNumbers(StateFolder& folder, std::uint64_t next)
        : folder_(folder), next_(next), reserved_end_(next) {}

    StateFolder& folder_;
    std::mutex mutex_;
    std::uint64_t next_;
    std::uint64_t reserved_end_;  // what the disk says
};

}  // namespace holdfast::files
