#include "base/text/duration.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::base {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using std::chrono::nanoseconds;

struct Spelling {
    std::string_view text;
    nanoseconds duration;
};

TEST(Duration, ReadsEveryUnit) {
    const std::vector<Spelling> table = {
        {"10ns", 10ns},         {"100us", 100us}, {"100\u00B5s", 100us},
        {"100\u03BCs", 100us},  {"250ms", 250ms}, {"30s", 30s},
        {"2m", 2min},           {"1h", 1h},       {"86400s", 86'400s},
        {"007s", 7s},           {"0s", 0s},       {"0h", 0s},
        {"100000000ns", 100ms},
    };
    for (const auto& [text, duration] : table) EXPECT_EQ(parse_duration(text), duration) << text;
}

TEST(Duration, AddsItsParts) {
    const std::vector<Spelling> table = {
        {"1m30s", 90s},      {"1h1m1s1ms1us1ns", 1h + 1min + 1s + 1ms + 1us + 1ns},
        {"30s1m", 90s},   // in any order
        {"1s1s1s", 3s},   // any number of times
        {"90m0.5h", 2h},  // with fractions anywhere
        {"1h.5m", 1h + 30s}, {"0h0m0s", 0s},
    };
    for (const auto& [text, duration] : table) EXPECT_EQ(parse_duration(text), duration) << text;
}

TEST(Duration, ReadsFractions) {
    const std::vector<Spelling> table = {
        {"1.5h", 90min},
        {".5s", 500ms},
        {"1.s", 1s},
        {"0.25m", 15s},
        {"1.000000001s", 1s + 1ns},
        {"0.1ns", 0ns},  // finer than a nanosecond: cut off
        {"1.9999ns", 1ns},
        {"0.0000000009s", 0ns},
        {"2.50000000000000000000000000s", 2s + 500ms},
        {"0.333333333333333333333h", 20min},
        {"0.9223372036854775808ms", 922'337ns},   // as many digits as fit
        {"0.9223372036854775809ms", 922'337ns},   // and one that does not
        {"0.99999999999999999999999999us", 1us},  // as a double, and in Go, this is one
    };
    for (const auto& [text, duration] : table) EXPECT_EQ(parse_duration(text), duration) << text;
    const std::string tiny = "0." + std::string(400, '0') + "1h";
    EXPECT_EQ(parse_duration(tiny), 0ns);
}

TEST(Duration, ReadsOneSignForTheWhole) {
    const std::vector<Spelling> table = {
        {"-5s", -5s},     {"+5s", 5s}, {"-1m30s", -90s},
        {"-.5h", -30min}, {"-0s", 0s}, {"+250ms", 250ms},
    };
    for (const auto& [text, duration] : table) EXPECT_EQ(parse_duration(text), duration) << text;
}

TEST(Duration, NeedsNoUnitForZeroAlone) {
    EXPECT_EQ(parse_duration("0"), 0ns);
    EXPECT_EQ(parse_duration("+0"), 0ns);
    EXPECT_EQ(parse_duration("-0"), 0ns);
    EXPECT_EQ(parse_duration("00"), std::nullopt);
    EXPECT_EQ(parse_duration("0.0"), std::nullopt);
}

TEST(Duration, RefusesWhatGoRefuses) {
    for (const auto text :
         {// no number, no unit
          ""sv, "+"sv, "-"sv, "."sv, "-."sv, "s"sv, ".s"sv, "-.s"sv, "+.s"sv, "5"sv, "-5"sv,
          "1.5"sv, "."sv, "1m30"sv, "1m30."sv, "1s."sv, "1m.s"sv,
          // no such number
          "1e3s"sv, "0x1s"sv, "1_000s"sv, "1,5s"sv, "1..5s"sv, "1.5.5s"sv, "infs"sv, "nan"sv,
          "²s"sv,
          // no such unit
          "1d"sv, "1w"sv, "1S"sv, "1MS"sv, "1H"sv, "1sec"sv, "1min"sv, "1\u00B5"sv, "1\u00B5m"sv,
          "1\xB5s"sv, "1\u00B5ss"sv, "1ss"sv, "1msm"sv,
          // other characters
          " 1s"sv, "1s "sv, "1 s"sv, "1m 30s"sv, "1s\n"sv, "1s\0"sv, "\0"sv, "1s,"sv, "\xFF"sv,
          // more than one sign
          "--1s"sv, "+-1s"sv, "1m-30s"sv, "1m+30s"sv}) {
        EXPECT_EQ(parse_duration(text), std::nullopt) << testing::PrintToString(text);
    }
}

TEST(Duration, ReadsTheLongestAndRefusesLonger) {
    constexpr auto longest = nanoseconds::max();
    constexpr auto most_negative = nanoseconds::min();
    const std::vector<Spelling> fitting = {
        {"9223372036854775807ns", longest},           {"9223372036854775.807us", longest},
        {"9223372036s854775807ns", longest},          {"2562047h47m16.854775807s", longest},
        {"-9223372036854775807ns", -longest},         {"-9223372036854775808ns", most_negative},
        {"-2562047h47m16.854775808s", most_negative}, {"2562047h", 2'562'047h},
    };
    for (const auto& [text, duration] : fitting) EXPECT_EQ(parse_duration(text), duration) << text;

    for (const auto text : {"9223372036854775808ns"sv,                        // one too many
                            "9223372036854775810ns"sv,                        //
                            "-9223372036854775809ns"sv,                       //
                            "9223372036854775.808us"sv,                       // by the fraction
                            "9223372036854775807ns1ns"sv,                     // by the sum
                            "9223372036s854775808ns"sv,                       //
                            "9223372036854775808ns9223372036854775808ns"sv,   // 2^64 in all
                            "-9223372036854775808ns9223372036854775808ns"sv,  //
                            "3000000h"sv,                                     // by the unit
                            "2562048h"sv,                                     //
                            "99999999999999999999999999999999999999s"sv,      // by the digits
                            "18446744073709551616ns"sv,                       // 2^64: not zero
                            "18446744073709551617s"sv}) {
        EXPECT_EQ(parse_duration(text), std::nullopt) << text;
    }
}

TEST(Duration, CutAtAnyByteIsReadAsTheShorterTextAndNoFurther) {
    constexpr std::string_view whole = "-1h2m3.5s100\u00B5s";
    const std::vector<Spelling> readable = {{"-1h", -1h},
                                            {"-1h2m", -(1h + 2min)},
                                            {"-1h2m3.5s", -(1h + 2min + 3500ms)},
                                            {whole, -(1h + 2min + 3500ms + 100us)}};
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        const auto text = whole.substr(0, length);
        std::optional<nanoseconds> expected;
        for (const auto& spelling : readable) {
            if (spelling.text == text) expected = spelling.duration;
        }
        EXPECT_EQ(parse_duration(text), expected) << text;
    }
}

TEST(Duration, IsWrittenForPeople) {
    const std::vector<Spelling> table = {
        {"0s", 0s},
        {"1ns", 1ns},
        {"999ns", 999ns},
        {"1\u00B5s", 1us},
        {"1.5\u00B5s", 1500ns},
        {"999.999\u00B5s", 999'999ns},
        {"1ms", 1ms},
        {"250ms", 250ms},
        {"1.00001ms", 1'000'010ns},
        {"1s", 1s},
        {"1.5s", 1500ms},
        {"1.000000001s", 1s + 1ns},
        {"30s", 30s},
        {"59.999s", 60s - 1ms},
        {"1m", 60s},
        {"1m30s", 90s},
        {"1m0.25s", 60s + 250ms},
        {"1h", 1h},
        {"1h30m", 90min},
        {"1h1s", 1h + 1s},
        {"24h", 24h},
        {"-5s", -5s},
        {"-250ms", -250ms},
        {"-1h0.5s", -(1h + 500ms)},
        {"2562047h47m16.854775807s", nanoseconds::max()},
        {"-2562047h47m16.854775808s", nanoseconds::min()},
    };
    for (const auto& [text, duration] : table) {
        EXPECT_EQ(format_duration(duration), text);
        EXPECT_EQ(parse_duration(text), duration) << text;
    }
}

TEST(Duration, ReadsBackWhateverItWrites) {
    // Steps by a factor of 1.37 over all magnitudes, so that every unit and every number of
    // decimals comes up.
    for (std::int64_t ns = 1; ns < nanoseconds::max().count() / 2; ns += 1 + ns / 100 * 37) {
        for (const auto duration : {nanoseconds(ns), nanoseconds(-ns)}) {
            ASSERT_EQ(parse_duration(format_duration(duration)), duration) << ns;
        }
        if (ns < 100) continue;
        const nanoseconds rounded(ns / 100 * 100);
        ASSERT_EQ(parse_duration(format_duration(rounded)), rounded) << ns;
    }
}

TEST(LongDuration, MayBeginWithDays) {
    EXPECT_EQ(parse_long_duration("7d"), std::chrono::hours{7 * 24});
    EXPECT_EQ(parse_long_duration("1d12h"), std::chrono::hours{36});
    EXPECT_EQ(parse_long_duration("30m"), std::chrono::minutes{30});
    EXPECT_EQ(parse_long_duration("0"), std::chrono::hours{0});
    for (const char* wrong :
         {"d", "-1d", "1.5d", "1d-5h", "1h1d", "100001d", "1dd", "1d5", "week"}) {
        EXPECT_EQ(parse_long_duration(wrong), std::nullopt) << wrong;
    }
}

}  // namespace
}  // namespace holdfast::base
