// The same door as bytes on a connection: in one piece, in many, and cut anywhere.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "../test_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LockserverWire : public ::testing::TestWithParam<std::size_t> {
  protected:
    TestHost host_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, LockserverWire, ::testing::Values(1, 3));

const std::string acquire_x = "POST /v1/locks/x/acquire";
const std::string by_w1 = R"({"owner_id":"w1","ttl_ms":5000})";
const std::string by_w2 = R"({"owner_id":"w2","ttl_ms":5000})";

TEST_P(LockserverWire, PipelinedRequestsAreAnsweredInOrder) {
    net::TestClient client = host_.connect();
    client.send(http(acquire_x, by_w1) + http("GET /v1/locks/x") + http(acquire_x, by_w2) +
                http("PUT /v1/locks/x") + http("GET /v1/locks") + http("GET /v1/locks/x/steal") +
                http("DELETE /v1/locks/x") + http("GET /lock?job=x") + http(acquire_x, by_w2));
    EXPECT_THAT(client.response().body, HasSubstr(R"("acquired":true)"));
    EXPECT_THAT(client.response().body, HasSubstr(R"("held":true,"owner_id":"w1")"));
    EXPECT_THAT(client.response().body, HasSubstr(R"("acquired":false)"));
    EXPECT_EQ(client.response().status, 405);
    EXPECT_THAT(client.response().body, HasSubstr(R"({"locks":[{"lock_name":"x")"));
    EXPECT_EQ(client.response().status, 404);
    EXPECT_THAT(client.response().body, HasSubstr(R"("released":true)"));
    EXPECT_THAT(client.response().body, HasSubstr("no lock held"));
    EXPECT_THAT(client.response().body, HasSubstr(R"("acquired":true)"));
}

// What follows a request that waits is done at once, and answered after it.
TEST_P(LockserverWire, AnswersAfterAWaitKeepTheirPlace) {
    net::TestClient holder = host_.connect(), client = host_.connect();
    holder.send(http(acquire_x, by_w1));
    EXPECT_EQ(holder.response().status, 200);
    client.send(http(acquire_x, R"({"owner_id":"w2","ttl_ms":5000,"wait_ms":60000})") +
                http("POST /v1/locks/y/acquire", by_w2));
    std::string seen;
    do {
        holder.send(http("GET /v1/locks/y"));
        seen = holder.response().body;
    } while (seen.find(R"("held":true)") == std::string::npos);
    host_.advance(5s);
    EXPECT_THAT(client.response().body, HasSubstr(R"("lock_name":"x","owner_id":"w2")"));
    EXPECT_THAT(client.response().body, HasSubstr(R"("lock_name":"y","owner_id":"w2")"));
}

TEST_P(LockserverWire, HeadIsGetWithoutItsBody) {
    net::TestClient client = host_.connect();
    for (const std::string path : {"/v1/locks/x", "/v1/locks", "/v1/events"}) {
        client.send(http("HEAD " + path));
        const net::TestResponse head = client.response(true);
        EXPECT_EQ(head.status, path == "/v1/events" ? 405 : 200) << path;
    }
    client.send(http("GET /v1/locks/x"));  // had a body followed, this answer would begin with it
    EXPECT_EQ(without_position(client.response().body), "{\"lock_name\":\"x\",\"held\":false}\n");
}

TEST_P(LockserverWire, AMethodThatIsNotAllowedIsToldWhichAre) {
    net::TestClient client = host_.connect();
    const auto allowed = [&](const std::string& line) {
        client.send(http(line));
        return client.response().header;
    };
    EXPECT_THAT(allowed("PUT /v1/locks/x/acquire"), HasSubstr("Allow: POST\r\n"));
    EXPECT_THAT(allowed("PUT /v1/locks/x"), HasSubstr("Allow: GET, HEAD, DELETE\r\n"));
    EXPECT_THAT(allowed("PUT /v1/locks"), HasSubstr("Allow: GET, HEAD\r\n"));
    EXPECT_THAT(allowed("POST /v1/events"), HasSubstr("Allow: GET\r\n"));
}

TEST_P(LockserverWire, AClosedConnectionDoesNotReleaseItsLock) {
    {
        net::TestClient client = host_.connect();
        client.send(http(acquire_x, by_w1));
        EXPECT_EQ(client.response().status, 200);
        client.reset();
    }
    net::TestClient other = host_.connect();
    other.send(http(acquire_x, by_w2));
    EXPECT_EQ(other.response().status, 409);
}

TEST_P(LockserverWire, TwoClientsAtOnceOneOfThemWins) {
    for (int round = 0; round < 50; ++round) {
        const std::string line = "POST /v1/locks/" + std::to_string(round) + "/acquire";
        net::TestClient first = host_.connect(), second = host_.connect();
        first.send(http(line, by_w1));
        second.send(http(line, by_w2));
        EXPECT_EQ(first.response().status + second.response().status, 200 + 409);
    }
}

// A request is cut in two at every byte, each time on a connection of its own.
TEST_P(LockserverWire, EveryRequestMayBeCutAnywhere) {
    net::TestClient holder = host_.connect();
    holder.send(http(acquire_x, by_w1));
    const std::string granted = holder.response().body;
    const auto value_of = [&](const std::string& key) {
        const auto begin = granted.find("\"" + key + "\":") + key.size() + 3;
        return granted.substr(begin, granted.find(',', begin) - begin);
    };
    const std::string proof = R"({"owner_id":"w1","lease_id":)" + value_of("lease_id") +
                              R"(,"fencing_token":)" + value_of("fencing_token");
    const Exchange rows[] = {
        {http(acquire_x, by_w2), 409, R"("reason":"HELD")"},
        {http("POST /v1/locks/x/renew", proof + R"(,"extend_by_ms":9000})"), 200,
         R"({"renewed":true,"lease_expiry_ms":1705314609000})"},
        {http("POST /v1/locks/x/release", proof + R"(,"extend_by_ms":9000})"), 400,
         "unknown field"},
        {http("GET /v1/locks/%78?queue=true"), 200, R"("held":true,"owner_id":"w1")"},
        {http("GET /v1/locks?prefix=x"), 200, R"({"locks":[{"lock_name":"x")"},
    };
    expect_answers_wherever_cut(host_, rows);
}

TEST_P(LockserverWire, ARequestThatEndsTooEarlyDoesNothing) {
    expect_no_success_when_cut_short(host_, http(acquire_x, by_w1));
    net::TestClient client = host_.connect();
    client.send(http("GET /v1/locks/x"));
    EXPECT_EQ(without_position(client.response().body), "{\"lock_name\":\"x\",\"held\":false}\n");
}

}  // namespace
}  // namespace holdfast::conformance
