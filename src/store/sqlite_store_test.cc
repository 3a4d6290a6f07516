#include "store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;
using core::EventKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SqliteStore, FindsWhatWasCommitted) {
    const TemporaryFolder folder;
    const std::string path = folder / "data/holdfast.db";
    const LeaseRow held = lease(1, "held");
    LeaseRow kept = lease(2, "kept");
    kept.grace = 5s;
    kept.request_id = "attempt 1";
    kept.metadata = "nightly";
    const LeaseRow gone = lease(3, "gone");
    {
        const auto store = open_store(path);
        EXPECT_EQ(recover(*store).next_fence, 1U);
        EXPECT_TRUE(commit(*store, changes_of({event_of(EventKind::granted, held),
                                               event_of(EventKind::granted, kept),
                                               event_of(EventKind::granted, gone)})));
        EXPECT_TRUE(commit(*store, changes_of({event_of(EventKind::expired, kept),
                                               event_of(EventKind::released, gone)})));
    }
    kept.state = core::LeaseState::grace;
    const auto store = open_store(path);
    const Found found = recover(*store);
    EXPECT_EQ(found.leases, (Leases{{1, held}, {2, kept}}));
    EXPECT_EQ(found.remaining, (std::map<std::uint64_t, core::Duration>{{1, 30s}, {2, 5s}}));
    EXPECT_EQ(found.next_fence, 4U);
}

TEST(SqliteStore, FindsALeaseWithoutAnEndAgain) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    LeaseRow row = lease(1, "job");
    row.ttl = core::endless;
    {
        const auto store = open_store(path);
        recover(*store);
        EXPECT_TRUE(commit(*store, changes_of({event_of(EventKind::granted, row)})));
    }
    for (int start = 0; start < 3; ++start) {  // from the journal, then from the table
        const Found found = recover(*open_store(path));
        ASSERT_EQ(found.leases.count(1), 1U);
        EXPECT_EQ(found.leases.at(1).ttl, core::endless);
    }
}

TEST(SqliteStore, WritesOnlyWhatABatchChangesInTheEnd) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    const auto store = open_store(path);
    recover(*store);
    const LeaseRow brief = lease(7, "brief");
    EXPECT_TRUE(commit(*store, changes_of({event_of(EventKind::granted, brief),
                                           event_of(EventKind::renewed, brief),
                                           event_of(EventKind::released, brief)})));
    EXPECT_THAT(rows_of(path), IsEmpty());
    EXPECT_EQ(recover(*store).next_fence, 8U) << "it was given out";
    EXPECT_EQ(number_in(path, "SELECT last_token FROM tokens"), 7);
}

TEST(SqliteStore, ShowsPeopleWhatIsCommittedWhileItRuns) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    const auto store = open_store(path, {.journal_bytes_max = 0});
    recover(*store);
    LeaseRow text = lease(1, "backup");
    text.version = 3;
    text.members = "2;x 6:backup,s 7:path:/x,";
    text.value = "10.0.0.1";
    text.revision = 4;
    const LeaseRow binary = lease(2, "\xFF\x01");
    EXPECT_TRUE(commit(*store, changes_of({event_of(EventKind::granted, text),
                                           event_of(EventKind::granted, binary)})));
    EXPECT_THAT(
        folded_rows_of(path),
        ElementsAre("backup|w1|0000000000000007|1|0|3|named|exclusive|held|0|0|-1|1|"
                    "2;x 6:backup,s 7:path:/x,|10.0.0.1|4|",
                    "x'ff01'|w1|000000000000000e|2|0|0|named|exclusive|held|0|0|-1|1|||0|"));
    EXPECT_TRUE(commit(*store, changes_of({event_of(EventKind::released, text)})));
    EXPECT_EQ(folded_rows_of(path).size(), 1U);
}

TEST(SqliteStore, KeepsRandomHistories) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const TemporaryFolder folder;
        const std::string path = folder / "holdfast.db";
        RandomHistory history(seed);
        auto store = open_store(path);
        recover(*store);
        for (int step = 0; step < 60; ++step) {
            ASSERT_TRUE(commit(*store, history.next_batch()));
            if (history.random()() % 10 != 0) continue;
            EXPECT_EQ(rows_of(path).size(), history.expected().size());
            if (history.random()() % 2 == 0) store.reset(), store = open_store(path);
            const Found found = recover(*store);
            ASSERT_EQ(found.leases, history.expected()) << "seed " << seed << " step " << step;
            ASSERT_EQ(found.next_fence, history.last_fence() + 1);
        }
    }
}

// Nobody can renew a lease while the file is read, so that this time does not count either when
// the server is started once more.
TEST(SqliteStore, LeasesBeginTheirTimeWhenAllOfTheFileIsRead) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    BootClock now{.boot = "one", .since_boot = 100s};
    const SqliteStoreOptions options{
        .read_boot_clock = [&now] { return base::Result<BootClock>(now); }};
    service::ManualClock clock{service::WallTime{}};
    const auto start = [&](core::Duration reading) {
        auto store = *SqliteStore::open(path, clock, options);
        core::Duration remaining{0};
        CHECK(store->recover([&](const core::RestoreRequest& request) {
            remaining = request.remaining;
            clock.advance(reading);
            now.since_boot += reading;
            return true;
        }));
        return std::pair(std::move(store), remaining);
    };
    {
        const auto [store, remaining] = start(0s);
        const LeaseRow row{.fence = 1, .name = "job", .owner = "w", .ttl = 30s};
        ASSERT_TRUE(commit(*store, changes_of({event_of(core::EventKind::granted, row)})));
    }
    EXPECT_EQ(start(20s).second, 30s);
    now.since_boot += 5s;
    clock.advance(5s);
    EXPECT_EQ(start(20s).second, 25s) << "five seconds after the file had been read";
}

TEST(SqliteStore, GivesALeaseItsTimeOnceHoweverOftenItIsStarted) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    BootClock now{.boot = "one", .since_boot = 100s};
    const SqliteStoreOptions options{
        .read_boot_clock = [&now] { return base::Result<BootClock>(now); }};
    auto store = open_store(path, options);
    recover(*store);
    ASSERT_TRUE(commit(*store, changes_of({event_of(EventKind::granted, lease(1, "job"))})));
    const auto restart = [&](core::Duration later) {
        now.since_boot += later;
        store.reset();
        store = open_store(path, options);
        return recover(*store).remaining.at(1);
    };
    EXPECT_EQ(restart(50s), 30s);
    EXPECT_EQ(restart(10s), 20s);
    EXPECT_EQ(restart(15s), 5s);
    EXPECT_EQ(restart(15s), 0s);
    now = {.boot = "two", .since_boot = 1s};
    EXPECT_EQ(restart(0s), 30s);
    EXPECT_EQ(restart(10s), 20s);
    ASSERT_TRUE(commit(*store, changes_of({event_of(EventKind::renewed, lease(1, "job"))})));
    EXPECT_EQ(restart(100s), 30s);
    EXPECT_EQ(number_in(path, "SELECT count(*) FROM starts"), 2) << "the others serve nobody";
    for (int boot = 0; boot < 10; ++boot) {
        now.boot += "x";
        EXPECT_EQ(restart(0s), boot < 9 ? 30s : 0s) << boot;
    }
}

TEST(SqliteStore, CountsWhatItCommits) {
    const TemporaryFolder folder;
    const auto store = open_store(folder / "holdfast.db");
    recover(*store);
    const service::StoreFigures before = store->figures();
    EXPECT_EQ(before.commits, 0U);
    EXPECT_GT(before.disk_bytes, 0U);
    ASSERT_TRUE(commit(*store, changes_of({event_of(EventKind::granted, lease(1, "job")),
                                           event_of(EventKind::granted, lease(2, "job2")),
                                           event_of(EventKind::released, lease(1, "job"))})));
    const service::StoreFigures after = store->figures();
    EXPECT_EQ(after.commits, 1U);
    EXPECT_EQ(after.changes, 3U);
    EXPECT_EQ(after.commit_seconds.count(), 1U);
    EXPECT_GT(after.commit_seconds.sum(), 0);
    EXPECT_EQ(after.batch_sizes.counts()[2], 1U);
    EXPECT_GE(after.disk_bytes, before.disk_bytes)
        << "the journal has its first size from the start";
    EXPECT_EQ(after.commit_failures, 0U);
}

TEST(SqliteStore, RefusesALeaseTheEngineRefuses) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    const auto store = open_store(path);
    recover(*store);
    ASSERT_TRUE(commit(*store, changes_of({event_of(EventKind::granted, lease(7, "job"))})));
    const auto recovered = store->recover([](const auto&) { return false; });
    ASSERT_FALSE(recovered);
    EXPECT_EQ(recovered.error().message,
              path + ": the lease with fencing number 7 in it makes no sense");
    EXPECT_EQ(recover(*store).leases.size(), 1U);
}

TEST(SqliteStore, MakesItsFoldersAndKeepsItsFilesToItself) {
    const TemporaryFolder folder;
    const auto store = open_store(folder / "new/data/holdfast.db");
    recover(*store);
    const auto mode_of = [&folder](const std::string& name) {
        struct stat status {};
        CHECK(stat((folder / name).c_str(), &status) == 0);
        return status.st_mode & 0777U;
    };
    EXPECT_EQ(mode_of("new"), 0700U);
    EXPECT_EQ(mode_of("new/data"), 0700U);
    EXPECT_EQ(mode_of("new/data/holdfast.db"), 0600U);
    EXPECT_EQ(mode_of("new/data/holdfast.db-wal"), 0600U);
    EXPECT_EQ(mode_of("new/data/holdfast.db.journal"), 0600U);
    EXPECT_EQ(mode_of("new/data/holdfast.db.lock"), 0600U);
}

}  // namespace
}  // namespace holdfast::store
