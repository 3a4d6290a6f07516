// A manager on a file: what survives it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "embedded/test_manager.h"
#include "store/tables/test_leases.h"

namespace holdfast::embedded {
namespace {

using namespace testing;
using store::testing::TemporaryFolder;
using ::testing::HasSubstr;

LockManager open(const std::string& path) {
    auto manager = LockManager::open({.path = path});
    CHECK(manager.has_value());
    return std::move(*manager);
}

TEST(DurableLockManager, HoldsAfterARestartWhatWasHeldBefore) {
    const TemporaryFolder folder;
    const std::string path = folder / "locks.db";
    std::optional<LockManager> manager(open(path));
    const auto kept = manager->try_acquire(ask_for(LockScope::ByteRange{7, 0, 10}, "a"));
    const auto gone = manager->try_acquire(ask_for(LockScope::Path{"/x"}, "a"));
    ASSERT_TRUE(kept && gone && manager->release(*gone));
    manager.reset();
    manager.emplace(open(path));
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Inode{7}, "b"))), "held by a");
    const auto found = manager->check(kept->token, LockScope::ByteRange{7, 2, 3});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->holder, "a");
    EXPECT_EQ(found->ttl, 30s);
    EXPECT_TRUE(manager->renew(*kept));
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Path{"/x"}, "b"))), "ok");
    EXPECT_TRUE(manager->release(*kept));
    EXPECT_EQ(to_note(manager->renew(*kept)), "expired");
    EXPECT_EQ(to_note(manager->renew(*gone)), "expired") << "it ended before the restart";
}

TEST(DurableLockManager, RemembersFencesAndValues) {
    const TemporaryFolder folder;
    LockManager manager = open(folder / "locks.db");
    ASSERT_EQ(*manager.pass_fence("bucket", 7), 7U);
    const auto lead = manager.campaign({.election = "boss", .candidate = "a", .value = "one"});
    ASSERT_TRUE(lead);
    const Lease lease = lead->lease();
    ASSERT_EQ(manager.set_value(lease, "two")->revision, 2U);
    LockManager after_crash =
        open(store::testing::copy_as_if_crashed(folder / "locks.db", folder / "copy.db"));
    EXPECT_EQ(to_note(after_crash.pass_fence("bucket", 6)), "stale");
    EXPECT_EQ(*after_crash.get_fence("bucket"), 7U);
    EXPECT_EQ(after_crash.get_by_token(lease.token)->value, "two");
    EXPECT_EQ(after_crash.get_by_token(lease.token)->revision, 2U);
}

TEST(DurableLockManager, KeepsWhatIsThereIfItsLimitsAreLoweredLater) {
    const TemporaryFolder folder;
    const std::string path = folder / "locks.db";
    std::vector<Lease> held;
    {
        LockManager manager = open(path);
        for (const char* name : {"a", "b", "c"}) {
            auto lease = manager.try_acquire(ask_for(LockScope::Named{name}, "x"));
            ASSERT_TRUE(lease);
            held.push_back(std::move(*lease));
        }
    }
    auto manager = LockManager::open({.path = path, .leases_max = 1, .ttl_max = 2s});
    ASSERT_TRUE(manager);
    for (const Lease& lease : held) EXPECT_TRUE(manager->renew(lease));
    EXPECT_FALSE(manager->try_acquire(ask_for(LockScope::Named{"d"}, "y")));
    for (const Lease& lease : held) EXPECT_TRUE(manager->release(lease));
}

TEST(DurableLockManager, NeverGivesOutASmallerFencingToken) {
    const TemporaryFolder folder;
    std::uint64_t last = 0;
    for (int run = 0; run < 3; ++run) {
        LockManager manager = open(folder / "locks.db");
        for (int count = 0; count < 10; ++count) {
            const auto lock = manager.try_acquire(job());
            ASSERT_TRUE(lock);
            EXPECT_GT(lock->fencing_token, last);
            last = lock->fencing_token;
            ASSERT_TRUE(manager.release(*lock));
        }
    }
}

TEST(DurableLockManager, WhatAHandleGaveBackLastIsFreeAfterARestart) {
    const TemporaryFolder folder;
    {
        LockManager manager = open(folder / "locks.db");
        const auto first = manager.hold(job(), forever);
        const auto second = manager.hold(ask_for(LockScope::Inode{1}), forever);
        ASSERT_TRUE(first && second);
    }
    LockManager manager = open(folder / "locks.db");
    EXPECT_EQ(to_note(manager.try_acquire(job("b"))), "ok");
    EXPECT_EQ(to_note(manager.try_acquire(ask_for(LockScope::Inode{1}, "b"))), "ok");
}

TEST(DurableLockManager, CountsWhatItFindsAgainstTheLimits) {
    const TemporaryFolder folder;
    {
        LockManager manager = open(folder / "locks.db");
        ASSERT_TRUE(manager.try_acquire(ask_for(LockScope::Inode{1})));
    }
    auto manager = LockManager::open({.path = folder / "locks.db", .leases_per_holder_max = 1});
    ASSERT_TRUE(manager);
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Inode{2}))), "limit");
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Inode{2}, "b"))), "ok");
}

TEST(DurableLockManager, AFileHasOneManager) {
    const TemporaryFolder folder;
    const LockManager manager = open(folder / "locks.db");
    const auto second = LockManager::open({.path = folder / "locks.db"});
    ASSERT_FALSE(second);
    EXPECT_EQ(to_note(second), "store failure");
    EXPECT_THAT(to_text(second.error()), HasSubstr("in use"));
}

TEST(DurableLockManager, SaysWhyAFileCannotBeOpened) {
    const TemporaryFolder folder;
    std::ofstream(folder / "letter.txt") << "Dear reader, this is no database.\n";
    const auto manager = LockManager::open({.path = folder / "letter.txt"});
    ASSERT_FALSE(manager);
    EXPECT_THAT(to_text(manager.error()), HasSubstr("letter.txt"));
    EXPECT_EQ(store::testing::read_file(folder / "letter.txt"),
              "Dear reader, this is no database.\n");
}

}  // namespace
}  // namespace holdfast::embedded
