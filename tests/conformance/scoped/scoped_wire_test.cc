// The same door as bytes on a connection: in one piece, in many, and cut anywhere.

#include <gmock/gmock.h>

#include <string>

#include "../test_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::HasSubstr;

class ScopedWire : public ::testing::TestWithParam<std::size_t> {
  protected:
    // Takes the bytes and returns the token.
    std::string take_bytes() {
        net::TestClient client = host_.connect();
        client.send(http("POST /v1/leases", by_w1));
        const std::string body = client.response().body;
        return body.substr(body.find("\"token\":\"") + 9, 32);
    }

    static inline const std::string by_w1 = R"({"scope":"range:7:0-4096","holder":"w1"})";
    static inline const std::string by_w2 =
        R"({"scope":{"kind":"range","inode":7,"start":4000,"end":5000},"holder":"w2"})";
    TestHost host_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, ScopedWire, ::testing::Values(1, 3));

TEST_P(ScopedWire, PipelinedRequestsAreAnsweredInOrder) {
    net::TestClient client = host_.connect();
    client.send(http("POST /v1/leases", by_w1) + http("POST /v1/leases", by_w2) +
                http("POST /v1/fence/r", R"({"fencing_token":7})") + http("PUT /v1/leases") +
                http("POST /v1/fence/r", R"({"fencing_token":6})") + http("GET /v1/fence/r") +
                http("GET /v1/leases") + http("DELETE /v1/leases/x"));
    EXPECT_THAT(client.response().body, HasSubstr(R"({"token":")"));
    EXPECT_THAT(client.response().body, HasSubstr(R"("error":"LockHeld")"));
    EXPECT_THAT(client.response().body, HasSubstr(R"("highest":7)"));
    EXPECT_EQ(client.response().status, 405);
    EXPECT_EQ(client.response().status, 409);
    EXPECT_EQ(client.response().body, "{\"resource\":\"r\",\"highest\":7}\n");
    EXPECT_THAT(client.response().body, HasSubstr(R"({"leases":[{"fencing_token":)"));
    EXPECT_EQ(client.response().status, 404);
}

TEST_P(ScopedWire, HeadIsGetWithoutItsBody) {
    const std::string token = take_bytes();
    net::TestClient client = host_.connect();
    client.send(http("POST /v1/fence/r", R"({"fencing_token":7})"));
    EXPECT_EQ(client.response().status, 200);
    for (const std::string path : {"/v1/leases", "/v1/fence/r"}) {
        client.send(http("HEAD " + path));
        EXPECT_EQ(client.response(true).status, 200) << path;
    }
    client.send(http("HEAD /v1/leases/" + token));
    EXPECT_EQ(client.response(true).status, 200);
    client.send(http("HEAD /v1/leases/x"));
    EXPECT_EQ(client.response(true).status, 404);
    client.send(http("GET /v1/fence/r"));  // had a body followed, this answer would begin with it
    EXPECT_EQ(client.response().body, "{\"resource\":\"r\",\"highest\":7}\n");
}

TEST_P(ScopedWire, AMethodThatIsNotAllowedIsToldWhichAre) {
    net::TestClient client = host_.connect();
    const auto allowed = [&](const std::string& line) {
        client.send(http(line));
        return client.response().header;
    };
    EXPECT_THAT(allowed("PUT /v1/leases"), HasSubstr("Allow: GET, HEAD, POST\r\n"));
    EXPECT_THAT(allowed("PUT /v1/leases/x"), HasSubstr("Allow: GET, HEAD, DELETE\r\n"));
    EXPECT_THAT(allowed("GET /v1/leases/x/renew"), HasSubstr("Allow: POST\r\n"));
    EXPECT_THAT(allowed("GET /v1/fence/check"), HasSubstr("Allow: POST\r\n"));
    EXPECT_THAT(allowed("PUT /v1/fence/r"), HasSubstr("Allow: GET, HEAD, POST, DELETE\r\n"));
}

TEST_P(ScopedWire, AClosedConnectionDoesNotReleaseItsLease) {
    take_bytes();
    net::TestClient other = host_.connect();
    other.send(http("POST /v1/leases", by_w2));
    EXPECT_EQ(other.response().status, 409);
}

TEST_P(ScopedWire, TwoClientsAtOnceOneOfThemWins) {
    for (int round = 0; round < 50; ++round) {
        const std::string number = std::to_string(round);
        net::TestClient first = host_.connect(), second = host_.connect();
        first.send(
            http("POST /v1/leases", R"({"scope":"range:)" + number + R"(:0-10","holder":"w1"})"));
        second.send(
            http("POST /v1/leases", R"({"scope":"range:)" + number + R"(:9-20","holder":"w2"})"));
        EXPECT_EQ(first.response().status + second.response().status, 200 + 409);
    }
}

// A request is cut in two at every byte, each time on a connection of its own.
TEST_P(ScopedWire, EveryRequestMayBeCutAnywhere) {
    const std::string token = take_bytes();
    const Exchange rows[] = {
        {http("POST /v1/leases", by_w2), 409, R"("error":"LockHeld")"},
        {http("POST /v1/leases/" + token + "/renew", R"({"duration_ms":9000})"), 200,
         R"("expires_at":"2024-01-15T10:30:09.000Z")"},
        {http("GET /v1/leases/" + token), 200, R"("holder":"w1")"},
        {http("GET /v1/leases?kind=range&inode=7"), 200, R"("holder":"w1")"},
        {http("POST /v1/fence/check",
              R"({"token":")" + token + R"(","scope":{"kind":"inode","inode":7}})"),
         409, R"("error":"LockScopeMismatch")"},
        {http("POST /v1/fence/s3%3A", R"({"fencing_token":7})"), 200, R"("highest":7)"},
        {http("GET /v1/fence/s3%3A"), 200, R"({"resource":"s3:","highest":7})"},
        {http("DELETE /v1/leases/" + token + "0"), 404, R"("error":"LockNotFound")"},
    };
    expect_answers_wherever_cut(host_, rows);
}

TEST_P(ScopedWire, ARequestThatEndsTooEarlyDoesNothing) {
    expect_no_success_when_cut_short(host_, http("POST /v1/leases", by_w1));
    expect_no_success_when_cut_short(host_, http("POST /v1/fence/r", R"({"fencing_token":7})"));
    net::TestClient client = host_.connect();
    client.send(http("GET /v1/leases") + http("GET /v1/fence/r"));
    EXPECT_EQ(without_position(client.response().body), "{\"leases\":[]}\n");
    EXPECT_EQ(client.response().status, 404);
}

}  // namespace
}  // namespace holdfast::conformance
