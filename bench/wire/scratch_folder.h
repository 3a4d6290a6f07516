#pragma once

// ScratchFolder: a folder of a measurement's own, removed together with it.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "base/check.h"

namespace holdfast::bench {

class ScratchFolder {
  public:
    // REQUIRES: `above` exists, and a folder can be made there.
    explicit ScratchFolder(const std::string& above)
        : path_(std::filesystem::absolute(above).string() + "/scratch-XXXXXX") {
        CHECK(::mkdtemp(path_.data()) != nullptr);
    }
    ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
    ScratchFolder& operator=(ScratchFolder&&) = delete;
    ~ScratchFolder() {
        if (!path_.empty()) std::filesystem::remove_all(path_);
    }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string operator/(const char* name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

}  // namespace holdfast::bench
