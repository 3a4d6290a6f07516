#include "core/values/ids.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

TEST(TokenText, HasItsNumberFirst) {
    std::string text;
    append_token(text, {.fence = Fence{0x2a}, .secret = Secret{0xfedcba9876543210}});
    EXPECT_EQ(text, "000000000000002afedcba9876543210");
}

TEST(TokenText, IsReadAsItWasWritten) {
    for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{1} << 52, UINT64_MAX}) {
        const Token token{.fence = Fence{number}, .secret = Secret{~number}};
        std::string text;
        append_token(text, token);
        EXPECT_EQ(parse_token(text), token);
    }
}

TEST(TokenText, HasOneSpelling) {
    for (const char* text :
         {"", "2a", "000000000000002afedcba987654321", "000000000000002afedcba98765432100",
          "000000000000002AFEDCBA9876543210", "000000000000002xfedcba9876543210",
          "+00000000000002afedcba9876543210", "0x0000000000002afedcba9876543210"}) {
        EXPECT_FALSE(parse_token(text)) << text;
    }
}

}  // namespace
}  // namespace holdfast::core
