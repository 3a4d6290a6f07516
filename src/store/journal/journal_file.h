#pragma once

// JournalFile: a file to which commits are appended, each of them on disk when append() returns.
//
// The disk is slow where a file grows: the file system then writes its own records, too. So the file
// is made of blocks that were written before, and is used again from its beginning as soon as all
// that it says is folded. A commit that needs more room makes the file larger by `growth_max` at most
// beyond what it needs itself, with one write: it is not the one that pays for all that follow. A write goes past the page cache to the disk (O_DIRECT, O_DSYNC), where the
// file system can do that.
//
//     record    header, entry, zeros up to the next block
//     header    "hfjournl", the name of the journal (two numbers), the index of the record, the size
//               of the entry, the checksum (CRC-32C) of everything before and of the entry
//
// A *generation* is one use of the file, from its beginning on. The database knows which generation
// is not folded yet (fold.h). Records of older generations are what is left of them, and
// mean nothing. So a record is valid only at its place: in its generation, behind all the records
// before it.
//
// A crash can leave the last record incomplete: it is not there. An invalid record that is followed
// by a valid one was damaged later, because no record is begun before the one before it is on disk.
//
// Thread safety: none.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace holdfast::store {

// Whose records are meant.
struct JournalName {
    std::uint64_t database = 0;  // a random number that the database has, too
    std::uint64_t generation = 0;

    bool operator==(const JournalName&) const = default;
};

[[nodiscard]] std::string journal_path(const std::string& database_path);

class JournalFile {
  public:
    static constexpr std::size_t block_bytes = 4096;
    // The file begins with the smaller size, and grows up to the larger, unless open() is told
    // otherwise.
    static constexpr std::size_t size_min = std::size_t{256} << 10U,
                                 size_max = std::size_t{16} << 20U;
    static constexpr std::size_t growth_max = std::size_t{1} << 20U;

    // Opens or makes the file, which other users cannot read, and makes its name and its smallest
    // size durable. If the disk has no room for that, the file stays as small as it is.
    // `bytes_max` is a multiple of block_bytes.
    [[nodiscard]] static base::Result<JournalFile> open(const std::string& path,
                                                        std::size_t bytes_max = size_max);

    // The next record is the first of this journal.
    void begin(const JournalName& name);

    // Appends a record. False, and nothing is written, if there is no room: the file has its largest
    // size, or the disk is full. After a failure nobody knows whether the record is there.
    [[nodiscard]] base::Result<bool> append(std::string_view entry);

    // How many writes there were since open(), those that make the file larger included.
    [[nodiscard]] std::uint64_t writes() const { return writes_; }
    // How large the file is, in whole blocks. It never becomes smaller.
    [[nodiscard]] std::size_t size() const { return size_; }
    // Whether append() has written nothing since begin().
    [[nodiscard]] bool empty() const { return next_ == 0; }

  private:
    struct Free {
        void operator()(char* block) const;
    };

    JournalFile(std::string path, base::Descriptor file, std::size_t size, std::size_t bytes_max);

    bool grow(std::size_t needed);
    bool write_all(std::size_t bytes, std::size_t at);
    bool use_page_cache();
    void make_buffer(std::size_t bytes);

    std::string path_;
    base::Descriptor file_;
    std::size_t size_;       // how much of the file can be written over
    std::size_t bytes_max_;  // how large it may become

    JournalName name_;
    std::size_t next_ = 0;       // where the next record begins
    std::uint64_t records_ = 0;  // since begin()
    std::uint64_t writes_ = 0;

    std::unique_ptr<char, Free> buffer_;  // as the disk wants it: whole blocks, aligned
    std::size_t buffer_bytes_ = 0;
};

// The size of a record with an entry of so many bytes, and the record itself: so much is written.
[[nodiscard]] std::size_t record_bytes(std::size_t entry_bytes);
void write_record(const JournalName& name, std::uint64_t index, std::string_view entry, char* to);

// Whether a journal that is read may be written meanwhile. If so, what comes last is not examined.
enum class JournalUse : std::uint8_t { mine, of_running_server };

// The entries of the journal with this name, in their order; they are parts of `bytes`, the content
// of the file. Fails, with a sentence for people, if the file is damaged, is the journal of another
// database, or has a later generation than the name.
[[nodiscard]] base::Result<std::vector<std::string_view>> find_entries(
    std::string_view bytes, const JournalName& name, JournalUse use = JournalUse::mine);

// The content of the file at `path`. No value if there is no file.
[[nodiscard]] base::Result<std::optional<std::string>> read_journal_bytes(const std::string& path);

}  // namespace holdfast::store
