// A request whose JSON has a field twice is refused at every route that reads JSON.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "../test_host.h"
#include "doors/homelab/homelab_handler.h"
#include "doors/lockserver/lockserver_handler.h"
#include "doors/scoped/scoped_handler.h"
#include "doors/terraform/terraform_handler.h"

namespace holdfast::conformance {
namespace {

struct Repetition {
    std::string line;
    std::string body;
    std::string field;
};

const std::string lease = "/v1/leases/00000000000000010000000000000001";

// By route, as `POST /v1/leases`.
const std::map<std::string, std::vector<Repetition>>& repetitions() {
    static const std::map<std::string, std::vector<Repetition>> all{
        {"POST /v1/locks/{lock}/acquire",
         {{"POST /v1/locks/x/acquire", R"({"owner_id":"a","ttl_ms":5000,"owner_id":"a"})",
           "owner_id"}}},
        {"POST /v1/locks/{lock}/renew",
         {{"POST /v1/locks/x/renew", R"({"owner_id":"a","fencing_token":1,"fencing_token":2})",
           "fencing_token"}}},
        {"POST /v1/locks/{lock}/release",
         {{"POST /v1/locks/x/release", R"({"lease_id":"a","lease_id":"b"})", "lease_id"}}},
        {"POST /v1/leases",
         {{"POST /v1/leases", R"({"scope":"a","scope":"b","holder":"w"})", "scope"},
          {"POST /v1/leases", R"({"scope":{"kind":"named","name":"a","name":"b"},"holder":"w"})",
           "name"},
          {"POST /v1/leases",
           R"({"scopes":["a",{"scope":"b","mode":"shared","mode":"exclusive"}],"holder":"w"})",
           "mode"}}},
        {"POST /v1/leases/{token}/renew",
         {{"POST " + lease + "/renew", R"({"ttl_ms":1,"ttl_ms":1})", "ttl_ms"}}},
        {"PUT /v1/leases/{token}/value",
         {{"PUT " + lease + "/value", R"({"value":"a","value":"b"})", "value"}}},
        {"POST /v1/fence/check",
         {{"POST /v1/fence/check", R"({"token":"a","scope":"a","token":"b"})", "token"}}},
        {"POST /v1/fence/{resource}",
         {{"POST /v1/fence/r", R"({"fencing_token":1,"fencing_token":2})", "fencing_token"}}},
        {"LOCK /v1/terraform/{name}",
         {{"LOCK /v1/terraform/x", R"({"ID":"a","ID":"b"})", "ID"},
          {"LOCK /v1/terraform/x", R"({"ID":"a","Info":[{"b":1,"b":2}]})", "b"}}},
        {"UNLOCK /v1/terraform/{name}",
         {{"UNLOCK /v1/terraform/x", R"({"ID":"a","ID":"b"})", "ID"}}},
        {"POST /v1/terraform/{name}/lock",
         {{"POST /v1/terraform/x/lock", R"({"ID":"a","ID":"b"})", "ID"}}},
        {"DELETE /v1/terraform/{name}/lock",
         {{"DELETE /v1/terraform/x/lock", R"({"ID":"a","ID":"b"})", "ID"}}},
    };
    return all;
}

TEST(RepeatedField, IsRefusedAndNamedByEveryRouteThatReadsJson) {
    TestHost host(1);
    net::TestClient client = host.connect();
    for (const auto& [route, rows] : repetitions()) {
        for (const Repetition& row : rows) {
            client.send(http(row.line, row.body));
            const net::TestResponse response = client.response();
            EXPECT_EQ(response.status, 400) << route;
            EXPECT_THAT(response.body,
                        ::testing::HasSubstr(R"(the field \")" + row.field + R"(\" comes twice)"))
                << route;
        }
    }
    client.send(http("GET /v1/locks"));
    EXPECT_EQ(without_position(client.response().body), "{\"locks\":[]}\n");
}

// A new route that reads a whole body needs a row above.
TEST(RepeatedField, IsTriedAtEveryRouteThatReadsABody) {
    std::set<std::string> routes;
    for (const auto& table :
         {doors::homelab::HomelabHandler::routes(), doors::lockserver::LockserverHandler::routes(),
          doors::scoped::ScopedHandler::routes(), doors::terraform::TerraformHandler::routes()}) {
        for (const net::Route& route : table) {
            if (route.body != net::BodyPolicy::whole) continue;
            routes.insert(std::string(route.methods) + " " + std::string(route.pattern));
        }
    }
    std::set<std::string> tried;
    for (const auto& [route, rows] : repetitions()) tried.insert(route);
    EXPECT_EQ(tried, routes);
}

}  // namespace
}  // namespace holdfast::conformance
