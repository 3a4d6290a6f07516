#include "holdfast/lock_manager.h"

#include <memory>
#include <system_error>
#include <utility>

#include "embedded/engine.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "values/lease_request.h"

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

LockManager& LockManager::operator=(LockManager&& other) noexcept {
    if (this == &other) return *this;
    close();
    engine_ = std::move(other.engine_);
    return *this;
}

LockManager::~LockManager() {
    close();
}

// Guards may still use the engine; nobody waits for locks any more.
void LockManager::close() {
    if (engine_) engine_->close();
}

LockResult<LockManager> LockManager::open(const LockManagerOptions& options) {
    static service::BoottimeClock clock;  // the clock of Lease::lasts_until
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

LockResult<LeaseGuard> LockManager::hold(const LeaseRequest& request,
                                         std::chrono::milliseconds wait, HeartbeatOptions options,
                                         const std::stop_token& stop) {
    return engine_->hold(request, wait, std::move(options), stop);
}

LockResult<Lease> LockManager::try_acquire(const LeaseRequest& request) {
    return engine_->acquire(request, std::chrono::milliseconds{0}, {});
}

LockResult<Lease> LockManager::acquire(const LeaseRequest& request, std::chrono::milliseconds wait,
                                       const std::stop_token& stop) {
    return engine_->acquire(request, wait, stop);
}

LockResult<Lease> LockManager::acquire_with_retry(const LeaseRequest& request,
                                                  const RetryOptions& options,
                                                  const std::stop_token& stop) {
    return engine_->acquire_with_retry(request, options, stop);
}

LockResult<Lease> LockManager::renew(const Lease& lease,
                                     std::optional<std::chrono::milliseconds> ttl) {
    return engine_->renew(lease, ttl.value_or(lease.ttl));
}

LockResult<Lease> LockManager::renew(std::string_view token,
                                     std::optional<std::chrono::milliseconds> ttl) {
    return renew(values::lease_of_token(token), ttl);
}

LockResult<void> LockManager::release(std::string_view token) {
    return release(values::lease_of_token(token));
}

LockResult<void> LockManager::release(const Lease& lease) {
    return engine_->release(lease);
}

LockResult<Lease> LockManager::get_by_token(std::string_view token) {
    return engine_->find(token);
}

LockResult<LeaseGuard> LockManager::start_heartbeat(const Lease& lease, HeartbeatOptions options) {
    return engine_->start_heartbeat(lease, std::move(options));
}

LockResult<Lease> LockManager::check(std::string_view token, const LockScope& scope,
                                     LockMode mode) {
    return engine_->check(token, scope, mode);
}

LockResult<std::vector<Lease>> LockManager::list() {
    return engine_->list();
}

AsyncLocks LockManager::async(Executor executor) const {
    return {engine_, std::move(executor)};
}

LockResult<std::uint64_t> LockManager::pass_fence(std::string_view resource,
                                                  std::uint64_t fencing_token) {
    return engine_->pass_fence(resource, fencing_token);
}

LockResult<std::optional<std::uint64_t>> LockManager::get_fence(std::string_view resource) {
    return engine_->get_fence(resource);
}

LockResult<std::optional<std::uint64_t>> LockManager::drop_fence(std::string_view resource) {
    return engine_->drop_fence(resource);
}

LockResult<std::uint64_t> LockManager::force_release(const LockScope& scope) {
    return engine_->force_release(scope);
}

LockResult<LeaseGuard> LockManager::campaign(const Candidacy& candidacy, HeartbeatOptions options,
                                             const std::stop_token& stop) {
    return engine_->campaign(candidacy, std::move(options), stop);
}

LockResult<Lease> LockManager::set_value(const Lease& lease, std::string_view value) {
    return engine_->set_value(lease, value);
}

LockResult<void> LockManager::observe(
    std::string_view election, const std::function<void(const std::optional<Leader>&)>& on_change,
    const std::stop_token& stop) {
    if (auto error = engine_->why_not_block()) return *std::move(error);
    return embedded::observe(engine_->listened(), election, on_change, stop);
}

LockResult<void> LockManager::watch(const WatchOptions& options,
                                    const std::function<void(const LockEvent&)>& on_event,
                                    const std::stop_token& stop) {
    if (auto error = engine_->why_not_block()) return *std::move(error);
    return embedded::watch(engine_->listened(), options, on_event, stop);
}

}  // namespace holdfast
