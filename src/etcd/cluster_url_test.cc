#include "etcd/cluster_url.h"

#include <gtest/gtest.h>

namespace holdfast::etcd {
namespace {

using Members = std::vector<Member>;

ClusterUrl parsed(std::string_view text) {
    const auto url = ClusterUrl::parse(text);
    EXPECT_TRUE(url) << url.error().message;
    return url.value_or(ClusterUrl());
}

TEST(ClusterUrl, HasMembersAndAPrefix) {
    const auto url = parsed("etcd://h1:2379,h2:1,10.0.0.3:65535/holdfast");
    EXPECT_FALSE(url.is_tls);
    EXPECT_EQ(url.members, (Members{{"h1", "2379"}, {"h2", "1"}, {"10.0.0.3", "65535"}}));
    EXPECT_EQ(url.prefix, "holdfast");
    EXPECT_EQ(url.to_text(), "etcd://h1:2379,h2:1,10.0.0.3:65535/holdfast");
}

TEST(ClusterUrl, HasDefaultsForPortAndPrefix) {
    const auto url = parsed("etcds://h1,[::1]");
    EXPECT_TRUE(url.is_tls);
    EXPECT_EQ(url.members, (Members{{"h1", "2379"}, {"::1", "2379"}}));
    EXPECT_EQ(url.prefix, "holdfast");
    EXPECT_EQ(url.to_text(), "etcds://h1:2379,[::1]:2379/holdfast");
    EXPECT_EQ(parsed("etcd://h1/").prefix, "holdfast");
    EXPECT_EQ(parsed("etcd://h1/a/b/").prefix, "a/b");
}

TEST(ClusterUrl, MayNameTheEndpointsAsEtcdDoes) {
    const auto url = parsed("https://h1:2379,https://[fe80::1]:2380/p");
    EXPECT_TRUE(url.is_tls);
    EXPECT_EQ(url.members, (Members{{"h1", "2379"}, {"fe80::1", "2380"}}));
    EXPECT_EQ(url.prefix, "p");
    EXPECT_FALSE(parsed("http://h1").is_tls);
}

TEST(ClusterUrl, NamesTheFault) {
    const std::vector<std::pair<std::string, std::string>> faults{
        {"", "does not begin with etcd://"},
        {"h1:2379", "does not begin with etcd://"},
        {"zookeeper://h1", "does not begin with etcd://"},
        {"etcd://", "names no host"},
        {"etcd://h1,,h2", "names no host"},
        {"etcd://h1,", "names no host"},
        {"etcd:///prefix", "names no host"},
        {"etcd://h1:", "no port from 1 to 65535"},
        {"etcd://h1:0", "no port from 1 to 65535"},
        {"etcd://h1:65536", "no port from 1 to 65535"},
        {"etcd://h1:x", "no port from 1 to 65535"},
        {"etcd://[::1", "no ]"},
        {"etcd://[::1]x", "no port from 1 to 65535"},
        {"etcd://h1,h1:2379", "names h1:2379 twice"},
        {"etcd://h1/a,h2/b", "the path stands once"},
        {"etcd://user:pw@h1", "is more than"},
        {"etcd://h1/a?b", "is more than"},
        {"etcd://h 1", "has a space"},
        {"http://h1,h2", "every member must begin with http://"},
        {"http://h1,https://h2", "every member must begin with http://"},
    };
    for (const auto& [text, fault] : faults) {
        const auto url = ClusterUrl::parse(text);
        ASSERT_FALSE(url) << text;
        EXPECT_NE(url.error().message.find(fault), std::string::npos) << url.error().message;
    }
}

}  // namespace
}  // namespace holdfast::etcd
