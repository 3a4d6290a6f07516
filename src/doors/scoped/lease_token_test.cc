#include "doors/scoped/lease_token.h"

#include <gtest/gtest.h>

namespace holdfast::doors::scoped {
namespace {

TEST(LeaseToken, HasItsNumberFirst) {
    std::string text;
    append_token(text, {.fence = core::Fence{0x2a}, .secret = core::Secret{0xfedcba9876543210}});
    EXPECT_EQ(text, "000000000000002afedcba9876543210");
}

TEST(LeaseToken, IsReadAsItWasWritten) {
    for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{1} << 52, UINT64_MAX}) {
        const core::Token token{.fence = core::Fence{number}, .secret = core::Secret{~number}};
        std::string text;
        append_token(text, token);
        EXPECT_EQ(parse_token(text), token);
    }
}

TEST(LeaseToken, HasOneSpelling) {
    for (const char* text :
         {"", "2a", "000000000000002afedcba987654321", "000000000000002afedcba98765432100",
          "000000000000002AFEDCBA9876543210", "000000000000002xfedcba9876543210",
          "+00000000000002afedcba9876543210", "0x0000000000002afedcba9876543210"}) {
        EXPECT_FALSE(parse_token(text)) << text;
    }
}

}  // namespace
}  // namespace holdfast::doors::scoped
