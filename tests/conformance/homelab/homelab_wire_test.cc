// The same door as bytes on a connection: in one piece, in many, and cut anywhere.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "../test_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::HasSubstr;

class HomelabWire : public ::testing::TestWithParam<std::size_t> {
  protected:
    TestHost host_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, HomelabWire, ::testing::Values(1, 3));

TEST_P(HomelabWire, PipelinedRequestsAreAnsweredInOrder) {
    net::TestClient client = host_.connect();
    client.send(http("POST /lock?client=laptop1&ttl=30s") + http("GET /lock") + http("PUT /lock") +
                http("POST /lock?client=laptop2") + http("DELETE /lock?client=laptop1") +
                http("GET /lock"));
    EXPECT_THAT(client.response().body, HasSubstr("\"message\":\"acquired\""));
    EXPECT_THAT(client.response().body, HasSubstr("\"message\":\"lock held\""));
    EXPECT_EQ(client.response().status, 405);
    EXPECT_THAT(client.response().body, HasSubstr("\"message\":\"held by another client\""));
    EXPECT_THAT(client.response().body, HasSubstr("\"message\":\"lock released\""));
    EXPECT_THAT(client.response().body, HasSubstr("\"message\":\"no lock held\""));
}

TEST_P(HomelabWire, AThousandPipelinedRequestsAreAllAnswered) {
    net::TestClient client = host_.connect();
    std::string requests = http("POST /lock?client=laptop1");
    for (int i = 0; i < 1000; ++i) requests += http("POST /lock?client=laptop1");
    client.send(requests);
    EXPECT_THAT(client.response().body, HasSubstr("\"message\":\"acquired\""));
    for (int i = 0; i < 1000; ++i) {
        ASSERT_THAT(client.response().body, HasSubstr("\"message\":\"renewed\""));
    }
}

TEST_P(HomelabWire, ABodyIsReadAndIgnored) {
    net::TestClient client = host_.connect();
    client.send(
        "POST /lock?client=laptop1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        "8\r\n\r\nttl=junk" +
        http("GET /lock"));
    EXPECT_EQ(client.response().status, 200);
    EXPECT_THAT(client.response().body, HasSubstr("\"holder\":\"laptop1\""));
}

TEST_P(HomelabWire, HeadIsGetWithoutItsBody) {
    net::TestClient client = host_.connect();
    client.send(http("GET /lock"));
    const net::TestResponse get = client.response();
    client.send(http("HEAD /lock"));
    const net::TestResponse head = client.response(true);
    EXPECT_EQ(head.status, 200);
    const auto length_of = [](const net::TestResponse& response) {
        const auto at = response.header.find("Content-Length: ");
        return response.header.substr(at, response.header.find("\r\n", at) - at);
    };
    EXPECT_EQ(length_of(head), length_of(get));
    client.send(http("GET /lock"));  // had a body followed, this answer would begin with it
    EXPECT_EQ(client.response().body, get.body);
}

TEST_P(HomelabWire, AMethodThatIsNotAllowedIsToldWhichAre) {
    net::TestClient client = host_.connect();
    client.send(http("PUT /lock?client=laptop1"));
    const net::TestResponse response = client.response();
    EXPECT_EQ(response.status, 405);
    EXPECT_THAT(response.header, HasSubstr("Allow: GET, HEAD, POST, DELETE\r\n"));
}

TEST_P(HomelabWire, AClosedConnectionDoesNotReleaseItsLock) {
    {
        net::TestClient client = host_.connect();
        client.send(http("POST /lock?client=laptop1"));
        EXPECT_EQ(client.response().status, 200);
        client.reset();
    }
    net::TestClient other = host_.connect();
    other.send(http("POST /lock?client=laptop2"));
    EXPECT_EQ(other.response().status, 409);
}

TEST_P(HomelabWire, TwoClientsAtOnceOneOfThemWins) {
    for (int round = 0; round < 50; ++round) {
        const std::string job = "&job=" + std::to_string(round);
        net::TestClient first = host_.connect();
        net::TestClient second = host_.connect();
        first.send(http("POST /lock?client=laptop1" + job));
        second.send(http("POST /lock?client=laptop2" + job));
        EXPECT_EQ(first.response().status + second.response().status, 200 + 409);
    }
}

// A request is cut in two at every byte, each time on a connection of its own.
TEST_P(HomelabWire, EveryRequestMayBeCutAnywhere) {
    net::TestClient holder = host_.connect();
    holder.send(http("POST /lock?client=laptop1&ttl=30s"));
    EXPECT_EQ(holder.response().status, 200);
    const Exchange rows[] = {
        {http("POST /lock?client=laptop1&ttl=30s"), 200, "\"message\":\"renewed\""},
        {http("POST /lock?client=laptop2&job=%64efault"), 409, "held by another client"},
        {http("DELETE /lock?client=laptop2"), 403, "client does not hold the lock"},
        {http("GET /lock"), 200, "\"message\":\"lock held\""},
        {http("POST /lock?client=laptop1&ttl=5"), 400, "invalid ttl format"},
        {"POST /lock?client=laptop1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nok",
         200, "\"message\":\"renewed\""},
    };
    expect_answers_wherever_cut(host_, rows);
}

TEST_P(HomelabWire, ARequestThatEndsTooEarlyDoesNothing) {
    expect_no_success_when_cut_short(host_, http("POST /lock?client=laptop1&ttl=30s"));
    net::TestClient client = host_.connect();
    client.send(http("GET /lock"));
    EXPECT_THAT(client.response().body, HasSubstr("no lock held"));
}

}  // namespace
}  // namespace holdfast::conformance
