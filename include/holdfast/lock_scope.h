#pragma once

// LockScope: what is locked. LockMode: together with others, or alone.
//
//     LockScope::Named{"nightly"}                            a name that programs agreed on
//     LockScope::Semaphore{"printers"}                       one of its permits
//     LockScope::Path{"/a/b"}                                a path, compared byte by byte
//     LockScope::Inode{7}                                    a whole file
//     LockScope::ByteRange{.inode = 7, .start = 0, .end = 4096}   bytes 0 to 4095 of it
//
// Two scopes conflict when they are equal, or are of one inode and overlap. Paths and inodes know
// nothing of one another.
//
// A value. Thread safety: as of std::string.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "holdfast/export.h"

namespace holdfast {

// Shared holders coexist; an exclusive one is alone.
enum class LockMode : std::uint8_t { exclusive, shared };

class HOLDFAST_API LockScope {
  public:
    // As the end of a range: to the end of the file, and whatever will be appended.
    static constexpr std::uint64_t end_of_file = UINT64_MAX;

    struct Named {
        std::string name;
        bool operator==(const Named&) const = default;
    };
    // How many permits it has is said by whoever asks for one.
    struct Semaphore {
        std::string name;
        bool operator==(const Semaphore&) const = default;
    };
    struct Path {
        std::string path;
        bool operator==(const Path&) const = default;
    };
    struct Inode {
        std::uint64_t inode = 0;
        bool operator==(const Inode&) const = default;
    };
    // From `start` up to, but not including, `end`.
    struct ByteRange {
        std::uint64_t inode = 0;
        std::uint64_t start = 0;
        std::uint64_t end = end_of_file;
        bool operator==(const ByteRange&) const = default;
    };
    using Value = std::variant<Named, Semaphore, Path, Inode, ByteRange>;

    // Each kind is a scope without further ado.
    LockScope(Named named) : value_(std::move(named)) {}
    LockScope(Semaphore semaphore) : value_(std::move(semaphore)) {}
    LockScope(Path path) : value_(std::move(path)) {}
    LockScope(Inode inode) : value_(inode) {}
    LockScope(ByteRange range) : value_(range) {}

    // Which kind it is, for std::visit and std::get_if.
    [[nodiscard]] const Value& value() const { return value_; }

    // Whether holding this scope is enough for what `other` names: an inode covers its ranges, and
    // a range those within it.
    [[nodiscard]] bool covers(const LockScope& other) const;

    // The text form, the same at the command line, in JSON and in every client: `nightly` (a name),
    // `semaphore:printers`, `path:/a/b`, `inode:7`, `range:7:0-4096`, and `range:7:4096-` for a
    // range to the end of the file. A name that begins like another kind is written `named:...`.
    [[nodiscard]] std::string to_text() const;

    // Reads the text form: a text without one of the kinds in front is a name. Nothing for a kind
    // with something that it cannot have, as in `inode:x`.
    [[nodiscard]] static std::optional<LockScope> parse(std::string_view text);

    bool operator==(const LockScope&) const = default;

  private:
    Value value_;
};

}  // namespace holdfast
