// Answers in pieces over real sockets: what ends them, and what does not.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/http/http_protocol.h"
#include "net/loop/test_server.h"

namespace holdfast::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Streams /stream and answers the rest at once. Used on the loop's thread only.
class Station final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        if (request.path != "/stream") return reply.send(200, "text/plain", "now");
        streams.push_back(reply.stream(200, "text/event-stream", {}, [this] { ++abandoned; }));
    }
    std::vector<StreamedReply> streams;
    int abandoned = 0;
};

class ServerStream : public testing::Test {
  protected:
    TestServer& serve(const ConnectionLimits& limits = {}) {
        server_ = std::make_unique<TestServer>(
            [this](Channel& channel, EventLoop&) {
                return std::make_unique<HttpProtocol>(channel, station_, limits_);
            },
            ServerOptions{.limits = limits, .on_error = {}});
        return *server_;
    }

    // A client that has read the header of its stream.
    TestClient listen(int receive_buffer_bytes = 0) {
        auto client = server_->connect(receive_buffer_bytes);
        client.send("GET /stream HTTP/1.1\r\n\r\n");
        EXPECT_NE(std::string::npos, client.response().header.find("chunked"));
        return client;
    }

    void send(const std::string& piece) {
        server_->on_loop([&] { station_.streams.back().send(piece); });
    }

    // Sends pieces until the peer's system accepts no more. Returns how many were sent.
    std::size_t flood(const std::string& piece) {
        std::size_t count = 0;
        EXPECT_TRUE(server_->eventually([&] {  // what the turn before has sent is gone, or waits
            if (!station_.streams[0] || station_.streams[0].is_congested()) return true;
            station_.streams[0].send(piece);
            ++count;
            return false;
        }));
        return count;
    }

    const HttpLimits limits_{};
    Station station_;
    std::unique_ptr<TestServer> server_;
};

TEST_F(ServerStream, SendsPiecesAsTheyCome) {
    serve();
    auto client = listen();
    for (int i = 0; i < 10; ++i) {
        send("x");
        EXPECT_EQ("1\r\nx\r\n", client.read(6));
    }
    client.send("GET / HTTP/1.1\r\n\r\n");
    server_->on_loop([this] { station_.streams.clear(); });
    EXPECT_EQ("0\r\n\r\n", client.read(5));
    EXPECT_EQ("now", client.response().body);
}

TEST_F(ServerStream, IsNotIdle) {
    auto& server = serve({.idle_timeout = milliseconds(20)});
    auto listener = listen();
    auto idle = server.connect();  // began later, and is closed earlier
    EXPECT_EQ("", idle.read_to_end());
    send("x");
    EXPECT_EQ("1\r\nx\r\n", listener.read(6));
}

TEST_F(ServerStream, IsToldThatThePeerDiedOrHalfClosed) {
    auto& server = serve();
    auto killed = listen();
    auto finished = listen();
    killed.reset();
    EXPECT_TRUE(server.eventually([this] { return station_.abandoned == 1; }));
    finished.finish_sending();
    EXPECT_TRUE(server.eventually([this] { return station_.abandoned == 2; }));
    EXPECT_EQ(1u, server.server().counts().connections);
    send("x");
    server.on_loop([this] { station_.streams.clear(); });
    EXPECT_EQ("1\r\nx\r\n0\r\n\r\n", finished.read_to_end());
    EXPECT_TRUE(server.eventually([&] { return server.server().counts().connections == 0; }));
}

TEST_F(ServerStream, IsCongestedWhileThePeerDoesNotReadAndGivesItUpInTheEnd) {
    auto& server = serve({.write_timeout = milliseconds(50), .output_bytes_max = 1000});
    auto client = listen(4096);
    flood(std::string(1'000'000, 'x'));
    EXPECT_TRUE(server.eventually([&] { return station_.abandoned == 1; }));
    EXPECT_FALSE(server.on_loop([this] { return static_cast<bool>(station_.streams[0]); }));
}

TEST_F(ServerStream, OfASlowReaderIsNotGivenUp) {
    auto& server = serve({.output_bytes_max = 1000});
    auto client = listen(4096);
    const std::string piece(1'000'000, 'x');
    const auto count = flood(piece);
    for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ("f4240\r\n" + piece + "\r\n", client.read(piece.size() + 9));
    }
    EXPECT_TRUE(server.eventually([this] { return !station_.streams[0].is_congested(); }));
}

TEST_F(ServerStream, EndsCleanlyWhenTheServerShutsDown) {
    for (const char* version : {"1.1", "1.0"}) {
        station_.streams.clear();
        auto& server = serve();
        auto client = server.connect();
        client.send(std::string("GET /stream HTTP/") + version + "\r\n\r\n");
        client.response();
        send("x");
        const auto done = server.shut_down(seconds(60));
        const bool chunked = std::string_view(version) == "1.1";
        EXPECT_EQ(chunked ? "1\r\nx\r\n0\r\n\r\n" : "x", client.read_to_end());
        { const TestClient gone(std::move(client)); }
        EXPECT_EQ(std::future_status::ready, done.wait_for(seconds(10)));
        EXPECT_EQ(1, std::exchange(station_.abandoned, 0));
        server_.reset();
    }
}

}  // namespace
}  // namespace holdfast::net
