#include "store/tables/lease_row.h"

#include <gtest/gtest.h>

#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;

class LeaseRowTest : public ::testing::Test {
  protected:
    LeaseRowTest() : database_(*Database::open(":memory:")) {
        CHECK(prepare_schema(database_).has_value());
    }

    void put(const LeaseRow& row) { testing::put(database_, row); }

    std::optional<LeaseRow> read_back() {
        const std::string sql = "SELECT " + lease_column_names() + " FROM locks";
        auto select = *database_.prepare(sql.c_str());
        CHECK(select.step().value());
        return read_row(select);
    }

    Database database_;
};

TEST_F(LeaseRowTest, ComesBackAsItWas) {
    std::mt19937_64 random(1);
    for (std::uint64_t fence = 1; fence < 500; ++fence) {
        LeaseRow row = random_row(random, fence);
        row.state = fence % 2 == 0 ? core::LeaseState::held : core::LeaseState::grace;
        row.start_number = 7;
        row.granted_by = random_bytes(random);
        put(row);
        EXPECT_EQ(read_back(), row);
        ASSERT_TRUE(database_.run("DELETE FROM locks"));
    }
}

TEST_F(LeaseRowTest, ReplacesTheRowOfTheSameNumberButForWhoHasAskedForIt) {
    std::mt19937_64 random(2);
    LeaseRow first = random_row(random, 1), later = random_row(random, 1);
    first.granted_by = "ci";
    later.granted_by = "";
    put(first);
    put(later);
    later.granted_by = "ci";
    EXPECT_EQ(read_back(), later);
    EXPECT_EQ(database_.number("SELECT count(*) FROM locks").value(), 1);
}

TEST_F(LeaseRowTest, MakesNoSenseWithValuesNobodyWrote) {
    std::mt19937_64 random(3);
    for (const char* damage :
         {"lease_id = 'xyz'", "kind = 'door'", "mode = ''", "state = 'gone'", "ttl_us = -1",
          "permits = -1", "door = 256", "version = -1", "version = 1 << 53", "grace_us = 'soon'",
          "memory_us = 0.5", "acquired_ns = 'today'", "inode = x'07'", "start_number = 'first'",
          "owner_id = 5", "lock_name = 1.5"}) {
        put(random_row(random, 1));
        EXPECT_TRUE(read_back());
        ASSERT_TRUE(database_.run((std::string("UPDATE locks SET ") + damage).c_str()));
        EXPECT_FALSE(read_back()) << damage;
        ASSERT_TRUE(database_.run("DELETE FROM locks"));
    }
}

}  // namespace
}  // namespace holdfast::store
