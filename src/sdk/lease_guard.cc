#include "holdfast/lease_guard.h"

#include <utility>

#include "base/check.h"
#include "sdk/session.h"

namespace holdfast {

namespace {

// Whether there is nothing left to give back.
bool is_over(const std::optional<LockError>& loss) {
    return loss && (std::holds_alternative<LockExpired>(*loss) ||
                    std::holds_alternative<LockNotFound>(*loss));
}

}  // namespace

LeaseGuard::LeaseGuard(std::shared_ptr<sdk::Session> session, std::shared_ptr<sdk::Hold> hold)
    : session_(std::move(session)), hold_(std::move(hold)) {}

LeaseGuard::LeaseGuard(LeaseGuard&& other) noexcept = default;

LeaseGuard& LeaseGuard::operator=(LeaseGuard&& other) noexcept {
    if (this == &other) return *this;
    let_go();
    session_ = std::move(other.session_);
    hold_ = std::move(other.hold_);
    is_released_ = other.is_released_;
    return *this;
}

LeaseGuard::~LeaseGuard() {
    let_go();
}

bool LeaseGuard::is_guaranteed() const {
    return time_left() > std::chrono::milliseconds{0};
}

std::chrono::milliseconds LeaseGuard::time_left() const {
    CHECK(hold_);
    return session_->heartbeat().time_left(*hold_);
}

Lease LeaseGuard::lease() const {
    CHECK(hold_);
    return session_->heartbeat().lease_of(*hold_);
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
    if (std::exchange(is_released_, true)) return {};
    auto loss = session_->heartbeat().let_go(*hold_);
    if (is_over(loss)) return *std::move(loss);
    auto released = session_->calls().release(lease());
    if (loss) return *std::move(loss);
    return released;
}

void LeaseGuard::let_go() {
    if (!hold_ || std::exchange(is_released_, true)) return;
    const auto loss = session_->heartbeat().let_go(*hold_);
    if (!is_over(loss)) session_->calls().release_briefly(lease());
}

}  // namespace holdfast
