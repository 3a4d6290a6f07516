// LockHandle (the LeaseGuard of a LockManager) in virtual time: what it promises, and how it says that
// it no longer can.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <stdexcept>

#include "embedded/test_manager.h"

namespace holdfast::embedded {
namespace {

using namespace testing;

// What on_lost was told, which is waited for.
struct Told {
    HeartbeatOptions options() {
        return {.on_lost = [this](const GuardLost& loss) { promise.set_value(loss); }};
    }
    GuardLost get() { return promise.get_future().get(); }

    std::promise<GuardLost> promise;
};

LockHandle take(const TestManager& manager, const LeaseRequest& request,
                HeartbeatOptions options = {}) {
    auto handle = manager->hold(request, forever, std::move(options));
    CHECK(handle.has_value());
    return std::move(*handle);
}

TEST(LockHandle, KeepsTheLockAsLongAsItIsThere) {
    TestManager manager;
    const LockHandle handle = take(manager, job());
    manager.pass(5min);
    EXPECT_TRUE(handle.is_guaranteed());
    EXPECT_FALSE(handle.stop_token().stop_requested());
    EXPECT_GE(handle.time_left(), 15s) << "renewed ten seconds ago at most";
    EXPECT_GE(handle.lease().expires_at, test_epoch + 5min + 20s);
    EXPECT_TRUE(manager->check(handle.lease().token, handle.lease().scope));
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "held by a");
}

TEST(LockHandle, RenewsEveryThirdOfTheTtlOrAsItIsTold) {
    TestManager manager;
    const LockHandle by_default = take(manager, job());
    const LockHandle by_option =
        take(manager, ask_for(LockScope::Inode{1}), {.every = 12s, .margin = 1s});
    manager.advance(10s - 1us);
    EXPECT_EQ(by_default.lease().expires_at, test_epoch + 30s);
    manager.advance(1us);
    EXPECT_EQ(by_default.lease().expires_at, test_epoch + 40s);
    EXPECT_EQ(by_default.time_left(), 25s);
    manager.advance(2s - 1us);
    EXPECT_EQ(by_option.lease().expires_at, test_epoch + 30s);
    manager.advance(1us);
    EXPECT_EQ(by_option.lease().expires_at, test_epoch + 42s);
    EXPECT_EQ(by_option.time_left(), 29s);
}

TEST(LockHandle, GivesTheLockBackWhenItIsDestroyed) {
    TestManager manager;
    { const LockHandle handle = take(manager, job()); }
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "ok");
}

TEST(LockHandle, GivesTheLockBackWhenAsked) {
    TestManager manager;
    LockHandle handle = take(manager, job());
    EXPECT_TRUE(handle.release());
    EXPECT_FALSE(handle.is_guaranteed());
    const auto next = manager->try_acquire(job("b"));
    ASSERT_TRUE(next);
    EXPECT_TRUE(handle.release()) << "once more changes nothing";
    EXPECT_TRUE(manager->get_by_token(next->token));
    EXPECT_FALSE(handle.stop_token().stop_requested()) << "it was not lost";
}

TEST(LockHandle, MovesWithItsLock) {
    TestManager manager;
    LockHandle first = take(manager, job());
    LockHandle moved = std::move(first);
    EXPECT_TRUE(moved.is_guaranteed());
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "held by a");
    moved = take(manager, ask_for(LockScope::Inode{1}));
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "ok") << "the old one was given back";
    EXPECT_EQ(moved.lease().scope, LockScope(LockScope::Inode{1}));
}

TEST(LockHandle, IsLostAMarginBeforeTheLeaseEndsInAProcessThatStoodStill) {
    TestManager manager;
    Told told;
    const LockHandle handle = take(manager, job(), told.options());
    manager.clock.advance(25s - 1us);
    EXPECT_TRUE(handle.is_guaranteed());
    manager.clock.advance(1us);
    EXPECT_FALSE(handle.is_guaranteed()) << "known before any thread of ours has run";
    manager.engine->wake();
    const GuardLost loss = told.get();
    EXPECT_EQ(to_note(loss.error), "not guaranteed");
    EXPECT_EQ(loss.lease.token, handle.lease().token);
    EXPECT_TRUE(handle.stop_token().stop_requested());
    EXPECT_EQ(handle.time_left(), 0s);
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "held by a") << "nobody is let in early";
    manager.advance(5s);
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "ok");
}

TEST(LockHandle, IsLostForGood) {
    TestManager manager;
    Told told;
    LockHandle handle = take(manager, job(), told.options());
    manager.advance(26s);
    told.get();
    ASSERT_TRUE(manager->renew(handle.lease())) << "the lease itself lives on";
    manager.pass(20s);
    EXPECT_FALSE(handle.is_guaranteed());
    EXPECT_EQ(to_note(handle.release()), "not guaranteed");
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "ok") << "given back all the same";
}

TEST(LockHandle, SaysThatALeaseIsOverWhenItIs) {
    TestManager manager;
    Told told;
    LockHandle handle = take(manager, job(), told.options());
    manager.advance(60s);
    told.get();
    EXPECT_EQ(to_note(manager->check(handle.lease().token, handle.lease().scope)), "expired");
    const auto other = manager->try_acquire(job("b"));
    ASSERT_TRUE(other);
    EXPECT_NE(to_note(handle.release()), "ok");
    EXPECT_TRUE(manager->get_by_token(other->token)) << "it does not give back another's lock";
}

TEST(LockHandle, HearsAtOnceWhenSomebodyElseReleasesItsLock) {
    TestManager manager;
    Told told;
    const LockHandle handle = take(manager, job(), told.options());
    ASSERT_TRUE(manager->release(handle.lease()));
    EXPECT_EQ(to_note(told.get().error), "expired");
    EXPECT_FALSE(handle.is_guaranteed());
}

TEST(LockHandle, HeedsThatSomebodyElseMadeItsLeaseShorter) {
    TestManager manager;
    Told told;
    const LockHandle handle = take(manager, job(), told.options());
    ASSERT_TRUE(manager->renew(handle.lease(), 7s));
    EXPECT_EQ(handle.time_left(), 2s);
    manager.advance(2s);
    EXPECT_EQ(to_note(told.get().error), "not guaranteed");
}

TEST(LockHandle, RenewsWithItsOwnTtlWhateverSomebodyElseDid) {
    TestManager manager;
    const LockHandle handle = take(manager, job());
    ASSERT_TRUE(manager->renew(handle.lease(), 20s));
    manager.advance(10s);
    EXPECT_EQ(handle.lease().expires_at, test_epoch + 40s);
}

TEST(LockHandle, ACallbackThatBlocksOrThrowsDoesNotStopTheOthers) {
    TestManager manager;
    std::promise<void> blocked, gate;
    std::atomic<bool> has_thrown = false;
    const LockHandle other = take(manager, ask_for(LockScope::Inode{1}));
    const LockHandle thrower =
        take(manager, ask_for(LockScope::Inode{2}), {.on_lost = [&](const GuardLost&) {
                 has_thrown = true;
                 throw std::runtime_error("no");
             }});
    const LockHandle blocker =
        take(manager, ask_for(LockScope::Inode{3}), {.on_lost = [&](const GuardLost&) {
                 blocked.set_value();
                 gate.get_future().wait();
             }});
    ASSERT_TRUE(manager->release(thrower.lease()));
    ASSERT_TRUE(manager->release(blocker.lease()));
    blocked.get_future().wait();
    manager.pass(2min);
    EXPECT_TRUE(other.is_guaranteed());
    Told told;
    const LockHandle late = take(manager, ask_for(LockScope::Inode{4}), told.options());
    ASSERT_TRUE(manager->release(late.lease()));
    EXPECT_EQ(to_note(told.get().error), "expired") << "others are told, too";
    gate.set_value();
    while (!has_thrown) std::this_thread::yield();
}

TEST(LockHandle, WaitsForItsCallbackBeforeItIsGone) {
    TestManager manager;
    std::promise<void> started;
    std::atomic<bool> is_done = false;
    {
        const LockHandle handle = take(manager, job(), {.on_lost = [&](const GuardLost&) {
                                           started.set_value();
                                           std::this_thread::yield();
                                           is_done = true;
                                       }});
        ASSERT_TRUE(manager->release(handle.lease()));
        started.get_future().wait();
    }
    EXPECT_TRUE(is_done);
}

TEST(LockHandle, MayBeDestroyedByItsOwnCallback) {
    TestManager manager;
    std::promise<void> destroyed;
    std::optional<LockHandle> handle;
    handle.emplace(take(manager, job(), {.on_lost = [&](const GuardLost&) {
                            handle.reset();
                            destroyed.set_value();
                        }}));
    ASSERT_TRUE(manager->release(handle->lease()));
    destroyed.get_future().wait();
    EXPECT_FALSE(handle.has_value());
}

TEST(LockHandle, OutlivesItsManager) {
    std::optional<TestManager> manager(std::in_place);
    std::optional<LockHandle> handle(take(*manager, job()));
    manager->manager.reset();
    manager->pass(1min);
    EXPECT_TRUE(handle->is_guaranteed());
    manager->engine.reset();
    EXPECT_TRUE(handle->is_guaranteed());
    handle.reset();  // the last to use the engine
}

// A callback that owns the manager: it must not be destroyed by a thread that the manager waits
// for.
TEST(LockHandle, MayHaveACallbackThatOwnsAllThereIs) {
    for (const bool is_lost : {false, true}) {
        auto opened = LockManager::open();
        ASSERT_TRUE(opened);
        auto manager = std::make_shared<LockManager>(std::move(*opened));
        const auto told = std::make_shared<std::promise<void>>();
        auto handle = std::make_optional(manager->hold(
            job(), forever, {.on_lost = [manager, told](const GuardLost&) { told->set_value(); }}));
        ASSERT_TRUE(*handle);
        if (is_lost) {
            ASSERT_TRUE(manager->release((*handle)->lease()));
            told->get_future().wait();
        }
        const std::weak_ptr<LockManager> watched = manager;
        manager.reset();
        handle.reset();
        EXPECT_TRUE(watched.expired());
    }
}

TEST(LockHandle, StopsWhatFollowsItsToken) {
    TestManager manager;
    std::promise<void> stopped;
    const LockHandle handle = take(manager, job());
    const std::stop_callback callback(handle.stop_token(), [&] { stopped.set_value(); });
    manager.advance(26s);
    EXPECT_EQ(stopped.get_future().wait_for(100s), std::future_status::ready);
}

TEST(LockHandle, RefusesOptionsUnderWhichItWouldBeLostAtOnce) {
    TestManager manager;
    const HeartbeatOptions bad[] = {{.every = 0s},   {.every = 26s}, {.margin = 20s},
                                    {.margin = -1s}, {.every = 40s}, {.margin = 40s}};
    for (const HeartbeatOptions& options : bad) {
        EXPECT_EQ(to_note(manager->hold(job(), forever, options)), "invalid");
    }
    EXPECT_EQ(to_note(manager->try_acquire(job())), "ok") << "nothing was taken";
}

TEST(LockHandle, KeepsALockThatWasAcquiredOtherwise) {
    TestManager manager;
    const auto lock = manager->try_acquire(job());
    ASSERT_TRUE(lock);
    manager.advance(20s);
    const auto handle = manager->start_heartbeat(*lock);
    ASSERT_TRUE(handle);
    EXPECT_EQ(to_note(manager->start_heartbeat(*lock)), "invalid") << "one handle is enough";
    manager.pass(1min);
    EXPECT_TRUE(handle->is_guaranteed());
}

TEST(LockHandle, DoesNotKeepALockThatIsOverOrNearly) {
    TestManager manager;
    const auto lock = manager->try_acquire(job());
    ASSERT_TRUE(lock);
    manager.advance(25s);
    EXPECT_EQ(to_note(manager->start_heartbeat(*lock)), "not guaranteed");
    manager.advance(5s);
    EXPECT_EQ(to_note(manager->start_heartbeat(*lock)), "expired");
}

TEST(LockHandle, HasTheGuidelinesPresets) {
    TestManager manager;
    for (const LeasePreset preset : {short_lease, long_lease, batch_lease}) {
        LeaseRequest request = job();
        request.ttl = preset.ttl;
        const LockHandle handle = take(manager, request, {.every = preset.every});
        manager.pass(preset.ttl * 3, preset.every / 2);
        EXPECT_TRUE(handle.is_guaranteed());
    }
}

}  // namespace
}  // namespace holdfast::embedded
