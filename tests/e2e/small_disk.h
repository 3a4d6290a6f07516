#pragma once

// Places where a server cannot write as it likes: real limits of the kernel, for tests.

#include <memory>
#include <string>

#include "durable.h"
#include "server_process.h"

namespace holdfast::e2e {

// A disk that is nearly full.
class SmallDisk {
  public:
    virtual ~SmallDisk() = default;

    // A folder on it.
    [[nodiscard]] virtual std::string folder() const = 0;
    // The command, such that the limit holds for what it runs.
    [[nodiscard]] virtual Command limit(Command command) const { return command; }
    // From now on there is room, also for the server that runs.
    virtual void make_room(const ServerProcess& server) = 0;
};

// A file system of two megabytes in memory, most of it taken by something else, in a namespace of
// the calling thread's own. None where that is not permitted.
[[nodiscard]] std::unique_ptr<SmallDisk> mount_small_disk();

// No file of the server may grow beyond a few hundred kilobytes. Anybody may have that.
[[nodiscard]] std::unique_ptr<SmallDisk> limit_files();

// A folder in which nothing can be written, by whatever means that can be had here.
class ReadOnlyFolder {
  public:
    ReadOnlyFolder();
    ~ReadOnlyFolder();
    ReadOnlyFolder(const ReadOnlyFolder&) = delete;
    ReadOnlyFolder& operator=(const ReadOnlyFolder&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    DataFolder above_;
    std::string path_;
    bool is_mounted_ = false;
};

}  // namespace holdfast::e2e
