#include "small_disk.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace holdfast::e2e {

namespace {

constexpr std::size_t disk_bytes = 2 * 1024 * 1024, ballast_bytes = 1280 * 1024;
constexpr rlim_t file_bytes_max = 400 * 1024;

// What this thread and its children mount from now on, nobody else sees.
bool enter_own_namespace() {
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

class MountedDisk final : public SmallDisk {
  public:
    ~MountedDisk() override {
        if (is_mounted_) ::umount2(mount_.path().c_str(), MNT_DETACH);
    }

    bool mount() {
        const std::string size = "size=" + std::to_string(disk_bytes);
        is_mounted_ = enter_own_namespace() && ::mount("holdfast-test", mount_.path().c_str(),
                                                       "tmpfs", 0, size.c_str()) == 0;
        if (is_mounted_) std::ofstream(ballast()) << std::string(ballast_bytes, 'x') << std::flush;
        return is_mounted_;
    }

    [[nodiscard]] std::string folder() const override { return mount_.path() + "/data"; }
    void make_room(const ServerProcess& /*server*/) override { std::filesystem::remove(ballast()); }

  private:
    [[nodiscard]] std::string ballast() const { return mount_.path() + "/ballast"; }

    DataFolder mount_;
    bool is_mounted_ = false;
};

class LimitedFiles final : public SmallDisk {
  public:
    [[nodiscard]] std::string folder() const override { return folder_.path(); }

    // Told that a file is too large, a program is ended unless it ignores the signal.
    [[nodiscard]] Command limit(Command command) const override {
        const std::string blocks = std::to_string(file_bytes_max / 512);
        command.words.insert(
            command.words.begin(),
            {"sh", "-c", "trap '' XFSZ; ulimit -S -f " + blocks + "; exec \"$@\"", "sh"});
        return command;
    }

    void make_room(const ServerProcess& server) override {
        rlimit limit{};
        EXPECT_EQ(::prlimit(server.process.pid(), RLIMIT_FSIZE, nullptr, &limit), 0);
        EXPECT_EQ(limit.rlim_cur, file_bytes_max);
        limit.rlim_cur = limit.rlim_max;
        EXPECT_EQ(::prlimit(server.process.pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
    }

  private:
    DataFolder folder_;
};

}  // namespace

std::unique_ptr<SmallDisk> mount_small_disk() {
    auto disk = std::make_unique<MountedDisk>();
    if (!disk->mount()) return nullptr;
    return disk;
}

std::unique_ptr<SmallDisk> limit_files() {
    return std::make_unique<LimitedFiles>();
}

ReadOnlyFolder::ReadOnlyFolder() : path_(above_.path() + "/data") {
    EXPECT_EQ(::mkdir(path_.c_str(), 0500), 0);
    if (::access(path_.c_str(), W_OK) != 0) return;  // permissions bite, unless one is root
    is_mounted_ = enter_own_namespace() &&
                  ::mount(path_.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (is_mounted_ &&
        ::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0) {
        return;
    }
    // A root that may not mount: in a file nobody can make another.
    if (is_mounted_) ::umount2(path_.c_str(), MNT_DETACH);
    is_mounted_ = false;
    std::filesystem::remove(path_);
    std::ofstream(path_) << "a file";
}

ReadOnlyFolder::~ReadOnlyFolder() {
    if (is_mounted_) ::umount2(path_.c_str(), MNT_DETACH);
}

}  // namespace holdfast::e2e
