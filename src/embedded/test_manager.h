#pragma once

// What the tests of the library share: a manager in virtual time, short ways to ask it, and answers
// as short texts.

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "embedded/engine.h"
#include "store/memory_store.h"

namespace holdfast::embedded::testing {

using namespace std::chrono_literals;

inline constexpr service::WallTime test_epoch{
    std::chrono::sys_days{std::chrono::January / 15 / 2024}};

// As a wait: until it is granted.
inline constexpr auto forever = std::chrono::milliseconds::max();

inline LeaseRequest ask_for(LockScope scope, std::string holder = "a") {
    return {.scope = std::move(scope), .holder = std::move(holder), .ttl = 30s};
}

// Thirty seconds of the lock `job`.
inline LeaseRequest job(std::string holder = "a") {
    return ask_for(LockScope::Named{"job"}, std::move(holder));
}

inline LeaseRequest shared(LeaseRequest request) {
    request.mode = LockMode::shared;
    return request;
}

// `ok`, `held by a`, `not found`, `expired`, ...
inline std::string to_note(const LockError& error) {
    struct Note {
        std::string operator()(const LockHeld& held) const { return "held by " + held.holder; }
        std::string operator()(const LockNotFound&) const { return "not found"; }
        std::string operator()(const LockExpired&) const { return "expired"; }
        std::string operator()(const LockScopeMismatch&) const { return "mismatch"; }
        std::string operator()(const LockNotGuaranteed&) const { return "not guaranteed"; }
        std::string operator()(const LockCancelled&) const { return "cancelled"; }
        std::string operator()(const LockLimitReached&) const { return "limit"; }
        std::string operator()(const InvalidLockRequest&) const { return "invalid"; }
        std::string operator()(const LockStoreFailure&) const { return "store failure"; }
        std::string operator()(const ServerUnavailable&) const { return "unavailable"; }
        std::string operator()(const NotPermitted&) const { return "not permitted"; }
        std::string operator()(const StaleFence&) const { return "stale"; }
        std::string operator()(const LockDeadlock&) const { return "deadlock"; }
    };
    return std::visit(Note{}, error);
}

template <class T>
std::string to_note(const LockResult<T>& result) {
    return result ? "ok" : to_note(result.error());
}

// A manager whose clock the test moves.
struct TestManager {
    explicit TestManager(
        const LockManagerOptions& options = {},
        std::unique_ptr<service::Store> store = std::make_unique<store::MemoryStore>()) {
        auto started = Engine::start(options, clock, std::move(store));
        CHECK(started.has_value());
        engine = *started;
        manager = std::make_unique<LockManager>(Engine::make_manager(engine));
    }

    LockManager* operator->() const { return manager.get(); }

    // A minute of a test takes no time. At once: what is due happens afterwards, as in a process
    // that stood still.
    void advance(core::Duration step) {
        clock.advance(step);
        engine->wake();
    }
    // As it passes for everybody.
    void pass(core::Duration time, core::Duration step = 1s) {
        for (; time > 0s; time -= step) advance(std::min(time, step));
    }

    // Returns when so many requests wait.
    void wait_for_waiters(std::size_t count) const {
        while (engine->counts().waiters != count) std::this_thread::yield();
    }

    service::ManualClock clock{test_epoch};
    std::shared_ptr<Engine> engine;
    std::unique_ptr<LockManager> manager;
};

}  // namespace holdfast::embedded::testing
