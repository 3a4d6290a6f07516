#pragma once

// Pattern: which scopes a right is for.
//
//     *                 everything
//     nightly           the lock and the semaphore of this name
//     deploy/*          the locks and semaphores whose names begin with `deploy/`
//     semaphore:pool*   semaphores only
//     path:/srv/*       the paths that begin with `/srv/`
//     inode:7           an inode and all its ranges; `inode:*`: all inodes
//     range:7:0-4096    the ranges of the inode that lie in these bytes
//
// A star stands at the end only. `%20` is a blank, `%2A` a star that belongs to a name, `%25` a percent
// sign; any other byte can be written so, too. A name that begins like another kind of scope is
// written with its own kind: `named:path:/a`.
//
// Thread safety: a pattern does not change.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/values/scope.h"

namespace holdfast::rights {

class Pattern {
  public:
    // An error does not repeat the text, which may be a secret in the wrong place.
    [[nodiscard]] static base::Result<Pattern> parse(std::string_view text);
    [[nodiscard]] static Pattern everything() { return {}; }

    [[nodiscard]] bool covers(const core::Scope& scope) const;
    [[nodiscard]] bool is_everything() const { return kind_ == Kind::everything; }
    // Whether a path that begins with `beginning` can be covered.
    [[nodiscard]] bool reaches_path_below(std::string_view beginning) const;

  private:
    enum class Kind : std::uint8_t { everything, name, semaphore, path, inode };

    Pattern() = default;
    static base::Result<Pattern> parse_inode(std::string_view text);
    [[nodiscard]] bool matches(std::string_view name) const;

    Kind kind_ = Kind::everything;
    std::string text_;           // name, semaphore, path: what it is, or begins with
    bool is_beginning_ = false;  // a star follows; for inodes: all of them
    std::uint64_t inode_ = 0;
    core::Range range_;  // of the inode
};

}  // namespace holdfast::rights
