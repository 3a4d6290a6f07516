#include "etcd/wire/messages.h"

#include <gtest/gtest.h>

namespace holdfast::etcd {
namespace {

TEST(EndOfPrefix, IsTheFirstKeyBehindTheRange) {
    EXPECT_EQ(end_of_prefix("holdfast/"), "holdfast0");
    EXPECT_EQ(end_of_prefix("a\xff"), "b");
}

TEST(EndOfPrefix, OfNothingAndOfTheLastKeysIsTheEndOfAllKeys) {
    EXPECT_EQ(end_of_prefix(""), std::string(1, '\0'));
    EXPECT_EQ(end_of_prefix("\xff\xff"), std::string(1, '\0'));
}

}  // namespace
}  // namespace holdfast::etcd
