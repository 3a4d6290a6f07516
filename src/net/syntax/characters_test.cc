#include "net/syntax/characters.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::net {
namespace {

// A byte at every place of texts of every size up to 20, among plain ones.
template <class Size>
void expect_stops(unsigned char byte, bool is_expected, Size size) {
    for (std::size_t length = 1; length <= 20; ++length) {
        for (std::size_t at = 0; at < length; ++at) {
            std::string text(length, 'a');
            text[at] = static_cast<char>(byte);
            ASSERT_EQ(size(text), is_expected ? at : length) << int{byte} << " at " << at;
        }
    }
}

TEST(HttpCharacters, OfATokenAreThoseOfTheStandard) {
    constexpr std::string_view signs = "!#$%&'*+-.^_`|~";
    for (int byte = 0; byte < 256; ++byte) {
        const bool is_word = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                             (byte >= 'A' && byte <= 'Z');
        const bool is_sign = signs.find(static_cast<char>(byte)) != signs.npos;
        expect_stops(static_cast<unsigned char>(byte), !is_word && !is_sign, token_size);
    }
}

TEST(HttpCharacters, OfATargetAreAllButBlanksAndControls) {
    for (int byte = 0; byte < 256; ++byte) {
        const bool stops = byte <= ' ' || byte == 0x7f;
        expect_stops(static_cast<unsigned char>(byte), stops, target_size);
    }
}

TEST(HttpCharacters, OfAValueAreAllButControlsExceptATab) {
    for (int byte = 0; byte < 256; ++byte) {
        const bool stops = (byte < ' ' && byte != '\t') || byte == 0x7f;
        expect_stops(static_cast<unsigned char>(byte), stops, value_size);
    }
    EXPECT_EQ(value_size("\t\ta\tb\t\t\r\n"), 7U);
}

TEST(HttpCharacters, TheFirstOfSeveralStops) {
    for (std::size_t first = 0; first < 24; ++first) {
        for (std::size_t second = first; second < 24; ++second) {
            std::string text(24, '\xff');
            text[second] = '\0';
            text[first] = '\x7f';
            ASSERT_EQ(value_size(text), first);
            text[first] = '\0';
            text[second] = '\x7f';
            ASSERT_EQ(target_size(text), first);
        }
    }
}

TEST(HttpCharacters, BlanksAroundATextAreTrimmed) {
    EXPECT_EQ(trim_blanks(" \t a b\t "), "a b");
    EXPECT_EQ(trim_blanks("a"), "a");
    EXPECT_EQ(trim_blanks(" \t"), "");
    EXPECT_EQ(trim_blanks(""), "");
}

}  // namespace
}  // namespace holdfast::net
