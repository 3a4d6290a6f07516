#pragma once

// The store's own folder in the root, `.holdfast`, and the temporary files in it.
//
//     .holdfast/lock          held by the server that uses the root
//     .holdfast/tmp/          what is being written; emptied at the start
//     .holdfast/next_inode    the first inode number that was never given out (InodeNumbers)
//     .holdfast/sessions/     logins, by the hash of their id (SessionBook)
//     .holdfast/used_events/  signed logins that count no more (UsedEvents)
//
// Thread safety: all functions may be called from any thread. All of them wait for the disk.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"
#include "files/disk/system.h"

namespace holdfast::files {

// TemporaryFile: a file nobody can address, gone with this object unless it is given a name.
class TemporaryFile {
  public:
    TemporaryFile(int folder, std::string name, base::Descriptor descriptor)
        : folder_(folder), name_(std::move(name)), descriptor_(std::move(descriptor)) {}
    TemporaryFile(TemporaryFile&& other) noexcept = default;
    TemporaryFile& operator=(TemporaryFile&&) = delete;
    ~TemporaryFile();

    [[nodiscard]] int descriptor() const { return descriptor_.get(); }

    // Moves it to `name` in `folder`, over the file that is there. It is not removed any more.
    [[nodiscard]] SystemResult<void> rename_to(int folder, const std::string& name);

  private:
    int folder_;
    std::string name_;
    base::Descriptor descriptor_;  // none once this was moved from or has its name
};

class StateFolder {
  public:
    // Makes the folder in `root` or finds it there, and removes what an earlier run left in `tmp`.
    // Fails with a sentence when another server uses the root, or when its file system has not what
    // the store needs: user attributes, names in which case counts, openat2.
    [[nodiscard]] static base::Result<std::unique_ptr<StateFolder>> open(int root);

    [[nodiscard]] SystemResult<TemporaryFile> make_temporary_file();

    // A folder in this one, made if need be, for small files.
    [[nodiscard]] base::Result<base::Descriptor> open_folder(const std::string& name) const;
    [[nodiscard]] int descriptor() const { return folder_.get(); }

    // Puts a small file in place as a whole, and durably: it has the old or the new text.
    [[nodiscard]] SystemResult<void> write_small_file(int folder, const std::string& name,
                                                      std::string_view text);
    // Its text, cut off after a few kilobytes.
    [[nodiscard]] static SystemResult<std::string> read_small_file(int folder,
                                                                   const std::string& name);
    // All small files of a folder, by name.
    [[nodiscard]] static SystemResult<std::map<std::string, std::string>> read_small_files(
        int folder);
    // Removes one, durably. One that is not there is no failure.
    [[nodiscard]] static SystemResult<void> remove_small_file(int folder, const std::string& name);

  private:
    StateFolder(base::Descriptor folder, base::Descriptor lock, base::Descriptor temporary)
        : folder_(std::move(folder)), lock_(std::move(lock)), temporary_(std::move(temporary)) {}

    [[nodiscard]] base::Result<void> remove_leftovers() const;
    [[nodiscard]] base::Result<void> examine_file_system();

    base::Descriptor folder_;
    base::Descriptor lock_;  // the kernel gives up its flock when the process ends, however it ends
    base::Descriptor temporary_;
    std::atomic<std::uint64_t> next_name_ = 0;
};

}  // namespace holdfast::files
