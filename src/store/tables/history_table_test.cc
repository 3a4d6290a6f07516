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
    bool trim(const service::HistoryLimits& limits, std::size_t rows_max = 1'000,
              WallTime now = WallTime{1h}) {
        return trim_.step(database_, limits, now, rows_max).value();
    }
    // How many steps a whole pass takes.
    int trim_all(const service::HistoryLimits& limits, std::size_t rows_max, WallTime now) {
        int steps = 1;
        while (trim(limits, rows_max, now)) ++steps;
        return steps;
    }
    std::int64_t number_of_rows() {
        return database_.number("SELECT count(*) FROM history").value();
    }
    [[nodiscard]] std::size_t rows() { return read_history_extent(database_)->rows(trim_.holes()); }

    const TemporaryFolder folder_;
    Database database_;
    std::optional<HistoryWriter> writer_;
    HistoryTrim trim_;
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

// The clock was ahead for a while: such rows stay, and do not keep those behind them.
TEST_F(HistoryTableTest, LosesRowsThatAreTooOldBehindRowsFromTheFuture) {
    constexpr service::HistoryLimits limits{.age_max = 30min};
    for (std::uint64_t fence = 1; fence <= 25; ++fence) add(lease(fence), WallTime{24h});
    for (std::uint64_t fence = 26; fence <= 90; ++fence) add(lease(fence), WallTime{10min});
    add(lease(91), WallTime{24h});
    for (std::uint64_t fence = 92; fence <= 95; ++fence) add(lease(fence), WallTime{50min});
    EXPECT_EQ(trim_all(limits, 10, WallTime{1h}), 10);
    EXPECT_EQ(number_of_rows(), 30);
    EXPECT_EQ(rows(), 30U) << "as the figures say";
    EXPECT_EQ(fences({.limit = 5}), (std::vector<std::uint64_t>{95, 94, 93, 92, 91}));
    EXPECT_EQ(trim_all(limits, 10, WallTime{1h}), 4) << "numbers without a row cost nothing";
    EXPECT_EQ(number_of_rows(), 30);
    // Once their time has come and is over, they go.
    trim_all(limits, 10, WallTime{25h});
    EXPECT_EQ(number_of_rows(), 0);
    EXPECT_EQ(rows(), 0U);
}

TEST_F(HistoryTableTest, LosesNothingWhileTheClockIsBehind) {
    for (std::uint64_t fence = 1; fence <= 25; ++fence) add(lease(fence), WallTime{24h});
    trim_all({.age_max = 30min}, 10, WallTime{1h});
    EXPECT_EQ(number_of_rows(), 25);
    EXPECT_EQ(rows(), 25U);
}

// A reader remembers the number of the last row of its page.
TEST_F(HistoryTableTest, UsesNoNumberTwice) {
    for (std::uint64_t fence = 1; fence <= 3; ++fence) add(lease(fence), WallTime{10min});
    trim({.age_max = 30min});
    EXPECT_THAT(fences(), IsEmpty());
    EXPECT_EQ(writer_->next_number().value(), 4);
    add(lease(9), WallTime{50min});
    EXPECT_EQ(read().holds[0].number, 4U);
    EXPECT_EQ(database_.number("SELECT waited_us FROM waits WHERE fencing_token = 0"), 3);
    trim({.age_max = 1min});
    EXPECT_EQ(writer_->next_number().value(), 5);
    EXPECT_EQ(database_.number("SELECT count(*) FROM waits"), 1);
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
