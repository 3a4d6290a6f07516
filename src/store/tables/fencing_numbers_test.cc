// Fences in the file: found again, all or none with the leases, and in files that had none.

#include "store/tables/fencing_numbers.h"

#include <gmock/gmock.h>

#include <random>

#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(Fences, AreFoundAgain) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    {
        const auto store = open_store(path);
        EXPECT_THAT(recover(*store).fences, IsEmpty());
        EXPECT_TRUE(commit(*store, {}, {{"a", 7}, {"b", 8}, {"c", 9}}));
        EXPECT_TRUE(commit(*store, {}, {{"a", 10}, {"b", 0}, {"nobody", 0}}));
    }
    EXPECT_THAT(recover(*open_store(path)).fences, ElementsAre(Pair("a", 10), Pair("c", 9)));
}

TEST(Fences, HaveNamesOfAnyBytes) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    std::mt19937_64 random(1);
    std::map<std::string, std::uint64_t> expected{{"7", 1}, {"7.0", 2}, {" ", 3}};
    for (int i = 0; i < 200; ++i) expected[random_bytes(random)] = random() % (1ULL << 53) + 1;
    {
        const auto store = open_store(path);
        recover(*store);
        std::vector<service::FenceMark> marks;
        for (const auto& [resource, highest] : expected) marks.push_back({resource, highest});
        EXPECT_TRUE(commit(*store, {}, marks));
    }
    EXPECT_EQ(recover(*open_store(path)).fences, expected);
}

TEST(Fences, AreCommittedWithTheLeasesOrNotAtAll) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    const auto store = open_store(path, {.journal_bytes_max = 0});
    recover(*store);
    const LeaseRow row{.fence = 1, .name = "job", .owner = "w", .ttl = 30s};
    ASSERT_TRUE(Database::open(path)->run(
        "CREATE TRIGGER no BEFORE INSERT ON fences BEGIN SELECT RAISE(ABORT, 'no'); END"));
    const auto refused =
        commit(*store, changes_of({event_of(core::EventKind::granted, row)}), {{"a", 7}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("no"));
    ASSERT_TRUE(Database::open(path)->run("DROP TRIGGER no"));
    const Found found = recover(*store);
    EXPECT_THAT(found.fences, IsEmpty());
    EXPECT_THAT(found.leases, IsEmpty());
    EXPECT_TRUE(commit(*store, changes_of({event_of(core::EventKind::granted, row)}), {{"a", 7}}));
    EXPECT_THAT(recover(*store).fences, ElementsAre(Pair("a", 7)));
    EXPECT_EQ(recover(*store).leases.size(), 1U);
}

TEST(Fences, CountAsChanges) {
    const TemporaryFolder folder;
    const auto store = open_store(folder / "holdfast.db");
    recover(*store);
    EXPECT_TRUE(commit(*store, {}, {{"a", 7}, {"b", 8}}));
    EXPECT_EQ(store->figures().changes, 2U);
}

TEST(Fences, AnOlderFileLearnsToKeepThem) {
    const TemporaryFolder folder;
    const std::string path = folder / "holdfast.db";
    const LeaseRow row{.fence = 5, .name = "job", .owner = "w", .ttl = 30s};
    make_old_file(path, 1, {row});
    const auto store = open_store(path);
    const Found found = recover(*store);
    EXPECT_EQ(found.leases, (Leases{{5, row}}));
    EXPECT_EQ(found.next_fence, 6U);
    EXPECT_THAT(found.fences, IsEmpty());
    EXPECT_TRUE(commit(*store, {}, {{"a", 7}}));
    EXPECT_THAT(recover(*store).fences, ElementsAre(Pair("a", 7)));
}

TEST(Fences, ThatMakeNoSenseAreNotBelieved) {
    for (const char* highest : {"-3", "0", "9007199254740992", "1.5", "'many'"}) {
        const TemporaryFolder folder;
        const std::string path = folder / "holdfast.db";
        const auto store = open_store(path);
        const std::string insert = "INSERT INTO fences VALUES ('a', " + std::string(highest) + ")";
        ASSERT_TRUE(Database::open(path)->run(insert.c_str()));
        const auto recovered = store->recover([](const core::RestoreRequest&) { return true; });
        ASSERT_FALSE(recovered) << highest;
        EXPECT_THAT(recovered.error().message, HasSubstr("the fence with token "));
        EXPECT_THAT(recovered.error().message, HasSubstr(" in it makes no sense"));
    }
}

}  // namespace
}  // namespace holdfast::store
