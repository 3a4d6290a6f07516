#include "net/client/address_lookup.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace holdfast::net {
namespace {

TEST(AddressLookup, NeedsNoSearchForAnIpAddress) {
    for (const auto& [host, family] : {std::pair{"127.0.0.1", AF_INET}, {"::1", AF_INET6}}) {
        const auto lookup = AddressLookup::start(host, "2379");
        ASSERT_TRUE(lookup);
        EXPECT_EQ((*lookup)->descriptor(), -1);
        const auto found = (*lookup)->take();
        ASSERT_TRUE(found);
        ASSERT_EQ(found->size(), 1U);
        EXPECT_EQ(found->front().storage.ss_family, family);
    }
}

TEST(AddressLookup, FindsANameWithoutWaitingForIt) {
    const auto lookup = AddressLookup::start("localhost", "2379");
    ASSERT_TRUE(lookup);
    pollfd ready{.fd = (*lookup)->descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_GE(ready.fd, 0);
    ASSERT_EQ(::poll(&ready, 1, 60'000), 1);
    const auto found = (*lookup)->take();
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->empty());
}

TEST(AddressLookup, SaysWhyThereIsNoAddress) {
    const auto lookup = AddressLookup::start("no such host", "2379");
    ASSERT_TRUE(lookup);
    pollfd ready{.fd = (*lookup)->descriptor(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&ready, 1, 60'000), 1);
    const auto found = (*lookup)->take();
    ASSERT_FALSE(found);
    EXPECT_FALSE(found.error().message.empty());
}

TEST(AddressLookup, MayBeGivenUp) {
    ASSERT_TRUE(AddressLookup::start("localhost", "2379"));
}

}  // namespace
}  // namespace holdfast::net
