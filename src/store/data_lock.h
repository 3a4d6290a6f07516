#pragma once

#include <string>

#include "base/result.h"

namespace holdfast::store {

// DataLock: one server per database.
//
// Holds an flock on `<database>.lock`, which the kernel gives up when the process ends, however it
// ends.
class DataLock {
  public:
    // Fails, naming the process, when another server has it.
    [[nodiscard]] static base::Result<DataLock> take(const std::string& database_path);

    DataLock(DataLock&& other) noexcept;
    DataLock& operator=(DataLock&&) = delete;
    ~DataLock();

  private:
    explicit DataLock(int descriptor) : descriptor_(descriptor) {}

    int descriptor_;
};

}  // namespace holdfast::store
