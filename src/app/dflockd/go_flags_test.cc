#include "app/dflockd/go_flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::app {
namespace {

using Words = std::vector<std::string>;

Words read(const Words& words) {
    return read_go_flags(words, {.booleans = {"debug", "version"}, .texts = {"host"}});
}

TEST(GoFlags, HaveManyForms) {
    const Words expected{"--port", "1"};
    for (const Words& words :
         std::vector<Words>{{"-port", "1"}, {"--port", "1"}, {"-port=1"}, {"--port=1"}}) {
        EXPECT_EQ(read(words), expected);
    }
    EXPECT_EQ(read({"-debug"}), Words({"--debug"}));
    EXPECT_EQ(read({"--debug=F"}), Words({"--debug=false"}));
    EXPECT_EQ(read({"--debug=True"}), Words({"--debug=true"}));
    EXPECT_EQ(read({"-h"}), Words({"--help"}));
    EXPECT_EQ(read({"-help"}), Words({"--help"}));
    EXPECT_EQ(read({"-version"}), Words({"--version"}));
    EXPECT_EQ(read({"-version=0"}), Words());
}

TEST(GoFlags, TakeTheNextWordWhateverItLooksLike) {
    EXPECT_EQ(read({"--host", "--port", "--port", "-1"}),
              Words({"--host", "--port", "--port", "-1"}));
    EXPECT_EQ(read({"--host", ""}), Words({"--host", ""}));
    EXPECT_EQ(read({"--host="}), Words({"--host", ""}));
    EXPECT_EQ(read({"--host=a=b"}), Words({"--host", "a=b"}));
    EXPECT_EQ(read({"--host", "--"}), Words({"--host", "--"}));
}

TEST(GoFlags, EndAtTheFirstOtherWord) {
    for (const char* word : {"start", "-", "--", ""}) {
        EXPECT_EQ(read({"--debug", word, "--port", "1"}), Words({"--debug"})) << word;
    }
    EXPECT_EQ(read({"--debug", "false", "--port", "1"}), Words({"--debug"}));
}

TEST(GoFlags, LeaveFaultsToTheCommandLine) {
    EXPECT_EQ(read({"---port=1"}), Words({"---port=1"}));
    EXPECT_EQ(read({"-=1"}), Words({"-=1"}));
    EXPECT_EQ(read({"--debug=maybe"}), Words({"--debug=maybe"}));
    EXPECT_EQ(read({"--port"}), Words({"--port"}));
    EXPECT_EQ(read({"--port", "x"}), Words({"--port", "x"}));
    EXPECT_EQ(read({"--unknown", "x"}), Words({"--unknown", "x"}));
}

TEST(GoFlags, OnlyNumbersAreWrittenInDecimalDigits) {
    EXPECT_EQ(read({"--port=0x10"}), Words({"--port", "16"}));
    EXPECT_EQ(read({"--host=0x10"}), Words({"--host", "0x10"}));
}

TEST(GoFlags, NumbersAreThoseOfGo) {
    struct Row {
        std::string text;
        std::int64_t value;
    };
    const Row rows[] = {{"0", 0},
                        {"-0", 0},
                        {"+5", 5},
                        {"-5", -5},
                        {"1_000", 1000},
                        {"0x1F", 31},
                        {"0X_1f", 31},
                        {"0b101", 5},
                        {"0o17", 15},
                        {"017", 15},
                        {"0_17", 15},
                        {"-0x10", -16},
                        {"9223372036854775807", INT64_MAX},
                        {"-9223372036854775808", INT64_MIN}};
    for (const Row& row : rows) EXPECT_EQ(parse_go_integer(row.text), row.value) << row.text;
    for (const char* text : {"", "+", "-", "_1", "1_", "1__0", "0x", "09", "0b2", "1.5", "1e3",
                             " 1", "1 ", "--1", "+-1", "0x-1", "ten", "9223372036854775808"}) {
        EXPECT_EQ(parse_go_integer(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace holdfast::app
