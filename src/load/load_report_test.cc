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
    EXPECT_THAT(text, HasSubstr("acquire        100     0.152     0.152     0.152     0.705"));
    EXPECT_THAT(text, HasSubstr("acquire, up to ms\n"
                                "       0.2        99 ########################################\n"
                                "       0.5         0 \n"
                                "         1         1 #\n"));
}

TEST(LoadReport, SaysNothingOfWhatDidNotHappen) {
    EXPECT_THAT(latency_text({.duration = 1s}),
                HasSubstr("release          0     0.000     0.000"));
}

}  // namespace
}  // namespace holdfast::load
