#include "doors/redis/script/script_cache.h"

#include <openssl/evp.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "base/text/hex.h"
#include "doors/redis/script/parser.h"

namespace holdfast::doors::redis {

std::string sha1_hex(std::string_view text) {
    std::array<std::uint8_t, 20> digest{};
    unsigned size = 0;
    CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1);
    CHECK(size == digest.size());
    return base::to_hex(digest);
}

base::Result<ScriptCache::Loaded> ScriptCache::load(std::string_view text) {
    Loaded loaded{.sha1 = sha1_hex(text), .script = nullptr};
    if ((loaded.script = find(loaded.sha1))) return loaded;
    TRY(auto script, parse_script(text));
    loaded.script = std::make_shared<const Script>(std::move(script));
    const std::lock_guard lock(mutex_);
    if (!scripts_.emplace(loaded.sha1, loaded.script).second) return loaded;
    order_.push_back(loaded.sha1);
    if (order_.size() > scripts_max) {
        scripts_.erase(order_.front());
        order_.pop_front();
    }
    return loaded;
}

std::shared_ptr<const Script> ScriptCache::find(std::string_view sha1) const {
    std::string lower(sha1);
    for (char& digit : lower) {
        if (digit >= 'A' && digit <= 'F') digit = static_cast<char>(digit + ('a' - 'A'));
    }
    const std::lock_guard lock(mutex_);
    const auto found = scripts_.find(lower);
    return found == scripts_.end() ? nullptr : found->second;
}

void ScriptCache::clear() {
    const std::lock_guard lock(mutex_);
    scripts_.clear();
    order_.clear();
}

}  // namespace holdfast::doors::redis
