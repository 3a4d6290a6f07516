#pragma once

// ScriptCache: the scripts that clients have loaded, by the SHA-1 of their text.
//
// Clients of Redis send the text of a script once and its SHA-1 from then on. A client whose script
// is not known any more is told so, and sends the text again. So the cache may forget: when it is
// full, in number or in bytes, it forgets the script that was not used for the longest time.
//
// Thread safety: every method from any thread.

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "doors/redis/script/tree.h"

namespace holdfast::doors::redis {

inline constexpr std::size_t scripts_max = 1'000;
// Of the trees of all these scripts.
inline constexpr std::size_t scripts_bytes_max = std::size_t{16} << 20;

// The SHA-1 of a text, in 40 lower-case hexadecimal digits.
[[nodiscard]] std::string sha1_hex(std::string_view text);

class ScriptCache {
  public:
    struct Loaded {
        std::string sha1;
        std::shared_ptr<const Script> script;
    };
    // The script of this text, parsed if it is not known yet. The error says what was not understood.
    [[nodiscard]] base::Result<Loaded> load(std::string_view text);
    // The script with this SHA-1, in any case of letters; null if it is not known.
    [[nodiscard]] std::shared_ptr<const Script> find(std::string_view sha1);
    void clear();

    [[nodiscard]] std::size_t size() const;
    // Of the trees.
    [[nodiscard]] std::size_t bytes() const;

  private:
    void forget_last();

    mutable std::mutex mutex_;
    // All under mutex_. The script that was used last is the first of the list.
    std::list<Loaded> scripts_;
    std::unordered_map<std::string_view, std::list<Loaded>::iterator> by_sha1_;
    std::size_t bytes_ = 0;
};

}  // namespace holdfast::doors::redis
