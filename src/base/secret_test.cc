#include "base/secret.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace holdfast::base {
namespace {

TEST(Secret, EqualsItself) {
    using namespace std::string_view_literals;
    EXPECT_TRUE(equal_in_constant_time("", ""));
    EXPECT_TRUE(equal_in_constant_time("hunter2", std::string("hunter2")));
    EXPECT_TRUE(equal_in_constant_time("a\0b"sv, "a\0b"sv));
}

TEST(Secret, DiffersByOneBitAnywhere) {
    const std::string secret(33, '\xA5');
    for (std::size_t at = 0; at < secret.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string other = secret;
            other[at] = static_cast<char>(other[at] ^ (1 << bit));
            EXPECT_FALSE(equal_in_constant_time(secret, other)) << at << ' ' << bit;
            EXPECT_FALSE(equal_in_constant_time(other, secret)) << at << ' ' << bit;
        }
    }
}

TEST(Secret, DiffersWhereDifferencesWouldCancelOut) {
    EXPECT_FALSE(equal_in_constant_time("ab", "ba"));
    EXPECT_FALSE(equal_in_constant_time("aa", "bb"));
    EXPECT_FALSE(equal_in_constant_time("ac", "ca"));
}

TEST(Secret, DiffersInLength) {
    using namespace std::string_view_literals;
    EXPECT_FALSE(equal_in_constant_time("", "a"));
    EXPECT_FALSE(equal_in_constant_time("secret", "secre"));
    EXPECT_FALSE(equal_in_constant_time("secret", "secrets"));
    EXPECT_FALSE(equal_in_constant_time("secret"sv, "secret\0"sv));
}

}  // namespace
}  // namespace holdfast::base
