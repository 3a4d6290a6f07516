// What happens when writing the journal fails, and when a journal is damaged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// Makes every statement of this kind fail, in the middle of its transaction.
void forbid(const std::string& path, const char* what) {
    const std::string sql =
        std::string("CREATE TRIGGER no BEFORE ") + what + " BEGIN SELECT RAISE(ABORT, 'no'); END";
    auto database = *Database::open(path);
    database.set_busy_timeout(1min);
    ASSERT_TRUE(database.run(sql.c_str()));
}

void allow(const std::string& path) {
    auto database = *Database::open(path);
    database.set_busy_timeout(1min);
    ASSERT_TRUE(database.run("DROP TRIGGER no"));
}

// Folding fails at every statement that it has. Commits go on as long as the journal has room, and
// fail or are tried again if it has none.
TEST(JournalFailure, LosesAndDoublesNothing) {
    const std::vector<const char*> statements{"UPDATE ON journal_file", "UPDATE ON tokens",
                                              "INSERT ON locks", "DELETE ON locks",
                                              "INSERT ON fences"};
    int failed = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const TemporaryFolder folder;
        const std::string path = folder / "holdfast.db";
        RandomHistory history(seed);
        const auto store =
            open_store(path, {.busy_timeout = 1min,
                              .journal_changes_max = 30,
                              .journal_bytes_max = (seed - 1) / 2 * 4 * JournalFile::block_bytes});
        recover(*store);
        for (int step = 0; step < 16; ++step) {
            const auto chance = history.random()();
            const bool is_hindered = chance % 2 == 0;
            if (is_hindered) forbid(path, statements[chance / 2 % statements.size()]);
            RandomHistory next = history;
            const bool is_done = commit(*store, next.next_batch(), {{"bucket", 7}}).has_value();
            if (is_hindered) allow(path);
            failed += is_done ? 0 : 1;
            EXPECT_TRUE(is_done || is_hindered);
            if (is_done) {
                history = next;
            } else {
                history.random()();
            }
            ASSERT_EQ(rows_of(path), shown(history.live())) << "seed " << seed << " step " << step;
            if (is_done || chance % 3 != 0) continue;
            const Found found = recover(*store);
            ASSERT_EQ(found.leases, history.expected()) << "seed " << seed << " step " << step;
            ASSERT_EQ(found.next_fence, history.last_fence() + 1);
        }
        const auto again = open_store(copy_as_if_crashed(path, folder / "crashed.db"));
        EXPECT_EQ(recover(*again).leases, history.expected()) << "seed " << seed;
    }
    EXPECT_GT(failed, 8);
}

TEST(JournalFailure, ARecoveryThatFailsLeavesItAsItIs) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    RandomHistory history(1);
    const auto store = open_store(path, {.fold_after = 1h});
    recover(*store);
    for (int step = 0; step < 5; ++step) ASSERT_TRUE(commit(*store, history.next_batch()));
    const std::string journal = read_file(path + ".journal");
    const auto generation = number_in(path, "SELECT generation FROM journal_file");
    const auto starts = number_in(path, "SELECT count(*) FROM starts");
    EXPECT_FALSE(store->recover([](const auto&) { return false; }));
    for (const char* statement :
         {"INSERT ON locks", "UPDATE ON journal_file", "UPDATE ON tokens"}) {
        forbid(path, statement);
        EXPECT_FALSE(store->recover([](const auto&) { return true; })) << statement;
        allow(path);
    }
    EXPECT_EQ(read_file(path + ".journal"), journal);
    EXPECT_EQ(number_in(path, "SELECT generation FROM journal_file"), generation);
    EXPECT_EQ(number_in(path, "SELECT count(*) FROM starts"), starts);
    EXPECT_EQ(rows_of(path), shown(history.live()));
    EXPECT_EQ(recover(*store).leases, history.expected());
}

// A store that was killed after three commits.
class KilledStore : public ::testing::Test {
  protected:
    KilledStore() {
        const std::string path = folder_ / "holdfast.db";
        const auto store = open_store(path, {.fold_after = 1h});
        recover(*store);
        for (std::uint64_t fence = 1; fence <= 3; ++fence) {
            CHECK(commit(*store, changes_of({event_of(core::EventKind::granted, lease(fence))})));
        }
        copy_as_if_crashed(path, path_);
    }

    // What the server says when it starts with these files; "started" if nothing is wrong. They are
    // not changed otherwise.
    [[nodiscard]] std::string start() const {
        const std::string before = read_file(journal_);
        const auto store = open_store(path_);
        const auto recovered = store->recover([](const auto&) { return true; });
        if (recovered) return "started";
        EXPECT_EQ(read_file(journal_), before);
        return recovered.error().message;
    }

    const TemporaryFolder folder_;
    const std::string path_ = folder_ / "killed.db", journal_ = path_ + ".journal";
};

TEST_F(KilledStore, FindsItsJournal) {
    EXPECT_EQ(recover(*open_store(path_)).leases.size(), 3U);
    EXPECT_FALSE(std::filesystem::exists(journal_)) << "it was folded at the end";
    EXPECT_EQ(recover(*open_store(path_)).leases.size(), 3U);
}

TEST_F(KilledStore, IsRefusedWithADamagedJournal) {
    std::string bytes = read_file(journal_);
    bytes[JournalFile::block_bytes + 50] ^= 1;
    std::ofstream(journal_, std::ios::binary) << bytes;
    EXPECT_EQ(start(), path_ +
                           ": its journal cannot be used: it is damaged: record 1 cannot be read, "
                           "and record 2 can");
}

// The last record may have been under way, and nobody was told of it then.
TEST_F(KilledStore, TakesALastRecordThatIsNotCompleteForNone) {
    std::string bytes = read_file(journal_);
    bytes[2 * JournalFile::block_bytes + 50] ^= 1;
    std::ofstream(journal_, std::ios::binary) << bytes;
    EXPECT_EQ(recover(*open_store(path_)).leases.size(), 2U);
}

TEST_F(KilledStore, IsRefusedWithoutItsJournal) {
    const std::string aside = folder_ / "aside";
    std::filesystem::rename(journal_, aside);
    EXPECT_THAT(start(), AllOf(HasSubstr("its journal cannot be used: the file is missing"),
                               EndsWith("`holdfast restore` takes this file")));
    std::filesystem::rename(aside, journal_);
    EXPECT_EQ(start(), "started");
}

TEST_F(KilledStore, IsRefusedWithTheJournalOfAnother) {
    const std::string other = folder_ / "other.db";
    {
        const auto store = open_store(other, {.fold_after = 1h});
        recover(*store);
        ASSERT_TRUE(commit(*store, changes_of({event_of(core::EventKind::granted, lease(7))})));
        std::filesystem::copy_file(other + ".journal", journal_,
                                   std::filesystem::copy_options::overwrite_existing);
    }
    EXPECT_THAT(start(), HasSubstr("it is the journal of another database"));
}

TEST_F(KilledStore, IsRefusedWithAJournalThatIsNewerThanTheDatabase) {
    ASSERT_TRUE(Database::open(path_)->run("UPDATE journal_file SET generation = generation - 1"));
    EXPECT_THAT(start(), HasSubstr("it is newer than its database"));
}

TEST_F(KilledStore, IsRefusedIfTheDatabaseSaysNothingOfItsJournal) {
    for (const char* damage :
         {"UPDATE journal_file SET generation = 'first'", "UPDATE journal_file SET generation = 0",
          "DELETE FROM journal_file"}) {
        ASSERT_TRUE(Database::open(path_)->run(damage));
        EXPECT_THAT(start(), HasSubstr("what it says of its journal makes no sense")) << damage;
    }
}

// The checksum is right, but no server writes this.
TEST_F(KilledStore, IsRefusedWithARecordThatMakesNoSense) {
    auto database = *Database::open(path_);
    const auto state = read_journal_state(database).value();
    auto file = *JournalFile::open(journal_);
    file.begin(state.name);
    ASSERT_TRUE(file.append("\xff").value());
    EXPECT_THAT(start(), HasSubstr("record 0 in it makes no sense"));
}

// Without the size, the first two of these were an empty journal, and the third a shorter one.
TEST_F(KilledStore, IsRefusedWithAJournalThatWasCutOff) {
    const auto whole = std::filesystem::file_size(journal_);
    EXPECT_EQ(whole, JournalFile::size_min);
    for (const std::uintmax_t left : {std::uintmax_t{0}, std::uintmax_t{100},
                                      std::uintmax_t{JournalFile::block_bytes}, whole - 1}) {
        const auto copy = journal_ + ".copy";
        std::filesystem::copy_file(journal_, copy);
        std::filesystem::resize_file(journal_, left);
        EXPECT_THAT(start(),
                    HasSubstr("the file was cut off, and the last commits with it: it has " +
                              std::to_string(left) + " of 262144 bytes"));
        std::filesystem::rename(copy, journal_);
    }
    EXPECT_EQ(start(), "started");
}

// Databases of earlier versions do not say how large their journal is: they start as before, once.
TEST_F(KilledStore, StartsWithAJournalWhoseSizeWasNotWrittenDown) {
    ASSERT_TRUE(Database::open(path_)->run("UPDATE journal_file SET is_open = 1"));
    std::filesystem::resize_file(journal_, 0);
    EXPECT_EQ(start(), "started");
}

}  // namespace
}  // namespace holdfast::store
