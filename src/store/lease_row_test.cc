#include "store/lease_row.h"

#include <gtest/gtest.h>

#include "store/schema.h"
#include "store/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;

class LeaseRowTest : public ::testing::Test {
  protected:
    LeaseRowTest() : database_(*Database::open(":memory:")) {
        CHECK(prepare_schema(database_).has_value());
        CHECK(database_.define_unhex().has_value());
    }

    std::optional<LeaseRow> read_back() {
        const std::string sql = "SELECT " + std::string(row_columns) + " FROM locks";
        auto select = *database_.prepare(sql.c_str());
        CHECK(select.step().value());
        return read_row(select);
    }

    Database database_;
};

TEST_F(LeaseRowTest, ComesBackFromTheLockTableAsItWas) {
    const std::string sql = "INSERT INTO locks (" + std::string(row_columns) +
                            ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
    std::mt19937_64 random(1);
    for (std::uint64_t fence = 1; fence < 500; ++fence) {
        LeaseRow row = random_row(random, fence);
        row.start_number = 7;
        auto put = *database_.prepare(sql.c_str());
        bind_row(put, row);
        ASSERT_TRUE(put.run());
        EXPECT_EQ(read_back(), row);
        ASSERT_TRUE(database_.run("DELETE FROM locks"));
    }
}

TEST_F(LeaseRowTest, ComesBackFromTheJournalAsItWas) {
    std::mt19937_64 random(2);
    const std::string fold = "INSERT INTO locks (" + std::string(row_columns) + ") SELECT " +
                             std::string(entry_columns) + " FROM last_entries";
    for (std::uint64_t fence = 1; fence < 500; ++fence) {
        LeaseRow row = random_row(random, fence);
        row.state = fence % 2 == 0 ? core::LeaseState::held : core::LeaseState::grace;
        std::string entries = "[";
        append_entry(entries, row);
        entries += ']';
        auto append = *database_.prepare("INSERT INTO journal VALUES (1, 0, ?)");
        append.bind_text(1, entries);
        ASSERT_TRUE(append.run());
        ASSERT_TRUE(database_.run(fold.c_str()));
        EXPECT_EQ(read_back(), row) << entries;
        ASSERT_TRUE(database_.run("DELETE FROM locks; DELETE FROM journal"));
    }
}

TEST_F(LeaseRowTest, MakesNoSenseWithValuesNobodyWrote) {
    std::string entries = "[";
    std::mt19937_64 random(3);
    append_entry(entries, random_row(random, 1));
    entries += ']';
    auto append = *database_.prepare("INSERT INTO journal VALUES (1, 0, ?)");
    append.bind_text(1, entries);
    ASSERT_TRUE(append.run());
    const std::string fold = "INSERT INTO locks (" + std::string(row_columns) + ") SELECT " +
                             std::string(entry_columns) + " FROM last_entries";
    for (const char* damage : {"lease_secret = 'xyz'", "kind = 'door'", "mode = ''",
                               "state = 'gone'", "ttl_us = -1", "permits = -1", "door = 256"}) {
        ASSERT_TRUE(database_.run(fold.c_str()));
        EXPECT_TRUE(read_back());
        ASSERT_TRUE(database_.run((std::string("UPDATE locks SET ") + damage).c_str()));
        EXPECT_FALSE(read_back()) << damage;
        ASSERT_TRUE(database_.run("DELETE FROM locks"));
    }
}

}  // namespace
}  // namespace holdfast::store
