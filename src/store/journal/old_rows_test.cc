// Files of older versions, which had their journal in the database.

#include "store/journal/old_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

class OldRows : public ::testing::Test {
  protected:
    // A file of version 3, as a killed server left it: with these texts in its journal.
    void make_file(std::initializer_list<const char*> texts) {
        make_old_file(path_, 3, {lease(5), lease(6)});
        auto database = *Database::open(path_);
        ASSERT_TRUE(
            database.run("INSERT INTO starts VALUES (1, 'an earlier boot', 1000);"
                         "UPDATE tokens SET last_token = 6"));
        auto insert = *database.prepare("INSERT INTO journal VALUES (?, 1, ?, 5000000, ?)");
        std::int64_t number = 0;
        for (const char* text : texts) {
            insert.bind(1, ++number);
            insert.bind(2, 1'000 + number);
            insert.bind_text(3, text);
            ASSERT_TRUE(insert.run());
        }
    }

    const TemporaryFolder folder_;
    const std::string path_ = folder_ / "holdfast.db";
};

TEST_F(OldRows, AreBroughtForward) {
    make_file({R"([[2,"00000000000000ab","backup","conn-1",100,30000000,3,1],996])",
               R"([[1,"00000000000000ac","","o",100,30000000,3,1,)"
               R"(6,7,"id","\"x\"\n","range","shared",4,8,"grace",9,10,20],[0,"00000000000000ad",)"
               R"("brief","o",0,1,3,1]])",
               R"([1])"});
    const LeaseRow plain{.fence = 999,
                         .secret = 0xab,
                         .name = "backup",
                         .owner = "conn-1",
                         .door = core::Door{3},
                         .ttl = 30s,
                         .version = 1,
                         .acquired_at = service::WallTime{4'999'900us}};
    LeaseRow full = plain;
    full.fence = 1'001;
    full.secret = 0xac;
    full.kind = core::ScopeKind::range;
    full.name = "";
    full.owner = "o";
    full.inode = 9;
    full.range = {.start = 10, .end = 20};
    full.mode = core::Mode::shared;
    full.permits = 4;
    full.state = core::LeaseState::grace;
    full.memory = 6us;
    full.grace = 7us;
    full.request_id = "id";
    full.metadata = "\"x\"\n";
    const Leases expected{{6, lease(6)}, {999, plain}, {1'001, full}};
    {
        const auto store = open_store(path_);
        const Found found = recover(*store);
        EXPECT_EQ(found.leases, expected);
        EXPECT_EQ(found.next_fence, 1'004U);
        EXPECT_EQ(number_in(path_, "SELECT count(*) FROM journal"), 0);
        EXPECT_EQ(number_in(path_, "PRAGMA user_version"), 5);
    }
    EXPECT_EQ(recover(*open_store(path_)).leases, expected);
}

// Everything in the file that a server writes.
std::string contents_of(const std::string& path) {
    auto database = *Database::open(path);
    std::string contents;
    for (const char* sql :
         {"SELECT group_concat(fencing_token || lock_name) FROM locks",
          "SELECT group_concat(number || changes) FROM journal",
          "SELECT group_concat(last_token) FROM tokens", "SELECT group_concat(number) FROM starts",
          "SELECT group_concat(generation) FROM journal_file"}) {
        contents += database.text(sql).value() + ";";
    }
    return contents;
}

TEST(OldRowsDamaged, AreNotBelievedAndLeftAlone) {
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
