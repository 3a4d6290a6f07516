#include "doors/redis/script/script_cache.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::doors::redis {
namespace {

std::string script(int number) {
    return "return " + std::to_string(number);
}

TEST(ScriptCache, ForgetsTheScriptThatWasNotUsedForTheLongestTime) {
    ScriptCache cache;
    for (int number = 0; number < static_cast<int>(scripts_max); ++number) {
        ASSERT_TRUE(cache.load(script(number)));
    }
    EXPECT_EQ(cache.size(), scripts_max);
    EXPECT_NE(cache.find(sha1_hex(script(0))), nullptr) << "it is used";
    ASSERT_TRUE(cache.load("return 'one more'"));
    EXPECT_EQ(cache.size(), scripts_max);
    EXPECT_NE(cache.find(sha1_hex(script(0))), nullptr);
    EXPECT_EQ(cache.find(sha1_hex(script(1))), nullptr);
    EXPECT_NE(cache.find(sha1_hex(script(2))), nullptr);
}

// However large they are.
TEST(ScriptCache, BoundsTheBytesOfItsScripts) {
    ScriptCache cache;
    const std::string first = script(0);
    ASSERT_TRUE(cache.load(first));
    for (int number = 0; number < 100; ++number) {
        std::string large = "return " + std::to_string(number);
        for (int item = 0; item < 1000; ++item) large += ",1+1";
        ASSERT_TRUE(cache.load(large));
        EXPECT_LE(cache.bytes(), scripts_bytes_max);
    }
    EXPECT_LT(cache.size(), 100U);
    EXPECT_GT(cache.bytes(), scripts_bytes_max / 2);
    EXPECT_EQ(cache.find(sha1_hex(first)), nullptr);
    cache.clear();
    EXPECT_EQ(cache.bytes(), 0U);
    EXPECT_EQ(cache.size(), 0U);
}

}  // namespace
}  // namespace holdfast::doors::redis
