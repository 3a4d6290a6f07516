// How a store behaves when files, disks and other programs fail it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/test_happens.h"
#include "store/sqlite_store.h"
#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;
using core::EventKind;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

core::Changes granting(std::uint64_t fence, std::string name) {
    return changes_of({event_of(EventKind::granted, lease(fence, std::move(name)))});
}

std::string refusal(const std::string& path) {
    const auto store = SqliteStore::open(path, test_clock());
    return store ? "opened" : store.error().message;
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

// The file is refused with `why`, and is not changed.
void expect_left_alone(const std::string& path, const std::string& why) {
    const std::string before = read_file(path);
    EXPECT_THAT(refusal(path), HasSubstr(why));
    EXPECT_EQ(read_file(path), before);
    EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
    EXPECT_FALSE(std::filesystem::exists(path + "-journal"));
}

// Commits one batch after another, telling of each through `pipe` once it is done.
[[noreturn]] void commit_until_killed(const std::string& path, std::uint64_t seed, int pipe) {
    RandomHistory history(seed);
    const auto store = open_store(path, {.journal_changes_max = 50});
    recover(*store);
    for (;;) {
        if (!commit(*store, history.next_batch())) _exit(1);
        if (write(pipe, "+", 1) != 1) _exit(2);
    }
}

TEST(SqliteStoreFailure, LosesNothingItSaidWasDoneWhenTheServerIsKilled) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const TemporaryFolder folder;
        const std::string path = folder / "holdfast.db";
        std::array<int, 2> pipe{};
        ASSERT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
        const pid_t child = fork();
        if (child == 0) commit_until_killed(path, seed, pipe[1]);
        close(pipe[1]);
        const std::uint64_t wanted = 20 + seed * 13;
        std::uint64_t done = 0;
        for (char byte = 0; done < wanted && read(pipe[0], &byte, 1) == 1;) ++done;
        ASSERT_EQ(kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << "the child failed by itself";
        for (char byte = 0; read(pipe[0], &byte, 1) == 1;) ++done;
        close(pipe[0]);

        RandomHistory history(seed);
        for (std::uint64_t batch = 0; batch < done; ++batch) history.next_batch();
        const auto acknowledged = history.expected();
        history.next_batch();  // the one that was under way: all or nothing
        const auto store = open_store(path);
        const Found found = recover(*store);
        EXPECT_TRUE(found.leases == acknowledged || found.leases == history.expected())
            << "seed " << seed << ", after " << done << " commits";
    }
}

TEST(SqliteStoreFailure, ASecondServerIsRefused) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    auto store = open_store(path);
    EXPECT_EQ(refusal(path),
              "cannot use " + path + ": it is in use by process " + std::to_string(getpid()));
    store.reset();
    EXPECT_EQ(refusal(path), "opened");
}

TEST(SqliteStoreFailure, LeavesTheDatabaseOfAnotherProgramAlone) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    ASSERT_TRUE(Database::open(path)->run("CREATE TABLE songs (name)"));
    expect_left_alone(path, "it is a database of another program");
}

TEST(SqliteStoreFailure, LeavesANewerDatabaseAlone) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    open_store(path).reset();
    ASSERT_TRUE(Database::open(path)->run("PRAGMA user_version=8"));
    expect_left_alone(
        path,
        "it was written by a newer holdfast (the file has version 8, the newest known "
        "here is " +
            std::to_string(schema_version()) + ")");
}

TEST(SqliteStoreFailure, LeavesWhatIsNoDatabaseAlone) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    write_file(path, "dear diary");
    expect_left_alone(path, "it is no SQLite database, or a damaged one");
    write_file(path, std::string(10'000, '\x5a'));
    expect_left_alone(path, "it is no SQLite database, or a damaged one");
    std::filesystem::create_directory(folder / "folder.db");
    EXPECT_THAT(refusal(folder / "folder.db"), EndsWith("for writing: Is a directory"));
}

TEST(SqliteStoreFailure, DoesNotReplaceADatabaseThatWasLost) {
    for (const char* ending : {"-wal", ".journal"}) {
        const TemporaryFolder folder;
        const std::string path = folder / "holdfast.db";
        write_file(path + ending, "what was committed last");
        EXPECT_THAT(refusal(path), HasSubstr("the file was lost or cut off"));
        EXPECT_EQ(read_file(path + ending), "what was committed last");
    }
}

TEST(SqliteStoreFailure, DoesNotStartWithADamagedDatabase) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    {
        const auto store = open_store(path);
        recover(*store);
        core::Changes changes;
        for (std::uint64_t fence = 1; fence <= 600; ++fence) {
            changes.add(event_of(EventKind::granted, lease(fence, "job" + std::to_string(fence))));
        }
        ASSERT_TRUE(commit(*store, changes));
    }
    const std::string whole = read_file(path);
    // Every page in turn is overwritten: refused, or (a free page) nothing is missing.
    int refused = 0;
    for (std::size_t page = 4'096; page < whole.size(); page += 4'096) {
        std::string damaged = whole;
        damaged.replace(page, 4'096, 4'096, '\x77');
        write_file(path, damaged);
        auto store = SqliteStore::open(path, test_clock());
        std::size_t leases = 0;
        const bool is_taken = store && (*store)->recover([&leases](const auto&) {
            ++leases;
            return true;
        });
        refused += is_taken ? 0 : 1;
        EXPECT_TRUE(!is_taken || leases == 600) << "page at " << page;
    }
    EXPECT_GT(refused, 10);
    write_file(path, whole.substr(0, whole.size() / 2));
    const auto store = SqliteStore::open(path, test_clock());
    EXPECT_FALSE(store && (*store)->recover([](const auto&) { return true; }));
}

TEST(SqliteStoreFailure, SaysThatItCannotWriteInAFolder) {
    const TemporaryFolder folder;
    const std::string path = folder / "locked/holdfast.db";
    std::filesystem::create_directory(folder / "locked");
    ASSERT_EQ(chmod((folder / "locked").c_str(), 0500), 0);
    ASSERT_EQ(chmod((folder / ".").c_str(), 0755), 0);
    // In a child, because root may write everywhere and must become somebody else.
    const pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
        _exit(refusal(path).ends_with("cannot open " + path + ".lock: Permission denied") ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(SqliteStoreFailure, SaysWhichFolderItCannotMake) {
    const TemporaryFolder folder;
    write_file(folder / "diary", "dear diary");
    EXPECT_THAT(refusal(folder / "diary/new/data/holdfast.db"),
                EndsWith("cannot make the folder " + (folder / "diary/new") + ": Not a directory"));
    EXPECT_THAT(refusal(folder / "diary/holdfast.db"), EndsWith(": Not a directory"));
    EXPECT_EQ(read_file(folder / "diary"), "dear diary");
}

TEST(SqliteStoreFailure, GoesOnWhileAnotherProgramWrites) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    const auto store = open_store(path, {.busy_timeout = 1h, .fold_after = 1ms});
    recover(*store);
    auto other = *Database::open(path);
    other.set_busy_timeout(1min);
    {
        const auto writing = Transaction::begin(other);
        ASSERT_TRUE(writing);
        ASSERT_TRUE(commit(*store, granting(1, "during")));
        std::this_thread::sleep_for(20ms);  // so that folding may fail
        ASSERT_TRUE(commit(*store, granting(2, "still")));
        EXPECT_THAT(folded_rows_of(path), IsEmpty());
    }
    EXPECT_TRUE(base::happens([&] { return folded_rows_of(path).size() == 2; }));
    EXPECT_EQ(recover(*store).leases.size(), 2U);
}

TEST(SqliteStoreFailure, SaysItIsBusyIfItHasNoRoomWhileAnotherProgramWrites) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    const auto store = open_store(path, {.busy_timeout = 20ms, .journal_bytes_max = 0});
    recover(*store);
    ASSERT_TRUE(commit(*store, granting(1, "before")));
    auto other = *Database::open(path);
    other.set_busy_timeout(3s);
    {
        const auto writing = Transaction::begin(other);
        ASSERT_TRUE(writing);
        const auto refused = commit(*store, granting(2, "during"));
        ASSERT_FALSE(refused);
        EXPECT_TRUE(refused.error().is_busy);
        EXPECT_EQ(refused.error().message, path + ": database is locked");
        EXPECT_EQ(store->figures().commit_failures, 1U);
        EXPECT_EQ(store->figures().busy_failures, 1U);
        const auto recovered = store->recover([](const auto&) { return true; });
        ASSERT_FALSE(recovered);
        EXPECT_TRUE(recovered.error().is_busy);
    }
    EXPECT_EQ(recover(*store).leases, (Leases{{1, lease(1, "before")}}));
    ASSERT_TRUE(commit(*store, granting(3, "after")));
    EXPECT_EQ(recover(*store).leases, (Leases{{1, lease(1, "before")}, {3, lease(3, "after")}}));
}

TEST(SqliteStoreFailure, DoesNotWaitForAnotherProgramWhenItRecoversAgain) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    const auto store = open_store(path, {.busy_timeout = 1h});
    recover(*store);
    auto other = *Database::open(path);
    const auto writing = Transaction::begin(other);
    ASSERT_TRUE(writing);
    const auto recovered = store->recover([](const auto&) { return true; });
    ASSERT_FALSE(recovered);
    EXPECT_TRUE(recovered.error().is_busy);
}

TEST(SqliteStoreFailure, AFullDiskTakesNothingAndHarmsNothing) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    auto store = open_store(path);
    recover(*store);
    ASSERT_TRUE(commit(*store, granting(1, "before")));
    core::Changes many;
    for (std::uint64_t fence = 2; fence < 30'000; ++fence) {
        many.add(event_of(EventKind::granted, lease(fence, "job" + std::to_string(fence))));
    }
    {
        const FullDisk disk(rlim_t{512} * 1024);
        const auto refused = commit(*store, many);
        ASSERT_FALSE(refused);
        EXPECT_FALSE(refused.error().is_busy);
        EXPECT_THAT(refused.error().message, AnyOf(HasSubstr("disk I/O error"), HasSubstr("full")));
        EXPECT_EQ(recover(*store).leases, (Leases{{1, lease(1, "before")}}));
        ASSERT_TRUE(commit(*store, granting(2, "small enough")));
        ASSERT_FALSE(commit(*store, many));
    }
    ASSERT_TRUE(commit(*store, granting(3, "after")));
    const Leases expected{
        {1, lease(1, "before")}, {2, lease(2, "small enough")}, {3, lease(3, "after")}};
    EXPECT_EQ(recover(*store).leases, expected);
    ASSERT_TRUE(commit(*store, granting(4, "and at the end")));
    store.reset();
    store = open_store(path);
    const Found found = recover(*store);
    EXPECT_EQ(found.leases.size(), 4U);
    EXPECT_EQ(found.next_fence, 5U);
}

// Nobody knows whether a record is in the journal if the write failed. The next recovery finds out.
TEST(SqliteStoreFailure, AWriteToTheJournalThatFailsHasAnUnknownResult) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    const auto store = open_store(path, {.fold_after = 1h});
    recover(*store);
    ASSERT_TRUE(commit(*store, granting(1, "before")));
    {
        const FullDisk disk(JournalFile::block_bytes);  // the journal was larger before
        const auto failed = commit(*store, granting(2, "in doubt"));
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().kind, service::StoreFailure::Kind::unknown);
        EXPECT_EQ(failed.error().message,
                  path + ": cannot write " + path + ".journal: File too large");
    }
    const std::string crashed = copy_as_if_crashed(path, folder / "crashed.db");
    EXPECT_EQ(recover(*open_store(crashed)).leases, (Leases{{1, lease(1, "before")}}));
    EXPECT_EQ(recover(*store).leases, (Leases{{1, lease(1, "before")}}));
    ASSERT_TRUE(commit(*store, granting(3, "after")));
    EXPECT_EQ(recover(*store).leases, (Leases{{1, lease(1, "before")}, {3, lease(3, "after")}}));
}

}  // namespace
}  // namespace holdfast::store
