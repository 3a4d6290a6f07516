// Deferred answers, and the order in which answers leave.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "net/http/http_protocol.h"
#include "net/loop/test_channel.h"

namespace holdfast::net {
namespace {

// Answers /now at once and stores the deferred replies to all other requests by path.
class Keeper final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        const std::string path(request.path);
        if (path == "/forget") return;
        if (path == "/now") return reply.send(200, "", path);
        if (path == "/moved") return reply.send(301, "", "", {{"Location", "/now"}, {"X-A", "b"}});
        waiting[path] = reply.defer([this, path] { abandoned.push_back(path); });
    }

    void answer(const std::string& path) {
        waiting.at(path).send(200, "", path);
        waiting.erase(path);
    }

    std::map<std::string, DeferredReply> waiting;
    std::vector<std::string> abandoned;
};

class HttpPipeline : public testing::Test {
  protected:
    void request(const std::string& path, const std::string& header = "") {
        channel_.feed(protocol_, "POST " + path + " HTTP/1.1\r\n" + header + "\r\n");
    }

    // The bodies sent since the last call, which are the paths asked for.
    std::vector<std::string> sent() {
        std::vector<std::string> bodies;
        const auto text = channel_.take();
        for (std::size_t at = 0; (at = text.find("\r\n\r\n", at)) != std::string::npos;) {
            at += 4;
            bodies.push_back(text.substr(at, text.find("HTTP/1.1", at) - at));
        }
        return bodies;
    }

    using Paths = std::vector<std::string>;

    Keeper keeper_;
    HttpLimits limits_{.pending_max = 4};
    TestChannel channel_;
    HttpProtocol protocol_{channel_, keeper_, limits_};
};

TEST_F(HttpPipeline, HandlesRequestsBehindADeferredOneAtOnce) {
    request("/a");
    request("/b");
    EXPECT_EQ(2u, keeper_.waiting.size());
    EXPECT_FALSE(protocol_.idle());
}

TEST_F(HttpPipeline, SendsAnswersInTheOrderOfTheRequests) {
    request("/a");
    request("/b");
    request("/now");
    keeper_.answer("/b");
    EXPECT_EQ(Paths{}, sent());
    keeper_.answer("/a");
    EXPECT_EQ((Paths{"/a", "/b", "/now"}), sent());
    EXPECT_TRUE(protocol_.idle());
    request("/now");
    EXPECT_EQ(Paths{"/now"}, sent());
}

TEST_F(HttpPipeline, HoldsBackInputWhileTooManyAreUnanswered) {
    channel_.feed(protocol_,
                  "POST /a HTTP/1.1\r\n\r\nPOST /b HTTP/1.1\r\n\r\nPOST /c HTTP/1.1\r\n\r\n"
                  "POST /d HTTP/1.1\r\n\r\nPOST /e HTTP/1.1\r\n\r\n");
    EXPECT_EQ(4u, keeper_.waiting.size());
    EXPECT_TRUE(channel_.paused);
    keeper_.answer("/b");
    EXPECT_TRUE(channel_.paused);
    keeper_.answer("/a");
    EXPECT_FALSE(channel_.paused);
    channel_.offer(protocol_);
    EXPECT_TRUE(keeper_.waiting.contains("/e"));
}

TEST_F(HttpPipeline, StopsWhileThePeerDoesNotDrainItsAnswers) {
    channel_.is_congested = true;
    request("/a");
    EXPECT_TRUE(keeper_.waiting.empty());
    channel_.is_congested = false;
    channel_.offer(protocol_);
    EXPECT_EQ(1u, keeper_.waiting.size());
}

TEST_F(HttpPipeline, Answers500ForAReplyThatIsDroppedOrForgotten) {
    request("/a");
    request("/forget");
    keeper_.waiting.clear();
    const auto text = channel_.take();
    EXPECT_TRUE(text.starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
    EXPECT_NE(text.find("HTTP/1.1 500"), text.rfind("HTTP/1.1 500"));
}

TEST_F(HttpPipeline, ClosesAfterTheAnswerThatIsTheLast) {
    request("/a");
    request("/b", "Connection: close\r\n");
    request("/now");
    keeper_.answer("/b");
    EXPECT_FALSE(channel_.closed);
    keeper_.answer("/a");
    EXPECT_EQ((Paths{"/a", "/b"}), sent());
    EXPECT_TRUE(channel_.closed);
}

TEST_F(HttpPipeline, SaysThatItClosesWhenTheServerShutsDown) {
    request("/a");
    request("/b");
    channel_.is_draining = true;
    keeper_.answer("/b");
    keeper_.answer("/a");
    const auto text = channel_.take();
    EXPECT_GT(text.find("Connection: close"), text.rfind("HTTP/1.1 200"));
    EXPECT_TRUE(channel_.closed);
}

TEST_F(HttpPipeline, TellsOnceThatThePeerStoppedSendingAndStillAnswers) {
    request("/a");
    request("/b");
    keeper_.answer("/b");
    protocol_.on_end_of_input();
    protocol_.on_end_of_input();
    EXPECT_EQ(Paths{"/a"}, keeper_.abandoned);
    keeper_.answer("/a");
    EXPECT_EQ((Paths{"/a", "/b"}), sent());
    EXPECT_TRUE(protocol_.idle());
}

TEST_F(HttpPipeline, LetsRepliesOutliveTheConnection) {
    request("/a");
    request("/b");
    request("/now");
    keeper_.answer("/b");
    protocol_.on_closed();
    EXPECT_EQ(Paths{"/a"}, keeper_.abandoned);
    keeper_.answer("/a");
    EXPECT_EQ(Paths{}, sent());
}

// Answers from inside on_abandoned.
class Quitter final : public HttpHandler {
  public:
    void handle(const HttpRequest&, HttpReply& reply) override {
        const auto index = replies.size();
        replies.push_back(reply.defer([this, index] {
            replies[index] = DeferredReply();
            if (index + 1 < replies.size()) replies[index + 1] = DeferredReply();
        }));
    }
    std::vector<DeferredReply> replies;
};

TEST(AbandonedReply, MayBeDroppedFromItsCallbackAndOthersWithIt) {
    for (const bool closed : {false, true}) {
        Quitter quitter;
        const HttpLimits limits;
        TestChannel channel;
        HttpProtocol protocol(channel, quitter, limits);
        for (int i = 0; i < 3; ++i) channel.feed(protocol, "POST / HTTP/1.1\r\n\r\n");
        closed ? protocol.on_closed() : protocol.on_end_of_input();
        for (const auto& reply : quitter.replies) EXPECT_FALSE(reply);
        EXPECT_TRUE(protocol.idle());
    }
}

TEST_F(HttpPipeline, SendsTheHeadersItIsGiven) {
    request("/moved");
    request("/a");
    keeper_.waiting.at("/a").send(405, "", "", {{"Allow", "GET"}});
    const auto text = channel_.take();
    EXPECT_NE(text.npos, text.find("\r\nLocation: /now\r\nX-A: b\r\n\r\n")) << text;
    EXPECT_TRUE(text.ends_with("\r\nAllow: GET\r\n\r\n")) << text;
}

TEST_F(HttpPipeline, SendsTheInterimResponseInItsTurn) {
    request("/a");
    channel_.feed(protocol_,
                  "POST /b HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    EXPECT_EQ("", channel_.take());
    keeper_.answer("/a");
    const auto text = channel_.take();
    EXPECT_TRUE(text.ends_with("/aHTTP/1.1 100 Continue\r\n\r\n")) << text;
    channel_.feed(protocol_, "xy");
    EXPECT_TRUE(keeper_.waiting.contains("/b"));
}

}  // namespace
}  // namespace holdfast::net
