#include "holdfast/lock_handle.h"

#include <utility>

#include "base/check.h"
#include "embedded/engine.h"

namespace holdfast {

LockHandle::LockHandle(std::shared_ptr<embedded::Engine> engine,
                       std::shared_ptr<embedded::Hold> hold)
    : engine_(std::move(engine)), hold_(std::move(hold)) {}

LockHandle::LockHandle(LockHandle&& other) noexcept = default;

LockHandle& LockHandle::operator=(LockHandle&& other) noexcept {
    if (this == &other) return *this;
    let_go();
    engine_ = std::move(other.engine_);
    hold_ = std::move(other.hold_);
    is_released_ = other.is_released_;
    return *this;
}

LockHandle::~LockHandle() {
    let_go();
}

bool LockHandle::is_guaranteed() const {
    return time_left() > std::chrono::microseconds::zero();
}

std::chrono::microseconds LockHandle::time_left() const {
    if (!hold_) return std::chrono::microseconds::zero();
    return engine_->renewer().time_left(*hold_);
}

Lock LockHandle::lock() const {
    CHECK(hold_);
    return engine_->renewer().lock_of(*hold_);
}

LockToken LockHandle::token() const {
    return lock().token;
}

std::stop_token LockHandle::stop_token() const {
    CHECK(hold_);
    return hold_->stop.get_token();
}

LockResult<void> LockHandle::release() {
    CHECK(hold_);
    if (is_released_) return {};
    const auto loss = engine_->renewer().let_go(hold_);
    auto released = engine_->release(token());
    is_released_ = released.has_value();
    if (loss) return *loss;
    return released;
}

void LockHandle::let_go() {
    if (!hold_ || is_released_) return;
    engine_->renewer().let_go(hold_);
    engine_->release_later(token());
}

}  // namespace holdfast
