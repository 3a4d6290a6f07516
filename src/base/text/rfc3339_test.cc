#include "base/text/rfc3339.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace holdfast::base {
namespace {

using namespace std::chrono;
using namespace std::chrono_literals;

std::string in_seconds(auto time) {
    std::string out;
    append_rfc3339_seconds(out, time);
    return out;
}

std::string in_milliseconds(auto time) {
    std::string out;
    append_rfc3339_milliseconds(out, time);
    return out;
}

TEST(Rfc3339, WritesWholeSecondsInUtc) {
    EXPECT_EQ(in_seconds(sys_days(2024y / January / 15) + 10h + 30min), "2024-01-15T10:30:00Z");
    EXPECT_EQ(in_seconds(sys_seconds(0s)), "1970-01-01T00:00:00Z");
    EXPECT_EQ(in_seconds(sys_seconds(1s)), "1970-01-01T00:00:01Z");
    EXPECT_EQ(in_seconds(sys_seconds(1'000'000'000s)), "2001-09-09T01:46:40Z");
    EXPECT_EQ(in_seconds(sys_seconds(2'147'483'648s)), "2038-01-19T03:14:08Z");
    EXPECT_EQ(in_seconds(sys_seconds(4'294'967'296s)), "2106-02-07T06:28:16Z");
    EXPECT_EQ(in_seconds(sys_seconds(253'402'300'799s)), "9999-12-31T23:59:59Z");
}

TEST(Rfc3339, WritesMillisecondsWithThreeDigits) {
    const auto second = sys_days(2024y / January / 15) + 10h + 30min;
    EXPECT_EQ(in_milliseconds(second), "2024-01-15T10:30:00.000Z");
    EXPECT_EQ(in_milliseconds(second + 7ms), "2024-01-15T10:30:00.007Z");
    EXPECT_EQ(in_milliseconds(second + 123ms), "2024-01-15T10:30:00.123Z");
    EXPECT_EQ(in_milliseconds(second + 999ms), "2024-01-15T10:30:00.999Z");
    EXPECT_EQ(in_milliseconds(sys_time<milliseconds>(253'402'300'799'999ms)),
              "9999-12-31T23:59:59.999Z");
}

TEST(Rfc3339, AppendsToWhatIsThere) {
    std::string out = "at ";
    append_rfc3339_seconds(out, sys_seconds(0s));
    out += ' ';
    append_rfc3339_milliseconds(out, sys_seconds(0s));
    EXPECT_EQ(out, "at 1970-01-01T00:00:00Z 1970-01-01T00:00:00.000Z");
}

TEST(Rfc3339, RoundsDownATimeOfTheSystemClock) {
    const system_clock::time_point minute = sys_days(2024y / February / 29) + 23h + 59min;
    const system_clock::time_point just_before = minute + 1min - 1ns;
    EXPECT_EQ(in_seconds(minute), "2024-02-29T23:59:00Z");
    EXPECT_EQ(in_seconds(just_before), "2024-02-29T23:59:59Z");
    EXPECT_EQ(in_milliseconds(just_before), "2024-02-29T23:59:59.999Z");
    EXPECT_EQ(in_seconds(just_before + 1ns), "2024-03-01T00:00:00Z");
}

TEST(Rfc3339, RoundsDownBeforeTheEpochToo) {
    EXPECT_EQ(in_seconds(sys_time<nanoseconds>(-1ns)), "1969-12-31T23:59:59Z");
    EXPECT_EQ(in_milliseconds(sys_time<nanoseconds>(-1ns)), "1969-12-31T23:59:59.999Z");
    EXPECT_EQ(in_milliseconds(sys_time<milliseconds>(-1s)), "1969-12-31T23:59:59.000Z");
}

// Counts the days by the calendar's rules, one by one, and knows nothing of <chrono>.
TEST(Rfc3339, KnowsEveryDayFrom1970To9999) {
    sys_seconds time(12h + 34min + 56s);
    for (int year = 1970; year <= 9999; ++year) {
        const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        const int lengths[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        for (int month = 1; month <= 12; ++month) {
            for (int day = 1; day <= lengths[month - 1]; ++day, time += 24h) {
                char expected[64];
                std::snprintf(expected, sizeof expected, "%04d-%02d-%02dT12:34:56Z", year, month,
                              day);
                ASSERT_EQ(in_seconds(time), expected);
            }
        }
    }
}

TEST(Rfc3339, KnowsEverySecondOfADay) {
    const sys_seconds midnight = sys_days(2024y / January / 15);
    for (int second = 0; second < 24 * 60 * 60; ++second) {
        char expected[64];
        std::snprintf(expected, sizeof expected, "2024-01-15T%02d:%02d:%02dZ", second / 3600,
                      second / 60 % 60, second % 60);
        ASSERT_EQ(in_seconds(midnight + seconds(second)), expected);
    }
}

TEST(Rfc3339DeathTest, StopsAtAYearOfFiveDigits) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(in_seconds(sys_seconds(253'402'300'800s)), "broken promise");
}

TEST(ParseRfc3339, ReadsWhatWasWritten) {
    const auto time = std::chrono::sys_days{std::chrono::February / 29 / 2024} +
                      std::chrono::milliseconds{86'399'987};
    std::string text;
    append_rfc3339_milliseconds(text, time);
    EXPECT_EQ(parse_rfc3339(text), time);
    text.clear();
    append_rfc3339_seconds(text, time);
    EXPECT_EQ(parse_rfc3339(text), std::chrono::floor<std::chrono::seconds>(time));
    EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00Z"),
              std::chrono::sys_time<std::chrono::milliseconds>{});
}

TEST(ParseRfc3339, ReadsNothingElse) {
    const std::string good = "2024-01-15T10:30:00.123Z";
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        EXPECT_FALSE(parse_rfc3339(good.substr(0, cut))) << cut;
        std::string other = good;
        other[cut] = 'x';
        EXPECT_FALSE(parse_rfc3339(other)) << other;
    }
    for (const char* const text :
         {"2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z",
          "2024-01-01T00:60:00Z", "2024-01-01T00:00:60Z", "2024-01-01T00:00:00.1234Z"}) {
        EXPECT_FALSE(parse_rfc3339(text)) << text;
    }
}

}  // namespace
}  // namespace holdfast::base
