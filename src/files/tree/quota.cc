#include "files/tree/quota.h"

#include <algorithm>

#include "base/check.h"

namespace holdfast::files {

bool Quota::reserve(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t taken_bytes = used_bytes_ + reserved_bytes_;
    const bool fits =
        limit_bytes_ == 0 || (taken_bytes <= limit_bytes_ && bytes <= limit_bytes_ - taken_bytes);
    if (bytes > 0 && !fits) return false;
    reserved_bytes_ += bytes;
    return true;
}

void Quota::release(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    CHECK(bytes <= reserved_bytes_);
    reserved_bytes_ -= bytes;
}

void Quota::settle(const SizeChange& change) {
    const std::lock_guard lock(mutex_);
    CHECK(change.reserved_bytes <= reserved_bytes_);
    CHECK(change.new_bytes <= change.old_bytes + change.reserved_bytes);
    // Whoever else writes into the tree is not counted, so a file may be larger than we thought all
    // files were.
    used_bytes_ = used_bytes_ - std::min(used_bytes_, change.old_bytes) + change.new_bytes;
    reserved_bytes_ -= change.reserved_bytes;
}

std::uint64_t Quota::used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
}

}  // namespace holdfast::files
