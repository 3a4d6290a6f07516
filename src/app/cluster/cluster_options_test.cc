#include "app/cluster/cluster_options.h"

#include <gmock/gmock.h>

#include "app/cluster/etcd_access.h"

namespace holdfast::app {
namespace {

using ::testing::HasSubstr;

ClusterOptions plain() {
    return {.etcd = "etcd://127.0.0.1:2379/holdfast", .node = "a"};
}

std::string fault_of(const ClusterOptions& options, bool is_insecure = false) {
    const auto checked = check_cluster(options, is_insecure);
    return checked ? "" : checked.error().message;
}

TEST(ClusterOptions, AreFineOnLoopback) {
    EXPECT_EQ(fault_of(plain()), "");
    EXPECT_EQ(fault_of({.peer_address = "nonsense"}), "") << "there is no cluster";
}

TEST(ClusterOptions, WhatBelongsTogetherIsGivenTogether) {
    ClusterOptions options = plain();
    options.tls.certificate_file = "x";
    EXPECT_THAT(fault_of(options), HasSubstr("--cluster-cert and --cluster-key"));
    options = plain();
    options.user = "x";
    EXPECT_THAT(fault_of(options), HasSubstr("--cluster-password-file"));
    options = plain();
    options.peer_ca_file = "x";
    EXPECT_THAT(fault_of(options), HasSubstr("--peer-cert, --peer-key and --peer-ca"));
}

TEST(ClusterOptions, AListenerForEverybodyNeedsAnAddressAndTls) {
    ClusterOptions options = plain();
    options.peer_address = "0.0.0.0:8083";
    EXPECT_THAT(fault_of(options), HasSubstr("--advertise"));
    options.advertised_host = "node-a";
    EXPECT_THAT(fault_of(options), HasSubstr("--peer-cert"));
    EXPECT_EQ(fault_of(options, true), "");
    options.peer_tls = {.certificate_file = "c", .key_file = "k"};
    options.peer_ca_file = "a";
    EXPECT_EQ(fault_of(options), "");
}

TEST(ClusterOptions, AWarningSaysThatTheWayToEtcdIsPlain) {
    const auto warning_for = [](const std::string& url) {
        ClusterOptions options = plain();
        options.etcd = url;
        return plain_etcd_warning(options, false);
    };
    for (const char* url : {"etcd://127.0.0.1:2379/x", "etcd://localhost:1,[::1]:2/x",
                            "etcds://10.0.0.1:2379/x", "https://10.0.0.1:2379/x"}) {
        EXPECT_EQ(warning_for(url), "") << url;
    }
    for (const char* url : {"etcd://10.0.0.1:2379/x", "etcd://127.0.0.1:1,node-b:2379/x",
                            "http://10.0.0.1:2379/x", "etcd://[2001:db8::1]:2379/x"}) {
        EXPECT_THAT(warning_for(url), HasSubstr("--cluster-ca")) << url;
    }
    ClusterOptions options = plain();
    options.etcd = "etcd://10.0.0.1:2379/x";
    EXPECT_EQ(plain_etcd_warning(options, true), "") << "--insecure";
    options.ca_file = "ca.pem";
    EXPECT_EQ(plain_etcd_warning(options, false), "") << "with a CA the connections use TLS";
}

TEST(ClusterOptions, APeerHasAPortThatOthersKnow) {
    ClusterOptions options = plain();
    options.peer_address = "127.0.0.1:0";
    EXPECT_THAT(fault_of(options), HasSubstr("port"));
    options.peer_address = "unix:/tmp/x";
    EXPECT_THAT(fault_of(options), HasSubstr("ADDR:PORT"));
}

TEST(ClusterOptions, TimesAndNamesHaveLimits) {
    ClusterOptions options = plain();
    options.ttl = std::chrono::milliseconds(1'999);
    EXPECT_THAT(fault_of(options), HasSubstr("--cluster-ttl"));
    options = plain();
    options.node = "a/b";
    EXPECT_THAT(fault_of(options), HasSubstr("--node"));
    options.node.clear();
    EXPECT_FALSE(node_name(options).empty()) << "the name of the machine";
}

TEST(AdvertisedPeer, IsTheHostThatWasNamedWithThePortOfTheListener) {
    ClusterOptions options = plain();
    const net::Endpoint bound = net::parse_endpoint("127.0.0.1:8083").value();
    EXPECT_EQ(advertised_peer(options, bound), "127.0.0.1:8083");
    options.advertised_host = "node-a";
    EXPECT_EQ(advertised_peer(options, bound), "node-a:8083");
    options.advertised_host = "fd00::1";
    EXPECT_EQ(advertised_peer(options, bound), "[fd00::1]:8083");
}

}  // namespace
}  // namespace holdfast::app
