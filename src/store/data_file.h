#pragma once

// The database as a file: its folder, its header, and the lock that makes one server its owner.

#include <cstdint>
#include <string>

#include "base/result.h"

namespace holdfast::store {

// "Hold" in ASCII: tells our files from other SQLite databases.
inline constexpr std::uint32_t application_id = 0x486f6c64;

// Makes the folder for the file at `path`, and the folders above it, if they do not exist. Other
// users cannot read the new folders.
[[nodiscard]] base::Result<void> make_folder_of(const std::string& path);

// Makes an empty file at `path`, which other users cannot read, if there is none. Fails, and changes
// nothing, if there is a file that cannot be written, is not a database, is not ours, or has a
// version above `version_max`. SQLite must not open such a file: it would begin by repairing it.
//
// REQUIRES: this process does not have the file open through SQLite, whose locks would be lost.
[[nodiscard]] base::Result<void> make_or_examine_file(const std::string& path,
                                                      std::uint32_t version_max);

// DataLock: one server per database.
//
// Holds an flock on `<database>.lock`. The kernel releases it when the process ends, however that
// happens.
class DataLock {
  public:
    // Fails, and names the process, if another server has the lock.
    [[nodiscard]] static base::Result<DataLock> acquire(const std::string& database_path);

    DataLock(DataLock&& other) noexcept;
    DataLock& operator=(DataLock&&) = delete;
    ~DataLock();

  private:
    explicit DataLock(int descriptor) : descriptor_(descriptor) {}

    int descriptor_;
};

}  // namespace holdfast::store
