#include "cli/screen/time_text.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

TEST(TimeText, CountsDown) {
    EXPECT_EQ(countdown(-5s), "0.0s");
    EXPECT_EQ(countdown(0s), "0.0s");
    EXPECT_EQ(countdown(449ms), "0.4s");
    EXPECT_EQ(countdown(59'999ms), "59.9s");
    EXPECT_EQ(countdown(60s), "1m00s");
    EXPECT_EQ(countdown(4min + 5s), "4m05s");
    EXPECT_EQ(countdown(2h + 3min + 59s), "2h03m");
    EXPECT_EQ(countdown(76h), "3d04h");
    EXPECT_EQ(countdown(24h * 366), "366d");
    EXPECT_EQ(countdown(std::chrono::milliseconds::max()), "99999d");
}

TEST(TimeText, TellsMoments) {
    EXPECT_EQ(moment(1705314600123), "2024-01-15T10:30:00.123Z");
    EXPECT_EQ(moment(0), "1970-01-01T00:00:00.000Z");
    EXPECT_EQ(moment(-1), "");
    EXPECT_EQ(moment(INT64_MAX), "");
}

}  // namespace
}  // namespace holdfast::cli
