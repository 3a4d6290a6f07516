#include "store/data_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "store/journal/journal_file.h"

namespace holdfast::store {

namespace {

using namespace std::string_view_literals;

// The parts of SQLite's file header we look at (https://sqlite.org/fileformat2.html, 1.3).
constexpr std::size_t header_size = 100, version_at = 60, application_id_at = 68;
constexpr std::string_view magic = "SQLite format 3\0"sv;
using Header = std::array<unsigned char, header_size>;

std::uint32_t number_at(const Header& header, std::size_t at) {
    std::uint32_t number = 0;
    for (const unsigned char byte : std::span(header).subspan(at, 4)) number = number << 8 | byte;
    return number;
}

base::Result<void> examine(const Header& header, std::uint32_t version_max) {
    if (std::memcmp(header.data(), magic.data(), magic.size()) != 0) {
        return base::fail("it is no SQLite database, or a damaged one");
    }
    if (number_at(header, application_id_at) != application_id) {
        return base::fail("it is a database of another program");
    }
    if (const std::uint32_t version = number_at(header, version_at); version > version_max) {
        return base::fail("it was written by a newer holdfast (the file has version " +
                          std::to_string(version) + ", the newest known here is " +
                          std::to_string(version_max) + ")");
    }
    return {};
}

base::Result<void> make_folder(const std::filesystem::path& folder) {
    std::error_code ignored;  // if the folder cannot be seen, making it fails below and says why
    if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return {};
    TRY(make_folder(folder.parent_path()));
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        return base::fail("cannot make the folder " + folder.string() + ": " +
                          std::strerror(errno));
    }
    // The folder itself must survive a power cut too.
    const std::filesystem::path above = folder.has_parent_path() ? folder.parent_path() : ".";
    const base::Descriptor parent(open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (parent.get() < 0 || fsync(parent.get()) != 0) {
        return base::fail("cannot make the folder " + folder.string() +
                          " durable: " + std::strerror(errno));
    }
    return {};
}

// The server that has the lock, as it wrote into the file.
std::string holder(int descriptor) {
    std::array<char, 32> text{};
    const ssize_t size = pread(descriptor, text.data(), text.size() - 1, 0);
    if (size <= 0) return "another server";
    const std::string_view line(text.data(), static_cast<std::size_t>(size));
    return "process " + std::string(line.substr(0, line.find('\n')));
}

}  // namespace

base::Result<void> make_folder_of(const std::string& path) {
    return make_folder(std::filesystem::path(path).parent_path());
}

base::Result<void> make_or_examine_file(const std::string& path, std::uint32_t version_max) {
    const base::Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (file.get() < 0)
        return base::fail(std::string("it cannot be opened for writing: ") + std::strerror(errno));
    Header header{};
    const ssize_t size = pread(file.get(), header.data(), header.size(), 0);
    if (size < 0) return base::fail(std::string("it cannot be read: ") + std::strerror(errno));
    if (size == 0) {
        // SQLite would delete the log of a database that was lost.
        for (const std::string& other : {path + "-wal", journal_path(path)}) {
            struct stat log {};
            if (stat(other.c_str(), &log) == 0 && log.st_size > 0) {
                return base::fail("it is empty, but the " + other +
                                  " that belongs to it is not: the file was lost or cut off");
            }
        }
        return {};
    }
    if (static_cast<std::size_t>(size) < header.size()) {
        return base::fail("it is no SQLite database, or a damaged one");
    }
    return examine(header, version_max);
}

base::Result<DataLock> DataLock::acquire(const std::string& database_path) {
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
    // The number is only for the message above, so a full disk does not matter.
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
