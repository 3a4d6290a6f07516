#include "cli/screen/terminal_text.h"

#include <gtest/gtest.h>

#include <clocale>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

TEST(TerminalText, ShowsWhatATerminalWouldObey) {
    EXPECT_EQ(escape("nightly backup"), "nightly backup");
    EXPECT_EQ(escape("B\u00fcro \U0001F512"), "B\u00fcro \U0001F512");
    EXPECT_EQ(escape("\x1b[2Jgone"), "\\x1b[2Jgone");
    EXPECT_EQ(escape("two\nlines\r\t\x7f"), "two\\nlines\\r\\t\\x7f");
    EXPECT_EQ(escape("\u009b31m"), "\\u009b31m");
    EXPECT_EQ(escape("\u202Etxt.exe"), "\\u202etxt.exe");
    EXPECT_EQ(escape(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(TerminalText, ShowsBytesThatAreNoText) {
    EXPECT_EQ(escape("\xff\x80"
                     "a"),
              "\\xff\\x80"
              "a");
    EXPECT_EQ(escape("\xc3"), "\\xc3");
    const std::string whole = "a\u00fc\u4e2d\U0001F512";
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        const std::string cut = escape(whole.substr(0, length));
        EXPECT_EQ(escape(cut), cut) << length;
    }
}

TEST(TerminalText, CountsCells) {
    EXPECT_EQ(cell_width(""), 0U);
    EXPECT_EQ(cell_width("abc"), 3U);
    EXPECT_EQ(cell_width("B\u00fcro"), 4U);
    EXPECT_EQ(cell_width("\u4e2d\u6587"), 4U);
    EXPECT_EQ(cell_width("e\u0301"), 1U);
    EXPECT_EQ(cell_width("\u231a \U0001F512"), 5U);
    EXPECT_EQ(cell_width("\u0378"), 1U) << "a letter that does not exist";
}

TEST(TerminalText, CountsCellsInAnyLocale) {
    const std::string before = std::setlocale(LC_CTYPE, nullptr);
    for (const char* const locale : {"C", "C.UTF-8"}) {
        ASSERT_NE(std::setlocale(LC_CTYPE, locale), nullptr);
        EXPECT_EQ(cell_width("\u4e2d\u6587"), 4U);
        EXPECT_EQ(std::string(std::setlocale(LC_CTYPE, nullptr)), locale);
    }
    std::setlocale(LC_CTYPE, before.c_str());
}

TEST(TerminalText, ClipsBetweenLetters) {
    EXPECT_EQ(clipped("abcdef", 6), "abcdef");
    EXPECT_EQ(clipped("abcdef", 5), "abcd\u2026");
    EXPECT_EQ(clipped("\u4e2d\u6587\u5b57", 4), "\u4e2d\u2026");
    EXPECT_EQ(clipped("abc", 1), "\u2026");
    EXPECT_EQ(clipped("abc", 0), "");
}

TEST(TerminalText, StylesOnlyWhereColoursAreWanted) {
    EXPECT_EQ(styled("x", Style::red, false), "x");
    EXPECT_EQ(styled("x", Style::red, true), "\x1b[31mx\x1b[0m");
    EXPECT_EQ(styled("x", Style::plain, true), "x");
}

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
