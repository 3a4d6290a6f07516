#include "sim/fenced_resource.h"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

using core::Fence;

TEST(FencedResource, RefusesWhoComesAfterALargerNumber) {
    FencedResource resource;
    EXPECT_EQ(resource.read(Fence{1}), 0U);
    EXPECT_EQ(resource.read(Fence{2}), 0U);
    EXPECT_FALSE(resource.write(Fence{1}, 1));
    EXPECT_EQ(resource.read(Fence{1}), std::nullopt);
    EXPECT_TRUE(resource.write(Fence{2}, 1));
    EXPECT_EQ(resource.lost_updates(), 0U);
}

TEST(FencedResource, CountsALostUpdateWhenTwoHaveTheSameNumber) {
    FencedResource resource;
    const auto first = resource.read(Fence{1}), second = resource.read(Fence{1});
    EXPECT_TRUE(resource.write(Fence{1}, *first + 1));
    EXPECT_TRUE(resource.write(Fence{1}, *second + 1));
    EXPECT_EQ(resource.lost_updates(), 1U);
}

}  // namespace
}  // namespace holdfast::sim
