#include <gtest/gtest.h>

#include "net/http/http_body.h"

namespace holdfast::net {
namespace {

using namespace std::chrono_literals;

constexpr BodyPaceLimits pace_limits{.grace = 10s, .bytes_per_second_min = 100};
const BodyPace::TimePoint start{};

TEST(BodyPace, IsOfNoConcernDuringTheGrace) {
    BodyPace pace;
    pace.run(start);
    EXPECT_FALSE(pace.is_too_slow(pace_limits, start));
    EXPECT_FALSE(pace.is_too_slow(pace_limits, start + 10s));
    EXPECT_TRUE(pace.is_too_slow(pace_limits, start + 10s + 1ns));
}

TEST(BodyPace, IsTheAverageAfterTheGrace) {
    BodyPace pace;
    pace.run(start);
    pace.count(500);
    EXPECT_FALSE(pace.is_too_slow(pace_limits, start + 15s));
    EXPECT_TRUE(pace.is_too_slow(pace_limits, start + 15s + 1ms));
    pace.count(1);
    EXPECT_FALSE(pace.is_too_slow(pace_limits, start + 15s + 1ms));
    EXPECT_TRUE(pace.is_too_slow(pace_limits, start + 24h));
}

TEST(BodyPace, CountsTheTimeInWhichTheServerReads) {
    BodyPace pace;
    pace.run(start);
    pace.pause(start + 9s);
    pace.pause(start + 50s);
    EXPECT_FALSE(pace.is_too_slow(pace_limits, start + 100s));
    pace.run(start + 100s);
    pace.run(start + 101s);
    EXPECT_FALSE(pace.is_too_slow(pace_limits, start + 101s));
    EXPECT_TRUE(pace.is_too_slow(pace_limits, start + 102s));
}

TEST(BodyPace, MayBeWithoutALimit) {
    BodyPace pace;
    pace.run(start);
    EXPECT_FALSE(pace.is_too_slow({.grace = 10s, .bytes_per_second_min = 0}, start + 24h));
    EXPECT_FALSE(pace.is_too_slow({.grace = 0s, .bytes_per_second_min = 100}, start + 24h));
}

}  // namespace
}  // namespace holdfast::net
