// LockManager and LockHandle: what a program sees of the engine inside it.

#include "holdfast/lock_manager.h"

#include <memory>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "embedded/engine.h"
#include "embedded/translate.h"
#include "holdfast/lock_handle.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace holdfast {

namespace {

base::Result<std::unique_ptr<service::Store>> open_store(const std::string& path,
                                                         const service::Clock& clock) {
    if (path.empty()) return std::make_unique<store::MemoryStore>();
    TRY(auto opened, store::SqliteStore::open(path, clock));
    return std::unique_ptr<service::Store>(std::move(opened));
}

}  // namespace

LockManager::LockManager(std::shared_ptr<embedded::Engine> engine) : engine_(std::move(engine)) {}
LockManager::LockManager(LockManager&&) noexcept = default;
LockManager& LockManager::operator=(LockManager&&) noexcept = default;
LockManager::~LockManager() = default;

LockResult<LockManager> LockManager::open(const LockManagerOptions& options) {
    static service::SystemClock clock;
    try {
        auto store = open_store(options.path, clock);
        if (!store) return LockError{LockStoreFailure{.message = store.error().message}};
        auto engine = embedded::Engine::start(options, clock, std::move(*store));
        if (!engine) return engine.error();
        return LockManager(std::move(*engine));
    } catch (const std::system_error& error) {
        return LockError{LockStoreFailure{.message = std::string("no thread: ") + error.what()}};
    }
}

LockResult<Lock> LockManager::acquire(const LockRequest& request, std::stop_token stop) {
    return engine_->acquire(request, core::wait_forever, std::move(stop));
}

LockResult<Lock> LockManager::try_acquire(const LockRequest& request) {
    return engine_->acquire(request, core::Duration::zero(), {});
}

LockResult<Lock> LockManager::acquire_for(const LockRequest& request,
                                          std::chrono::milliseconds timeout, std::stop_token stop) {
    return engine_->acquire(request, embedded::to_core(timeout), std::move(stop));
}

LockResult<Lock> LockManager::renew(LockToken token,
                                    std::optional<std::chrono::milliseconds> duration) {
    return engine_->renew(token, duration);
}

LockResult<void> LockManager::release(LockToken token) {
    return engine_->release(token);
}

LockResult<Lock> LockManager::get_by_token(LockToken token) {
    return engine_->find(token);
}

LockResult<Lock> LockManager::check(LockToken token, const LockScope& scope, LockMode mode) {
    auto lock = engine_->find(token);
    if (!lock) return lock;
    const bool is_enough = lock->mode == LockMode::exclusive || mode == LockMode::shared;
    if (is_enough && lock->scope.covers(scope)) return lock;
    return LockError{LockScopeMismatch{
        .held = lock->scope, .held_mode = lock->mode, .wanted = scope, .wanted_mode = mode}};
}

LockResult<std::vector<Lock>> LockManager::list() {
    return engine_->list();
}

LockResult<LockHandle> LockManager::hold(const LockRequest& request, HandleOptions options,
                                         std::stop_token stop) {
    if (auto fault = embedded::Renewer::find_fault(options, request.duration)) return *fault;
    auto lock = acquire(request, std::move(stop));
    if (!lock) return lock.error();
    auto handle = keep(*lock, std::move(options));
    // The answer took so long that the lock has ended, or nearly.
    if (!handle) engine_->release_later(lock->token);
    return handle;
}

LockResult<LockHandle> LockManager::keep(const Lock& lock, HandleOptions options) {
    if (auto fault = embedded::Renewer::find_fault(options, lock.duration)) return *fault;
    auto hold = engine_->renewer().keep(lock, std::move(options));
    if (!hold) return hold.error();
    return LockHandle(engine_, std::move(*hold));
}

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
