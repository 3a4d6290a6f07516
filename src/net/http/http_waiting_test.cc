// Answers that wait for earlier ones are counted, and too many of them stop the reading.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "net/http/http_protocol.h"
#include "net/loop/test_channel.h"
#include "net/loop/test_server.h"

namespace holdfast::net {
namespace {

constexpr std::size_t long_body_bytes = 1000;

// Answers /long and /short at once; defers paths that begin with /d; streams those with /s.
class Shelf final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        const std::string path(request.path);
        handled.push_back(path);
        if (path == "/long") return reply.send(200, "", std::string(long_body_bytes, 'x'));
        if (path.starts_with("/s/")) {
            streams[path] = reply.stream(200, "");
        } else if (path.starts_with("/d")) {
            deferred[path] = reply.defer();
        } else {
            reply.send(200, "", path);
        }
    }

    std::vector<std::string> handled;
    std::map<std::string, DeferredReply> deferred;
    std::map<std::string, StreamedReply> streams;
};

std::string get(const std::string& path) {
    return "GET " + path + " HTTP/1.1\r\n\r\n";
}
std::string post(const std::string& path) {
    return "POST " + path + " HTTP/1.1\r\n\r\n";
}

class HttpWaiting : public testing::Test {
  protected:
    void feed(const std::string& requests) { channel_.feed(*protocol_, requests); }
    void answer(const std::string& path) { shelf_.deferred.at(path).send(200, "", path); }

    // How many answers were sent since the last call.
    std::size_t answers() {
        const std::string text = channel_.take();
        std::size_t count = 0;
        for (std::size_t at = 0; (at = text.find("HTTP/1.1 200", at)) != text.npos; ++at) ++count;
        return count;
    }

    Shelf shelf_;
    HttpLimits limits_{.waiting_bytes_max = 3000, .unknown_answer_bytes = 500};
    TestChannel channel_;
    std::unique_ptr<HttpProtocol> protocol_ =
        std::make_unique<HttpProtocol>(channel_, shelf_, limits_);
};

TEST_F(HttpWaiting, StopsReadingWhenTooManyBytesWait) {
    std::string burst = post("/d");
    for (int i = 0; i < 100; ++i) burst += get("/long");
    feed(burst);
    EXPECT_EQ(shelf_.handled.size(), 1U + 3U);
    EXPECT_TRUE(channel_.paused);
    EXPECT_GT(channel_.waiting_bytes, 3000);
    EXPECT_LE(channel_.waiting_bytes, 3000 + 1200);
    EXPECT_EQ(answers(), 0U);

    answer("/d");
    EXPECT_EQ(channel_.waiting_bytes, 0);
    EXPECT_FALSE(channel_.paused);
    EXPECT_EQ(answers(), 4U);
    channel_.offer(*protocol_);
    EXPECT_EQ(answers(), 97U) << "nothing waits any more";
    EXPECT_TRUE(protocol_->idle());
}

TEST_F(HttpWaiting, StopsReadingHoweverTheRequestsAreCut) {
    std::string burst = post("/d");
    for (int i = 0; i < 6; ++i) burst += get("/long");
    for (std::size_t cut = 0; cut <= burst.size(); ++cut) {
        Shelf shelf;
        TestChannel channel;
        HttpProtocol protocol(channel, shelf, limits_);
        channel.feed(protocol, burst.substr(0, cut));
        channel.feed(protocol, burst.substr(cut));
        EXPECT_EQ(shelf.handled.size(), 4U) << "cut at " << cut;
        shelf.deferred.at("/d").send(200, "", "");
        channel.offer(protocol);
        EXPECT_EQ(shelf.handled.size(), 7U) << "cut at " << cut;
        EXPECT_TRUE(channel.held.empty());
        EXPECT_EQ(channel.waiting_bytes, 0);
    }
}

TEST_F(HttpWaiting, KnowsNothingOfWhatLeavesAtOnce) {
    std::string burst;
    for (int i = 0; i < 100; ++i) burst += get("/long");
    feed(burst);
    EXPECT_EQ(shelf_.handled.size(), 100U);
    EXPECT_EQ(channel_.waiting_bytes, 0);
}

TEST_F(HttpWaiting, OneAnswerOfUnknownLengthAtATime) {
    feed(post("/d") + get("/d1") + get("/d2") + post("/d3"));
    EXPECT_EQ(shelf_.handled, (std::vector<std::string>{"/d", "/d1"}));
    EXPECT_EQ(channel_.waiting_bytes, 500) << "counted before it is known";
    EXPECT_TRUE(channel_.paused);
    answer("/d1");
    EXPECT_LT(channel_.waiting_bytes, 500);
    EXPECT_FALSE(channel_.paused);
    channel_.offer(*protocol_);
    EXPECT_EQ(shelf_.handled, (std::vector<std::string>{"/d", "/d1", "/d2"}));
    answer("/d");
    EXPECT_EQ(channel_.waiting_bytes, 0) << "the first one does not wait for others";
    EXPECT_TRUE(channel_.paused);
    answer("/d2");
    channel_.offer(*protocol_);
    answer("/d3");
    EXPECT_EQ(answers(), 4U);
    EXPECT_TRUE(protocol_->idle());
}

TEST_F(HttpWaiting, AStreamThatHasBegunHoldsNothingUp) {
    feed(get("/d") + get("/short"));
    EXPECT_EQ(shelf_.handled.size(), 1U);
    auto stream = shelf_.deferred.at("/d").stream(200, "", {}, {});
    channel_.offer(*protocol_);
    EXPECT_EQ(shelf_.handled.size(), 2U);
    stream.end();
    EXPECT_EQ(answers(), 2U);
}

TEST_F(HttpWaiting, RunsNoRequestThatWouldHaveToWaitWhenThereIsNoRoomInAll) {
    channel_.has_room = false;
    feed(get("/short"));
    EXPECT_EQ(answers(), 1U) << "its answer does not wait";
    feed(post("/d") + post("/short"));
    EXPECT_EQ(shelf_.handled.size(), 2U);
    EXPECT_TRUE(channel_.paused);
    channel_.has_room = true;
    channel_.resume();  // as the connection does
    channel_.offer(*protocol_);
    EXPECT_EQ(shelf_.handled.size(), 3U);
    channel_.has_room = false;
    feed(post("/short"));
    EXPECT_EQ(shelf_.handled.size(), 3U);
    answer("/d");
    channel_.offer(*protocol_);
    EXPECT_EQ(answers(), 3U) << "the queue is empty, so nothing has to wait";
    EXPECT_TRUE(protocol_->idle());
}

TEST_F(HttpWaiting, AStreamThatWaitsIsCongestedWhenThereIsNoRoomInAll) {
    feed(get("/s/1") + get("/s/2"));
    channel_.has_room = false;
    EXPECT_FALSE(shelf_.streams.at("/s/1").is_congested());
    EXPECT_TRUE(shelf_.streams.at("/s/2").is_congested());
}

TEST_F(HttpWaiting, CountsPiecesAndForgetsThemWhenTheyLeave) {
    feed(post("/d") + get("/s/1"));
    const auto header_bytes = channel_.waiting_bytes;
    EXPECT_GT(header_bytes, 0);
    shelf_.streams.at("/s/1").send("four");
    EXPECT_EQ(channel_.waiting_bytes, header_bytes + 9);
    answer("/d");
    EXPECT_EQ(channel_.waiting_bytes, 0);
    shelf_.streams.at("/s/1").send("four");
    EXPECT_EQ(channel_.waiting_bytes, 0);
}

TEST_F(HttpWaiting, ForgetsEverythingWithTheConnection) {
    for (const bool drains : {false, true}) {
        Shelf shelf;
        TestChannel channel;
        HttpProtocol protocol(channel, shelf, limits_);
        channel.feed(protocol, post("/d") + get("/long") + get("/s/1") +
                                   "PUT /short HTTP/1.1\r\nExpect: 100-continue\r\n"
                                   "Content-Length: 1\r\n\r\n");
        shelf.streams.at("/s/1").send("piece");
        EXPECT_GT(channel.waiting_bytes, 1000);
        if (drains) protocol.on_drain();
        protocol.on_closed();
        EXPECT_EQ(channel.waiting_bytes, 0);
    }
}

TEST_F(HttpWaiting, OthersHaveTheirTurnBetweenRequests) {
    channel_.requests_per_turn = 2;
    feed(get("/short") + get("/short") + get("/short"));
    EXPECT_EQ(answers(), 2U);
    EXPECT_FALSE(channel_.paused);
    channel_.offer(*protocol_);
    EXPECT_EQ(answers(), 1U);
}

// Two connections share the server's room.
TEST_F(HttpWaiting, CountsTheBytesOfAllConnections) {
    limits_.waiting_bytes_max = 1'000'000;
    TestServer server(
        [this](Channel& channel, EventLoop&) {
            return std::make_unique<HttpProtocol>(channel, shelf_, limits_);
        },
        {.limits = {}, .waiting_bytes_max = 5000, .on_error = {}});
    std::string burst;
    for (int i = 0; i < 100; ++i) burst += get("/long");
    auto first = server.connect();
    first.send(post("/d1") + burst);
    const auto counts = [&] { return server.server().counts(); };
    EXPECT_TRUE(server.eventually([&] { return counts().waiting_bytes >= 5000; }));
    auto second = server.connect();
    second.send(post("/d2") + burst);
    EXPECT_TRUE(server.eventually([&] { return shelf_.deferred.contains("/d2"); }));
    server.on_loop([&] {
        EXPECT_LT(counts().waiting_bytes, 5000U + 1200U);
        answer("/d1");
    });
    EXPECT_TRUE(server.eventually([&] { return counts().waiting_bytes >= 5000; }))
        << "the second connection has the room of the first";
    server.on_loop([&] { answer("/d2"); });
    for (TestClient* client : {&first, &second}) {
        for (int i = 0; i < 101; ++i) ASSERT_EQ(client->response().status, 200);
    }
    EXPECT_TRUE(server.eventually([&] { return counts().waiting_bytes == 0; }));
}

TEST_F(HttpWaiting, ManyRequestsOfOneConnectionDoNotHoldUpTheOthers) {
    ConnectionLimits limits;
    limits.turn_share = std::chrono::microseconds::zero();  // one request in a turn
    TestServer server(
        [this](Channel& channel, EventLoop&) {
            return std::make_unique<HttpProtocol>(channel, shelf_, limits_);
        },
        {.limits = limits, .on_error = {}});
    auto many = server.connect();
    auto one = server.connect();
    std::string burst;
    for (int i = 0; i < 1000; ++i) burst += post("/many");
    server.on_loop([&] {  // both are there when the loop looks
        many.send(burst);
        one.send(post("/one"));
    });
    EXPECT_EQ(one.response().status, 200);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(many.response().status, 200);
    server.on_loop([&] {
        const auto at = std::find(shelf_.handled.begin(), shelf_.handled.end(), "/one");
        EXPECT_LT(at - shelf_.handled.begin(), 100);
    });
}

}  // namespace
}  // namespace holdfast::net
