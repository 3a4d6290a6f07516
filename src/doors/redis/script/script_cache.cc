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
    if (by_sha1_.contains(loaded.sha1)) return loaded;
    scripts_.push_front(loaded);
    by_sha1_.emplace(scripts_.front().sha1, scripts_.begin());
    bytes_ += loaded.script->bytes;
    while (scripts_.size() > scripts_max || bytes_ > scripts_bytes_max) forget_last();
    return loaded;
}

void ScriptCache::forget_last() {
    const Loaded& last = scripts_.back();
    bytes_ -= last.script->bytes;
    by_sha1_.erase(last.sha1);
    scripts_.pop_back();
}

std::shared_ptr<const Script> ScriptCache::find(std::string_view sha1) {
    std::string lower(sha1);
    for (char& digit : lower) {
        if (digit >= 'A' && digit <= 'F') digit = static_cast<char>(digit + ('a' - 'A'));
    }
    const std::lock_guard lock(mutex_);
    const auto found = by_sha1_.find(lower);
    if (found == by_sha1_.end()) return nullptr;
    scripts_.splice(scripts_.begin(), scripts_, found->second);
    return found->second->script;
}

void ScriptCache::clear() {
    const std::lock_guard lock(mutex_);
    by_sha1_.clear();
    scripts_.clear();
    bytes_ = 0;
}

std::size_t ScriptCache::size() const {
    const std::lock_guard lock(mutex_);
    return scripts_.size();
}

std::size_t ScriptCache::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

}  // namespace holdfast::doors::redis
