#pragma once

// The database as a file: what is looked at before SQLite may touch it.

#include <cstdint>
#include <string>

#include "base/result.h"

namespace holdfast::store {

// "Hold" in ASCII: tells our files from other SQLite databases.
inline constexpr std::uint32_t application_id = 0x486f6c64;

// Makes the folder the file at `path` is to be in, and those above it, if they are not there; those
// it makes are for nobody else to read.
[[nodiscard]] base::Result<void> make_folder_of(const std::string& path);

// Makes an empty file at `path`, for nobody else to read, if there is none. Fails, and changes
// nothing, when there is one that cannot be written, is no database, not ours, or of a version
// above `version_max`: SQLite itself would begin by tidying up, whoever the file belongs to.
//
// REQUIRES: this process does not have the file open through SQLite, whose locks would be lost.
[[nodiscard]] base::Result<void> make_or_examine_file(const std::string& path,
                                                      std::uint32_t version_max);

}  // namespace holdfast::store
