#include "cluster/records/keys.h"

#include <gtest/gtest.h>

namespace holdfast::cluster {
namespace {

TEST(Keys, EverythingIsBelowThePrefix) {
    for (const Keys& keys : {Keys("/holdfast"), Keys("/holdfast/")}) {
        EXPECT_EQ(keys.leader(), "/holdfast/leader");
        EXPECT_EQ(keys.node("a"), "/holdfast/node/a");
    }
}

// Written to etcd: a version that computes them otherwise does not find what is there.
TEST(Keys, StayAsTheyAre) {
    const Keys keys("h");
    EXPECT_EQ(keys.lease(0x1234), "h/lease/34/0000000000001234");
    EXPECT_EQ(keys.fence("bucket"), keys.fences(0x4f) + "bucket");
    EXPECT_EQ(keys.login("x"), keys.logins(0x4b) + "x");
}

}  // namespace
}  // namespace holdfast::cluster
