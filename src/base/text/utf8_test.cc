#include "base/text/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::base {
namespace {

using namespace std::string_literals;

TEST(Utf8, TakesTextOfEveryLength) {
    for (const std::string& text :
         {""s, "job"s, "\0"s, "\x7f"s, "\xC2\x80"s, "\xDF\xBF"s, "\xE0\xA0\x80"s, "\xED\x9F\xBF"s,
          "\xEE\x80\x80"s, "\xEF\xBF\xBF"s, "\xF0\x90\x80\x80"s, "\xF4\x8F\xBF\xBF"s,
          "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\x92z"s}) {
        EXPECT_TRUE(is_utf8(text)) << text;
    }
}

TEST(Utf8, RefusesWhatIsNotWellFormed) {
    for (const std::string& text : {"\x80"s, "\xBF"s, "\xC0\x80"s, "\xC1\xBF"s, "\xE0\x9F\xBF"s,
                                    "\xED\xA0\x80"s, "\xED\xBF\xBF"s, "\xF0\x8F\xBF\xBF"s,
                                    "\xF4\x90\x80\x80"s, "\xF5\x80\x80\x80"s, "\xFE"s, "\xFF"s,
                                    "\xC3"s
                                    "a"s,
                                    "\xE2\x82"s
                                    "a"s,
                                    "\xF0\x9F\x94"s
                                    "a"s}) {
        EXPECT_FALSE(is_utf8(text));
        EXPECT_FALSE(is_utf8("before" + text));
        EXPECT_FALSE(is_utf8(text + "after"));
    }
}

TEST(Utf8, RefusesEveryCutSequence) {
    for (const std::string& text : {"\xC3\xA4"s, "\xE2\x82\xAC"s, "\xF0\x9F\x94\x92"s}) {
        for (std::size_t size = 1; size < text.size(); ++size) {
            EXPECT_FALSE(is_utf8(text.substr(0, size)));
        }
    }
}

TEST(Utf8, OfABeginningTakesALastLetterThatIsCutOff) {
    for (const std::string& text : {"\xC3\xA4"s, "\xE2\x82\xAC"s, "\xF0\x9F\x94\x92"s}) {
        for (std::size_t size = 0; size <= text.size(); ++size) {
            EXPECT_TRUE(is_utf8_beginning("a" + text + text.substr(0, size)));
            EXPECT_TRUE(is_utf8_beginning(text.substr(0, size)));
        }
    }
    for (const std::string& text :
         {"\x80"s, "a\xFF"s, "\xE4rger"s, "a\xC3"s + "b", "\xC3\xA4\xA4"s}) {
        EXPECT_FALSE(is_utf8_beginning(text)) << text;
    }
}

}  // namespace
}  // namespace holdfast::base
