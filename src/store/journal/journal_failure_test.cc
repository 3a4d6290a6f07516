// What happens when writing the journal fails, and when a journal is damaged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Makes every statement of this kind fail, in the middle of its transaction.
void forbid(const std::string& path, const char* what) {
    const std::string sql =
        std::string("CREATE TRIGGER no BEFORE ") + what + " BEGIN SELECT RAISE(ABORT, 'no'); END";
    ASSERT_TRUE(Database::open(path)->run(sql.c_str()));
}

void allow(const std::string& path) {
    ASSERT_TRUE(Database::open(path)->run("DROP TRIGGER no"));
}

// Commits fail at every statement that a commit has, and are tried again or given up.
TEST(JournalFailure, LosesAndDoublesNothing) {
    const std::vector<const char*> statements{"INSERT ON journal", "DELETE ON journal",
                                              "INSERT ON locks", "DELETE ON locks",
                                              "INSERT ON fences"};
    int failed = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const TemporaryFolder folder;
        const std::string path = folder / "holdfast.db";
        RandomHistory history(seed);
        const auto store = open_store(path, {.journal_changes_max = 30});
        recover(*store);
        for (int step = 0; step < 30; ++step) {
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
    EXPECT_GT(failed, 25);
}

TEST(JournalFailure, ARecoveryThatFailsLeavesItAsItIs) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    RandomHistory history(1);
    const auto store = open_store(path);
    recover(*store);
    for (int step = 0; step < 5; ++step) ASSERT_TRUE(commit(*store, history.next_batch()));
    const auto rows = number_in(path, "SELECT count(*) FROM journal");
    const auto starts = number_in(path, "SELECT count(*) FROM starts");
    EXPECT_FALSE(store->recover([](const auto&) { return false; }));
    for (const char* statement : {"INSERT ON locks", "DELETE ON journal", "UPDATE ON tokens"}) {
        forbid(path, statement);
        EXPECT_FALSE(store->recover([](const auto&) { return true; })) << statement;
        allow(path);
    }
    EXPECT_EQ(number_in(path, "SELECT count(*) FROM journal"), rows);
    EXPECT_EQ(number_in(path, "SELECT count(*) FROM starts"), starts);
    EXPECT_EQ(rows_of(path), shown(history.live()));
    EXPECT_EQ(recover(*store).leases, history.expected());
}

// Everything in the file that a server writes.
std::string contents_of(const std::string& path) {
    auto database = *Database::open(path);
    std::string contents;
    for (const char* sql : {"SELECT group_concat(fencing_token || lock_name) FROM locks",
                            "SELECT group_concat(number || changes) FROM journal",
                            "SELECT group_concat(last_token) FROM tokens",
                            "SELECT group_concat(number) FROM starts"}) {
        contents += database.text(sql).value() + ";";
    }
    return contents;
}

TEST(JournalFailure, ADamagedOneIsNotBelievedAndLeftAlone) {
    const LeaseRow row{.fence = 5, .secret = 1, .name = "job", .owner = "w", .ttl = 30s};
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    const auto store = open_store(path);
    recover(*store);
    ASSERT_TRUE(commit(*store, changes_of({event_of(core::EventKind::granted, row)})));
    auto other = *Database::open(path);
    for (const char* changes : {
             "",
             "nonsense",
             "[1",
             "{}",
             "7",
             "[true]",
             "[null]",
             "[\"7\"]",
             "[{}]",
             "[1.5]",
             "[99999999999999999999]",
             "[[]]",
             "[[0]]",
             "[[null,\"0000000000000001\",\"n\",\"o\",0,1,3,1]]",
             "[[\"0\",\"0000000000000001\",\"n\",\"o\",0,1,3,1]]",
             "[[0.5,\"0000000000000001\",\"n\",\"o\",0,1,3,1]]",
             "[[0,1,\"n\",\"o\",0,1,3,1]]",
             "[[0,\"xyz\",\"n\",\"o\",0,1,3,1]]",
             "[[0,\"0000000000000001\",7,\"o\",0,1,3,1]]",
             "[[0,\"0000000000000001\",\"n\",null,0,1,3,1]]",
             "[[0,\"0000000000000001\",\"n\",\"o\",\"0\",1,3,1]]",
             "[[0,\"0000000000000001\",\"n\",\"o\",0,-1,3,1]]",
             "[[0,\"0000000000000001\",\"n\",\"o\",0,1,256,1]]",
             "[[0,\"0000000000000001\",\"n\",\"o\",0,1,3]]",
             "[[0,\"0000000000000001\",\"n\",\"o\",0,1,3,1,0,0,\"\",\"\",\"door\"]]",
             "[[0,\"0000000000000001\",\"n\",\"o\",0,1,3,1,0,0,\"\",\"\",\"named\",\"\"]]",
         }) {
        auto damage = *other.prepare("INSERT INTO journal VALUES (9, 1, 7, 0, ?)");
        damage.bind_text(1, changes);
        ASSERT_TRUE(damage.run());
        const std::string before = contents_of(path);
        const auto recovered = store->recover([](const auto&) { return true; });
        ASSERT_FALSE(recovered) << changes;
        EXPECT_THAT(recovered.error().message, AllOf(HasSubstr(path), HasSubstr("makes no sense")))
            << changes;
        EXPECT_EQ(contents_of(path), before) << changes;
        ASSERT_TRUE(other.run("DELETE FROM journal WHERE number = 9"));
        EXPECT_EQ(recover(*store).leases, (Leases{{5, row}})) << changes;
    }
}

}  // namespace
}  // namespace holdfast::store
