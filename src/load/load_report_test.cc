#include <gmock/gmock.h>

#include "load/load_run.h"

namespace holdfast::load {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(LoadReport, NamesTheCountsAsTheOriginalDoes) {
    EXPECT_EQ(counts_text({.acquire_success = 1,
                           .acquire_fail = 2,
                           .release_success = 3,
                           .writes_accepted = 4,
                           .stale_rejected = 5,
                           .last_token = 6,
                           .errors = 7}),
              "acquire_success=1\nacquire_fail=2\nrelease_success=3\nwrites_accepted=4\n"
              "stale_rejected=5\nlast_token=6\nerrors=7\n");
}

TEST(LoadReport, TellsRatesPercentilesAndTheirDistribution) {
    LoadResult result{.counts = {.acquire_success = 50}, .duration = 10s};
    for (int times = 0; times < 99; ++times) result.acquire_latency.add(150us);
    result.acquire_latency.add(700us);
    result.release_latency.add(1ms);
    const std::string text = latency_text(result);
    EXPECT_THAT(text, HasSubstr("5.0 locks/s, 10 requests/s in 10.0 s\n"));
    EXPECT_THAT(
        text,
        HasSubstr(
            "acquire        100     0.150     0.150     0.150     0.150     0.700     0.700"));
    EXPECT_THAT(text, HasSubstr("acquire, up to ms\n"
                                "       0.2        99 ########################################\n"
                                "       0.5         0 \n"
                                "         1         1 #\n"));
}

TEST(LoadReport, SaysNothingOfWhatDidNotHappen) {
    EXPECT_THAT(latency_text({.duration = 1s}),
                HasSubstr("release          0     0.000     0.000"));
}

// Percentiles with the digits that are known, the smallest and the largest time exactly.
TEST(LoadReport, TellsNoMoreDigitsThanItKnows) {
    LoadResult result{.duration = 1s};
    for (const auto took : {9'437'183ns, 12'345'678ns, 1'234'567'891ns}) {
        result.acquire_latency.add(took);
    }
    EXPECT_THAT(latency_text(result),
                HasSubstr("ms           count       min       p50       p90       p99     p99.9   "
                          "    max\n"
                          "acquire          3     9.437      12.4      1235      1235      1235  "
                          "1234.568\n"));
}

TEST(LoadReport, EndsWithAVerdict) {
    LoadOptions options{.clients = 80, .duration = 20s};
    LoadResult result{.counts = {.acquire_success = 243, .stale_rejected = 10}};
    result.acquire_latency.add(1ms);
    EXPECT_EQ(verdict_text(options, result),
              "80 clients, 20s: all promises kept: no two holders at once, every fencing number "
              "larger than those before, no stale write accepted (10 refused), in 243 grants\n");
    options.door = Door::homelab;
    options.clients = 1;
    result.counts = {.acquire_success = 1, .errors = 2};
    EXPECT_EQ(verdict_text(options, result),
              "1 client, 20s: all promises kept: no two holders at once, no stale write accepted, "
              "in 1 grant; 2 requests failed\n");
    result.fault_count = 3;
    result.faults = {"x was granted twice under number 7", "more"};
    EXPECT_EQ(verdict_text(options, result),
              "1 client, 20s: BROKEN 3 times; the first: x was granted twice under number 7\n");
    EXPECT_EQ(verdict_text(options, {}),
              "1 client, 20s: no request was answered, so nothing was checked\n");
}

}  // namespace
}  // namespace holdfast::load
