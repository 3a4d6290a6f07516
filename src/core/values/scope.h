#pragma once

// What can be locked, and which scopes conflict.
//
//     named N        conflicts with named N
//     semaphore N    takes one of its permits; does not conflict with named N
//     path P         conflicts with path P (compared byte by byte: callers normalise)
//     inode I        conflicts with inode I and with every range of it
//     range I[a,b)   conflicts with inode I and with ranges of I that overlap it
//
// An inode is locked as the range of all its bytes. So "overlap" is the only rule for inodes.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::core {

enum class ScopeKind : std::uint8_t { named, semaphore, path, inode, range };

// Several holders may have a lock in shared mode at the same time. An exclusive holder is alone.
enum class Mode : std::uint8_t { exclusive, shared };

// Whether two leases on the same thing exclude each other.
[[nodiscard]] constexpr bool conflicts(Mode a, Mode b) {
    return a == Mode::exclusive || b == Mode::exclusive;
}

// A half-open range of bytes. `end_of_file` as the end includes bytes that are appended later.
struct Range {
    static constexpr std::uint64_t end_of_file = UINT64_MAX;

    std::uint64_t start = 0;
    std::uint64_t end = end_of_file;

    bool operator==(const Range&) const = default;
    [[nodiscard]] bool overlaps(const Range& other) const {
        return start < other.end && other.start < end;
    }
    [[nodiscard]] bool covers(const Range& other) const {
        return start <= other.start && other.end <= end;
    }
};

// One lockable thing. A view: the name belongs to the caller.
struct Scope {
    ScopeKind kind = ScopeKind::named;
    std::string_view name;    // named, semaphore, path
    std::uint64_t inode = 0;  // inode, range
    Range range;              // range; for an inode always all bytes

    static Scope named(std::string_view name) { return {.kind = ScopeKind::named, .name = name}; }
    static Scope semaphore(std::string_view name) {
        return {.kind = ScopeKind::semaphore, .name = name};
    }
    static Scope path(std::string_view path) { return {.kind = ScopeKind::path, .name = path}; }
    static Scope of_inode(std::uint64_t inode) {
        return {.kind = ScopeKind::inode, .inode = inode};
    }
    static Scope of_range(std::uint64_t inode, Range range) {
        return {.kind = ScopeKind::range, .inode = inode, .range = range};
    }

    bool operator==(const Scope&) const = default;

    // Whether this is an inode or a range of one.
    [[nodiscard]] bool is_of_inode() const {
        return kind == ScopeKind::inode || kind == ScopeKind::range;
    }
    // Whether a lease on this scope is enough to write `other`.
    [[nodiscard]] bool covers(const Scope& other) const;
};

// `named`, `semaphore`, `path`, `inode`, `range`.
[[nodiscard]] std::string_view to_text(ScopeKind kind);
[[nodiscard]] std::optional<ScopeKind> parse_kind(std::string_view text);
// The kind that a text form begins with; nothing if the text is a name without it.
[[nodiscard]] std::optional<ScopeKind> kind_in_front(std::string_view text);
[[nodiscard]] std::string_view to_text(Mode mode);

// The text form, the same everywhere: `nightly` (a name), `semaphore:x`, `path:/a/b`, `inode:7`,
// `range:7:0-4096`, `range:7:4096-`. A name that begins like another kind of scope is written with
// its own kind: `named:path:/a`.
[[nodiscard]] std::string to_text(const Scope& scope);

// Reads the text form. A text that does not begin with a kind and a colon is a name. No value for a
// kind with something that it cannot have: an empty name, a start that is not before its end. The
// name of the result points into `text`.
[[nodiscard]] std::optional<Scope> parse_scope(std::string_view text);

}  // namespace holdfast::core
