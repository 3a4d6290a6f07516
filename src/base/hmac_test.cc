#include "base/hmac.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "base/text/hex.h"

namespace holdfast::base {
namespace {

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
