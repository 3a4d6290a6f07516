#include "store/tables/history_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;
using service::Ending;
using service::Hold;
using service::WallTime;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

class HistoryTableTest : public ::testing::Test {
  protected:
    HistoryTableTest() : database_(*Database::open(folder_ / "holdfast.db")) {
        CHECK(prepare_schema(database_).has_value());
        writer_.emplace(HistoryWriter::prepare(database_).value());
    }

    void add(const LeaseRow& row, WallTime at = {}, Ending ending = Ending::released,
             std::string_view by = {}) {
        const auto number = writer_->next_number();
        CHECK(number.has_value());
        CHECK(writer_->add(view_of(row), 5ms,
                           {.number = *number, .at = at, .ending = ending, .by = by}));
    }
    service::HistoryPage read(const service::HistoryQuery& query = {}) {
        return read_history(database_, query).value();
    }
    std::vector<std::uint64_t> fences(const service::HistoryQuery& query = {}) {
        std::vector<std::uint64_t> fences;
        for (const Hold& hold : read(query).holds) fences.push_back(hold.fence);
        return fences;
    }
    bool trim(const service::HistoryLimits& limits, std::size_t rows_max = 1'000) {
        return trim_history(database_, limits, WallTime{1h}, rows_max).value();
    }

    const TemporaryFolder folder_;
    Database database_;
    std::optional<HistoryWriter> writer_;
};

TEST_F(HistoryTableTest, HasEveryHoldAsItWas) {
    std::mt19937_64 random(1);
    std::vector<Hold> expected;
    for (std::uint64_t fence = 1; fence <= 300; ++fence) {
        LeaseRow row = random_row(random, fence);
        if (fence % 2 == 0) row.granted_by = random_bytes(random);
        const auto ending = static_cast<Ending>(random() % 5);
        const std::string by = fence % 3 == 0 ? "" : random_bytes(random);
        add(row, row.acquired_at + 3s, ending, by);
        expected.insert(expected.begin(), {.number = fence,
                                           .fence = fence,
                                           .kind = row.kind,
                                           .name = row.name,
                                           .inode = row.inode,
                                           .range = row.range,
                                           .owner = row.owner,
                                           .door = row.door,
                                           .mode = row.mode,
                                           .waited = 5ms,
                                           .acquired_at = row.acquired_at,
                                           .ended_at = row.acquired_at + 3s,
                                           .ending = ending,
                                           .metadata = row.metadata,
                                           .members = row.members,
                                           .granted_by = row.granted_by,
                                           .ended_by = by});
    }
    EXPECT_EQ(read({.limit = 1'000}).holds, expected);
    EXPECT_EQ(read_history_extent(database_)->rows(), 300U);
    // Each is found by its lock and by its owner.
    for (const Hold& hold : expected) {
        const core::Scope scope = hold.scopes().back().scope;
        const auto found = read({.kind = scope.kind,
                                 .name = std::string(scope.name),
                                 .inode = scope.inode,
                                 .range = scope.range,
                                 .owner = hold.owner,
                                 .limit = 1'000});
        EXPECT_THAT(found.holds, ::testing::Contains(hold));
    }
}

TEST_F(HistoryTableTest, IsReadInPages) {
    for (std::uint64_t fence = 1; fence <= 5; ++fence) add(lease(fence));
    auto page = read({.limit = 2});
    EXPECT_EQ(page.next, 4U);
    page = read({.after = page.next, .limit = 2});
    EXPECT_EQ(page.holds.front().fence, 3U);
    EXPECT_EQ(page.next, 2U);
    page = read({.after = page.next, .limit = 2});
    EXPECT_EQ(page.holds.size(), 1U);
    EXPECT_EQ(page.next, 0U);
    EXPECT_EQ(read({.limit = 5}).next, 0U);
}

TEST_F(HistoryTableTest, IsReadByTime) {
    LeaseRow early = lease(1), late = lease(2);
    late.acquired_at = WallTime{20s};
    add(early, WallTime{10s});
    add(late, WallTime{30s});
    EXPECT_THAT(fences({.since = WallTime{10s}}), ElementsAre(2, 1));
    EXPECT_THAT(fences({.since = WallTime{11s}}), ElementsAre(2));
    EXPECT_THAT(fences({.until = WallTime{20s}}), ElementsAre(1));
    EXPECT_EQ(read({.until = WallTime{20s}}).kept_since, WallTime{10s});
}

TEST_F(HistoryTableTest, LosesItsOldestRowsInSmallSteps) {
    for (std::uint64_t fence = 1; fence <= 20; ++fence) add(lease(fence), WallTime{59min});
    const service::HistoryLimits limits{.age_max = 24h, .rows_max = 5};
    EXPECT_TRUE(trim(limits, 10));
    EXPECT_EQ(read_history_extent(database_)->rows(), 10U);
    EXPECT_FALSE(trim(limits, 10));
    EXPECT_THAT(fences(), ElementsAre(20, 19, 18, 17, 16));
    EXPECT_FALSE(trim(limits, 10));
    EXPECT_EQ(fences().size(), 5U);
}

TEST_F(HistoryTableTest, LosesRowsThatAreTooOld) {
    add(lease(1), WallTime{10min});
    add(lease(2), WallTime{30min});
    add(lease(3), WallTime{50min});
    EXPECT_FALSE(trim({.age_max = 30min}));  // at one o'clock
    EXPECT_THAT(fences(), ElementsAre(3, 2));
    EXPECT_FALSE(trim({})) << "a command that keeps no history leaves the rows alone";
    EXPECT_FALSE(fences().empty());
    EXPECT_FALSE(trim({.removes_old_rows = true}));
    EXPECT_THAT(fences(), IsEmpty());
}

TEST_F(HistoryTableTest, TakesTheRowOfALeaseAndItsWaitFromTheirTables) {
    LeaseRow row = lease(7);
    row.granted_by = "ci";
    put(database_, row);
    ASSERT_TRUE(writer_->note_wait(7, 3s));
    ASSERT_TRUE(
        writer_->copy(7, {.number = 1, .at = WallTime{9s}, .ending = Ending::forced, .by = "ops"}));
    ASSERT_TRUE(writer_->copy(8, {.number = 2, .at = WallTime{9s}}));
    const auto holds = read().holds;
    ASSERT_EQ(holds.size(), 1U);
    EXPECT_EQ(holds[0].fence, 7U);
    EXPECT_EQ(holds[0].name, "job7");
    EXPECT_EQ(holds[0].owner, "w1");
    EXPECT_EQ(holds[0].waited, 3s);
    EXPECT_EQ(holds[0].ending, Ending::forced);
    EXPECT_EQ(holds[0].granted_by, "ci");
    EXPECT_EQ(holds[0].ended_by, "ops");
    ASSERT_TRUE(writer_->forget_wait(7));
    EXPECT_EQ(database_.number("SELECT count(*) FROM waits"), 0);
}

}  // namespace
}  // namespace holdfast::store
