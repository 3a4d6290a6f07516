#include "doors/hengdang/writing/session_locks.h"

#include "base/check.h"

namespace holdfast::doors::hengdang {

void WriteHolds::enter(const Key& key) {
    const std::lock_guard lock(mutex_);
    ++holds_[key].writes;
}

void WriteHolds::set_lock(const Key& key, const core::Token& token, bool is_new) {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(key);
    CHECK(found != holds_.end());
    Hold& hold = found->second;
    // A lock that was lost and granted again is a new one, and an automatic one.
    if (is_new) hold.is_automatic = true;
    hold.token = token;
}

void WriteHolds::keep(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(key);
    if (found != holds_.end()) found->second.is_automatic = false;
}

std::optional<WriteHolds::LockToRelease> WriteHolds::leave(const Key& key, bool has_written) {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(key);
    CHECK(found != holds_.end());
    Hold& hold = found->second;
    hold.has_written = hold.has_written || has_written;
    if (--hold.writes > 0) return std::nullopt;
    const Hold last = hold;
    holds_.erase(found);
    if (!last.token || !(last.is_automatic || last.has_written)) return std::nullopt;
    return LockToRelease{.token = *last.token, .is_automatic = last.is_automatic};
}

std::size_t WriteHolds::size() const {
    const std::lock_guard lock(mutex_);
    return holds_.size();
}

}  // namespace holdfast::doors::hengdang
