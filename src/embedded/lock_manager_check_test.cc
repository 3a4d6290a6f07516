// What check() says from what is known already, without the manager's thread.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "embedded/test_gated_store.h"
#include "embedded/test_manager.h"
#include "store/sqlite_store.h"
#include "store/tables/test_leases.h"

namespace holdfast::embedded {
namespace {

using namespace testing;

const LockScope job_scope = LockScope::Named{"job"};

// Keeps the manager's thread busy for as long as it lives: what is answered meanwhile is answered
// without that thread.
class BusyThread {
  public:
    explicit BusyThread(Engine& engine) {
        std::promise<void> begun;
        engine.post([this, &begun] {
            begun.set_value();
            end_.get_future().wait();
            done_.set_value();
        });
        begun.get_future().wait();
    }
    BusyThread(const BusyThread&) = delete;
    BusyThread& operator=(const BusyThread&) = delete;
    ~BusyThread() {
        end_.set_value();
        done_.get_future().wait();
    }

  private:
    std::promise<void> end_, done_;
};

TEST(LockManagerCheck, DoesNotAskTheManagersThreadAboutALeaseThatItKnows) {
    TestManager manager;
    const auto lease = manager->try_acquire(ask_for(LockScope::ByteRange{7, 0, 100}));
    const auto reader = manager->try_acquire(shared(ask_for(LockScope::Inode{8})));
    const auto set = manager->try_acquire(
        {.holder = "s", .scopes = {{LockScope::Named{"a"}}, {LockScope::Path{"/b"}}}});
    ASSERT_TRUE(lease && reader && set);
    const BusyThread busy(*manager.engine);
    const auto check = [&](const Lease& of, const LockScope& scope,
                           LockMode mode = LockMode::exclusive) {
        return to_note(manager->check(of.token, scope, mode));
    };
    EXPECT_EQ(check(*lease, LockScope::ByteRange{7, 0, 100}), "ok");
    EXPECT_EQ(check(*lease, LockScope::ByteRange{7, 10, 20}), "ok");
    EXPECT_EQ(check(*lease, LockScope::ByteRange{7, 90, 101}), "mismatch");
    EXPECT_EQ(check(*lease, LockScope::Inode{7}), "mismatch");
    EXPECT_EQ(check(*reader, LockScope::Inode{8}), "mismatch") << "to read is not to write";
    EXPECT_EQ(check(*reader, LockScope::Inode{8}, LockMode::shared), "ok");
    EXPECT_EQ(check(*set, LockScope::Path{"/b"}), "ok");
    EXPECT_EQ(check(*set, LockScope::Path{"/c"}), "mismatch");
    const auto found = manager->check(lease->token, lease->scope);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->token, lease->token);
    EXPECT_EQ(found->fencing_token, lease->fencing_token);
    EXPECT_EQ(found->expires_at, lease->expires_at);
}

TEST(LockManagerCheck, HeedsEveryWayInWhichALeaseEnds) {
    TestManager manager;
    const auto released = manager->try_acquire(job());
    ASSERT_TRUE(released && manager->check(released->token, job_scope));
    ASSERT_TRUE(manager->release(*released));
    EXPECT_EQ(to_note(manager->check(released->token, job_scope)), "expired");
    EXPECT_EQ(to_note(manager->get_by_token(released->token)), "expired");

    const auto expired = manager->try_acquire(job());
    ASSERT_TRUE(expired && manager->check(expired->token, job_scope));
    manager.clock.advance(30s - 1us);
    EXPECT_EQ(to_note(manager->check(expired->token, job_scope)), "ok");
    manager.clock.advance(1us);  // nobody wakes the manager
    EXPECT_EQ(to_note(manager->check(expired->token, job_scope)), "expired");
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "ok");
}

TEST(LockManagerCheck, FollowsRenewalsToLaterAndToEarlier) {
    TestManager manager;
    const auto lease = manager->try_acquire(job());
    ASSERT_TRUE(lease && manager->renew(*lease, 60s));
    manager.clock.advance(31s);
    EXPECT_EQ(to_note(manager->check(lease->token, job_scope)), "ok");
    ASSERT_TRUE(manager->renew(*lease, 5s));
    {
        const BusyThread busy(*manager.engine);
        const auto known = manager->check(lease->token, job_scope);
        ASSERT_TRUE(known);
        EXPECT_EQ(known->ttl, 5s);
    }
    manager.clock.advance(5s);
    EXPECT_EQ(to_note(manager->check(lease->token, job_scope)), "expired");
}

TEST(LockManagerCheck, AsksAboutATokenThatItDoesNotKnowAndThenKnowsIt) {
    TestManager manager({.known_leases_max = 64});
    std::vector<Lease> leases;
    for (std::uint64_t inode = 0; inode < 65; ++inode) {
        leases.push_back(*manager->try_acquire(ask_for(LockScope::Inode{inode})));
    }
    const LockScope first = LockScope::Inode{0};
    EXPECT_FALSE(manager.engine->check_known(leases[0].token, first, LockMode::exclusive))
        << "forgotten";
    EXPECT_EQ(to_note(manager->check(leases[0].token, first)), "ok");
    EXPECT_TRUE(manager.engine->check_known(leases[0].token, first, LockMode::exclusive));
    EXPECT_EQ(to_note(manager->check("nonsense", first)), "not found");
    std::string guessed = leases[0].token;
    guessed.back() = guessed.back() == '0' ? '1' : '0';
    EXPECT_EQ(to_note(manager->check(guessed, first)), "not found");
}

TEST(LockManagerCheck, KnowsALeaseOfAnEarlierProgramWhenItHasAsked) {
    const store::testing::TemporaryFolder folder;
    std::string token;
    {
        auto before = LockManager::open({.path = folder / "locks.db"});
        ASSERT_TRUE(before);
        token = before->try_acquire(job())->token;
    }
    auto manager = LockManager::open({.path = folder / "locks.db"});
    ASSERT_TRUE(manager);
    for (int times = 0; times < 2; ++times) {
        EXPECT_EQ(to_note(manager->check(token, job_scope)), "ok");
    }
    ASSERT_TRUE(manager->release(*manager->get_by_token(token)));
    EXPECT_EQ(to_note(manager->check(token, job_scope)), "expired");
}

// A manager on a file whose disk does what a test says.
struct ManagerOnDisk {
    ManagerOnDisk() {
        auto opened = store::SqliteStore::open(folder / "locks.db", clock);
        CHECK(opened.has_value());
        auto gated = std::make_unique<GatedStore>(std::move(*opened));
        gate = gated.get();
        engine = *Engine::start({}, clock, std::move(gated));
        manager = std::make_unique<LockManager>(Engine::make_manager(engine));
    }
    LockManager* operator->() const { return manager.get(); }

    store::testing::TemporaryFolder folder;
    service::ManualClock clock{test_epoch};
    GatedStore* gate = nullptr;
    std::shared_ptr<Engine> engine;
    std::unique_ptr<LockManager> manager;
};

// The store has done what it says it could not do: the lease is gone, and nobody was told.
TEST(LockManagerCheck, ForgetsWhatItKnewWhenTheStoreFails) {
    ManagerOnDisk manager;
    const auto lease = manager->try_acquire(job());
    ASSERT_TRUE(lease && manager->check(lease->token, job_scope));
    manager.gate->set(GatedStore::Gate::deaf);
    EXPECT_EQ(to_note(manager->release(*lease)), "store failure");
    manager.gate->set(GatedStore::Gate::open);
    manager.clock.advance(1s);
    manager.engine->wake();
    while (to_note(manager->try_acquire(job("b"))) == "store failure") std::this_thread::yield();
    EXPECT_NE(to_note(manager->check(lease->token, job_scope)), "ok")
        << "another one has the lock by now";
}

// The renewal, the look and the release are in one commit. The look is answered with what it saw, after
// the end of the lease was told.
TEST(LockManagerCheck, LearnsNothingFromAnAnswerThatIsOlderThanTheEnd) {
    ManagerOnDisk manager;
    const auto lease = manager->try_acquire(job());
    ASSERT_TRUE(lease);
    const AsyncLocks locks = manager->async();
    manager.gate->set(GatedStore::Gate::stuck);
    locks.acquire(ask_for(LockScope::Inode{1}), 0s, [](const LockResult<Lease>&) {});
    { const BusyThread settled(*manager.engine); }  // a commit is under way
    std::promise<std::string> looked, released;
    locks.renew(*lease, 60s, [](const LockResult<Lease>&) {});
    locks.get_by_token(lease->token,
                       [&](const LockResult<Lease>& found) { looked.set_value(to_note(found)); });
    locks.release(*lease,
                  [&](const LockResult<void>& ended) { released.set_value(to_note(ended)); });
    { const BusyThread settled(*manager.engine); }
    manager.gate->set(GatedStore::Gate::open);
    EXPECT_EQ(looked.get_future().get(), "ok");
    EXPECT_EQ(released.get_future().get(), "ok");
    EXPECT_EQ(to_note(manager->check(lease->token, job_scope)), "expired");
}

TEST(LockManagerCheck, NeverSaysThatALeaseIsHeldAfterTheNextHolderWasTold) {
    auto manager = LockManager::open();
    ASSERT_TRUE(manager);
    std::atomic<std::uint64_t> newest = 0;  // fencing number that a holder was told of
    std::mutex mutex;
    Lease shown{.scope = job_scope};
    std::atomic<int> held = 0;
    const auto watch = [&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            std::unique_lock guard(mutex);
            const Lease lease = shown;
            guard.unlock();
            const std::uint64_t before = newest;
            const bool is_held = manager->check(lease.token, job_scope).has_value();
            if (is_held) ++held;
            EXPECT_FALSE(is_held && before > lease.fencing_token);
        }
    };
    std::vector<std::jthread> watchers;
    for (int watcher = 0; watcher < 3; ++watcher) watchers.emplace_back(watch);
    for (int round = 0; round < 1500 || held < 10; ++round) {
        auto lease = manager->acquire(job(), forever);
        ASSERT_TRUE(lease);
        newest = lease->fencing_token;
        {
            const std::lock_guard guard(mutex);
            shown = *lease;
        }
        if (round % 2 == 0) {
            ASSERT_TRUE(manager->renew(*lease, 1h));
        }
        ASSERT_TRUE(manager->release(*lease));
        EXPECT_FALSE(manager->check(lease->token, job_scope));
    }
}

}  // namespace
}  // namespace holdfast::embedded
