#pragma once

// ScriptCache: the scripts that clients have loaded, by the SHA-1 of their text.
//
// Clients of Redis send the text of a script once and its SHA-1 from then on. A client whose script
// is not known any more is told so, and sends the text again. So the cache may forget: when it is
// full, it forgets the script that was loaded first.
//
// Thread safety: every method from any thread.

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "doors/redis/script/tree.h"

namespace holdfast::doors::redis {

inline constexpr std::size_t scripts_max = 1'000;

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
    [[nodiscard]] std::shared_ptr<const Script> find(std::string_view sha1) const;
    void clear();

  private:
    mutable std::mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<const Script>> scripts_;  // under mutex_
    std::deque<std::string> order_;                                           // under mutex_
};

}  // namespace holdfast::doors::redis
