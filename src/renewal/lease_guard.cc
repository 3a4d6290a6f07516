#include "holdfast/lease_guard.h"

#include <utility>

#include "base/check.h"
#include "renewal/lease_source.h"

namespace holdfast {

LeaseGuard::LeaseGuard(std::shared_ptr<renewal::LeaseSource> source,
                       std::shared_ptr<renewal::Hold> hold)
    : source_(std::move(source)), hold_(std::move(hold)) {}

LeaseGuard::LeaseGuard(LeaseGuard&& other) noexcept = default;

LeaseGuard& LeaseGuard::operator=(LeaseGuard&& other) noexcept {
    if (this == &other) return *this;
    let_go();
    source_ = std::move(other.source_);
    hold_ = std::move(other.hold_);
    is_released_ = other.is_released_;
    return *this;
}

LeaseGuard::~LeaseGuard() {
    let_go();
}

bool LeaseGuard::is_guaranteed() const {
    CHECK(hold_);
    return source_->watcher().time_left(*hold_) > renewal::Duration::zero();
}

std::chrono::milliseconds LeaseGuard::time_left() const {
    CHECK(hold_);
    return std::chrono::floor<std::chrono::milliseconds>(source_->watcher().time_left(*hold_));
}

Lease LeaseGuard::lease() const {
    CHECK(hold_);
    return source_->watcher().lease_of(*hold_);
}

std::uint64_t LeaseGuard::fencing_token() const {
    return lease().fencing_token;
}

std::stop_token LeaseGuard::stop_token() const {
    CHECK(hold_);
    return hold_->stop.get_token();
}

LockResult<void> LeaseGuard::release() {
    CHECK(hold_);
    if (is_released_) return {};
    if (auto error = source_->why_not_block()) return *std::move(error);
    is_released_ = true;
    auto loss = source_->watcher().let_go(hold_);
    if (loss && renewal::is_over(*loss)) return *std::move(loss);
    auto released = source_->release(lease());
    if (loss) return *std::move(loss);
    return released;
}

void LeaseGuard::let_go() {
    if (!hold_ || std::exchange(is_released_, true)) return;
    const auto loss = source_->watcher().let_go(hold_);
    const bool has_ended = loss && renewal::is_over(*loss);
    if (!has_ended) source_->release_quietly(lease());
}

}  // namespace holdfast
