#include "embedded/engine.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/crypto.h"
#include "base/log/log.h"
#include "core/values/ids.h"
#include "embedded/translate.h"
#include "service/doors.h"
#include "service/ports/clock.h"
#include "values/lease_request.h"
#include "values/lock_scope.h"

namespace holdfast::embedded {

namespace {

using FenceKind = service::FenceOutcome::Kind;

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

LockResult<std::shared_ptr<Engine>> Engine::start(const LockManagerOptions& options,
                                                  service::Clock& clock,
                                                  std::unique_ptr<service::Store> store) {
    std::shared_ptr<Engine> engine(new Engine(options, clock, std::move(store)), &Engine::destroy);
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
      feed_(service::first_number()),
      store_(std::move(store)),
      watcher_([&clock] { return to_boot_time(clock.now()); },
               [this](const renewal::HoldPointer& hold, renewal::Time now) {
                   start_renewal(hold, now);
               }),
      board_(options.known_leases_max),
      acquisitions_(
          {.thread = thread_,
           .submit = [this](const service::Request& request,
                            Then then) { return submit(request, std::move(then)); },
           .abandon = [this](service::PromiseId promise) { service_->abandon(promise); },
           .to_result = [this](const service::Response& response) { return to_result(response); },
           .count_of = [this](const core::Owner& owner) { return book_.count_of(owner); },
           .leases_per_holder_max = options.leases_per_holder_max}) {
    base::RandomBits random;
    service_ = std::make_unique<service::LockService>(
        table_options(options_, random()),
        service::ServiceParts{
            .clock = clock_,
            .store = *store_,
            .executor = thread_,
            .random = random,
            .on_changes =
                [this](const core::Changes& changes) {
                    for (const core::Event& event : changes) on_event(event);
                },
            .take_changes = [this](core::Changes& changes) { feed_.publish(std::move(changes)); },
            .first_event = feed_.next_id(),
            .on_events_lost =
                [this](std::uint64_t count) {
                    board_.clear();
                    feed_.lose(count);
                },
            .on_fence_refused =
                [this](const service::FenceRefusal& refusal) { feed_.publish(refusal); },
            .on_act = [this](const service::AdminAct& act) { feed_.publish(act); },
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

// A task of the service's thread may own the last pointer to the engine, which waits for that thread.
// Where the system has no thread for this, the engine stays.
void Engine::destroy(Engine* engine) {
    if (!engine->thread_.is_current()) {
        delete engine;
        return;
    }
    try {
        std::thread([engine] { delete engine; }).detach();
    } catch (const std::system_error&) {
        base::log(base::LogLevel::error, "no thread to close the locks");
    }
}

std::optional<LockError> Engine::why_not_block() const {
    if (!thread_.is_current()) return std::nullopt;
    return InvalidLockRequest{"a completion that runs on the thread of the locks must not block"};
}

// Starts a call with start(done), and waits for its result.
template <class T, class Start>
LockResult<T> Engine::wait_for(const Start& start) {
    if (auto error = why_not_block()) return *std::move(error);
    auto call = std::make_shared<Call<LockResult<T>>>();
    start([call](LockResult<T> result) { call->give(std::move(result)); });
    return call->wait();
}

LockResult<Lease> Engine::acquire(const LeaseRequest& request, std::chrono::milliseconds wait,
                                  const std::stop_token& stop) {
    return wait_for<Lease>([&](Done<Lease> done) {
        LeaseRequest named = request;
        if (named.waiter.empty()) named.waiter = values::waiter_of_this_thread();
        start_acquire(named, wait, stop, std::move(done));
    });
}

// Without a waiter of the program's, it is one of its own: the other requests of this thread do not
// wait for it.
void Engine::start_acquire(const LeaseRequest& request, std::chrono::milliseconds wait,
                           const std::stop_token& stop, Done<Lease> done) {
    LeaseRequest named = request;
    if (named.holder.empty()) named.holder = holder_;
    if (named.waiter.empty()) named.waiter = "call-" + std::to_string(++waiters_named_);
    acquisitions_.start(std::move(named), wait, stop, std::move(done));
}

LockResult<Lease> Engine::renew(const Lease& lease, std::chrono::milliseconds ttl) {
    return wait_for<Lease>([&](Done<Lease> done) { start_renew(lease, ttl, std::move(done)); });
}

void Engine::start_renew(const Lease& lease, std::chrono::milliseconds ttl, Done<Lease> done) {
    core::RenewRequest request{.token = parse_token(lease.token)};
    // A program that knows the token only does not know the ttl; the engine does.
    if (ttl != std::chrono::milliseconds{0}) request.ttl = to_core(ttl);
    thread_.post([this, request, limit = lease.limit, done = std::move(done)] {
        submit(request, [this, limit, done](const service::Response& response) {
            LockResult<Lease> renewed = to_result(response);
            if (renewed) renewed->limit = limit;
            done(std::move(renewed));
        });
    });
}

// Does not wait for the answer, so a store that does not answer delays nothing else.
void Engine::start_renewal(const renewal::HoldPointer& hold, renewal::Time now) {
    const core::Token token = parse_token(hold->lease.token);
    thread_.post([this, hold, now, token] {
        const core::RenewRequest request{.token = token, .ttl = to_core(hold->pace.extend_by)};
        submit(request, [this, hold, now](const service::Response& response) {
            LockResult<Lease> renewed = to_result(response);
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
    return wait_for<void>([&](Done<void> done) { start_release(lease, std::move(done)); });
}

void Engine::start_release(const Lease& lease, Done<void> done) {
    const core::ReleaseRequest request{.token = parse_token(lease.token)};
    thread_.post([this, request, done = std::move(done)] {
        submit(request, [this, done](const service::Response& response) {
            const bool is_done =
                response.failure.empty() && response.outcome.kind == core::Outcome::Kind::released;
            if (is_done) return done({});
            done(to_error(response, clock_));
        });
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
    return wait_for<Lease>([&](Done<Lease> done) { start_find(token, std::move(done)); });
}

// What is found at once is the newest that there is: all that happens to the lease later is told later.
// So it may go to the board. What is told after a commit is not: the lease may have ended meanwhile.
void Engine::start_find(std::string_view token, Done<Lease> done) {
    struct Finding {
        Done<Lease> done;
        bool is_late = false;
    };
    const service::Find request{.token = parse_token(token)};
    auto finding = std::make_shared<Finding>(Finding{.done = std::move(done)});
    thread_.post([this, request, finding = std::move(finding)] {
        const auto promise = submit(request, [=, this](const service::Response& response) {
            const LockResult<Lease> found = to_result(response);
            if (found && !finding->is_late) board_.put(request.token, *found);
            finding->done(found);
        });
        finding->is_late = promise.has_value();
    });
}

// The clock is read last: so the lease was held at a moment at which its time was not over.
std::shared_ptr<const Lease> Engine::find_known(core::Token token) const {
    auto known = board_.find(token);
    if (known && to_boot_time(clock_.now()) < known->lasts_until) return known;
    return nullptr;
}

LockResult<Lease> Engine::judge(const Lease& lease, const LockScope& scope, LockMode mode) {
    if (lease.covers(scope, mode)) return lease;
    return LockError{LockScopeMismatch{
        .held = lease.scope, .held_mode = lease.mode, .wanted = scope, .wanted_mode = mode}};
}

std::optional<LockResult<Lease>> Engine::check_known(std::string_view token, const LockScope& scope,
                                                     LockMode mode) const {
    const auto known = find_known(parse_token(token));
    if (!known) return std::nullopt;
    return judge(*known, scope, mode);
}

LockResult<Lease> Engine::check(std::string_view token, const LockScope& scope, LockMode mode) {
    if (const auto known = find_known(parse_token(token))) return judge(*known, scope, mode);
    const auto found =
        wait_for<Lease>([&](Done<Lease> done) { start_find(token, std::move(done)); });
    return found ? judge(*found, scope, mode) : found;
}

void Engine::close() {
    thread_.post([this] { acquisitions_.close(); });
    if (!thread_.is_current()) calls_->wait_for_all();
}

LockResult<std::vector<Lease>> Engine::list() {
    using Leases = LockResult<std::vector<Lease>>;
    return ask<Leases>(service::List{.query = {.limit = SIZE_MAX}},
                       [this](const service::Response& response) -> Leases {
                           if (!response.failure.empty()) return to_error(response, clock_);
                           return to_leases(response.locks(), clock_);
                       });
}

LockResult<Lease> Engine::set_value(const Lease& lease, std::string_view value) {
    const core::SetValueRequest request{.token = parse_token(lease.token), .value = value};
    auto changed = ask<LockResult<Lease>>(
        request, [this](const service::Response& response) { return to_result(response); });
    if (changed) changed->limit = lease.limit;
    return changed;
}

// A name may be a lock or a semaphore.
LockResult<std::uint64_t> Engine::force_release(const LockScope& scope) {
    service::ForceRelease request{.scope = values::to_core(scope)};
    if (const auto* const named = std::get_if<LockScope::Named>(&scope.value())) {
        request.or_else = core::Scope::semaphore(named->name);
    }
    return ask<LockResult<std::uint64_t>>(
        request, [this](const service::Response& response) -> LockResult<std::uint64_t> {
            if (!response.failure.empty()) return to_error(response, clock_);
            return std::uint64_t{response.count};
        });
}

LockResult<std::uint64_t> Engine::pass_fence(std::string_view resource,
                                             std::uint64_t fencing_token) {
    if (resource.empty()) return LockError{InvalidLockRequest{"the resource needs a name"}};
    if (fencing_token == 0 || fencing_token > core::as_number(core::fence_max)) {
        return LockError{
            InvalidLockRequest{"no fencing token is " + std::to_string(fencing_token)}};
    }
    const service::RaiseFence request{.resource = resource, .fence = core::Fence{fencing_token}};
    return ask<LockResult<std::uint64_t>>(
        request, [&, this](const service::Response& response) -> LockResult<std::uint64_t> {
            if (!response.failure.empty()) return to_error(response, clock_);
            const service::FenceOutcome& outcome = *response.fence();
            if (outcome.kind == FenceKind::accepted) return outcome.highest;
            if (outcome.kind != FenceKind::stale) return to_error(outcome);
            return LockError{StaleFence{.resource = std::string(resource),
                                        .fencing_token = fencing_token,
                                        .highest = outcome.highest}};
        });
}

LockResult<std::optional<std::uint64_t>> Engine::get_fence(std::string_view resource) {
    return ask_fence(service::ReadFence{.resource = resource});
}

LockResult<std::optional<std::uint64_t>> Engine::drop_fence(std::string_view resource) {
    return ask_fence(service::DropFence{.resource = resource});
}

LockResult<std::optional<std::uint64_t>> Engine::ask_fence(const service::Request& request) {
    using Highest = LockResult<std::optional<std::uint64_t>>;
    return ask<Highest>(request, [this](const service::Response& response) -> Highest {
        if (!response.failure.empty()) return to_error(response, clock_);
        const service::FenceOutcome& outcome = *response.fence();
        if (outcome.kind == FenceKind::accepted) return std::optional(outcome.highest);
        if (outcome.kind == FenceKind::unknown) return std::optional<std::uint64_t>();
        return to_error(outcome);
    });
}

Listened Engine::listened() {
    return {.service = *service_, .thread = thread_, .feed = feed_, .clock = clock_};
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
    if constexpr (std::is_constructible_v<Result, LockError>) {
        if (auto error = why_not_block()) return *std::move(error);
    }
    auto call = std::make_shared<Call<Result>>();
    thread_.post([this, call, request, to_result = std::move(to_result)] {
        submit(request, [call, to_result](const service::Response& response) {
            call->give(to_result(response));
        });
    });
    return call->wait();
}

// Others may end or shorten a lease that has a guard. The service tells its events before it gives the
// answers that rest on them, which the board relies on.
void Engine::on_event(const core::Event& event) {
    book_.on_event(event);
    keep_board(event);
    const std::uint64_t fence = core::as_number(event.lease.token.fence);
    if (event.kind == core::EventKind::released || event.kind == core::EventKind::expired) {
        watcher_.on_ended(fence);
    } else if (event.kind == core::EventKind::renewed) {
        watcher_.on_renewed(fence, to_boot_time(event.lease.expires_at));
    }
}

void Engine::keep_board(const core::Event& event) {
    switch (event.kind) {
        case core::EventKind::granted:
        case core::EventKind::renewed:
        case core::EventKind::value_set:
            return board_.put(event.lease.token, to_lease(event.lease, clock_));
        case core::EventKind::released:
        case core::EventKind::expired: return board_.take_off(event.lease.token.fence);
        default: return;
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

LockResult<Lease> Engine::to_result(const service::Response& response) const {
    const bool has_lease = response.outcome.kind == core::Outcome::Kind::granted ||
                           response.outcome.kind == core::Outcome::Kind::renewed ||
                           response.outcome.kind == core::Outcome::Kind::found;
    if (response.failure.empty() && has_lease) return to_lease(response.outcome.lease, clock_);
    return to_error(response, clock_);
}

}  // namespace holdfast::embedded
