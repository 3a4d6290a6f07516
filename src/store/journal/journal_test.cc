// The journal of a store: which leases become rows, and that the files are right at every moment.

#include "store/journal/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_happens.h"
#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;
using core::EventKind;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void grant(SqliteStore& store, const LeaseRow& row) {
    ASSERT_TRUE(commit(store, changes_of({event_of(EventKind::granted, row)})));
}

void release(SqliteStore& store, const LeaseRow& row) {
    ASSERT_TRUE(commit(store, changes_of({event_of(EventKind::released, row)})));
}

class JournalTest : public ::testing::Test {
  protected:
    void open(SqliteStoreOptions options = {.fold_after = 1h}) {
        store_ = open_store(path_, std::move(options));
        recover(*store_);
    }
    std::int64_t number(const char* sql) { return number_in(path_, sql); }
    std::int64_t generation() { return number("SELECT generation FROM journal_file"); }
    void wait_for_fold(std::int64_t before) {
        EXPECT_TRUE(base::happens([&] { return generation() != before; }));
    }
    // What a server finds when it is started after a crash.
    Found found_after_crash() {
        return recover(*open_store(copy_as_if_crashed(path_, folder_ / "crashed.db")));
    }

    const TemporaryFolder folder_;
    const std::string path_ = folder_ / "holdfast.db";
    std::unique_ptr<SqliteStore> store_;
};

TEST_F(JournalTest, ALeaseThatEndsSoonNeverBecomesARow) {
    open({.journal_changes_max = 20, .fold_after = 1h});
    const auto before = generation();
    for (std::uint64_t fence = 1; fence <= 80; ++fence) {
        grant(*store_, lease(fence));
        if (fence > 5) release(*store_, lease(fence - 5));
    }
    EXPECT_EQ(generation(), before);
    EXPECT_EQ(rows_of(path_).size(), 5U);
}

TEST_F(JournalTest, WhatLivesBecomesRowsAMomentLater) {
    open({.fold_after = 10ms});
    const auto before = generation();
    grant(*store_, lease(1));
    grant(*store_, lease(2));
    wait_for_fold(before);
    EXPECT_TRUE(base::happens([&] { return folded_rows_of(path_).size() >= 2; }));
    EXPECT_EQ(folded_rows_of(path_), shown({{1, lease(1)}, {2, lease(2)}}));
    release(*store_, lease(1));
    EXPECT_TRUE(base::happens([&] { return folded_rows_of(path_).size() <= 1; }));
    EXPECT_EQ(found_after_crash().leases, (Leases{{2, lease(2)}}));
}

TEST_F(JournalTest, IsFoldedUnderSteadyLoadToo) {
    open({.fold_after = 1ms});
    const auto before = generation();
    std::uint64_t fence = 1;
    const auto is_folded = [&] {
        grant(*store_, lease(fence++));
        return generation() >= before + 3;
    };
    EXPECT_TRUE(base::happens(is_folded));
}

TEST_F(JournalTest, IsFoldedWhenThereIsMuchToFold) {
    open({.journal_changes_max = 20, .fold_after = 1h});
    const auto before = generation();
    for (std::uint64_t fence = 1; fence <= 21; ++fence) grant(*store_, lease(fence));
    wait_for_fold(before);
    EXPECT_EQ(number("SELECT count(*) FROM locks"), 21);
    for (std::uint64_t fence = 1; fence <= 21; ++fence) release(*store_, lease(fence));
    wait_for_fold(before + 1);
    EXPECT_EQ(number("SELECT count(*) FROM locks"), 0);
    EXPECT_EQ(found_after_crash().next_fence, 22U);
}

TEST_F(JournalTest, IsFoldedWithACommitForWhichItHasNoRoom) {
    open({.fold_after = 1h, .journal_bytes_max = 4 * JournalFile::block_bytes});
    const auto before = generation();
    for (std::uint64_t fence = 1; fence <= 4; ++fence) grant(*store_, lease(fence));
    EXPECT_EQ(generation(), before);
    grant(*store_, lease(5));
    EXPECT_EQ(generation(), before + 1);
    EXPECT_EQ(number("SELECT count(*) FROM locks"), 5);
    core::Changes many;
    for (std::uint64_t fence = 6; fence <= 5'000; ++fence) {
        many.add(event_of(EventKind::granted, lease(fence)));
    }
    ASSERT_TRUE(commit(*store_, many));
    EXPECT_EQ(number("SELECT count(*) FROM locks"), 5'000);
    EXPECT_EQ(found_after_crash().next_fence, 5'001U);
}

TEST_F(JournalTest, IsGoneAfterACleanEndAndNotBefore) {
    open();
    for (std::uint64_t fence = 1; fence <= 10; ++fence) grant(*store_, lease(fence));
    release(*store_, lease(10));
    EXPECT_EQ(number("SELECT count(*) FROM locks"), 0);
    EXPECT_TRUE(std::filesystem::exists(path_ + ".journal"));
    const auto before = rows_of(path_);
    EXPECT_EQ(before.size(), 9U);
    store_.reset();
    EXPECT_EQ(number("SELECT count(*) FROM locks"), 9);
    EXPECT_FALSE(std::filesystem::exists(path_ + ".journal"));
    EXPECT_EQ(number("SELECT last_token FROM tokens"), 10);
    EXPECT_EQ(folded_rows_of(path_), before);
}

TEST_F(JournalTest, AnEndDoesNotWaitForAnotherProgramAndLosesNothing) {
    open({.busy_timeout = 1h, .fold_after = 1h});
    grant(*store_, lease(1));
    {
        auto other = *Database::open(path_);
        const auto writing = Transaction::begin(other);
        ASSERT_TRUE(writing);
        store_.reset();
    }
    EXPECT_TRUE(std::filesystem::exists(path_ + ".journal"));
    open();
    EXPECT_EQ(folded_rows_of(path_), shown({{1, lease(1)}}));
}

TEST_F(JournalTest, KeepsTheNumbersOfLeasesThatNobodyWroteDown) {
    open({.journal_changes_max = 2});
    grant(*store_, lease(5));
    release(*store_, lease(5));
    for (std::uint64_t fence = 6; fence <= 9; ++fence) {
        ASSERT_TRUE(commit(*store_, changes_of({event_of(EventKind::granted, lease(fence)),
                                                event_of(EventKind::released, lease(fence))})));
        EXPECT_EQ(found_after_crash().next_fence, fence + 1);
    }
}

// A transient lease is granted without being written. When a renewal makes it durable, its number
// is the largest that the file knows, also when the lease has ended.
TEST_F(JournalTest, KeepsTheNumberOfALeaseThatARenewalMadeDurable) {
    open();
    grant(*store_, lease(5));
    ASSERT_TRUE(commit(*store_, changes_of({event_of(EventKind::renewed, lease(9))})));
    EXPECT_EQ(found_after_crash().next_fence, 10U);
    release(*store_, lease(9));
    EXPECT_EQ(found_after_crash().next_fence, 10U);
    store_.reset();
    EXPECT_EQ(number("SELECT last_token FROM tokens"), 9);
}

TEST_F(JournalTest, KeepsAReservationOfNumbersWithAndWithoutLeases) {
    open();
    service::Commit reservation;
    reservation.reserved_fence = 1'000;
    ASSERT_TRUE(commit(*store_, reservation));
    EXPECT_EQ(found_after_crash().next_fence, 1'001U);
    grant(*store_, lease(7));
    EXPECT_EQ(found_after_crash().next_fence, 1'001U) << "a smaller number takes nothing back";
    service::Commit both;
    both.changes.add(event_of(EventKind::released, lease(7)));
    both.reserved_fence = 2'000;
    ASSERT_TRUE(commit(*store_, both));
    EXPECT_EQ(found_after_crash().next_fence, 2'001U);
    EXPECT_EQ(recover(*store_).next_fence, 2'001U);
}

// With a journal of every size, the crash, the clean end and `lock_state` agree with the model.
TEST_F(JournalTest, KeepsRandomHistories) {
    std::uint64_t seed = 0;
    for (const std::size_t blocks : {0, 2, 3, 7, 40, 4'096}) {
        RandomHistory history(++seed);
        const SqliteStoreOptions options{.journal_changes_max = blocks * 10,
                                         .fold_after = 5ms,
                                         .journal_bytes_max = blocks * JournalFile::block_bytes};
        open(options);
        for (int step = 0; step < 60; ++step) {
            const std::string at = std::to_string(blocks) + " blocks, step " + std::to_string(step);
            ASSERT_TRUE(commit(*store_, history.next_batch())) << at;
            const auto chance = history.random()() % 8;
            if (chance == 0) {
                const Found found = found_after_crash();
                ASSERT_EQ(found.leases, history.expected()) << at;
                ASSERT_EQ(found.next_fence, history.last_fence() + 1) << at;
            } else if (chance == 1) {
                store_.reset();
                ASSERT_EQ(folded_rows_of(path_), shown(history.live())) << at;
                open(options);
            } else if (chance == 2) {
                ASSERT_EQ(recover(*store_).leases, history.expected()) << at;
            } else {
                ASSERT_EQ(rows_of(path_), shown(history.live())) << at;
            }
        }
        store_.reset();
        std::filesystem::remove(path_);
    }
}

TEST_F(JournalTest, AnOlderFileLearnsToKeepOne) {
    const LeaseRow odd{.fence = 6, .name = "\xFF", .owner = "w", .ttl = 30s};
    make_old_file(path_, 2, {lease(5), odd, lease(8)});
    EXPECT_EQ(number("SELECT count(*) FROM lock_state"), 3);
    open();
    EXPECT_EQ(rows_of(path_), shown({{5, lease(5)}, {6, odd}, {8, lease(8)}}));
    release(*store_, lease(5));
    release(*store_, odd);
    LeaseRow renewed = lease(8);
    renewed.ttl = 60s;
    ASSERT_TRUE(commit(*store_, changes_of({event_of(EventKind::renewed, renewed)})));
    grant(*store_, lease(9));
    EXPECT_EQ(rows_of(path_), shown({{8, renewed}, {9, lease(9)}}));
    const Found found = found_after_crash();
    EXPECT_EQ(found.leases, (Leases{{8, renewed}, {9, lease(9)}}));
    EXPECT_EQ(found.next_fence, 10U);
    EXPECT_EQ(number("PRAGMA user_version"), schema_version());
}

// The rows of a file of the version before get the usual values, and may get others.
TEST_F(JournalTest, AnOlderFileLearnsOfSetsAndValues) {
    make_old_file(path_, 4, {lease(5), lease(6)});
    open();
    LeaseRow changed = lease(6);
    changed.value = "10.0.0.1";
    changed.revision = 1;
    ASSERT_TRUE(commit(*store_, changes_of({event_of(EventKind::value_set, changed)})));
    LeaseRow several = lease(7);
    std::mt19937_64 random(1);
    several.members = random_set(random);
    several.waiter = "thread 3";
    grant(*store_, several);
    EXPECT_EQ(rows_of(path_), shown({{5, lease(5)}, {6, changed}, {7, several}}));
    EXPECT_EQ(found_after_crash().leases, (Leases{{5, lease(5)}, {6, changed}, {7, several}}));
}

}  // namespace
}  // namespace holdfast::store
