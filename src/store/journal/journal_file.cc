#include "store/journal/journal_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "store/journal/checksum.h"

namespace holdfast::store {

namespace {

struct RecordHeader {
    char magic[8];
    JournalName name;
    std::uint64_t index;
    std::uint32_t entry_bytes;
    std::uint32_t checksum;  // of everything before, and of the entry
};
static_assert(sizeof(RecordHeader) == 40);
constexpr std::size_t checked_bytes = offsetof(RecordHeader, checksum);

// Disks write this much or nothing. What is damaged may have moved the records behind it by sectors.
constexpr std::size_t sector_bytes = 512;

constexpr char record_magic[] = {'h', 'f', 'j', 'o', 'u', 'r', 'n', 'l'};

constexpr std::size_t whole_blocks(std::size_t bytes) {
    return (bytes + JournalFile::block_bytes - 1) / JournalFile::block_bytes *
           JournalFile::block_bytes;
}

// The checksum of a record: header and entry follow one another.
std::uint32_t checksum_of(std::string_view record) {
    return crc32c(record.substr(sizeof(RecordHeader)), crc32c(record.substr(0, checked_bytes)));
}

struct Record {
    RecordHeader header{};
    std::string_view entry;
    std::size_t bytes = 0;  // with the zeros behind it
};

// The record that begins with `bytes`, if it is complete.
std::optional<Record> record_at(std::string_view bytes) {
    Record record;
    if (bytes.size() < sizeof(RecordHeader)) return std::nullopt;
    std::memcpy(&record.header, bytes.data(), sizeof(RecordHeader));
    if (std::memcmp(record.header.magic, record_magic, sizeof record_magic) != 0)
        return std::nullopt;
    const std::size_t size = sizeof(RecordHeader) + record.header.entry_bytes;
    if (bytes.size() < size) return std::nullopt;
    if (checksum_of(bytes.substr(0, size)) != record.header.checksum) return std::nullopt;
    record.entry = bytes.substr(sizeof(RecordHeader), record.header.entry_bytes);
    record.bytes = std::min(whole_blocks(size), bytes.size());
    return record;
}

// Whether these may be the first bytes of a record of this database: much cheaper than record_at(), and
// no client knows that number, so what a client has written into an entry is not looked at further.
bool names_database(std::string_view bytes, std::uint64_t database) {
    RecordHeader header{};
    if (bytes.size() < sizeof(RecordHeader)) return false;
    std::memcpy(&header, bytes.data(), sizeof(RecordHeader));
    return header.name.database == database;
}

base::Result<void> make_name_durable(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path();
    const base::Descriptor parent(
        ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent || ::fsync(parent.get()) != 0) {
        return base::fail("cannot make " + path + " durable: " + std::strerror(errno));
    }
    return {};
}

}  // namespace

std::string journal_path(const std::string& database_path) {
    return database_path + ".journal";
}

void JournalFile::Free::operator()(char* block) const {
    std::free(block);
}

base::Result<JournalFile> JournalFile::open(const std::string& path, std::size_t bytes_max) {
    constexpr int flags = O_RDWR | O_CREAT | O_DSYNC | O_CLOEXEC;
    base::Descriptor file(::open(path.c_str(), flags | O_DIRECT, 0600));
    if (!file && errno == EINVAL) file = base::Descriptor(::open(path.c_str(), flags, 0600));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        return base::fail("cannot open " + path + ": " + std::strerror(errno));
    }
    TRY(make_name_durable(path));
    const std::size_t size = static_cast<std::size_t>(status.st_size) / block_bytes * block_bytes;
    JournalFile journal(path, std::move(file), std::min(size, bytes_max), bytes_max);
    const std::size_t smallest = std::min(size_min, bytes_max);
    if (journal.size_ < smallest) journal.grow(smallest);
    return journal;
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): what is, what may be
JournalFile::JournalFile(std::string path, base::Descriptor file, std::size_t size,
                         std::size_t bytes_max)
    : path_(std::move(path)), file_(std::move(file)), size_(size), bytes_max_(bytes_max) {}

void JournalFile::begin(const JournalName& name) {
    name_ = name;
    next_ = 0;
    records_ = 0;
}

base::Result<bool> JournalFile::append(std::string_view entry) {
    const std::size_t padded = record_bytes(entry.size());
    if (padded > bytes_max_ - next_ || (next_ + padded > size_ && !grow(next_ + padded))) {
        return false;
    }
    make_buffer(padded);
    write_record(name_, records_, entry, buffer_.get());
    if (!write_all(padded, next_)) {
        return base::fail("cannot write " + path_ + ": " + std::strerror(errno));
    }
    next_ += padded;
    ++records_;
    return true;
}

// Makes room for `needed` bytes, and for some more: fills the file with zeros behind its end. False if
// the disk has no room; the file is as before then. REQUIRES: so much may be needed.
bool JournalFile::grow(std::size_t needed) {
    const std::size_t more = std::clamp(size_, size_min, growth_max);
    const std::size_t size = std::min(std::max(needed, size_ + more), bytes_max_);
    make_buffer(size - size_);
    std::memset(buffer_.get(), 0, size - size_);
    if (!write_all(size - size_, size_)) {
        // What is left of it would be taken for room by the next start.
        [[maybe_unused]] const int ignored = ::ftruncate(file_.get(), static_cast<off_t>(size_));
        return false;
    }
    size_ = size;
    return true;
}

bool JournalFile::write_all(std::size_t bytes, std::size_t at) {
    ++writes_;
    for (std::size_t done = 0; done < bytes;) {
        const ssize_t written = ::pwrite(file_.get(), buffer_.get() + done, bytes - done,
                                         static_cast<off_t>(at + done));
        if (written < 0 && (errno == EINTR || (errno == EINVAL && use_page_cache()))) continue;
        if (written <= 0) return false;
        done += static_cast<std::size_t>(written);
    }
    return true;
}

// Some file systems say only now that they cannot write past the page cache. False if it was used
// before, too.
bool JournalFile::use_page_cache() {
    const int flags = ::fcntl(file_.get(), F_GETFL);
    return flags >= 0 && (flags & O_DIRECT) != 0 &&
           ::fcntl(file_.get(), F_SETFL, flags & ~O_DIRECT) == 0;
}

void JournalFile::make_buffer(std::size_t bytes) {
    if (bytes <= buffer_bytes_) return;
    const std::size_t larger =
        std::max(whole_blocks(bytes), std::min(2 * buffer_bytes_, bytes_max_));
    buffer_.reset(static_cast<char*>(std::aligned_alloc(block_bytes, larger)));
    CHECK(buffer_ != nullptr);
    buffer_bytes_ = larger;
}

std::size_t record_bytes(std::size_t entry_bytes) {
    return whole_blocks(sizeof(RecordHeader) + entry_bytes);
}

void write_record(const JournalName& name, std::uint64_t index, std::string_view entry, char* to) {
    RecordHeader header{.magic = {},
                        .name = name,
                        .index = index,
                        .entry_bytes = static_cast<std::uint32_t>(entry.size()),
                        .checksum = 0};
    std::memcpy(header.magic, record_magic, sizeof record_magic);
    std::memcpy(to, &header, sizeof header);
    if (!entry.empty()) std::memcpy(to + sizeof header, entry.data(), entry.size());
    const std::size_t bytes = sizeof header + entry.size();
    std::memset(to + bytes, 0, record_bytes(entry.size()) - bytes);
    header.checksum = checksum_of({to, bytes});
    std::memcpy(to, &header, sizeof header);
}

base::Result<std::vector<std::string_view>> find_entries(std::string_view bytes,
                                                         const JournalName& name, JournalUse use) {
    std::vector<std::string_view> entries;
    std::size_t at = 0;
    std::size_t behind = 0;  // where a record may be that has moved
    for (;;) {
        const auto record = record_at(bytes.substr(at));
        if (!record) break;
        if (at == 0 && record->header.name.database != name.database) {
            return base::fail("it is the journal of another database");
        }
        if (record->header.name != name || record->header.index != entries.size()) break;
        entries.push_back(record->entry);
        behind = at + sector_bytes;
        at += record->bytes;
    }
    if (use == JournalUse::of_running_server) return entries;
    for (; behind < bytes.size(); behind += sector_bytes) {
        if (!names_database(bytes.substr(behind), name.database)) continue;
        const auto record = record_at(bytes.substr(behind));
        if (!record) continue;
        if (record->header.name.generation > name.generation) {
            return base::fail("it is newer than its database, which was replaced or lost changes");
        }
        if (record->header.name.generation == name.generation) {
            return base::fail("it is damaged: record " + std::to_string(entries.size()) +
                              " cannot be read, and record " +
                              std::to_string(record->header.index) + " can");
        }
    }
    return entries;
}

base::Result<std::optional<std::string>> read_journal_bytes(const std::string& path) {
    const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) return std::nullopt;
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) {
        return base::fail("cannot open " + path + ": " + std::strerror(errno));
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t count =
            ::pread(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return base::fail("cannot read " + path + ": " + std::strerror(errno));
        if (count == 0) break;
        done += static_cast<std::size_t>(count);
    }
    bytes.resize(done);
    return bytes;
}

}  // namespace holdfast::store
