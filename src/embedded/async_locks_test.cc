// Locks for a program that does not wait: with completions.

#include "holdfast/async_locks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <iterator>
#include <thread>
#include <vector>

#include "embedded/test_gated_store.h"
#include "embedded/test_manager.h"
#include "store/sqlite_store.h"
#include "store/tables/test_leases.h"

namespace holdfast::embedded {
namespace {

using namespace testing;
using ::testing::ElementsAre;

// The result of one call, which comes once.
template <class T>
class Awaiting {
  public:
    [[nodiscard]] Completion<T> completion() {
        return [this](LockResult<T> result) { given_.set_value(std::move(result)); };
    }
    [[nodiscard]] LockResult<T> get() { return given_.get_future().get(); }

  private:
    std::promise<LockResult<T>> given_;
};

Lease acquired(const AsyncLocks& locks, const LeaseRequest& request) {
    Awaiting<Lease> awaiting;
    locks.acquire(request, forever, awaiting.completion());
    auto lease = awaiting.get();
    if (!lease) ADD_FAILURE() << to_text(lease.error());
    return *std::move(lease);
}

LockResult<void> released(const AsyncLocks& locks, const Lease& lease) {
    Awaiting<void> awaiting;
    locks.release(lease, awaiting.completion());
    return awaiting.get();
}

// Tasks that a test runs when it likes.
struct ByHand {
    std::mutex mutex;
    std::vector<std::function<void()>> tasks;

    [[nodiscard]] Executor executor() {
        return [this](std::function<void()> task) {
            const std::lock_guard guard(mutex);
            tasks.push_back(std::move(task));
        };
    }
    void wait_for(std::size_t count) {
        for (std::unique_lock guard(mutex); tasks.size() < count; guard.lock()) {
            guard.unlock();
            std::this_thread::yield();
        }
    }
    void run() {
        for (const auto& task : std::exchange(tasks, {})) task();
    }
};

std::ptrdiff_t count_threads() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(AsyncLocks, TakesRenewsFindsAndGivesBack) {
    TestManager manager;
    const AsyncLocks locks = manager->async();
    const Lease lease = acquired(locks, job());
    EXPECT_EQ(lease.holder, "a");
    Awaiting<Lease> renewed, found, checked, mismatched;
    locks.renew(lease, 60s, renewed.completion());
    EXPECT_EQ(renewed.get()->ttl, 60s);
    Awaiting<Lease> by_token;
    locks.renew(lease.token, 90s, by_token.completion());
    EXPECT_EQ(by_token.get()->ttl, 90s);
    locks.get_by_token(lease.token, found.completion());
    EXPECT_EQ(found.get()->ttl, 90s);
    locks.check(lease.token, lease.scope, LockMode::exclusive, checked.completion());
    EXPECT_TRUE(checked.get());
    locks.check(lease.token, LockScope::Inode{1}, LockMode::exclusive, mismatched.completion());
    EXPECT_EQ(to_note(mismatched.get()), "mismatch");
    EXPECT_EQ(to_note(released(locks, lease)), "ok");
    EXPECT_EQ(to_note(released(locks, lease)), "expired");
}

// Acquires and releases a lock so many times, one after the other, on the thread of the locks.
class ManyPairs {
  public:
    ManyPairs(AsyncLocks locks, int count) : locks_(std::move(locks)), left_(count) {}

    // Returns how many pairs did not succeed: after the first of these there are no others.
    int run() {
        begin();
        return done_.get_future().get();
    }

  private:
    void begin() {
        if (left_ == 0) return done_.set_value(0);
        locks_.acquire(request_, 0s, [this](const LockResult<Lease>& lease) {
            if (!lease) return done_.set_value(left_);
            locks_.release(*lease, [this](const LockResult<void>& released) {
                if (!released) return done_.set_value(left_);
                --left_;
                begin();
            });
        });
    }

    const AsyncLocks locks_;
    const LeaseRequest request_ = ask_for(LockScope::Named{"busy"});
    int left_;
    std::promise<int> done_;
};

// As at a server: what has ended is known by its fencing number, and not from a memory that forgets
// (once, after 100 000 endings).
TEST(AsyncLocks, TellThatALeaseHasEndedHoweverManyEndAfterIt) {
    TestManager manager;
    const Lease given_back = acquired(manager->async(), job());
    EXPECT_EQ(to_note(released(manager->async(), given_back)), "ok");
    const Lease run_out = acquired(manager->async(), job());
    manager.advance(30s);
    EXPECT_EQ(ManyPairs(manager->async(), 100'001).run(), 0);
    for (const Lease& lease : {given_back, run_out}) {
        EXPECT_EQ(to_note(manager->get_by_token(lease.token)), "expired");
        EXPECT_EQ(to_note(manager->renew(lease)), "expired");
        EXPECT_EQ(to_note(manager->release(lease)), "expired");
        EXPECT_EQ(to_note(manager->check(lease.token, lease.scope)), "expired");
    }
    EXPECT_EQ(to_note(manager->get_by_token(std::string(32, 'f'))), "not found");
}

TEST(AsyncLocks, SaysWhyThereIsNoLock) {
    TestManager manager;
    const AsyncLocks locks = manager->async();
    acquired(locks, job());
    Awaiting<Lease> tried, waited, invalid;
    locks.acquire(job("b"), 0s, tried.completion());
    EXPECT_EQ(to_note(tried.get()), "held by a");
    locks.acquire(job("b"), 10s, waited.completion());
    manager.wait_for_waiters(1);
    manager.advance(10s);
    EXPECT_EQ(to_note(waited.get()), "held by a");
    LeaseRequest nonsense = job();
    nonsense.ttl = 0s;
    locks.acquire(nonsense, forever, invalid.completion());
    EXPECT_EQ(to_note(invalid.get()), "invalid");
    EXPECT_EQ(manager.engine->counts().waiters, 0U);
}

TEST(AsyncLocks, FindsTheLeaseOfARequestThatIsRepeated) {
    TestManager manager;
    const AsyncLocks locks = manager->async();
    LeaseRequest request = job();
    request.request_id = "mine";
    const Lease first = acquired(locks, request);
    manager.advance(10s);
    const Lease again = acquired(locks, request);
    EXPECT_EQ(again.token, first.token);
    EXPECT_EQ(again.expires_at, first.expires_at + 10s) << "it was renewed";
}

// The completions of one chain run on the manager's thread, and start the next call from there.
TEST(AsyncLocks, MayBeCalledByACompletion) {
    TestManager manager;
    const AsyncLocks locks = manager->async();
    std::promise<bool> is_over;
    locks.acquire(job(), forever, [&](const LockResult<Lease>& lease) {
        locks.renew(*lease, {}, [&](const LockResult<Lease>& renewed) {
            locks.release(*renewed, [&](const LockResult<void>& ended) {
                is_over.set_value(ended.has_value());
            });
        });
    });
    EXPECT_TRUE(is_over.get_future().get());
}

TEST(AsyncLocks, RefusesToBlockTheManagersThread) {
    TestManager manager;
    const AsyncLocks locks = manager->async();
    std::promise<std::vector<std::string>> told;
    locks.hold(job(), forever, [&](LockResult<LeaseGuard> guard) {
        const Lease lease = guard->lease();
        std::vector<std::string> notes;
        notes.push_back(to_note(manager->acquire(job("b"), forever)));
        notes.push_back(to_note(manager->try_acquire(job("b"))));
        notes.push_back(to_note(manager->renew(lease)));
        notes.push_back(to_note(manager->release(lease)));
        notes.push_back(to_note(manager->get_by_token("0123")));
        notes.push_back(to_note(manager->list()));
        notes.push_back(to_note(guard->release()));
        notes.push_back(guard->is_guaranteed() ? "still held" : "lost");
        notes.push_back(to_note(manager->check(lease.token, lease.scope)));
        told.set_value(notes);
    });
    EXPECT_THAT(told.get_future().get(),
                ElementsAre("invalid", "invalid", "invalid", "invalid", "invalid", "invalid",
                            "invalid", "still held", "ok"));
    EXPECT_EQ(to_note(manager->acquire(job("c"), forever)), "ok") << "the guard released its lease";
}

TEST(AsyncLocks, TenThousandWaitsNeedNoThreadAndAreServedInOrder) {
    constexpr int count = 10'000;
    TestManager manager;
    const AsyncLocks locks = manager->async();
    const Lease first = acquired(locks, job("first"));
    const auto threads = count_threads();
    std::vector<int> order;  // on the manager's thread
    std::promise<void> served;
    for (int waiter = 0; waiter < count; ++waiter) {
        locks.acquire(job("w"), forever, [&, waiter](const LockResult<Lease>& lease) {
            order.push_back(lease ? waiter : -1);
            locks.release(*lease, [&](const LockResult<void>&) {
                if (order.size() == count) served.set_value();
            });
        });
    }
    manager.wait_for_waiters(count);
    EXPECT_EQ(count_threads(), threads);
    ASSERT_TRUE(manager->release(first));
    served.get_future().wait();
    ASSERT_EQ(order.size(), count);
    for (int waiter = 0; waiter < count; ++waiter) ASSERT_EQ(order[waiter], waiter);
}

TEST(AsyncLocks, RunsCompletionsWhereTheExecutorDoes) {
    TestManager manager;
    ByHand hand;
    const AsyncLocks locks = manager->async(hand.executor());
    std::string note;
    std::thread::id thread;
    locks.acquire(job(), forever, [&](const LockResult<Lease>& lease) {
        note = to_note(manager->release(*lease));
        thread = std::this_thread::get_id();
    });
    hand.wait_for(1);
    EXPECT_EQ(note, "");
    hand.run();
    EXPECT_EQ(note, "ok") << "here it may block";
    EXPECT_EQ(thread, std::this_thread::get_id());
}

TEST(AsyncLocks, WhatAnExecutorThrowsAwayIsReleased) {
    TestManager manager;
    ByHand hand;
    const AsyncLocks locks = manager->async(hand.executor());
    locks.acquire(job(), forever, [](const LockResult<Lease>&) { FAIL(); });
    locks.hold(ask_for(LockScope::Inode{1}), forever, [](LockResult<LeaseGuard>) { FAIL(); });
    hand.wait_for(2);
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "held by a");
    hand.tasks.clear();
    EXPECT_EQ(to_note(manager->acquire(job("b"), forever)), "ok");
    EXPECT_EQ(to_note(manager->acquire(ask_for(LockScope::Inode{1}, "b"), forever)), "ok");
}

TEST(AsyncLocks, AStopTokenCancelsAWaitAndNothingIsHeld) {
    TestManager manager;
    const AsyncLocks locks = manager->async();
    const Lease first = acquired(locks, job());
    std::stop_source stop;
    Awaiting<Lease> waiting, late;
    locks.acquire(job("b"), forever, waiting.completion(), stop.get_token());
    manager.wait_for_waiters(1);
    stop.request_stop();
    EXPECT_EQ(to_note(waiting.get()), "cancelled");
    EXPECT_EQ(manager.engine->counts().waiters, 0U);
    locks.acquire(job("b"), forever, late.completion(), stop.get_token());
    EXPECT_EQ(to_note(late.get()), "cancelled") << "stopped before it asked";
    EXPECT_EQ(to_note(released(locks, first)), "ok");
    EXPECT_EQ(to_note(manager->try_acquire(job("c"))), "ok");
}

TEST(AsyncLocks, AStopAfterTheGrantChangesNothing) {
    TestManager manager;
    ByHand hand;
    std::stop_source stop;
    std::string note;
    manager->async(hand.executor())
        .acquire(
            job(), forever, [&](const LockResult<Lease>& lease) { note = to_note(lease); },
            stop.get_token());
    hand.wait_for(1);
    stop.request_stop();
    hand.run();
    EXPECT_EQ(note, "ok");
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "held by a");
}

// Whichever is first: the grant is delivered and good, or nothing is held. Never both, never neither.
TEST(AsyncLocks, AStopAtTheMomentOfTheGrantIsOneOfTheTwo) {
    auto manager = LockManager::open();
    ASSERT_TRUE(manager);
    const AsyncLocks locks = manager->async();
    int granted = 0, cancelled = 0;
    for (int round = 0; round < 1000; ++round) {
        const Lease first = acquired(locks, job());
        std::stop_source stop;
        std::atomic<int> calls = 0;
        std::promise<LockResult<Lease>> result;
        locks.acquire(
            job("b"), forever,
            [&](const LockResult<Lease>& lease) {
                if (++calls == 1) result.set_value(lease);
            },
            stop.get_token());
        std::jthread stopper([&stop] { stop.request_stop(); });
        EXPECT_EQ(to_note(released(locks, first)), "ok");
        const LockResult<Lease> lease = result.get_future().get();
        stopper.join();
        if (lease) {
            ++granted;
            EXPECT_EQ(to_note(manager->try_acquire(job("c"))), "held by b");
            EXPECT_EQ(to_note(released(locks, *lease)), "ok");
        } else {
            ++cancelled;
            EXPECT_EQ(to_note(lease), "cancelled");
        }
        const auto next = manager->try_acquire(job("c"));
        ASSERT_TRUE(next) << to_note(next);
        EXPECT_EQ(to_note(manager->release(*next)), "ok");
        EXPECT_EQ(calls, 1);
    }
    EXPECT_EQ(granted + cancelled, 1000);
}

// A manager on a file, behind a gate.
struct GatedLocks {
    GatedLocks() {
        auto opened = store::SqliteStore::open(folder / "locks.db", clock);
        CHECK(opened.has_value());
        auto gated = std::make_unique<GatedStore>(std::move(*opened));
        gate = gated.get();
        engine = *Engine::start({}, clock, std::move(gated));
        manager = std::make_unique<LockManager>(Engine::make_manager(engine));
        locks = std::make_unique<AsyncLocks>(manager->async());
    }
    // Returns when the manager's thread has done all that it was asked so far.
    void settle() const {
        std::promise<void> done;
        engine->post([&] { done.set_value(); });
        done.get_future().wait();
    }

    store::testing::TemporaryFolder folder;
    service::ManualClock clock{test_epoch};
    GatedStore* gate = nullptr;
    std::shared_ptr<Engine> engine;
    std::unique_ptr<LockManager> manager;
    std::unique_ptr<AsyncLocks> locks;
};

TEST(AsyncLocks, AGrantThatIsNotOnDiskYetIsTakenBackByAStop) {
    GatedLocks gated;
    gated.gate->set(GatedStore::Gate::stuck);
    std::stop_source stop;
    Awaiting<Lease> waiting;
    gated.locks->acquire(job(), forever, waiting.completion(), stop.get_token());
    gated.settle();
    stop.request_stop();
    EXPECT_EQ(to_note(waiting.get()), "cancelled") << "though the disk says nothing";
    gated.gate->set(GatedStore::Gate::open);
    EXPECT_EQ(to_note(gated.manager->acquire(job("b"), forever)), "ok");
    EXPECT_EQ(gated.manager->list()->size(), 1U);
}

TEST(AsyncLocks, AManagerThatIsDestroyedCancelsWhoWaits) {
    TestManager manager;
    const AsyncLocks locks = manager->async();
    auto guard = manager->hold(job(), forever);
    ASSERT_TRUE(guard);
    std::vector<std::string> notes;  // no mutex: the destructor waits
    for (int waiter = 0; waiter < 3; ++waiter) {
        locks.acquire(job("b"), forever,
                      [&](const LockResult<Lease>& lease) { notes.push_back(to_note(lease)); });
    }
    manager.wait_for_waiters(3);
    manager.manager.reset();
    EXPECT_THAT(notes, ElementsAre("cancelled", "cancelled", "cancelled"));
    EXPECT_TRUE(guard->is_guaranteed()) << "guards outlive their manager";
    Awaiting<Lease> late;
    locks.acquire(job("b"), forever, late.completion());
    EXPECT_EQ(to_note(late.get()), "cancelled");
    Awaiting<void> let_go;
    locks.release(std::move(*guard), let_go.completion());
    EXPECT_EQ(to_note(let_go.get()), "ok") << "what is held can still be given back";
}

TEST(AsyncLocks, AManagerThatIsMovedOverCancelsWhoWaits) {
    auto manager = LockManager::open();
    ASSERT_TRUE(manager && manager->try_acquire(job()));
    Awaiting<Lease> waiting;
    manager->async().acquire(job("b"), forever, waiting.completion());
    auto other = LockManager::open();
    ASSERT_TRUE(other);
    *manager = *std::move(other);
    EXPECT_EQ(to_note(waiting.get()), "cancelled");
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "ok") << "these are other locks";
}

TEST(AsyncLocks, AManagerThatIsDestroyedWaitsForWhatIsBeingWritten) {
    GatedLocks gated;
    const Lease lease = acquired(*gated.locks, job());
    gated.gate->set(GatedStore::Gate::stuck);
    std::atomic<bool> is_told = false;
    gated.locks->release(lease,
                         [&](const LockResult<void>& ended) { is_told = ended.has_value(); });
    gated.settle();
    std::jthread opener([&] { gated.gate->set(GatedStore::Gate::open); });
    gated.manager.reset();
    EXPECT_TRUE(is_told);
}

// A completion must not keep the engine, and with it the file, longer than the manager.
TEST(AsyncLocks, TheFileIsFreeWhenTheManagerIsDestroyed) {
    const std::string path = ::testing::TempDir() + "async_locks_free.db";
    std::filesystem::remove(path);
    for (int round = 0; round < 500; ++round) {
        auto manager = LockManager::open({.path = path});
        ASSERT_TRUE(manager) << to_text(manager.error()) << " in round " << round;
        for (int calls = round % 7; calls > 0; --calls) {
            manager->async().get_by_token("none", [](const LockResult<Lease>&) {});
        }
        const LockManager destroyed = *std::move(manager);
    }
}

// The last owner of everything is a completion on the manager's own thread.
TEST(AsyncLocks, MayBeDestroyedByACompletion) {
    auto opened = LockManager::open();
    ASSERT_TRUE(opened);
    auto manager = std::make_shared<LockManager>(std::move(*opened));
    const std::weak_ptr<LockManager> watched = manager;
    std::promise<std::string> told;
    const AsyncLocks locks = manager->async();
    Awaiting<Lease> waiting;
    locks.acquire(job(), forever, [manager, &told](const LockResult<Lease>& lease) mutable {
        told.set_value(to_note(lease));
        manager.reset();
    });
    locks.acquire(job("b"), forever, waiting.completion());
    manager.reset();
    EXPECT_EQ(told.get_future().get(), "ok");
    EXPECT_EQ(to_note(waiting.get()), "cancelled");
    EXPECT_TRUE(watched.expired());
}

TEST(AsyncLocks, HoldRenewsUntilTheGuardIsGivenBack) {
    TestManager manager;
    const AsyncLocks locks = manager->async();
    Awaiting<LeaseGuard> held, late, refused;
    locks.hold(job(), forever, held.completion());
    auto guard = held.get();
    ASSERT_TRUE(guard);
    locks.hold(job("b"), forever, late.completion());
    manager.wait_for_waiters(1);
    manager.pass(2min);
    EXPECT_TRUE(guard->is_guaranteed());
    Awaiting<void> given, again;
    locks.release(std::move(*guard), given.completion());
    EXPECT_EQ(to_note(given.get()), "ok");
    EXPECT_TRUE(late.get());
    locks.hold(job("c"), forever, refused.completion(), {.every = 40s});
    EXPECT_EQ(to_note(refused.get()), "invalid");
}

TEST(AsyncLocks, AGuardThatWasLostSaysSoWhenItIsGivenBack) {
    TestManager manager;
    const AsyncLocks locks = manager->async();
    Awaiting<LeaseGuard> held;
    locks.hold(job(), forever, held.completion());
    auto guard = held.get();
    ASSERT_TRUE(guard);
    manager.clock.advance(26s);
    Awaiting<void> given;
    locks.release(std::move(*guard), given.completion());
    EXPECT_EQ(to_note(given.get()), "not guaranteed");
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "ok") << "given back all the same";
}

TEST(AsyncLocks, DoNotTakeTheGuardOfAnotherManager) {
    TestManager manager, other;
    auto guard = other->hold(job(), forever);
    ASSERT_TRUE(guard);
    Awaiting<void> given;
    manager->async().release(std::move(*guard), given.completion());
    EXPECT_EQ(to_note(given.get()), "invalid");
}

// Two requests of one thread are two tasks: they do not wait for each other, unless the program says so.
TEST(AsyncLocks, SeeDeadlocksBetweenWaitersThatHaveNames) {
    TestManager manager;
    const AsyncLocks locks = manager->async();
    LeaseRequest request = job();
    const Lease anonymous = acquired(locks, request);
    Awaiting<Lease> waiting;
    locks.acquire(request, forever, waiting.completion());
    manager.wait_for_waiters(1);
    EXPECT_EQ(to_note(released(locks, anonymous)), "ok");
    EXPECT_TRUE(waiting.get());

    const auto of = [](std::uint64_t inode, std::string waiter) {
        LeaseRequest named = ask_for(LockScope::Inode{inode});
        named.waiter = std::move(waiter);
        return named;
    };
    acquired(locks, of(1, "t1"));
    acquired(locks, of(2, "t2"));
    Awaiting<Lease> closing;
    locks.acquire(of(2, "t1"), forever, [](const LockResult<Lease>&) {});
    manager.wait_for_waiters(1);
    locks.acquire(of(1, "t2"), forever, closing.completion());
    EXPECT_EQ(to_note(closing.get()), "deadlock");
}

}  // namespace
}  // namespace holdfast::embedded
