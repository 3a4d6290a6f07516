#include "base/crypto.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/text/hex.h"

namespace holdfast::base {

namespace {

TEST(Sha256, IsTheStandards) {
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    Sha256 pieces;
    pieces.update("a");
    pieces.update("");
    pieces.update("bc");
    EXPECT_EQ(pieces.finish(), sha256("abc"));
}

TEST(RandomBits, NeverRepeatsItself) {
    RandomBits random;
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(random()).second);
}

TEST(RandomBits, UsesEveryBit) {
    RandomBits random;
    std::uint64_t ever_set = 0;
    std::uint64_t ever_clear = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::uint64_t word = random();
        ever_set |= word;
        ever_clear |= ~word;
    }
    EXPECT_EQ(ever_set, UINT64_MAX);
    EXPECT_EQ(ever_clear, UINT64_MAX);
}

TEST(RandomBits, GivesNothingTwiceWhenItIsCopied) {
    RandomBits first;
    std::set<std::uint64_t> seen{first()};
    RandomBits second = first;  // with what is left of the page: the first must not be used again
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.insert(second()).second);
}

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

std::string hex_of(const std::string& bytes) {
    return to_hex(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

// RFC 4231, test cases 1, 2 and 6.
TEST(Hmac, IsThatOfTheStandard) {
    EXPECT_EQ("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
              hex_of(hmac_sha256(std::string(20, '\x0b'), "Hi There")));
    EXPECT_EQ("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
              hex_of(hmac_sha256("Jefe", "what do ya want for nothing?")));
    EXPECT_EQ("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
              hex_of(hmac_sha256(std::string(131, '\xaa'),
                                 "Test Using Larger Than Block-Size Key - Hash Key First")));
}

TEST(Hmac, HasAValueForTheEmptySecretAndMessage) {
    EXPECT_EQ(hmac_bytes, hmac_sha256("", "").size());
    EXPECT_NE(hmac_sha256("", ""), hmac_sha256("a", ""));
    EXPECT_NE(hmac_sha256("", ""), hmac_sha256("", "a"));
}

}  // namespace

}  // namespace holdfast::base
