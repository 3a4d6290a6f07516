#include "service/history/history_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace holdfast::service {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WallTime noon{1'000'000s};

Hold hold(std::uint64_t fence, WallTime ended_at = noon) {
    return {.fence = fence, .name = "job", .owner = "w", .ended_at = ended_at};
}

void add(HistoryRing& ring, std::vector<Hold> holds) {
    ring.add(holds, noon);
}

std::vector<std::uint64_t> fences_of(const HistoryPage& page) {
    std::vector<std::uint64_t> fences;
    for (const Hold& hold : page.holds) fences.push_back(hold.fence);
    return fences;
}

TEST(HistoryRing, ShowsTheNewestFirst) {
    HistoryRing ring({.age_max = 1h});
    add(ring, {hold(1), hold(2)});
    add(ring, {hold(3)});
    EXPECT_THAT(fences_of(ring.read({}, noon)), ElementsAre(3, 2, 1));
    EXPECT_EQ(ring.size(), 3U);
}

TEST(HistoryRing, ShowsPages) {
    HistoryRing ring({.age_max = 1h});
    add(ring, {hold(1), hold(2), hold(3), hold(4)});
    HistoryPage page = ring.read({.limit = 2}, noon);
    EXPECT_THAT(fences_of(page), ElementsAre(4, 3));
    add(ring, {hold(5)});
    page = ring.read({.after = page.next, .limit = 2}, noon);
    EXPECT_THAT(fences_of(page), ElementsAre(2, 1));
    EXPECT_EQ(page.next, 0U);
}

// Rows may be long: a page ends behind the row with which it has a MiB.
TEST(HistoryRing, EndsAPageThatHasEnoughBytes) {
    HistoryRing ring({.age_max = 1h});
    Hold large = hold(1);
    large.metadata = std::string(400'000, 'm');
    add(ring, {large, large, large, large, hold(5)});
    const HistoryPage first = ring.read({}, noon);
    EXPECT_EQ(first.holds.size(), 4U);
    EXPECT_NE(first.next, 0U);
    const HistoryPage second = ring.read({.after = first.next}, noon);
    EXPECT_EQ(second.holds.size(), 1U);
    EXPECT_EQ(second.next, 0U);
}

TEST(HistoryRing, DropsTheOldestIfThereAreTooMany) {
    HistoryRing ring({.age_max = 1h, .rows_max = 2});
    add(ring, {hold(1), hold(2), hold(3)});
    EXPECT_THAT(fences_of(ring.read({}, noon)), ElementsAre(3, 2));
    EXPECT_FALSE(ring.has_any(1, 2));
    EXPECT_TRUE(ring.has_any(1, 3));
    EXPECT_FALSE(ring.has_any(4, 5));
    EXPECT_EQ(ring.next_number(), 4U);
}

TEST(HistoryRing, DropsARangeAndSkipsNumbers) {
    HistoryRing ring({.age_max = 1h});
    add(ring, {hold(1), hold(2), hold(3), hold(4)});
    ring.drop_range(2, 4);
    EXPECT_THAT(fences_of(ring.read({}, noon)), ElementsAre(4, 1));
    ring.skip_to(9);
    ring.skip_to(3);
    EXPECT_EQ(ring.next_number(), 9U);
}

TEST(HistoryRing, DropsTheOldestIfTheyTakeTooMuchMemory) {
    HistoryRing ring({.age_max = 1h, .bytes_max = 2 * hold(1).bytes()});
    add(ring, {hold(1), hold(2), hold(3)});
    EXPECT_THAT(fences_of(ring.read({}, noon)), ElementsAre(3, 2));
}

TEST(HistoryRing, DropsWhatIsTooOldAlsoIfNothingComes) {
    HistoryRing ring({.age_max = 1h});
    add(ring, {hold(1, noon - 50min), hold(2)});
    EXPECT_EQ(ring.read({}, noon).kept_since, noon - 50min);
    const HistoryPage later = ring.read({}, noon + 11min);
    EXPECT_THAT(fences_of(later), ElementsAre(2));
    EXPECT_EQ(later.kept_since, noon);
    EXPECT_THAT(fences_of(ring.read({}, noon + 2h)), IsEmpty());
    EXPECT_EQ(ring.read({}, noon + 2h).kept_since, std::nullopt);
}

// The clock was ahead for a while.
TEST(HistoryRing, DropsWhatIsTooOldBehindARowFromTheFuture) {
    HistoryRing ring({.age_max = 1h});
    add(ring, {hold(1), hold(2, noon + 24h * 365), hold(3, noon + 24h), hold(4), hold(5)});
    EXPECT_EQ(ring.read({}, noon).kept_since, noon);
    EXPECT_THAT(fences_of(ring.read({}, noon + 2h)), ElementsAre(3, 2));
    EXPECT_THAT(fences_of(ring.read({}, noon + 26h)), ElementsAre(2)) << "its time has come";
    EXPECT_EQ(ring.read({}, noon + 26h).kept_since, noon + 24h * 365);
    EXPECT_THAT(fences_of(ring.read({}, noon + 24h * 366)), IsEmpty());
}

TEST(HistoryRing, KeepsEverythingWhileTheClockIsBehind) {
    HistoryRing ring({.age_max = 1h});
    add(ring, {hold(1), hold(2)});
    EXPECT_THAT(fences_of(ring.read({}, noon - 24h * 365)), ElementsAre(2, 1));
}

TEST(HistoryRing, GoesOnWithTheNumbersThatItIsGiven) {
    HistoryRing ring({.age_max = 1h});
    Hold read = hold(7);
    read.number = 41;
    add(ring, {read, hold(8)});
    EXPECT_EQ(ring.next_number(), 43U);
    EXPECT_THAT(fences_of(ring.read({.after = 42}, noon)), ElementsAre(7));
}

}  // namespace
}  // namespace holdfast::service
