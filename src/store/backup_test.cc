#include "store/backup.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <map>
#include <thread>

#include "store/sqlite.h"
#include "store/tables/test_leases.h"

namespace {

// The calls of fsync in their order: of a file, or of a folder with the files it had then.
struct Synced {
    std::filesystem::path path;
    std::map<std::string, ino_t> files;  // of a folder: by their names
};
std::vector<Synced> synced;

}  // namespace

// Replaces fsync in this program. A test cannot cut the power, but it can see what would survive.
extern "C" int fsync(int descriptor) {
    const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor));
    Synced& now = synced.emplace_back(Synced{.path = path, .files = {}});
    std::error_code no_folder;
    for (const auto& entry : std::filesystem::directory_iterator(path, no_folder)) {
        struct stat status {};
        if (::stat(entry.path().c_str(), &status) == 0) {
            now.files[entry.path().filename()] = status.st_ino;
        }
    }
    return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace holdfast::store {
namespace {

using namespace testing;
using core::EventKind;
using ::testing::HasSubstr;

ino_t inode_of(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

// Grants that lease, and shows its number for the bucket.
void grant_and_show(SqliteStore& store, const LeaseRow& row) {
    CHECK(commit(store, changes_of({event_of(EventKind::granted, row)}),
                 {{.resource = "bucket", .highest = row.fence}}));
}

class Backup : public ::testing::Test {
  protected:
    Backup() {
        const auto store = open_store(database_);
        recover(*store);
        grant_and_show(*store, lease(5, "kept"));
        CHECK(back_up(database_, copy_));
        grant_and_show(*store, lease(9, "later"));
    }

    base::Result<Restored> restore_to(const std::string& path, bool may_replace = false,
                                      std::uint64_t token_floor = 0) {
        return restore({.copy_path = copy_,
                        .database_path = path,
                        .token_floor = token_floor,
                        .may_replace = may_replace});
    }
    static Found found_in(const std::string& path) { return recover(*open_store(path)); }

    const TemporaryFolder folder_;
    const std::string database_ = folder_ / "holdfast.db", copy_ = folder_ / "copy.db";
};

TEST_F(Backup, HasWhatWasCommittedWhenItWasMade) {
    const std::string other = folder_ / "other/holdfast.db";
    const auto restored = restore_to(other);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(restored->leases, 1U);
    EXPECT_EQ(restored->fences, 1U);
    EXPECT_EQ(restored->next_token, 6U);
    EXPECT_EQ(restored->replaced, "");
    const Found found = found_in(other);
    EXPECT_EQ(found.leases, (Leases{{5, lease(5, "kept")}}));
    EXPECT_EQ(found.remaining.at(5), 30s);
    EXPECT_EQ(found.next_fence, 6U);
    EXPECT_EQ(found.fences, (std::map<std::string, std::uint64_t>{{"bucket", 5}}));
}

// The newest commits are in the journal of the server only, or have just been folded.
TEST_F(Backup, HasWhatIsInTheJournal) {
    const auto store = open_store(database_, {.fold_after = 1h});
    recover(*store);
    for (std::uint64_t fence = 10; fence <= 12; ++fence) {
        grant_and_show(*store, lease(fence));
        const std::string copy = folder_ / ("copy" + std::to_string(fence) + ".db");
        ASSERT_TRUE(back_up(database_, copy));
        EXPECT_EQ(folded_rows_of(copy).size(), fence - 7) << "the copy is complete by itself";
        const Found found = found_in(copy);
        EXPECT_EQ(found.leases.rbegin()->first, fence);
        EXPECT_EQ(found.fences.at("bucket"), fence);
        EXPECT_EQ(found.next_fence, fence + 1);
        if (fence == 11) recover(*store);
    }
}

TEST_F(Backup, IsMadeWhileTheServerWritesAndFolds) {
    const auto store = open_store(database_, {.fold_after = 1ms});
    recover(*store);
    std::atomic<std::uint64_t> last = 9;
    std::jthread writer([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            grant_and_show(*store, lease(last + 1));
            ++last;
        }
    });
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t before = last;
        const std::string copy = folder_ / ("round" + std::to_string(round) + ".db");
        ASSERT_TRUE(back_up(database_, copy));
        const Found found = found_in(copy);
        EXPECT_GE(found.leases.rbegin()->first, before);
        EXPECT_EQ(found.leases.size(), found.leases.rbegin()->first - 7) << "none is missing";
        EXPECT_EQ(found.fences.at("bucket"), found.leases.rbegin()->first);
    }
}

TEST_F(Backup, IsForNobodyElseToRead) {
    struct stat status {};
    ASSERT_EQ(0, stat(copy_.c_str(), &status));
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    ASSERT_EQ(0, chmod(copy_.c_str(), 0644));
    const std::string other = folder_ / "other/holdfast.db";
    ASSERT_TRUE(restore_to(other));
    ASSERT_EQ(0, stat(other.c_str(), &status));
    EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(Backup, IsOnDiskWithItsName) {
    synced.clear();
    ASSERT_TRUE(back_up(database_, folder_ / "other.db"));
    std::size_t file_at = SIZE_MAX, folder_at = SIZE_MAX;
    for (std::size_t index = 0; index < synced.size(); ++index) {
        if (synced[index].path == folder_ / "other.db") file_at = index;
        if (synced[index].files.contains("other.db")) folder_at = index;
    }
    ASSERT_NE(file_at, SIZE_MAX) << "the file was not synced";
    ASSERT_NE(folder_at, SIZE_MAX) << "the folder was not synced";
    EXPECT_GT(folder_at, file_at);
}

TEST_F(Backup, TheReplacedDatabaseHasItsOtherNameOnDiskBeforeItsFirstIsTaken) {
    const ino_t before = inode_of(database_);
    synced.clear();
    const auto restored = restore_to(database_, true);
    ASSERT_TRUE(restored) << restored.error().message;
    const std::string aside = std::filesystem::path(restored->replaced).filename();
    std::size_t both_at = SIZE_MAX, replaced_at = SIZE_MAX;
    for (std::size_t index = 0; index < synced.size(); ++index) {
        const auto& files = synced[index].files;
        const auto old = files.find(aside);
        const auto present = files.find("holdfast.db");
        if (old == files.end() || present == files.end()) continue;
        EXPECT_EQ(old->second, before);
        (present->second == before ? both_at : replaced_at) = index;
    }
    ASSERT_NE(both_at, SIZE_MAX) << "the old database had its second name only in memory";
    ASSERT_NE(replaced_at, SIZE_MAX) << "the new database had its name only in memory";
    EXPECT_LT(both_at, replaced_at);
    EXPECT_NE(inode_of(database_), before);
}

TEST_F(Backup, IsNotWrittenOverAnything) {
    EXPECT_FALSE(back_up(database_, copy_));
    EXPECT_FALSE(back_up(folder_ / "nowhere/holdfast.db", folder_ / "new.db"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "new.db"));
}

TEST_F(Backup, TokensDoNotGoBackWhenADatabaseIsReplaced) {
    const auto refused = restore_to(database_);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("--replace"));

    const auto restored = restore_to(database_, true);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(restored->next_token, 10U) << "9 was given out after the copy was made";
    EXPECT_EQ(restored->replaced_problem, "");
    const Found found = found_in(database_);
    EXPECT_EQ(found.leases, (Leases{{5, lease(5, "kept")}}));
    EXPECT_EQ(found.next_fence, 10U);
    EXPECT_EQ(found.fences, (std::map<std::string, std::uint64_t>{{"bucket", 9}}));
    EXPECT_EQ(found_in(restored->replaced).leases.size(), 2U) << "nothing is lost";
}

TEST_F(Backup, TokensDoNotGoBackWhenTheDatabaseOfACrashedServerIsReplaced) {
    const auto store = open_store(database_);
    recover(*store);
    grant_and_show(*store, lease(20, "last"));
    const std::string crashed = copy_as_if_crashed(database_, folder_ / "crashed.db");
    const auto restored = restore_to(crashed, true);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(restored->next_token, 21U);
    EXPECT_EQ(found_in(crashed).next_fence, 21U);
    EXPECT_EQ(found_in(restored->replaced).leases.size(), 3U);
}

// Nothing is left of the old journal that the new database could take for its own.
TEST_F(Backup, ADamagedJournalIsPutAsideWithItsDatabase) {
    const auto store = open_store(database_, {.fold_after = 1h});
    recover(*store);
    for (std::uint64_t fence = 20; fence <= 22; ++fence) grant_and_show(*store, lease(fence));
    const std::string crashed = copy_as_if_crashed(database_, folder_ / "crashed.db");
    std::string journal = read_file(crashed + ".journal");
    journal[50] ^= 1;
    std::ofstream(crashed + ".journal", std::ios::binary) << journal;
    const auto restored = restore_to(crashed, true, 1'000);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_THAT(restored->replaced_problem, HasSubstr("its journal cannot be used: it is damaged"));
    EXPECT_EQ(read_file(restored->replaced + ".journal"), journal);
    EXPECT_FALSE(std::filesystem::exists(crashed + ".journal"));
    EXPECT_EQ(found_in(crashed).next_fence, 1'001U);
}

TEST_F(Backup, IsRestoredWhereOnlyTheJournalIsLeft) {
    const auto store = open_store(database_, {.fold_after = 1h});
    recover(*store);
    grant_and_show(*store, lease(20));
    const std::string crashed = copy_as_if_crashed(database_, folder_ / "lost/holdfast.db");
    std::filesystem::remove(crashed);
    ASSERT_TRUE(restore_to(crashed));
    EXPECT_EQ(found_in(crashed).leases.size(), 1U);
}

// Somebody has copied the database of a running server without its journal.
TEST_F(Backup, ACopyWithoutItsJournalCanBeRestored) {
    const auto store = open_store(database_, {.fold_after = 1h});
    recover(*store);
    const std::string crashed = copy_as_if_crashed(database_, folder_ / "crashed.db");
    std::filesystem::remove(crashed + ".journal");
    ASSERT_TRUE(Database::open(crashed)->run("PRAGMA wal_checkpoint"));
    const auto restored = restore({.copy_path = crashed,
                                   .database_path = crashed,
                                   .token_floor = 1'000,
                                   .may_replace = true});
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_THAT(restored->replaced_problem, HasSubstr("the file is missing"));
    EXPECT_EQ(found_in(crashed).leases.size(), 2U);
}

TEST_F(Backup, FoldingMakesTheDatabaseOfAKilledServerComplete) {
    const auto store = open_store(database_, {.fold_after = 1h});
    recover(*store);
    grant_and_show(*store, lease(20));
    const std::string crashed = copy_as_if_crashed(database_, folder_ / "crashed.db");
    EXPECT_EQ(folded_rows_of(crashed).size(), 2U);
    ASSERT_TRUE(fold_database(crashed));
    EXPECT_EQ(folded_rows_of(crashed).size(), 3U);
    EXPECT_FALSE(std::filesystem::exists(crashed + ".journal"));
    EXPECT_EQ(found_in(crashed).leases.size(), 3U);

    EXPECT_THAT(fold_database(database_).error().message, HasSubstr("in use by process"));
    EXPECT_THAT(fold_database(folder_ / "nothing.db").error().message,
                HasSubstr("there is no database"));
    std::ofstream(folder_ / "text.db") << std::string(5'000, 'x');
    EXPECT_THAT(fold_database(folder_ / "text.db").error().message,
                HasSubstr("it is no SQLite database"));
}

TEST_F(Backup, TokensDoNotGoBackBelowTheFloor) {
    ASSERT_TRUE(restore_to(folder_ / "other/holdfast.db", false, 1'000));
    EXPECT_EQ(found_in(folder_ / "other/holdfast.db").next_fence, 1'001U);
}

TEST_F(Backup, IsRefusedWithNumbersNobodyGaveOut) {
    for (const char* last_token : {"-1", "1 << 53", "(1 << 53) - 1", "'many'"}) {
        ASSERT_TRUE(Database::open(copy_)->run(
            ("UPDATE tokens SET last_token = " + std::string(last_token)).c_str()));
        const auto refused = restore_to(folder_ / "other/holdfast.db");
        ASSERT_FALSE(refused) << last_token;
        EXPECT_THAT(refused.error().message, HasSubstr("makes no sense")) << last_token;
        EXPECT_FALSE(std::filesystem::exists(folder_ / "other/holdfast.db"));
    }
}

TEST_F(Backup, SaysThatTheNumbersOfTheReplacedDatabaseMakeNoSense) {
    ASSERT_TRUE(Database::open(database_)->run("UPDATE tokens SET last_token = 'many'"));
    const auto restored = restore_to(database_, true, 1'000);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_THAT(restored->replaced_problem, HasSubstr("many, makes no sense"));
    EXPECT_EQ(restored->next_token, 1'001U);
}

TEST_F(Backup, ReplacesADatabaseThatCannotBeRead) {
    std::ofstream(database_) << std::string(5'000, 'x');
    std::ofstream(database_ + "-wal") << "the log of the damaged one";
    const auto restored = restore_to(database_, true);
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_THAT(restored->replaced_problem, HasSubstr("no SQLite database"));
    EXPECT_EQ(found_in(database_).leases.size(), 1U);
    EXPECT_EQ(read_file(restored->replaced), std::string(5'000, 'x'));
    EXPECT_EQ(read_file(restored->replaced + "-wal"), "the log of the damaged one");
}

TEST_F(Backup, IsRefusedAndChangesNothingWhen) {
    const auto fault = [&](const std::string& copy) {
        const auto refused =
            restore({.copy_path = copy, .database_path = database_, .may_replace = true});
        return refused ? "" : refused.error().message;
    };
    EXPECT_THAT(fault(folder_ / "nothing"), HasSubstr("No such file"));
    EXPECT_THAT(fault(folder_ / "."), HasSubstr("it is no file"));
    std::ofstream(folder_ / "empty").flush();
    EXPECT_THAT(fault(folder_ / "empty"), HasSubstr("it is empty"));
    std::ofstream(folder_ / "text") << std::string(5'000, 'x');
    EXPECT_THAT(fault(folder_ / "text"), HasSubstr("it is no SQLite database"));
    {
        std::fstream damaged(copy_, std::ios::in | std::ios::out | std::ios::binary);
        damaged.seekp(4096);
        damaged << std::string(4096, 'x');
    }
    EXPECT_THAT(fault(copy_), HasSubstr("damaged"));
    EXPECT_FALSE(std::filesystem::exists(database_ + ".restoring"));
    EXPECT_EQ(found_in(database_).leases.size(), 2U);
}

TEST_F(Backup, IsNotRestoredUnderARunningServer) {
    const auto store = open_store(database_);
    const auto refused = restore_to(database_, true);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("in use by process"));
}

}  // namespace
}  // namespace holdfast::store
