#include "app/cluster/cluster_handler.h"

#include <gtest/gtest.h>

namespace holdfast::app {
namespace {

service::WallTime at(int seconds) {
    return service::WallTime{std::chrono::seconds(seconds)};
}

cluster::Picture led_by_a() {
    return {.node = "b",
            .role = cluster::NodeRole::following,
            .leader = {.name = "a", .peer = "h1:1", .epoch = 7, .since = at(2)},
            .nodes = {{.name = "a", .peer = "h1:1", .version = "1", .started = at(1)},
                      {.name = "b", .peer = "h2:1", .version = "1", .started = at(3)}},
            .etcd = {.version = "3.5.1", .database_bytes = 9, .in_use_bytes = 8, .quota_bytes = 10},
            .secret = "hush"};
}

TEST(ClusterJson, TellsWhoLeadsAndWhoIsThere) {
    EXPECT_EQ(cluster_json(led_by_a()),
              R"({"leader":"a","epoch":7,"since_ms":2000,"nodes":[)"
              R"({"name":"a","peer":"h1:1","version":"1","started_ms":1000,"leads":true},)"
              R"({"name":"b","peer":"h2:1","version":"1","started_ms":3000,"leads":false}],)"
              R"("etcd":{"version":"3.5.1","database_bytes":9,"in_use_bytes":8,"quota_bytes":10}})"
              "\n");
}

TEST(ClusterJson, TellsWhyNobodyLeads) {
    cluster::Picture picture = led_by_a();
    picture.leader.epoch = 0;  // elected, and does not serve yet
    picture.why_nobody_leads = "node a takes over";
    picture.etcd.alarms = {"NOSPACE", "CORRUPT"};
    picture.etcd.refuses_growth = "etcd is full";
    picture.etcd.warnings = {"etcd is old", "etcd is plain"};
    const std::string text = cluster_json(picture);
    EXPECT_NE(text.find(R"({"leader":"","reason":"node a takes over")"), std::string::npos);
    EXPECT_EQ(text.find(R"("leads":true)"), std::string::npos);
    EXPECT_NE(text.find(R"("alarms":"NOSPACE, CORRUPT","refuses_growth":"etcd is full",)"
                        R"("warnings":["etcd is old","etcd is plain"])"),
              std::string::npos);
}

TEST(NodeJson, TellsWhatTheNodeDoesAndNoSecret) {
    const std::string text = node_json(led_by_a());
    EXPECT_EQ(text.find(R"({"node":"b","role":"following","leader":"a","epoch":7)"), 0U);
    EXPECT_EQ(text.find("hush"), std::string::npos);
    EXPECT_EQ(cluster_json(led_by_a()).find("hush"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::app
