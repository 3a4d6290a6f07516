// Locks in coroutines, on the event loop of a program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "embedded/test_coroutine.h"
#include "embedded/test_manager.h"

namespace holdfast::embedded {
namespace {

using namespace testing;
using ::testing::ElementsAre;

// A program with an event loop: this thread.
struct Loop {
    template <class Condition>
    void run_until(const Condition& is_true) {
        while (!is_true()) {
            ::pollfd event{.fd = queue.descriptor(), .events = POLLIN, .revents = 0};
            ASSERT_EQ(::poll(&event, 1, 10'000), 1) << "nothing comes";
            queue.run();
        }
    }

    TestManager manager;
    CompletionQueue queue = *CompletionQueue::open();
    AsyncLocks locks = manager->async(queue.executor());
    std::vector<std::string> said;
};

Coroutine use_job(Loop& loop, std::string name, std::stop_token stop = {}) {
    const LeaseRequest request = job(name);
    const auto lease = co_await loop.locks.acquire(request, forever, stop);
    loop.said.push_back(name + " " + to_note(lease));
    if (!lease) co_return;
    EXPECT_TRUE((co_await loop.locks.check(lease->token, lease->scope)).has_value());
    const auto released = co_await loop.locks.release(lease->token);
    EXPECT_TRUE(released);
}

TEST(AsyncCoroutine, WaitsForALockThatAnotherHoldsAndIsServedInOrder) {
    Loop loop;
    const auto first = loop.manager->try_acquire(job("first"));
    ASSERT_TRUE(first);
    std::vector<Coroutine> coroutines;
    for (const char* const name : {"a", "b", "c"}) {
        coroutines.push_back(use_job(loop, name));
    }
    loop.manager.wait_for_waiters(3);
    EXPECT_THAT(loop.said, ElementsAre());
    ASSERT_TRUE(loop.manager->release(*first));
    loop.run_until([&] { return coroutines.back().is_done(); });
    EXPECT_THAT(loop.said, ElementsAre("a ok", "b ok", "c ok"));
}

Coroutine look_at_thread(AsyncLocks locks, std::thread::id& before, std::thread::id& after) {
    const LeaseRequest request = job();
    before = std::this_thread::get_id();
    const auto lease = co_await locks.acquire(request, forever);
    after = std::this_thread::get_id();
    EXPECT_TRUE(lease);
}

TEST(AsyncCoroutine, GoesOnOnTheThreadOfTheLoop) {
    Loop loop;
    std::thread::id before, after;
    const Coroutine coroutine = look_at_thread(loop.locks, before, after);
    loop.run_until([&] { return coroutine.is_done(); });
    EXPECT_EQ(before, std::this_thread::get_id());
    EXPECT_EQ(after, std::this_thread::get_id());
}

TEST(AsyncCoroutine, GoesOnOnTheManagersThreadIfThereIsNoExecutor) {
    std::thread::id before, after;
    {
        TestManager manager;
        const Coroutine coroutine = look_at_thread(manager->async(), before, after);
        // Answers come in order: when the next is there, the coroutine has gone on.
        EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "held by a");
    }
    EXPECT_NE(after, std::thread::id{});
    EXPECT_NE(before, after);
}

Coroutine keep_job(Loop& loop, std::optional<LeaseGuard>& kept) {
    const LeaseRequest request = job("keeper");
    auto guard = co_await loop.locks.hold(request, forever);
    if (guard) kept.emplace(*std::move(guard));
}

Coroutine give_back(Loop& loop, LeaseGuard guard) {
    const auto released = co_await loop.locks.release(std::move(guard));
    loop.said.push_back("given back " + to_note(released));
}

TEST(AsyncCoroutine, HoldsALockThatRenewsItself) {
    Loop loop;
    std::optional<LeaseGuard> guard;
    const Coroutine keeper = keep_job(loop, guard);
    loop.run_until([&] { return keeper.is_done(); });
    ASSERT_TRUE(guard);
    loop.manager.pass(2min);
    EXPECT_TRUE(guard->is_guaranteed());
    const Coroutine giver = give_back(loop, *std::move(guard));
    loop.run_until([&] { return giver.is_done(); });
    EXPECT_THAT(loop.said, ElementsAre("given back ok"));
}

TEST(AsyncCoroutine, IsCancelledByAStopToken) {
    Loop loop;
    ASSERT_TRUE(loop.manager->try_acquire(job("first")));
    std::stop_source stop;
    const Coroutine coroutine = use_job(loop, "a", stop.get_token());
    loop.manager.wait_for_waiters(1);
    stop.request_stop();
    loop.run_until([&] { return coroutine.is_done(); });
    const Coroutine late = use_job(loop, "b", stop.get_token());
    loop.run_until([&] { return late.is_done(); });
    EXPECT_THAT(loop.said, ElementsAre("a cancelled", "b cancelled"));
    EXPECT_EQ(loop.manager.engine->counts().waiters, 0U);
}

TEST(AsyncCoroutine, ThatIsDestroyedWhileItWaitsHoldsNothing) {
    Loop loop;
    const auto first = loop.manager->try_acquire(job("first"));
    ASSERT_TRUE(first);
    Coroutine coroutine = use_job(loop, "a");
    loop.manager.wait_for_waiters(1);
    coroutine.destroy();
    loop.manager.wait_for_waiters(0);
    ASSERT_TRUE(loop.manager->release(*first));
    EXPECT_EQ(to_note(loop.manager->try_acquire(job("b"))), "ok");
    loop.queue.run();
    EXPECT_THAT(loop.said, ElementsAre());
}

TEST(AsyncCoroutine, ThatIsDestroyedWhenItsGrantIsOnTheWayHoldsNothing) {
    Loop loop;
    Coroutine coroutine = use_job(loop, "a");
    ::pollfd event{.fd = loop.queue.descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&event, 1, 10'000), 1);  // the grant is in the queue
    EXPECT_EQ(to_note(loop.manager->try_acquire(job("b"))), "held by a");
    coroutine.destroy();
    EXPECT_EQ(loop.queue.run(), 1U);
    EXPECT_THAT(loop.said, ElementsAre());
    EXPECT_EQ(to_note(loop.manager->acquire(job("b"), forever)), "ok");
}

TEST(AsyncCoroutine, ThatIsDestroyedKeepsALeaseThatItOnlyRenewed) {
    Loop loop;
    const auto lease = loop.manager->try_acquire(job());
    ASSERT_TRUE(lease);
    {
        const auto renew = [](AsyncLocks locks, Lease held) -> Coroutine {
            const auto renewed = co_await locks.renew(held.token);
            ADD_FAILURE() << to_note(renewed);
        };
        const Coroutine coroutine = renew(loop.locks, *lease);
    }
    ::pollfd event{.fd = loop.queue.descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&event, 1, 10'000), 1);
    loop.queue.run();
    EXPECT_EQ(to_note(loop.manager->try_acquire(job("b"))), "held by a");
}

TEST(AsyncCoroutine, IsToldWhenTheManagerIsDestroyed) {
    Loop loop;
    ASSERT_TRUE(loop.manager->try_acquire(job("first")));
    const Coroutine coroutine = use_job(loop, "a");
    loop.manager.wait_for_waiters(1);
    loop.manager.manager.reset();
    EXPECT_EQ(loop.queue.run(), 1U) << "the destructor waits until the queue has it";
    EXPECT_THAT(loop.said, ElementsAre("a cancelled"));
}

TEST(AsyncCoroutine, AsksNothingBeforeItWaits) {
    Loop loop;
    { const auto ignored = loop.locks.acquire(job(), forever); }
    EXPECT_EQ(to_note(loop.manager->try_acquire(job("b"))), "ok");
}

TEST(AsyncCoroutine, DoesNotWaitToCheckALeaseThatIsKnown) {
    Loop loop;
    const auto lease = loop.manager->try_acquire(job());
    ASSERT_TRUE(lease);
    const auto check = [](Loop& place, std::string token) -> Coroutine {
        const LockScope scope = LockScope::Named{"job"};
        const auto checked = co_await place.locks.check(token, scope);
        place.said.push_back(to_note(checked));
        const auto found = co_await place.locks.get_by_token(token);
        place.said.push_back(to_note(found));
    };
    const Coroutine known = check(loop, lease->token);
    EXPECT_THAT(loop.said, ElementsAre("ok")) << "at once; to find it takes a turn of the loop";
    loop.run_until([&] { return known.is_done(); });
    const Coroutine unknown = check(loop, "nonsense");
    loop.run_until([&] { return unknown.is_done(); });
    EXPECT_THAT(loop.said, ElementsAre("ok", "ok", "not found", "not found"));
}

}  // namespace
}  // namespace holdfast::embedded
