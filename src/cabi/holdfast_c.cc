// The functions of holdfast/holdfast.h, on top of LockManager and Client. Both have the same methods, so
// each function is written once. No exception leaves this file.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "holdfast/client.h"
#include "holdfast/holdfast.h"
#include "holdfast/lock_manager.h"

using std::chrono::milliseconds;

// NOLINTBEGIN(readability-identifier-naming): the names that C knows

struct holdfast_locks {
    std::variant<holdfast::LockManager, holdfast::Client> locks;
};

struct holdfast_lease {
    holdfast::Lease lease;
    std::string scope;
};

struct holdfast_guard {
    holdfast::LeaseGuard guard;
};

struct holdfast_stop {
    std::stop_source source;
};

// NOLINTEND(readability-identifier-naming)

namespace holdfast {

namespace {

// Copies as much of a text as there is room for; never a part of a character.
template <std::size_t size>
void copy_text(char (&to)[size], std::string_view text) {
    std::size_t length = std::min(text.size(), size - 1);
    const auto is_inside = [&] {
        return length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U;
    };
    while (length > 0 && is_inside()) --length;
    std::memcpy(to, text.data(), length);
    to[length] = '\0';
}

std::int64_t unix_ms(std::chrono::system_clock::time_point time) {
    if (time == std::chrono::system_clock::time_point::max()) return INT64_MAX;
    return std::chrono::floor<milliseconds>(time.time_since_epoch()).count();
}

struct ToCode {
    holdfast_code operator()(const LockHeld&) const { return HOLDFAST_HELD; }
    holdfast_code operator()(const LockNotFound&) const { return HOLDFAST_NOT_FOUND; }
    holdfast_code operator()(const LockExpired&) const { return HOLDFAST_EXPIRED; }
    holdfast_code operator()(const LockScopeMismatch&) const { return HOLDFAST_SCOPE_MISMATCH; }
    holdfast_code operator()(const LockNotGuaranteed&) const { return HOLDFAST_NOT_GUARANTEED; }
    holdfast_code operator()(const LockCancelled&) const { return HOLDFAST_CANCELLED; }
    holdfast_code operator()(const LockLimitReached&) const { return HOLDFAST_LIMIT_REACHED; }
    holdfast_code operator()(const InvalidLockRequest&) const { return HOLDFAST_INVALID_REQUEST; }
    holdfast_code operator()(const LockStoreFailure&) const { return HOLDFAST_STORE_FAILURE; }
    holdfast_code operator()(const ServerUnavailable&) const { return HOLDFAST_SERVER_UNAVAILABLE; }
    holdfast_code operator()(const NotPermitted&) const { return HOLDFAST_NOT_PERMITTED; }
    holdfast_code operator()(const StaleFence&) const { return HOLDFAST_STALE_FENCE; }
    holdfast_code operator()(const LockDeadlock&) const { return HOLDFAST_DEADLOCK; }
};

void clear(holdfast_error* error) {
    if (error == nullptr) return;
    error->code = HOLDFAST_OK;
    error->highest = 0;
    error->expires_at_ms = 0;
    error->holder[0] = '\0';
    error->message[0] = '\0';
}

holdfast_code tell(const LockError& why, holdfast_error* error) {
    const holdfast_code code = std::visit(ToCode{}, why);
    if (error == nullptr) return code;
    error->code = code;
    copy_text(error->message, to_text(why));
    if (const auto* const held = std::get_if<LockHeld>(&why)) {
        error->expires_at_ms = unix_ms(held->expires_at);
        copy_text(error->holder, held->holder);
    }
    if (const auto* const stale = std::get_if<StaleFence>(&why)) error->highest = stale->highest;
    return code;
}

// Calls `function`, which returns a LockResult<void>, and tells C how it went.
template <class Function>
holdfast_code run(holdfast_error* error, Function function) noexcept {
    clear(error);
    try {
        const LockResult<void> done = function();
        if (done) return HOLDFAST_OK;
        return tell(done.error(), error);
    } catch (const std::exception&) {
        if (error == nullptr) return HOLDFAST_OUT_OF_MEMORY;
        error->code = HOLDFAST_OUT_OF_MEMORY;
        copy_text(error->message, "there is not enough memory");
        return HOLDFAST_OUT_OF_MEMORY;
    }
}

// Gives the lease to C, if C wants it.
LockResult<void> give(LockResult<Lease> result, holdfast_lease** lease) {
    if (!result) return result.error();
    if (lease == nullptr) return {};
    std::string scope = result->scopes_text();
    *lease = new holdfast_lease{.lease = *std::move(result), .scope = std::move(scope)};
    return {};
}

template <class Method>
auto with(holdfast_locks* locks, Method method) {
    return std::visit(method, locks->locks);
}

std::string_view view(const char* text) {
    return text == nullptr ? std::string_view() : std::string_view(text);
}

LockMode to_mode(holdfast_mode mode) {
    return mode == HOLDFAST_SHARED ? LockMode::shared : LockMode::exclusive;
}

LockResult<LockScope> to_scope(const char* text) {
    auto scope = LockScope::parse(view(text));
    if (!scope)
        return LockError{InvalidLockRequest{"'" + std::string(view(text)) + "' is no scope"}};
    return *std::move(scope);
}

LockResult<LeaseRequest> to_request(const holdfast_request& asked) {
    auto scope = to_scope(asked.scope);
    if (!scope) return scope.error();
    LeaseRequest request{
        .scope = *std::move(scope),
        .holder = std::string(view(asked.holder)),
        .mode = to_mode(asked.mode),
        .metadata = std::string(view(asked.metadata)),
        .request_id = std::string(view(asked.request_id)),
        .waiter = std::string(view(asked.waiter)),
        .on_deadlock = asked.waits_in_deadlock ? OnDeadlock::tell : OnDeadlock::refuse};
    if (asked.ttl_ms != 0) request.ttl = milliseconds{asked.ttl_ms};
    if (asked.limit != 0) request.limit = asked.limit;
    return request;
}

// No ttl: the old one.
std::optional<milliseconds> to_ttl(std::int64_t ttl_ms) {
    if (ttl_ms == 0) return std::nullopt;
    return milliseconds{ttl_ms};
}

HeartbeatOptions to_options(const holdfast_heartbeat* heartbeat) {
    HeartbeatOptions options;
    if (heartbeat == nullptr) return options;
    if (heartbeat->every_ms != 0) options.every = milliseconds{heartbeat->every_ms};
    if (heartbeat->extend_by_ms != 0) options.extend_by = milliseconds{heartbeat->extend_by_ms};
    if (heartbeat->on_lost == nullptr) return options;
    options.on_lost = [on_lost = heartbeat->on_lost,
                       context = heartbeat->context](const GuardLost& loss) {
        holdfast_error why{};
        tell(loss.error, &why);
        on_lost(context, &why);
    };
    return options;
}

std::stop_token token_of(holdfast_stop* stop) {
    return stop == nullptr ? std::stop_token() : stop->source.get_token();
}

ClientOptions to_options(const holdfast_server* server) {
    ClientOptions options = ClientOptions::from_environment();
    if (server == nullptr) return options;
    if (server->servers != nullptr) {
        options.servers.clear();
        for (std::string_view rest = server->servers; !rest.empty();) {
            const std::size_t comma = std::min(rest.find(','), rest.size());
            options.servers.emplace_back(rest.substr(0, comma));
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    }
    // One of the two is meant, not the other one of the environment.
    if (server->token != nullptr || server->token_file != nullptr) {
        options.token = view(server->token);
        options.token_file = view(server->token_file);
    }
    if (server->ca_file != nullptr) options.ca_file = server->ca_file;
    if (server->timeout_ms != 0) options.timeout = milliseconds{server->timeout_ms};
    if (server->retry_for_ms != 0) options.retry_for = milliseconds{server->retry_for_ms};
    return options;
}

template <class Locks>
LockResult<void> give(LockResult<Locks> opened, holdfast_locks** locks) {
    if (!opened) return opened.error();
    *locks = new holdfast_locks{*std::move(opened)};
    return {};
}

template <class Handle>
void clear_handle(Handle** handle) {
    if (handle != nullptr) *handle = nullptr;
}

}  // namespace

}  // namespace holdfast

using holdfast::LockResult;

extern "C" {

holdfast_code holdfast_open(const char* path, holdfast_locks** locks, holdfast_error* error) {
    holdfast::clear_handle(locks);
    return holdfast::run(error, [&] {
        return holdfast::give(
            holdfast::LockManager::open({.path = std::string(holdfast::view(path))}), locks);
    });
}

holdfast_code holdfast_connect(const holdfast_server* server, holdfast_locks** locks,
                               holdfast_error* error) {
    holdfast::clear_handle(locks);
    return holdfast::run(error, [&] {
        return holdfast::give(holdfast::Client::open(holdfast::to_options(server)), locks);
    });
}

void holdfast_close(holdfast_locks* locks) {
    delete locks;
}

holdfast_code holdfast_acquire(holdfast_locks* locks, const holdfast_request* request,
                               int64_t wait_ms, holdfast_stop* stop, holdfast_lease** lease,
                               holdfast_error* error) {
    holdfast::clear_handle(lease);
    return holdfast::run(error, [&]() -> LockResult<void> {
        const auto wanted = holdfast::to_request(*request);
        if (!wanted) return wanted.error();
        return holdfast::with(locks, [&](auto& place) {
            return holdfast::give(
                place.acquire(*wanted, milliseconds{wait_ms}, holdfast::token_of(stop)), lease);
        });
    });
}

holdfast_code holdfast_try_acquire(holdfast_locks* locks, const holdfast_request* request,
                                   holdfast_lease** lease, holdfast_error* error) {
    return holdfast_acquire(locks, request, 0, nullptr, lease, error);
}

holdfast_code holdfast_renew(holdfast_locks* locks, const char* token, int64_t ttl_ms,
                             holdfast_lease** lease, holdfast_error* error) {
    holdfast::clear_handle(lease);
    return holdfast::run(error, [&] {
        return holdfast::with(locks, [&](auto& place) {
            return holdfast::give(place.renew(holdfast::view(token), holdfast::to_ttl(ttl_ms)),
                                  lease);
        });
    });
}

holdfast_code holdfast_release(holdfast_locks* locks, const char* token, holdfast_error* error) {
    return holdfast::run(error, [&] {
        return holdfast::with(locks,
                              [&](auto& place) { return place.release(holdfast::view(token)); });
    });
}

holdfast_code holdfast_get_by_token(holdfast_locks* locks, const char* token,
                                    holdfast_lease** lease, holdfast_error* error) {
    holdfast::clear_handle(lease);
    return holdfast::run(error, [&] {
        return holdfast::with(locks, [&](auto& place) {
            return holdfast::give(place.get_by_token(holdfast::view(token)), lease);
        });
    });
}

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): in C there are no types for the two
holdfast_code holdfast_check(holdfast_locks* locks, const char* token, const char* scope,
                             holdfast_mode mode, holdfast_lease** lease, holdfast_error* error) {
    holdfast::clear_handle(lease);
    return holdfast::run(error, [&]() -> LockResult<void> {
        const auto wanted = holdfast::to_scope(scope);
        if (!wanted) return wanted.error();
        return holdfast::with(locks, [&](auto& place) {
            return holdfast::give(
                place.check(holdfast::view(token), *wanted, holdfast::to_mode(mode)), lease);
        });
    });
}

holdfast_code holdfast_pass_fence(holdfast_locks* locks, const char* resource,
                                  uint64_t fencing_token, holdfast_error* error) {
    return holdfast::run(error, [&]() -> LockResult<void> {
        return holdfast::with(locks, [&](auto& place) -> LockResult<void> {
            const auto passed = place.pass_fence(holdfast::view(resource), fencing_token);
            if (!passed) return passed.error();
            return {};
        });
    });
}

const char* holdfast_lease_token(const holdfast_lease* lease) {
    return lease->lease.token.c_str();
}

uint64_t holdfast_lease_fencing_token(const holdfast_lease* lease) {
    return lease->lease.fencing_token;
}

const char* holdfast_lease_scope(const holdfast_lease* lease) {
    return lease->scope.c_str();
}

const char* holdfast_lease_holder(const holdfast_lease* lease) {
    return lease->lease.holder.c_str();
}

const char* holdfast_lease_metadata(const holdfast_lease* lease) {
    return lease->lease.metadata.c_str();
}

holdfast_mode holdfast_lease_mode(const holdfast_lease* lease) {
    return lease->lease.mode == holdfast::LockMode::shared ? HOLDFAST_SHARED : HOLDFAST_EXCLUSIVE;
}

int64_t holdfast_lease_ttl_ms(const holdfast_lease* lease) {
    return lease->lease.ttl.count();
}

int64_t holdfast_lease_acquired_at_ms(const holdfast_lease* lease) {
    return holdfast::unix_ms(lease->lease.acquired_at);
}

int64_t holdfast_lease_expires_at_ms(const holdfast_lease* lease) {
    return holdfast::unix_ms(lease->lease.expires_at);
}

int64_t holdfast_lease_time_guaranteed_ms(const holdfast_lease* lease) {
    return lease->lease.time_guaranteed().count();
}

void holdfast_lease_free(holdfast_lease* lease) {
    delete lease;
}

holdfast_code holdfast_hold(holdfast_locks* locks, const holdfast_request* request, int64_t wait_ms,
                            const holdfast_heartbeat* heartbeat, holdfast_stop* stop,
                            holdfast_guard** guard, holdfast_error* error) {
    holdfast::clear_handle(guard);
    return holdfast::run(error, [&]() -> LockResult<void> {
        const auto wanted = holdfast::to_request(*request);
        if (!wanted) return wanted.error();
        return holdfast::with(locks, [&](auto& place) -> LockResult<void> {
            auto held = place.hold(*wanted, milliseconds{wait_ms}, holdfast::to_options(heartbeat),
                                   holdfast::token_of(stop));
            if (!held) return held.error();
            *guard = new holdfast_guard{*std::move(held)};
            return {};
        });
    });
}

bool holdfast_guard_is_guaranteed(const holdfast_guard* guard) {
    return guard->guard.is_guaranteed();
}

int64_t holdfast_guard_time_left_ms(const holdfast_guard* guard) {
    return guard->guard.time_left().count();
}

uint64_t holdfast_guard_fencing_token(const holdfast_guard* guard) {
    return guard->guard.fencing_token();
}

holdfast_code holdfast_guard_lease(const holdfast_guard* guard, holdfast_lease** lease,
                                   holdfast_error* error) {
    holdfast::clear_handle(lease);
    return holdfast::run(error, [&] { return holdfast::give(guard->guard.lease(), lease); });
}

holdfast_code holdfast_guard_release(holdfast_guard* guard, holdfast_error* error) {
    return holdfast::run(error, [&] { return guard->guard.release(); });
}

void holdfast_guard_free(holdfast_guard* guard) {
    delete guard;
}

holdfast_stop* holdfast_stop_new(void) {
    try {
        return new holdfast_stop;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void holdfast_stop_request(holdfast_stop* stop) {
    stop->source.request_stop();
}

void holdfast_stop_free(holdfast_stop* stop) {
    delete stop;
}

}  // extern "C"
