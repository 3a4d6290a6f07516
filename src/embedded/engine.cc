#include "embedded/engine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/crypto.h"
#include "core/values/ids.h"
#include "embedded/translate.h"
#include "service/doors.h"
#include "service/ports/clock.h"
#include "values/lease_request.h"
#include "values/lock_scope.h"

namespace holdfast::embedded {

namespace {

// Times in nanoseconds have an end, in centuries.
constexpr std::chrono::milliseconds longest_ttl = std::chrono::hours{24 * 365 * 100};

core::TableOptions table_options(const LockManagerOptions& options, std::uint64_t hash_seed) {
    return {.limits = {.locks_max = options.leases_max,
                       .leases_max = options.leases_max,
                       .waiters_max = options.waiters_max,
                       .waiters_per_lock_max = options.waiters_max,
                       .ttl_max = to_core(std::min(options.ttl_max, longest_ttl))},
            .first_fence = service::first_number(),
            .hash_seed = hash_seed};
}

// The token of a text that is none: nobody has it.
core::Token parse_token(std::string_view text) {
    return core::parse_token(text).value_or(core::Token{});
}

}  // namespace

// One call of acquire().
struct Engine::Acquiring {
    LeaseRequest request;  // with a holder and a waiter
    std::vector<LockSetMember> locks;
    std::vector<core::SetMember> members;  // views of these
    core::Duration wait{0};
    Call<LockResult<Lease>> call;
    // On the service's thread:
    bool is_counted = false;  // in Engine::waiting_
    std::optional<service::PromiseId> promise;

    Acquiring(const LeaseRequest& asked, std::chrono::milliseconds how_long)
        : request(asked), locks(values::members_of(asked)), wait(embedded::to_core(how_long)) {
        for (const LockSetMember& lock : locks) {
            const std::uint64_t limit = std::min<std::uint64_t>(lock.limit, UINT32_MAX);
            members.push_back({.scope = values::to_core(lock.scope),
                               .mode = embedded::to_core(lock.mode),
                               .limit = static_cast<std::uint32_t>(limit)});
        }
    }

    [[nodiscard]] core::AcquireRequest to_request() const {
        const core::SetMember& first = members.front();
        core::AcquireRequest asked{
            .scope = first.scope,
            .owner = {.door = service::embedded_door, .name = request.holder},
            .mode = first.mode,
            .limit = first.limit,
            .ttl = embedded::to_core(request.ttl),
            .wait = wait,
            .is_only_kind = true,
            .on_deadlock = request.on_deadlock == OnDeadlock::refuse ? core::OnDeadlock::refuse
                                                                     : core::OnDeadlock::tell,
            .notes = {.request_id = request.request_id,
                      .metadata = request.metadata,
                      .waiter = request.waiter},
            .value = request.value};
        if (members.size() > 1) asked.members = members;
        return asked;
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
    return engine;
}

Engine::Engine(const LockManagerOptions& options, service::Clock& clock,
               std::unique_ptr<service::Store> store)
    : options_(options),
      holder_(values::make_holder()),
      clock_(clock),
      store_(std::move(store)),
      watcher_([&clock] { return to_boot_time(clock.now()); },
               [this](const renewal::HoldPointer& hold, renewal::Time now) {
                   start_renewal(hold, now);
               }),
      book_(options.ended_leases_max) {
    base::RandomBits random;
    service_ = std::make_unique<service::LockService>(
        table_options(options_, random()),
        service::ServiceParts{.clock = clock_,
                              .store = *store_,
                              .executor = thread_,
                              .random = random,
                              .on_changes =
                                  [this](const core::Changes& changes) {
                                      for (const core::Event& event : changes) on_event(event);
                                  },
                              // Calls may wait for any time.
                              .wait_limits = {.answer_max = core::wait_forever}});
}

// The store ends before the service: it may still finish a commit, and tells the service.
Engine::~Engine() {
    watcher_.stop();
    for (int count = releases_under_way_; count > 0; count = releases_under_way_) {
        releases_under_way_.wait(count);
    }
    thread_.stop();
    store_.reset();
}

LockResult<Lease> Engine::acquire(const LeaseRequest& request, std::chrono::milliseconds wait,
                                  const std::stop_token& stop) {
    if (auto fault = values::find_fault(request)) return *std::move(fault);
    if (stop.stop_requested()) return LockError{LockCancelled{}};
    const auto acquiring = std::make_shared<Acquiring>(request, wait);
    if (request.holder.empty()) acquiring->request.holder = holder_;
    if (request.waiter.empty()) acquiring->request.waiter = values::waiter_of_this_thread();
    thread_.post([this, acquiring] { begin(acquiring); });
    auto result = acquiring->call.wait(stop);
    if (!result) {
        thread_.post([this, acquiring] { give_up(*acquiring); });
        return LockError{LockCancelled{}};
    }
    // An id of the program's may have found a lease that is not new.
    if (*result && !request.request_id.empty()) return renew(**result, request.ttl);
    return *std::move(result);
}

LockResult<Lease> Engine::renew(const Lease& lease, std::chrono::milliseconds ttl) {
    core::RenewRequest request{.token = parse_token(lease.token)};
    // A program that knows the token only does not know the ttl; the engine does.
    if (ttl != std::chrono::milliseconds{0}) request.ttl = to_core(ttl);
    auto renewed =
        ask<LockResult<Lease>>(request, [this, request](const service::Response& response) {
            return to_result(response, request.token);
        });
    if (renewed) renewed->limit = lease.limit;
    return renewed;
}

// Does not wait for the answer, so a store that does not answer delays nothing else.
void Engine::start_renewal(const renewal::HoldPointer& hold, renewal::Time now) {
    const core::Token token = parse_token(hold->lease.token);
    thread_.post([this, hold, now, token] {
        const core::RenewRequest request{.token = token, .ttl = to_core(hold->pace.extend_by)};
        submit(request, [this, hold, now, token](const service::Response& response) {
            LockResult<Lease> renewed = to_result(response, token);
            const auto guard = watcher_.guard();
            if (renewed) {
                renewed->limit = hold->lease.limit;
                renewed->lasts_until = now + renewed->ttl;
            }
            watcher_.end_renewal(hold, renewed);
        });
    });
}

LockResult<void> Engine::release(const Lease& lease) {
    const core::ReleaseRequest request{.token = parse_token(lease.token)};
    return ask<LockResult<void>>(
        request, [this, request](const service::Response& response) -> LockResult<void> {
            const bool is_done =
                response.failure.empty() && response.outcome.kind == core::Outcome::Kind::released;
            if (is_done) return {};
            return to_error(response, clock_, book_.knows(request.token));
        });
}

void Engine::release_quietly(const Lease& lease) {
    ++releases_under_way_;
    thread_.post([this, token = parse_token(lease.token)] {
        submit(core::ReleaseRequest{.token = token}, [this](const service::Response&) {
            --releases_under_way_;
            releases_under_way_.notify_all();
        });
    });
}

LockResult<Lease> Engine::find(std::string_view token) {
    const service::Find request{.token = parse_token(token)};
    return ask<LockResult<Lease>>(request, [this, request](const service::Response& response) {
        return to_result(response, request.token);
    });
}

LockResult<std::vector<Lease>> Engine::list() {
    using Leases = LockResult<std::vector<Lease>>;
    return ask<Leases>(service::List{.query = {.limit = SIZE_MAX}},
                       [this](const service::Response& response) -> Leases {
                           if (!response.failure.empty()) return to_error(response, clock_, false);
                           return to_leases(response.locks(), clock_);
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
    watcher_.wake();
    wake_service();
    watcher_.wake();
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

// Others may end or shorten a lease that has a guard.
void Engine::on_event(const core::Event& event) {
    book_.on_event(event);
    const std::uint64_t fence = core::as_number(event.lease.token.fence);
    if (event.kind == core::EventKind::released || event.kind == core::EventKind::expired) {
        watcher_.on_ended(fence);
    } else if (event.kind == core::EventKind::renewed) {
        watcher_.on_renewed(fence, to_boot_time(event.lease.expires_at));
    }
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
    if (book_.count_of(request.owner) + waiting >= options_.leases_per_holder_max) {
        if (waiting == 0) waiting_.erase(acquiring->request.holder);
        acquiring->call.give(LockError{LockLimitReached{"the holder has too many leases"}});
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
    LockResult<Lease> result = to_result(response, {});
    if (result) result->limit = acquiring->locks.front().limit;
    if (!acquiring->call.give(result) && result) release_quietly(*result);
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

LockResult<Lease> Engine::to_result(const service::Response& response, core::Token token) const {
    const bool has_lease = response.outcome.kind == core::Outcome::Kind::granted ||
                           response.outcome.kind == core::Outcome::Kind::renewed ||
                           response.outcome.kind == core::Outcome::Kind::found;
    if (response.failure.empty() && has_lease) return to_lease(response.outcome.lease, clock_);
    return to_error(response, clock_, book_.knows(token));
}

}  // namespace holdfast::embedded
