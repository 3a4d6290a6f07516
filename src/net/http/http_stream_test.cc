// Answers in pieces, and their order among others.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "net/http/http_protocol.h"
#include "net/loop/test_channel.h"

namespace holdfast::net {
namespace {

// Streams what begins with /s, defers what begins with /d, answers the rest at once.
class Studio final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        const std::string path(request.path);
        const auto on_abandoned = [this, path] {
            abandoned.push_back(path);
            if (ends_when_abandoned) streams.erase(path);
        };
        if (path.starts_with("/s")) {
            const int status = path == "/s204" ? 204 : 200;
            streams[path] = reply.stream(status, "text/event-stream", {{"X-A", "b"}}, on_abandoned);
        } else if (path.starts_with("/d")) {
            deferred[path] = reply.defer(on_abandoned);
        } else {
            reply.send(200, "", path);
        }
    }

    std::map<std::string, StreamedReply> streams;
    std::map<std::string, DeferredReply> deferred;
    std::vector<std::string> abandoned;
    bool ends_when_abandoned = false;
};

const std::string stream_header =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    "X-A: b\r\n\r\n";

std::string plain_answer(const std::string& body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class HttpStream : public testing::Test {
  protected:
    void request(const std::string& line, const std::string& header = "") {
        const bool has_version = line.find(" HTTP/") != std::string::npos;
        const std::string version = has_version ? "" : " HTTP/1.1";
        channel_.feed(protocol_, line + version + "\r\n" + header + "\r\n");
    }

    using Paths = std::vector<std::string>;

    Studio studio_;
    HttpLimits limits_{.pending_max = 4, .waiting_bytes_max = 1000};
    TestChannel channel_;
    HttpProtocol protocol_{channel_, studio_, limits_};
};

TEST_F(HttpStream, SendsEveryPieceAsAChunkAndThenTheLast) {
    request("GET /s");
    EXPECT_EQ(stream_header, channel_.take());
    EXPECT_FALSE(protocol_.idle());
    auto& stream = studio_.streams.at("/s");
    stream.send("data: 1\n\n");
    EXPECT_EQ("9\r\ndata: 1\n\n\r\n", channel_.take());
    stream.send("");  // would be the last chunk
    EXPECT_EQ("", channel_.take());
    stream.send(std::string(26, 'x'));
    EXPECT_EQ("1a\r\n" + std::string(26, 'x') + "\r\n", channel_.take());
    stream.end();
    EXPECT_EQ("0\r\n\r\n", channel_.take());
    EXPECT_FALSE(stream);
    stream.send("more");
    stream.end();
    EXPECT_EQ("", channel_.take());
    EXPECT_TRUE(protocol_.idle());
    EXPECT_FALSE(channel_.closed);
    request("GET /now");
    EXPECT_EQ(plain_answer("/now"), channel_.take());
    EXPECT_EQ(Paths{}, studio_.abandoned);
}

TEST_F(HttpStream, IsEndedByItsDestructionAndByBeingReplaced) {
    request("GET /s1");
    request("GET /s2");
    channel_.take();
    studio_.streams.at("/s1") = std::move(studio_.streams.at("/s2"));
    EXPECT_EQ("0\r\n\r\n" + stream_header, channel_.take());
    EXPECT_TRUE(studio_.streams.at("/s1"));
    studio_.streams.clear();
    EXPECT_EQ("0\r\n\r\n", channel_.take());
}

// Three requests of every kind, whose answers are completed in every order.
TEST_F(HttpStream, KeepsTheOrderOfTheRequestsWhateverIsAnsweredFirst) {
    const std::string kinds = "nds";
    for (int combination = 0; combination < 27; ++combination) {
        std::array<std::string, 3> paths;
        std::string expected;
        for (std::size_t i = 0; i < 3; ++i) {
            const char kind =
                kinds[static_cast<std::size_t>(combination / std::array{1, 3, 9}[i] % 3)];
            paths[i] = std::string("/") + kind + std::to_string(i);
            expected += kind == 's' ? stream_header + "3\r\n" + paths[i] + "\r\n1\r\n!\r\n0\r\n\r\n"
                                    : plain_answer(paths[i]);
        }
        std::array<std::size_t, 3> order{0, 1, 2};
        do {
            std::string sent;
            for (const auto& path : paths) {
                request("POST " + path);
                if (path[1] == 's') studio_.streams.at(path).send(path);
                sent += channel_.take();
            }
            for (const std::size_t i : order) {
                if (paths[i][1] == 's') {
                    studio_.streams.at(paths[i]).send("!");
                    studio_.streams.erase(paths[i]);
                } else if (paths[i][1] == 'd') {
                    studio_.deferred.at(paths[i]).send(200, "", paths[i]);
                }
                sent += channel_.take();
                EXPECT_TRUE(expected.starts_with(sent)) << sent;
            }
            EXPECT_EQ(expected, sent);
            EXPECT_TRUE(protocol_.idle());
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

TEST_F(HttpStream, GoesStraightOutOnceItIsItsTurn) {
    request("POST /d");
    request("GET /s");
    studio_.streams.at("/s").send("1");
    EXPECT_EQ("", channel_.take());
    studio_.deferred.at("/d").send(200, "", "/d");
    EXPECT_EQ(plain_answer("/d") + stream_header + "1\r\n1\r\n", channel_.take());
    studio_.streams.at("/s").send("2");
    EXPECT_EQ("1\r\n2\r\n", channel_.take());
}

TEST_F(HttpStream, HoldsBackInputWhileTooMuchIsUnansweredBehindIt) {
    request("GET /s");
    for (const auto* path : {"/a", "/b", "/c", "/e"}) request(std::string("GET ") + path);
    EXPECT_TRUE(channel_.paused);
    channel_.take();
    studio_.streams.clear();
    EXPECT_FALSE(channel_.paused);
    channel_.offer(protocol_);
    EXPECT_EQ("0\r\n\r\n" + plain_answer("/a") + plain_answer("/b") + plain_answer("/c") +
                  plain_answer("/e"),
              channel_.take());
}

TEST_F(HttpStream, IsCongestedWithTheChannelOrByWhatWaitsForItsTurn) {
    request("GET /s1");
    request("GET /s2");
    auto& first = studio_.streams.at("/s1");
    auto& second = studio_.streams.at("/s2");
    EXPECT_FALSE(first.is_congested());
    channel_.is_congested = true;
    EXPECT_TRUE(first.is_congested());
    EXPECT_TRUE(second.is_congested());
    channel_.is_congested = false;
    second.send(std::string(limits_.waiting_bytes_max, 'x'));
    EXPECT_TRUE(second.is_congested());
    first.end();
    EXPECT_FALSE(second.is_congested());
    EXPECT_FALSE(first.is_congested());
}

TEST_F(HttpStream, OfHttp10EndsWithTheConnection) {
    request("GET /s HTTP/1.0", "Connection: keep-alive\r\n");
    request("GET /now");
    EXPECT_EQ(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nX-A: b\r\n\r\n",
        channel_.take());
    studio_.streams.at("/s").send("1");
    studio_.streams.at("/s").send("2");
    EXPECT_FALSE(channel_.closed);
    studio_.streams.clear();
    EXPECT_EQ("12", channel_.take());
    EXPECT_TRUE(channel_.closed);
}

// The peer would think that the next answer is a part of the body.
TEST_F(HttpStream, IsFollowedByNothingIfItsEndIsThatOfTheConnection) {
    for (const bool has_length : {false, true}) {
        Studio studio;
        TestChannel channel;
        HttpProtocol protocol(channel, studio, limits_);
        channel.feed(protocol,
                     "POST /d1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
                     "POST /d2 HTTP/1.1\r\n\r\nPOST /n HTTP/1.1\r\n\r\n");
        StreamOptions options;
        if (has_length) options.length = 9;
        auto stream = studio.deferred.at("/d1").stream(200, "", {}, std::move(options));
        stream.send("body");
        EXPECT_TRUE(channel.take().ends_with("\r\n\r\nbody"));
        stream.end();
        EXPECT_EQ("", channel.take());
        EXPECT_TRUE(channel.closed);
        EXPECT_EQ(Paths{"/d2"}, studio.abandoned);
        studio.deferred.at("/d2").send(200, "", "/d2");
        EXPECT_EQ("", channel.take());
        EXPECT_TRUE(protocol.idle());
        EXPECT_EQ(0, channel.waiting_bytes);
    }
}

TEST_F(HttpStream, ClosesAfterItsEndIfTheClientWantsThat) {
    request("GET /s", "Connection: close\r\n");
    EXPECT_NE(std::string::npos, channel_.take().find("\r\nConnection: close\r\n"));
    EXPECT_FALSE(channel_.closed);
    studio_.streams.clear();
    EXPECT_EQ("0\r\n\r\n", channel_.take());
    EXPECT_TRUE(channel_.closed);
}

TEST_F(HttpStream, IsAHeaderOnlyWhereThereIsNoBody) {
    request("HEAD /s");
    EXPECT_EQ(stream_header, channel_.take());
    request("GET /s204");
    EXPECT_EQ("HTTP/1.1 204 No Content\r\nContent-Type: text/event-stream\r\nX-A: b\r\n\r\n",
              channel_.take());
    request("HEAD /s10 HTTP/1.0", "Connection: keep-alive\r\n");
    EXPECT_NE(std::string::npos, channel_.take().find("\r\nConnection: keep-alive\r\n"));
    for (auto& [path, stream] : studio_.streams) {
        EXPECT_FALSE(stream) << path;
        EXPECT_FALSE(stream.is_congested());
        stream.send("nowhere");
    }
    EXPECT_TRUE(protocol_.idle());
    request("POST /d");
    request("HEAD /s");
    EXPECT_EQ("", channel_.take());
    studio_.deferred.at("/d").send(200, "", "/d");
    EXPECT_EQ(plain_answer("/d") + stream_header, channel_.take());
    request("HEAD /s", "Connection: close\r\n");
    EXPECT_TRUE(channel_.closed);
    protocol_.on_closed();
    EXPECT_EQ(Paths{}, studio_.abandoned);
}

TEST_F(HttpStream, IsToldOnceThatThePeerStoppedSendingAndMayGoOn) {
    request("GET /s1");
    request("GET /s2");
    protocol_.on_end_of_input();
    protocol_.on_end_of_input();
    EXPECT_EQ((Paths{"/s1", "/s2"}), studio_.abandoned);
    channel_.take();
    studio_.streams.at("/s1").send("1");
    EXPECT_EQ("1\r\n1\r\n", channel_.take());
    protocol_.on_closed();
    EXPECT_EQ(2u, studio_.abandoned.size());
}

TEST_F(HttpStream, OutlivesTheConnection) {
    request("GET /s1");
    request("GET /s2");
    protocol_.on_closed();
    EXPECT_EQ((Paths{"/s1", "/s2"}), studio_.abandoned);
    channel_.take();
    for (auto& [path, stream] : studio_.streams) {
        EXPECT_FALSE(stream) << path;
        EXPECT_FALSE(stream.is_congested());
        stream.send("nowhere");
    }
    studio_.streams.clear();
    EXPECT_EQ("", channel_.take());
}

TEST_F(HttpStream, MayBeEndedFromTheCallback) {
    studio_.ends_when_abandoned = true;
    for (const bool peer : {false, true}) {
        request("GET /s1");
        request("POST /d");
        request("GET /s2");
        studio_.streams.at("/s2").send("2");
        channel_.take();
        peer ? protocol_.on_end_of_input() : protocol_.on_drain();
        EXPECT_EQ(studio_.abandoned, peer ? (Paths{"/s1", "/d", "/s2"}) : (Paths{"/s1", "/s2"}));
        EXPECT_EQ("0\r\n\r\n", channel_.take());
        studio_.deferred.at("/d").send(200, "", "/d");
        EXPECT_EQ(plain_answer("/d") + stream_header + "1\r\n2\r\n0\r\n\r\n", channel_.take());
        EXPECT_TRUE(protocol_.idle());
        studio_.abandoned.clear();
    }
}

TEST_F(HttpStream, IsEndedByAShutdownAlthoughItsSenderGoesOn) {
    request("GET /s1");
    request("POST /d");
    request("GET /s2");
    studio_.streams.at("/s2").send("2");
    channel_.take();
    channel_.is_draining = true;
    protocol_.on_drain();
    EXPECT_EQ((Paths{"/s1", "/s2"}), studio_.abandoned);
    EXPECT_EQ("0\r\n\r\n", channel_.take());
    for (auto& [path, stream] : studio_.streams) {
        EXPECT_FALSE(stream) << path;
        stream.send("too late");
    }
    EXPECT_FALSE(channel_.closed);
    studio_.deferred.at("/d").send(200, "", "/d");
    EXPECT_EQ(plain_answer("/d") + stream_header + "1\r\n2\r\n0\r\n\r\n", channel_.take());
    EXPECT_TRUE(channel_.closed);
    EXPECT_TRUE(protocol_.idle());
}

TEST_F(HttpStream, BegunDuringAShutdownEndsAtOnce) {
    channel_.is_draining = true;
    request("GET /s");
    EXPECT_EQ(Paths{"/s"}, studio_.abandoned);
    const auto text = channel_.take();
    EXPECT_TRUE(text.ends_with("\r\n\r\n0\r\n\r\n")) << text;
    EXPECT_NE(std::string::npos, text.find("\r\nConnection: close\r\n"));
    EXPECT_TRUE(channel_.closed);
}

}  // namespace
}  // namespace holdfast::net
