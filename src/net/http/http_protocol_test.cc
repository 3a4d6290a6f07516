// HTTP over real sockets.

#include "net/http/http_protocol.h"

#include <gtest/gtest.h>

#include <string>

#include "net/loop/test_server.h"

namespace holdfast::net {
namespace {

using std::chrono::milliseconds;

// Echoes bodies; /later is answered in a later turn, as after a commit.
class LateEcho final : public HttpHandler {
  public:
    explicit LateEcho(EventLoop*& loop) : loop_(loop) {}

    void handle(const HttpRequest& request, HttpReply& reply) override {
        if (request.path != "/later") return reply.send(200, "text/plain", request.body);
        if (later_.empty()) {
            loop_->post([this] {
                for (auto& [deferred, body] : std::exchange(later_, {})) {
                    deferred.send(200, "text/plain", body);
                }
            });
        }
        later_.emplace_back(reply.defer(), std::string(request.body));
    }

  private:
    EventLoop*& loop_;
    std::vector<std::pair<DeferredReply, std::string>> later_;
};

class HttpProtocolTest : public testing::Test {
  protected:
    explicit HttpProtocolTest(const ConnectionLimits& limits = {})
        : server_(
              [this](Channel& channel, EventLoop& loop) {
                  loop_ = &loop;
                  return std::make_unique<HttpProtocol>(channel, echo_, limits_);
              },
              {.limits = limits, .on_error = {}}) {}

    HttpLimits limits_;
    EventLoop* loop_ = nullptr;
    LateEcho echo_{loop_};
    TestServer server_;
    TestClient client_ = server_.connect();
};

TEST_F(HttpProtocolTest, AnswersManyRequestsOnOneConnection) {
    for (const auto* path : {"/", "/later"}) {
        for (int i = 0; i < 100; ++i) {
            client_.send(std::string("POST ") + path + " HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi");
            const auto response = client_.response();
            EXPECT_EQ(200, response.status);
            EXPECT_EQ("hi", response.body);
            EXPECT_EQ(response.header.npos, response.header.find("Connection"));
        }
    }
}

TEST_F(HttpProtocolTest, ClosesWhenTheClientWantsThat) {
    client_.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    EXPECT_NE(std::string::npos, client_.response().header.find("Connection: close\r\n"));
    EXPECT_EQ("", client_.read_to_end());
}

TEST_F(HttpProtocolTest, ClosesAfterARequestOfHttp10UnlessItAsksToBeKept) {
    client_.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_NE(std::string::npos, client_.response().header.find("Connection: keep-alive\r\n"));
    client_.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_NE(std::string::npos, client_.response().header.find("Connection: close\r\n"));
    EXPECT_EQ("", client_.read_to_end());
}

TEST_F(HttpProtocolTest, AnswersHeadWithoutABody) {
    client_.send("HEAD / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi");
    const auto response = client_.response(true);
    EXPECT_NE(std::string::npos, response.header.find("Content-Length: 2\r\n"));
    client_.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_EQ(200, client_.response().status);
}

TEST_F(HttpProtocolTest, LetsAClientGoOnThatWaitsForPermission) {
    client_.send("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ("HTTP/1.1 100 Continue\r\n\r\n", client_.read(25));
    client_.send("hi");
    EXPECT_EQ("hi", client_.response().body);
}

TEST_F(HttpProtocolTest, AnswersBurstsOfPipelinedRequestsInOrder) {
    for (const auto* path : {"/", "/later"}) {
        constexpr int count = 3000;
        std::string burst;
        for (int i = 0; i < count; ++i) {
            const auto body = std::to_string(i);
            burst += std::string("POST ") + path +
                     " HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                     body;
        }
        client_.send(burst);
        for (int i = 0; i < count; ++i) ASSERT_EQ(std::to_string(i), client_.response().body);
    }
}

TEST_F(HttpProtocolTest, AnswersAllThatAHalfClosedClientHasAsked) {
    constexpr int count = 1000;
    std::string burst;
    for (int i = 0; i < count; ++i) burst += "POST /later HTTP/1.1\r\nContent-Length: 1\r\n\r\nx";
    client_.send(burst);
    client_.finish_sending();
    for (int i = 0; i < count; ++i) ASSERT_EQ("x", client_.response().body);
    EXPECT_EQ("", client_.read_to_end());
}

TEST_F(HttpProtocolTest, TakesALargeBody) {
    const std::string body(limits_.body_bytes_max, 'b');
    client_.send("POST / HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n");
    client_.send(body);
    EXPECT_EQ(body, client_.response().body);
}

TEST_F(HttpProtocolTest, RefusesALargerBodySoThatTheClientCanReadWhy) {
    client_.send("POST / HTTP/1.1\r\nContent-Length: 2000000\r\n\r\n");
    client_.send(std::string(2'000'000, 'b'));
    EXPECT_EQ(413, client_.response().status);
    EXPECT_EQ("", client_.read_to_end());
}

class SlowClientTest : public HttpProtocolTest {
  protected:
    SlowClientTest() : HttpProtocolTest({.request_timeout = milliseconds(30)}) {}
};

TEST_F(SlowClientTest, IsTold408) {
    client_.send("GET / HTTP/1.1\r\nHost:");
    EXPECT_EQ(408, client_.response().status);
    EXPECT_EQ("", client_.read_to_end());
}

}  // namespace
}  // namespace holdfast::net
