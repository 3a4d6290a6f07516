#include "holdfast/lock_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "embedded/test_manager.h"

namespace holdfast::embedded {
namespace {

using namespace testing;
using Range = LockScope::ByteRange;
using ::testing::ElementsAre;

TEST(LockManager, GrantsALockWithAllThereIsToKnowOfIt) {
    TestManager manager;
    manager.advance(100s);
    const auto lock = manager->try_acquire(
        {.scope = Range{7, 0, 4096}, .holder = "writer", .ttl = 10s, .mode = LockMode::shared});
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock->scope, LockScope(Range{7, 0, 4096}));
    EXPECT_EQ(lock->holder, "writer");
    EXPECT_EQ(lock->mode, LockMode::shared);
    EXPECT_EQ(lock->acquired_at, test_epoch + 100s);
    EXPECT_EQ(lock->expires_at, test_epoch + 110s);
    EXPECT_EQ(lock->lasts_until.time_since_epoch(), 110s);
    EXPECT_EQ(lock->ttl, 10s);
    EXPECT_EQ(lock->token.size(), 32U);
    EXPECT_GT(lock->fencing_token, 0U);
}

TEST(LockManager, SaysWhoHoldsWhatIsInTheWayAndUntilWhen) {
    TestManager manager;
    ASSERT_TRUE(manager->try_acquire(ask_for(LockScope::Inode{7}, "a")));
    const auto refused = manager->try_acquire(ask_for(Range{7, 0, 10}, "b"));
    ASSERT_FALSE(refused);
    const auto* held = std::get_if<LockHeld>(&refused.error());
    ASSERT_NE(held, nullptr);
    EXPECT_EQ(held->scope, LockScope(LockScope::Inode{7}));
    EXPECT_EQ(held->holder, "a");
    EXPECT_EQ(held->expires_at, test_epoch + 30s);
}

TEST(LockManager, ConflictsAsTheScopesDo) {
    const LockScope inode = LockScope::Inode{7};
    const struct {
        LockScope held, wanted;
        bool is_granted;
    } cases[] = {
        {inode, inode, false},
        {inode, LockScope::Inode{8}, true},
        {inode, Range{7, 5, 6}, false},
        {inode, Range{8, 5, 6}, true},
        {Range{7, 0, 10}, inode, false},
        {Range{7, 0, 10}, Range{7, 9, 20}, false},
        {Range{7, 0, 10}, Range{7, 10, 20}, true},
        {Range{7, 10}, Range{7, 1'000'000, 1'000'001}, false},
        {LockScope::Path{"/a"}, LockScope::Path{"/a"}, false},
        {LockScope::Path{"/a"}, LockScope::Path{"/a/b"}, true},
        {LockScope::Path{"/a"}, LockScope::Named{"/a"}, true},
        {LockScope::Named{"x"}, LockScope::Named{"x"}, false},
        {LockScope::Named{"7"}, inode, true},
    };
    for (const auto& one : cases) {
        TestManager manager;
        ASSERT_TRUE(manager->try_acquire(ask_for(one.held, "a")));
        EXPECT_EQ(manager->try_acquire(ask_for(one.wanted, "b")).has_value(), one.is_granted)
            << one.held.to_text() << ", then " << one.wanted.to_text();
    }
}

TEST(LockManager, SharedLocksCoexistAndExcludeAnExclusiveOne) {
    TestManager manager;
    const auto first = manager->try_acquire(shared(job("a")));
    const auto second = manager->try_acquire(shared(job("b")));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(to_note(manager->try_acquire(job("c"))), "held by a");
    EXPECT_TRUE(manager->release(*first));
    EXPECT_EQ(to_note(manager->try_acquire(job("c"))), "held by b");
    EXPECT_TRUE(manager->release(*second));
    EXPECT_EQ(to_note(manager->try_acquire(job("c"))), "ok");
}

TEST(LockManager, AReleasedLockIsFreeAndItsTokenIsOver) {
    TestManager manager;
    const auto lock = manager->try_acquire(job());
    ASSERT_TRUE(lock);
    EXPECT_TRUE(manager->get_by_token(lock->token));
    EXPECT_TRUE(manager->release(*lock));
    EXPECT_EQ(to_note(manager->release(*lock)), "expired");
    EXPECT_EQ(to_note(manager->renew(*lock)), "expired");
    EXPECT_EQ(to_note(manager->get_by_token(lock->token)), "expired");
    const auto next = manager->try_acquire(job("b"));
    ASSERT_TRUE(next);
    EXPECT_GT(next->fencing_token, lock->fencing_token);
}

TEST(LockManager, ALeaseEndsToTheMomentAndIsNotResurrected) {
    TestManager manager;
    const auto lock = manager->try_acquire(job());
    ASSERT_TRUE(lock);
    manager.advance(30s - 1us);
    EXPECT_TRUE(manager->check(lock->token, lock->scope));
    manager.advance(1us);
    EXPECT_EQ(to_note(manager->check(lock->token, lock->scope)), "expired");
    EXPECT_EQ(to_note(manager->renew(*lock)), "expired");
    EXPECT_EQ(to_note(manager->release(*lock)), "expired");
    EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "ok");
}

TEST(LockManager, ARenewedLeaseBeginsAnew) {
    TestManager manager;
    const auto lock = manager->try_acquire(job());
    ASSERT_TRUE(lock);
    manager.advance(20s);
    const auto renewed = manager->renew(*lock);
    ASSERT_TRUE(renewed);
    EXPECT_EQ(renewed->expires_at, test_epoch + 50s);
    EXPECT_EQ(renewed->token, lock->token);
    EXPECT_EQ(renewed->acquired_at, lock->acquired_at);
    const auto longer = manager->renew(*lock, 60s);
    ASSERT_TRUE(longer);
    EXPECT_EQ(longer->expires_at, test_epoch + 80s);
    EXPECT_EQ(longer->ttl, 60s);
    const auto by_token = manager->renew({.scope = lock->scope, .token = lock->token});
    ASSERT_TRUE(by_token);
    EXPECT_EQ(by_token->ttl, 60s) << "the lease is known by its token";
}

TEST(LockManager, KnowsNothingOfTokensItDidNotGiveOut) {
    TestManager manager;
    const auto lock = manager->try_acquire(job());
    ASSERT_TRUE(lock);
    Lease guess = *lock;
    guess.token.back() = guess.token.back() == '0' ? '1' : '0';
    Lease nonsense = *lock;
    nonsense.token = "nonsense";
    for (const Lease& lease : {guess, nonsense}) {
        EXPECT_EQ(to_note(manager->renew(lease)), "not found");
        EXPECT_EQ(to_note(manager->release(lease)), "not found");
        EXPECT_EQ(to_note(manager->get_by_token(lease.token)), "not found");
        EXPECT_EQ(to_note(manager->check(lease.token, lease.scope)), "not found");
    }
    ASSERT_TRUE(manager->release(*lock));
    EXPECT_EQ(to_note(manager->renew(guess)), "expired") << "this number was given out";
}

TEST(LockManager, ChecksWhatALockIsGoodFor) {
    TestManager manager;
    const auto inode = manager->try_acquire(ask_for(LockScope::Inode{7}));
    const auto range = manager->try_acquire(ask_for(Range{8, 100, 200}));
    const auto read = manager->try_acquire(shared(ask_for(LockScope::Inode{9})));
    ASSERT_TRUE(inode && range && read);
    EXPECT_EQ(to_note(manager->check(inode->token, LockScope::Inode{7})), "ok");
    EXPECT_EQ(to_note(manager->check(inode->token, Range{7, 0, 1})), "ok");
    EXPECT_EQ(to_note(manager->check(inode->token, LockScope::Inode{8})), "mismatch");
    EXPECT_EQ(to_note(manager->check(range->token, Range{8, 150, 200})), "ok");
    EXPECT_EQ(to_note(manager->check(range->token, Range{8, 150, 201})), "mismatch");
    EXPECT_EQ(to_note(manager->check(range->token, LockScope::Inode{8})), "mismatch");
    EXPECT_EQ(to_note(manager->check(read->token, LockScope::Inode{9})), "mismatch")
        << "a shared lock is not enough to write";
    EXPECT_EQ(to_note(manager->check(read->token, LockScope::Inode{9}, LockMode::shared)), "ok");
    EXPECT_EQ(to_note(manager->check(inode->token, LockScope::Inode{7}, LockMode::shared)), "ok");
    const auto refused = manager->check(range->token, LockScope::Inode{8});
    const auto* mismatch = std::get_if<LockScopeMismatch>(&refused.error());
    ASSERT_NE(mismatch, nullptr);
    EXPECT_EQ(mismatch->held, LockScope(Range{8, 100, 200}));
    EXPECT_EQ(mismatch->wanted, LockScope(LockScope::Inode{8}));
}

TEST(LockManager, ListsWhatIsHeld) {
    TestManager manager;
    ASSERT_TRUE(manager->try_acquire(job("a")));
    ASSERT_TRUE(manager->try_acquire(ask_for(Range{7, 0, 10}, "b")));
    ASSERT_TRUE(manager->try_acquire(ask_for(Range{7, 10, 20}, "c")));
    const auto over = manager->try_acquire(ask_for(LockScope::Path{"/gone"}));
    ASSERT_TRUE(over && manager->release(*over));
    const auto locks = manager->list();
    ASSERT_TRUE(locks);
    std::vector<std::string> texts;
    for (const Lease& lease : *locks) texts.push_back(lease.scope.to_text() + " " + lease.holder);
    EXPECT_THAT(texts, ElementsAre("job a", "range:7:0-10 b", "range:7:10-20 c"));
}

TEST(LockManager, LetsAsManyInAsASemaphoreHasPermits) {
    TestManager manager;
    const auto permit = [](std::string holder, std::uint64_t limit = 2) {
        return LeaseRequest{
            .scope = LockScope::Named{"printers"}, .holder = std::move(holder), .limit = limit};
    };
    const auto first = manager->try_acquire(permit("a"));
    const auto second = manager->try_acquire(permit("b"));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->scope, LockScope(LockScope::Semaphore{"printers"}));
    EXPECT_EQ(first->limit, 2U);
    EXPECT_EQ(to_note(manager->try_acquire(permit("c"))), "held by a");
    EXPECT_EQ(to_note(manager->try_acquire(permit("c", 3))), "invalid") << "another limit";
    EXPECT_EQ(to_note(manager->try_acquire(permit("c", 1))), "invalid") << "a lock";
    const auto renewed = manager->renew(*first);
    ASSERT_TRUE(renewed);
    EXPECT_EQ(renewed->limit, 2U);
    EXPECT_EQ(manager->list()->at(0).limit, 2U);
    EXPECT_EQ(to_note(manager->check(first->token, LockScope::Semaphore{"printers"})), "ok");
    ASSERT_TRUE(manager->release(*first));
    EXPECT_EQ(to_note(manager->try_acquire(permit("c"))), "ok");
    EXPECT_EQ(to_note(manager->try_acquire(permit("d", 0))), "invalid");
    EXPECT_EQ(to_note(manager->try_acquire({.scope = LockScope::Inode{7}, .limit = 2})), "invalid");
}

TEST(LockManager, ShowsWhatBelongsToALeaseAndNamesItsOwner) {
    TestManager manager;
    const auto lease = manager->try_acquire(
        {.scope = LockScope::Named{"x"}, .metadata = "nightly run", .value = "10.0.0.1"});
    ASSERT_TRUE(lease);
    EXPECT_EQ(manager->get_by_token(lease->token)->metadata, "nightly run");
    EXPECT_EQ(manager->get_by_token(lease->token)->value, "10.0.0.1");
    EXPECT_EQ(lease->revision, 1U);
    EXPECT_NE(lease->holder, "");
    EXPECT_EQ(manager->try_acquire({.scope = LockScope::Named{"y"}})->holder, lease->holder);
}

TEST(LockManager, FindsAndRenewsWhatARequestIdWasGranted) {
    TestManager manager;
    LeaseRequest request = job();
    request.request_id = "mine";
    const auto lease = manager->try_acquire(request);
    ASSERT_TRUE(lease);
    manager.advance(20s);
    const auto again = manager->try_acquire(request);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->token, lease->token);
    EXPECT_EQ(again->expires_at, test_epoch + 50s);
    ASSERT_TRUE(manager->release(*again));
    EXPECT_EQ(to_note(manager->try_acquire(request)), "expired");
}

TEST(LockManager, RefusesWhatMakesNoSense) {
    TestManager manager({.ttl_max = 300s});
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Named{""}))), "invalid");
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(Range{7, 5, 5}))), "invalid");
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Path{std::string(5000, 'x')}))),
              "invalid");
    EXPECT_EQ(to_note(manager->try_acquire(job(std::string(5000, 'x')))), "invalid");
    for (const std::chrono::milliseconds ttl :
         {0ms, -1ms, std::chrono::milliseconds{301s}, std::chrono::milliseconds::max(),
          std::chrono::milliseconds::min()}) {
        LeaseRequest request = job();
        request.ttl = ttl;
        EXPECT_EQ(to_note(manager->try_acquire(request)), "invalid") << ttl.count();
    }
    const auto lock = manager->try_acquire(job());
    ASSERT_TRUE(lock);
    EXPECT_EQ(to_note(manager->renew(*lock, 301s)), "invalid");
}

TEST(LockManager, HasLimits) {
    TestManager manager({.leases_max = 3, .leases_per_holder_max = 2});
    const auto first = manager->try_acquire(ask_for(LockScope::Inode{1}, "a"));
    ASSERT_TRUE(first && manager->try_acquire(ask_for(LockScope::Inode{2}, "a")));
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Inode{3}, "a"))), "limit");
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Inode{3}, "b"))), "ok");
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Inode{4}, "b"))), "limit");
    EXPECT_TRUE(manager->release(*first));
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Inode{1}, "a"))), "ok");
    manager.advance(30s);
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Inode{4}, "a"))), "ok")
        << "what has ended does not count";
}

TEST(LockManager, CountsASharedLockForEachOfItsHolders) {
    TestManager manager({.leases_max = 2});
    EXPECT_EQ(to_note(manager->try_acquire(shared(job("a")))), "ok");
    EXPECT_EQ(to_note(manager->try_acquire(shared(job("b")))), "ok");
    EXPECT_EQ(to_note(manager->try_acquire(shared(job("c")))), "limit");
}

TEST(LockManager, WithLockHoldsTheLockMeanwhileAndReleasesIt) {
    TestManager manager;
    const auto length = manager->with_lock(job(), forever, [&](LockHandle& handle) {
        EXPECT_TRUE(handle.is_guaranteed());
        EXPECT_EQ(to_note(manager->try_acquire(job("b"))), "held by a");
        return std::string("done").size();
    });
    ASSERT_TRUE(length);
    EXPECT_EQ(*length, 4U);
    EXPECT_TRUE(manager->with_lock(job("b"), forever, [](LockHandle&) {}))
        << "a function may return nothing";
    EXPECT_THROW(static_cast<void>(manager->with_lock(
                     job("c"), forever, [](LockHandle&) { throw std::runtime_error("no"); })),
                 std::runtime_error);
    EXPECT_EQ(to_note(manager->try_acquire(job("d"))), "ok");
}

TEST(LockManager, WithLockSaysSoWhenTheLockWasLostMeanwhile) {
    TestManager manager;
    const auto result = manager->with_lock(job(), forever, [&](LockHandle& handle) {
        manager.advance(60s);  // nobody renews in a process that stands still
        EXPECT_TRUE(handle.stop_token().stop_requested() || !handle.is_guaranteed());
        return 1;
    });
    ASSERT_FALSE(result);
    EXPECT_NE(to_note(result), "ok");
}

TEST(LockManagerDeathTest, ReadingTheValueOfAFailureEndsTheProgram) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    const LockResult<int> failure = LockError{LockNotFound{}};
    EXPECT_DEATH(static_cast<void>(*failure), "value of a failure was read: there is no such lock");
    const LockResult<int> success = 1;
    EXPECT_DEATH(static_cast<void>(success.error()), "error of a success");
}

}  // namespace
}  // namespace holdfast::embedded
