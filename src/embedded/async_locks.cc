#include "holdfast/async_locks.h"

#include <string>
#include <type_traits>
#include <utility>

#include "embedded/engine.h"
#include "holdfast/lock_manager.h"
#include "values/lease_request.h"

namespace holdfast {

namespace {

using embedded::CallsUnderWay;
using embedded::Engine;

// What becomes of a lease that was granted and that the program does not want any more. Under a request
// id it is kept: perhaps the program knows it by that id.
enum class Unwanted : std::uint8_t { keep, release };

Unwanted when_unwanted(const LeaseRequest& request) {
    return request.request_id.empty() ? Unwanted::release : Unwanted::keep;
}

// Delivery: the result of a call on its way to the completion. Keeps the engine alive until the result is
// there.
//
// Thread safety: give() on the service's thread; run() and the destructor on any thread after it.
template <class T>
class Delivery {
  public:
    Delivery(std::shared_ptr<Engine> engine, std::shared_ptr<const Executor> executor,
             Completion<T> completion, Unwanted unwanted)
        : engine_(std::move(engine)),
          executor_(std::move(executor)),
          completion_(std::move(completion)),
          unwanted_(unwanted) {
        engine_->calls()->begin();
    }
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

    // A guard that was not delivered releases its lease itself.
    ~Delivery() {
        if constexpr (std::is_same_v<T, Lease>) {
            const bool is_lost = result_ && *result_ && unwanted_ == Unwanted::release;
            const auto engine = is_lost ? giver_.lock() : nullptr;
            if (engine) engine->release_quietly(**result_);
        }
    }

    // An exception of a completion ends the program here, and not in the middle of the engine.
    static void give(const std::shared_ptr<Delivery>& self, LockResult<T> result) noexcept {
        std::shared_ptr<Engine> engine = std::move(self->engine_);
        const std::shared_ptr<CallsUnderWay> calls = engine->calls();
        self->giver_ = engine;
        self->result_.emplace(std::move(result));
        if (self->executor_) {
            (*self->executor_)([self] { self->run(); });
        } else {
            self->run();
        }
        engine.reset();  // close() may return then; the engine must not end here, after its manager
        calls->end();
    }

  private:
    void run() {
        if (!result_) return;  // an executor that runs a task twice
        const Completion<T> completion = std::move(completion_);
        LockResult<T> result = *std::move(result_);
        result_.reset();
        completion(std::move(result));
    }

    std::shared_ptr<Engine> engine_;  // until the result is there
    std::weak_ptr<Engine> giver_;     // from then on
    const std::shared_ptr<const Executor> executor_;
    Completion<T> completion_;
    const Unwanted unwanted_;
    std::optional<LockResult<T>> result_;
};

template <class T>
Engine::Done<T> to(const std::shared_ptr<Engine>& engine,
                   const std::shared_ptr<const Executor>& executor, Completion<T> completion,
                   Unwanted unwanted = Unwanted::keep) {
    const auto delivery =
        std::make_shared<Delivery<T>>(engine, executor, std::move(completion), unwanted);
    return [delivery](LockResult<T> result) { Delivery<T>::give(delivery, std::move(result)); };
}

}  // namespace

AsyncLocks::AsyncLocks(std::shared_ptr<Engine> engine, Executor executor)
    : engine_(std::move(engine)),
      executor_(executor ? std::make_shared<const Executor>(std::move(executor)) : nullptr) {}

void AsyncLocks::acquire(const LeaseRequest& request, std::chrono::milliseconds wait,
                         Completion<Lease> completion, const std::stop_token& stop) const {
    engine_->start_acquire(request, wait, stop,
                           to(engine_, executor_, std::move(completion), when_unwanted(request)));
}

void AsyncLocks::hold(const LeaseRequest& request, std::chrono::milliseconds wait,
                      Completion<LeaseGuard> completion, HeartbeatOptions options,
                      const std::stop_token& stop) const {
    auto done = to(engine_, executor_, std::move(completion));
    if (auto fault = renewal::Pace::of(options, request.ttl).find_fault(request.ttl)) {
        return engine_->post([fault = *std::move(fault), done = std::move(done)] { done(fault); });
    }
    engine_->start_acquire(request, wait, stop,
                           [engine = engine_.get(), options = std::move(options),
                            done = std::move(done)](const LockResult<Lease>& lease) {
                               if (!lease) return done(lease.error());
                               done(engine->guard_or_release(*lease, options));
                           });
}

void AsyncLocks::renew(const Lease& lease, std::optional<std::chrono::milliseconds> ttl,
                       Completion<Lease> completion) const {
    engine_->start_renew(lease, ttl.value_or(lease.ttl),
                         to(engine_, executor_, std::move(completion)));
}

void AsyncLocks::renew(std::string_view token, std::optional<std::chrono::milliseconds> ttl,
                       Completion<Lease> completion) const {
    renew(values::lease_of_token(token), ttl, std::move(completion));
}

void AsyncLocks::release(const Lease& lease, Completion<void> completion) const {
    engine_->start_release(lease, to(engine_, executor_, std::move(completion)));
}

void AsyncLocks::release(std::string_view token, Completion<void> completion) const {
    release(values::lease_of_token(token), std::move(completion));
}

// A guard that was lost was lost, however the release of its lease ends.
void AsyncLocks::release(LeaseGuard guard, Completion<void> completion) const {
    auto done = to(engine_, executor_, std::move(completion));
    const auto give = [this, &done](LockResult<void> result) {
        engine_->post([result = std::move(result), done = std::move(done)] { done(result); });
    };
    if (!engine_->has(guard)) {
        return give(LockError{InvalidLockRequest{"the guard is of another manager"}});
    }
    auto let_go = engine_->let_go(std::move(guard));
    if (!let_go) return give({});
    auto& loss = let_go->loss;
    if (loss && renewal::is_over(*loss)) return give(*std::move(loss));
    engine_->start_release(let_go->lease, [loss, done](const LockResult<void>& released) {
        done(loss ? LockResult<void>(*loss) : released);
    });
}

void AsyncLocks::get_by_token(std::string_view token, Completion<Lease> completion) const {
    engine_->start_find(token, to(engine_, executor_, std::move(completion)));
}

void AsyncLocks::check(std::string_view token, const LockScope& scope, LockMode mode,
                       Completion<Lease> completion) const {
    engine_->start_find(token, [scope, mode, done = to(engine_, executor_, std::move(completion))](
                                   const LockResult<Lease>& found) {
        done(found ? Engine::judge(*found, scope, mode) : found);
    });
}

Awaited<Lease> AsyncLocks::acquire(const LeaseRequest& request, std::chrono::milliseconds wait,
                                   const std::stop_token& stop) const {
    const auto start = [locks = *this, request, wait](Completion<Lease> completion,
                                                      const std::stop_token& cancel) {
        locks.acquire(request, wait, std::move(completion), cancel);
    };
    const auto take_back = [engine = engine_,
                            unwanted = when_unwanted(request)](const LockResult<Lease>& lease) {
        if (lease && unwanted == Unwanted::release) engine->release_quietly(*lease);
    };
    return Awaited<Lease>(start, stop, take_back);
}

Awaited<LeaseGuard> AsyncLocks::hold(const LeaseRequest& request, std::chrono::milliseconds wait,
                                     HeartbeatOptions options, const std::stop_token& stop) const {
    auto start = [locks = *this, request, wait, options = std::move(options)](
                     Completion<LeaseGuard> completion, const std::stop_token& cancel) {
        locks.hold(request, wait, std::move(completion), options, cancel);
    };
    return Awaited<LeaseGuard>(std::move(start), stop);
}

Awaited<Lease> AsyncLocks::renew(const Lease& lease,
                                 std::optional<std::chrono::milliseconds> ttl) const {
    return Awaited<Lease>([locks = *this, lease, ttl](Completion<Lease> completion,
                                                      const std::stop_token& /*cancel*/) {
        locks.renew(lease, ttl, std::move(completion));
    });
}

Awaited<Lease> AsyncLocks::renew(std::string_view token,
                                 std::optional<std::chrono::milliseconds> ttl) const {
    return renew(values::lease_of_token(token), ttl);
}

Awaited<void> AsyncLocks::release(const Lease& lease) const {
    return Awaited<void>(
        [locks = *this, lease](Completion<void> completion, const std::stop_token& /*cancel*/) {
            locks.release(lease, std::move(completion));
        });
}

Awaited<void> AsyncLocks::release(std::string_view token) const {
    return release(values::lease_of_token(token));
}

Awaited<void> AsyncLocks::release(LeaseGuard guard) const {
    const auto shared = std::make_shared<LeaseGuard>(std::move(guard));
    return Awaited<void>(
        [locks = *this, shared](Completion<void> completion, const std::stop_token& /*cancel*/) {
            locks.release(std::move(*shared), std::move(completion));
        });
}

Awaited<Lease> AsyncLocks::get_by_token(std::string_view token) const {
    return Awaited<Lease>([locks = *this, token = std::string(token)](
                              Completion<Lease> completion, const std::stop_token& /*cancel*/) {
        locks.get_by_token(token, std::move(completion));
    });
}

Awaited<Lease> AsyncLocks::check(std::string_view token, const LockScope& scope,
                                 LockMode mode) const {
    if (auto known = engine_->check_known(token, scope, mode)) {
        return Awaited<Lease>(*std::move(known));
    }
    return Awaited<Lease>([locks = *this, token = std::string(token), scope, mode](
                              Completion<Lease> completion, const std::stop_token& /*cancel*/) {
        locks.check(token, scope, mode, std::move(completion));
    });
}

}  // namespace holdfast
