#include "cli/commands/history_command.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

constexpr std::int64_t now_ms = 1'700'000'000'000;

std::string target(const HistoryOptions& options) {
    return history_target(options, 100, now_ms).value();
}

TEST(HistoryCommand, AsksForWhatItWasGiven) {
    EXPECT_EQ(target({}), "/v1/history?limit=100");
    EXPECT_EQ(target({.lock = "path:/a b", .owner = "ann"}),
              "/v1/history?limit=100&scope=path%3A%2Fa%20b&owner=ann");
}

TEST(HistoryCommand, ReadsTimesAndTimesAgo) {
    EXPECT_EQ(target({.since = "2h"}), "/v1/history?limit=100&since=1699992800000");
    EXPECT_EQ(target({.since = "1d"}), "/v1/history?limit=100&since=1699913600000");
    EXPECT_EQ(target({.since = "1970-01-01T00:00:01Z", .until = "5000"}),
              "/v1/history?limit=100&since=1000&until=5000");
}

TEST(HistoryCommand, SaysWhatIsWrongWithATime) {
    const auto wrong = history_target({.since = "yesterday"}, 100, now_ms);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().exit_code, exit_usage);
    EXPECT_EQ(wrong.error().message.substr(0, 22), "--since: 'yesterday' i");
}

}  // namespace
}  // namespace holdfast::cli
