#include "embedded/engine.h"

#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "embedded/translate.h"
#include "service/doors.h"
#include "service/ports/clock.h"

namespace holdfast::embedded {

namespace {

core::TableOptions table_options(const LockManagerOptions& options, std::uint64_t hash_seed) {
    return {.limits = {.locks_max = options.locks_max,
                       .leases_max = options.locks_max,
                       .waiters_max = options.waiters_max,
                       .waiters_per_lock_max = options.waiters_max,
                       .ttl_max = to_core(options.duration_max)},
            .first_fence = service::first_number(),
            .hash_seed = hash_seed};
}

}  // namespace

// One call of acquire().
struct Engine::Acquiring {
    LockRequest request;
    core::Duration wait{0};
    Call<LockResult<Lock>> call;
    // On the service's thread:
    bool is_counted = false;  // in Engine::waiting_
    std::optional<service::PromiseId> promise;

    [[nodiscard]] core::AcquireRequest to_request() const {
        return {.scope = to_core(request.scope),
                .owner = {.door = service::embedded_door, .name = request.holder},
                .mode = to_core(request.mode),
                .ttl = to_core(request.duration),
                .wait = wait};
    }
};

LockResult<std::shared_ptr<Engine>> Engine::start(const LockManagerOptions& options,
                                                  service::Clock& clock,
                                                  std::unique_ptr<service::Store> store) {
    std::shared_ptr<Engine> engine(new Engine(options, clock, std::move(store)));
    // The stores of an engine answer before recover() returns.
    std::optional<service::StoreFailure> failure;
    engine->service_->recover([&failure](const service::StoreResult<service::Recovered>& result) {
        if (!result) failure = result.error();
    });
    if (failure) {
        return LockError{
            LockStoreFailure{.message = failure->message, .is_busy = failure->is_busy}};
    }
    CHECK(engine->service_->role() == service::Role::serving);
    engine->thread_.post([engine = engine.get()] { engine->recount_after(false); });
    engine->thread_.start();
    engine->renewer_.start();
    return engine;
}

Engine::Engine(const LockManagerOptions& options, service::Clock& clock,
               std::unique_ptr<service::Store> store)
    : options_(options),
      clock_(clock),
      store_(std::move(store)),
      renewer_(clock,
               [this](LockToken token, std::chrono::milliseconds duration, Renewer::Done done) {
                   thread_.post([this, token, duration, done = std::move(done)] {
                       const core::Token lease = to_core(token);
                       submit(core::RenewRequest{.token = lease, .ttl = to_core(duration)},
                              [this, lease, done](const service::Response& response) {
                                  done(to_result(response, lease));
                              });
                   });
               }),
      book_(options.ended_locks_max) {
    base::RandomBits random;
    service_ = std::make_unique<service::LockService>(
        table_options(options_, random()),
        service::ServiceParts{.clock = clock_,
                              .store = *store_,
                              .executor = thread_,
                              .random = random,
                              .on_changes = [this](const core::Changes& changes) {
                                  for (const core::Event& event : changes) {
                                      book_.on_event(event);
                                      renewer_.on_event(event);
                                  }
                              }});
}

// The store ends before the service: it may still finish a commit, and tells the service.
Engine::~Engine() {
    renewer_.stop();
    for (int count = releases_under_way_; count > 0; count = releases_under_way_) {
        releases_under_way_.wait(count);
    }
    thread_.stop();
    store_.reset();
}

LockResult<Lock> Engine::acquire(const LockRequest& request, core::Duration wait,
                                 std::stop_token stop) {
    if (stop.stop_requested()) return LockError{LockCancelled{}};
    const std::shared_ptr<Acquiring> acquiring(new Acquiring{.request = request, .wait = wait});
    thread_.post([this, acquiring] { begin(acquiring); });
    if (auto result = acquiring->call.wait(std::move(stop))) return std::move(*result);
    thread_.post([this, acquiring] { give_up(*acquiring); });
    return LockError{LockCancelled{}};
}

LockResult<Lock> Engine::renew(LockToken token, std::optional<std::chrono::milliseconds> duration) {
    core::RenewRequest request{.token = to_core(token)};
    if (duration) request.ttl = to_core(*duration);
    return ask<LockResult<Lock>>(request, [this, request](const service::Response& response) {
        return to_result(response, request.token);
    });
}

LockResult<void> Engine::release(LockToken token) {
    const core::ReleaseRequest request{.token = to_core(token)};
    return ask<LockResult<void>>(
        request, [this, request](const service::Response& response) -> LockResult<void> {
            const bool is_done =
                response.failure.empty() && response.outcome.kind == core::Outcome::Kind::released;
            if (is_done) return {};
            return to_error(response, clock_, book_.knows(request.token));
        });
}

void Engine::release_later(LockToken token) {
    ++releases_under_way_;
    thread_.post([this, token] {
        submit(core::ReleaseRequest{.token = to_core(token)}, [this](const service::Response&) {
            --releases_under_way_;
            releases_under_way_.notify_all();
        });
    });
}

LockResult<Lock> Engine::find(LockToken token) {
    const service::Find request{.token = to_core(token)};
    return ask<LockResult<Lock>>(request, [this, request](const service::Response& response) {
        return to_result(response, request.token);
    });
}

LockResult<std::vector<Lock>> Engine::list() {
    using Locks = LockResult<std::vector<Lock>>;
    return ask<Locks>(service::List{.query = {.limit = SIZE_MAX}},
                      [this](const service::Response& response) -> Locks {
                          if (!response.failure.empty()) return to_error(response, clock_, false);
                          return to_locks(response.locks(), clock_);
                      });
}

core::TableCounts Engine::counts() {
    return ask<core::TableCounts>(service::Measure{}, [](const service::Response& response) {
        return response.figures().table;
    });
}

void Engine::wake() {
    const auto wake_service = [this] {
        auto call = std::make_shared<Call<bool>>();
        thread_.post([this, call] {
            service_->wake();
            call->give(true);
        });
        call->wait();
    };
    // One thread sends renewals and the other answers them; after that there may be more to do.
    wake_service();
    renewer_.wake();
    wake_service();
    renewer_.wake();
}

// Asks the service, and waits for its response.
template <class Result>
Result Engine::ask(const service::Request& request,
                   std::function<Result(const service::Response&)> to_result) {
    auto call = std::make_shared<Call<Result>>();
    thread_.post([this, call, request, to_result = std::move(to_result)] {
        submit(request, [call, to_result](const service::Response& response) {
            call->give(to_result(response));
        });
    });
    return *call->wait();
}

// Runs a request, and calls `then` with the response: now, or later if a promise is returned.
std::optional<service::PromiseId> Engine::submit(const service::Request& request, Then then) {
    const service::Response* const response = service_->submit(request);
    if (response == nullptr) {
        return service_->await(
            service::answer_by([this, then = std::move(then)](const service::Response& late) {
                const bool has_failed = !late.failure.empty();
                then(late);
                recount_after(has_failed);
            }));
    }
    // The counts are right before the caller can ask for more.
    service_->tell();
    const bool has_failed = !response->failure.empty();
    then(*response);
    recount_after(has_failed);
    return std::nullopt;
}

// After a failure the service recovers from the store, without events for leases that are missing
// then. So the book is counted again with the next success.
void Engine::recount_after(bool has_failed) {
    if (has_failed) {
        must_recount_ = true;
    } else if (std::exchange(must_recount_, false)) {
        recount();
    }
}

void Engine::recount() {
    submit(service::List{.query = {.limit = SIZE_MAX}}, [this](const service::Response& response) {
        if (response.failure.empty()) book_.recount(response.locks());
    });
}

void Engine::begin(const std::shared_ptr<Acquiring>& acquiring) {
    if (acquiring->call.is_abandoned()) return;
    const core::AcquireRequest request = acquiring->to_request();
    std::size_t& waiting = waiting_[acquiring->request.holder];
    if (book_.count_of(request.owner) + waiting >= options_.locks_per_holder_max) {
        if (waiting == 0) waiting_.erase(acquiring->request.holder);
        acquiring->call.give(LockError{LockLimitReached{"the holder has too many locks"}});
        return;
    }
    ++waiting;
    acquiring->is_counted = true;
    acquiring->promise = submit(request, [this, acquiring](const service::Response& response) {
        finish(acquiring, response);
    });
}

void Engine::finish(const std::shared_ptr<Acquiring>& acquiring,
                    const service::Response& response) {
    const bool has_timed_out = response.failure.empty() &&
                               response.outcome.kind == core::Outcome::Kind::refused &&
                               response.outcome.refusal == core::Refusal::timed_out;
    if (has_timed_out) {
        // Asks once more, to learn the holder; or the lock is free by now.
        acquiring->wait = core::Duration::zero();
        acquiring->promise =
            submit(acquiring->to_request(),
                   [this, acquiring](const service::Response& again) { finish(acquiring, again); });
        return;
    }
    end_waiting(*acquiring);
    const LockResult<Lock> result = to_result(response, {});
    if (!acquiring->call.give(result) && result) release_later(result->token);
}

// The caller does not wait any more.
void Engine::give_up(Acquiring& acquiring) {
    if (!acquiring.promise) return;  // answered already, or never asked
    service_->abandon(*acquiring.promise);
    end_waiting(acquiring);
}

void Engine::end_waiting(Acquiring& acquiring) {
    acquiring.promise.reset();
    if (!std::exchange(acquiring.is_counted, false)) return;
    const auto count = waiting_.find(acquiring.request.holder);
    if (--count->second == 0) waiting_.erase(count);
}

LockResult<Lock> Engine::to_result(const service::Response& response, core::Token token) const {
    const bool has_lease = response.outcome.kind == core::Outcome::Kind::granted ||
                           response.outcome.kind == core::Outcome::Kind::renewed ||
                           response.outcome.kind == core::Outcome::Kind::found;
    if (!response.failure.empty() || !has_lease) {
        return to_error(response, clock_, book_.knows(token));
    }
    auto lock = to_lock(response.outcome.lease, clock_);
    if (!lock) return LockError{LockNotFound{}};  // the token of a semaphore
    return std::move(*lock);
}

}  // namespace holdfast::embedded
