#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/values/ids.h"

namespace holdfast::doors::hengdang {

// WriteHolds: which requests share a session's lock on a path, and what becomes of it after them.
//
// A write takes the lock of its session on its path, or finds that the session has it. Several
// writes of one session may be under way at once, on one lock; it is given back with the last of
// them: if it was taken for them, or one of them has written the file.
//
// Thread safety: any thread.
class WriteHolds {
  public:
    struct Key {
        std::string session;
        std::string path;

        auto operator<=>(const Key&) const = default;
    };

    // A write begins, and is about to ask for the lock.
    void enter(const Key& key);

    // It has the lock. `is_new`: it was free before.
    void take(const Key& key, const core::Token& token, bool is_new);

    // The session has asked for the lock itself, so it is not only theirs.
    void keep(const Key& key);

    // The write is over. `has_written`: the file is another now. Returns the lock if it is to be
    // given back.
    struct Spent {
        core::Token token;
        bool is_automatic = true;  // nobody has asked for it
    };
    [[nodiscard]] std::optional<Spent> leave(const Key& key, bool has_written);

    [[nodiscard]] std::size_t size() const;

  private:
    struct Hold {
        std::size_t writes = 0;
        std::optional<core::Token> token;
        bool is_automatic = false;
        bool has_written = false;
    };

    mutable std::mutex mutex_;
    std::map<Key, Hold> holds_;
};

}  // namespace holdfast::doors::hengdang
