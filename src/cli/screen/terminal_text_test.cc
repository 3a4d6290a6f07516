#include "cli/screen/terminal_text.h"

#include <gtest/gtest.h>

#include <clocale>

namespace holdfast::cli {
namespace {

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

}  // namespace
}  // namespace holdfast::cli
