#include "store/data_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace holdfast::store {

namespace {

// What the server that has the lock wrote into the file.
std::string holder(int descriptor) {
    std::array<char, 32> text{};
    const ssize_t size = pread(descriptor, text.data(), text.size() - 1, 0);
    if (size <= 0) return "another server";
    const std::string_view line(text.data(), static_cast<std::size_t>(size));
    return "process " + std::string(line.substr(0, line.find('\n')));
}

}  // namespace

base::Result<DataLock> DataLock::take(const std::string& database_path) {
    const std::string path = database_path + ".lock";
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        return base::fail("cannot open " + path + ": " + std::strerror(errno));
    }
    DataLock lock(descriptor);
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        return base::fail("it is in use by " + holder(descriptor));
    }
    const std::string line = std::to_string(getpid()) + "\n";
    // The number is only for the message above: a full disk is no reason not to start.
    if (ftruncate(descriptor, 0) == 0) {
        [[maybe_unused]] const ssize_t written = pwrite(descriptor, line.data(), line.size(), 0);
    }
    return lock;
}

DataLock::DataLock(DataLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

DataLock::~DataLock() {
    if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace holdfast::store
