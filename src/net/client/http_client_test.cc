#include "net/client/http_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <string>
#include <thread>

#include "net/client/test_peer.h"
#include "net/http/http_protocol.h"
#include "net/loop/test_server.h"

namespace holdfast::net {
namespace {

using namespace std::chrono_literals;
using Kind = HttpFailure::Kind;

// Longer than any machine needs; a wait that takes as long has failed.
constexpr auto patience = 60s;

std::unique_ptr<HttpClient> open(const std::string& url, HttpClientOptions options = {}) {
    return HttpClient::open(HttpAddress::parse(url).value(), std::move(options)).value();
}

std::string answer_of(std::string_view body, std::string_view headers = "") {
    return "HTTP/1.1 200 OK\r\n" + std::string(headers) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

// Says what it was asked; /later answers when the client has gone.
class RequestEcho final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        if (request.path == "/later") {
            later.push_back(reply.defer([this] { abandoned.set_value(); }));
            arrived.count_down();
        } else if (request.path == "/pieces") {
            auto stream = reply.stream(200, "text/plain");
            for (const char* const piece : {"one ", "two ", "three"}) stream.send(piece);
        } else {
            reply.send(201, "text/plain",
                       std::string(request.method) + " " + std::string(request.target) + " " +
                           std::string(request.header("X-Test").value_or("-")) + " " +
                           std::string(request.header("Content-Type").value_or("-")) + " " +
                           std::string(request.body));
        }
    }
    std::vector<DeferredReply> later;
    std::promise<void> abandoned;
    std::latch arrived{1};
};

class HttpClientOfServer : public testing::Test {
  protected:
    [[nodiscard]] std::string url() {
        return "http://127.0.0.1:" + std::to_string(server_.server().endpoint().port());
    }

    HttpLimits limits_;
    RequestEcho echo_;
    TestServer server_{[this](Channel& channel, EventLoop&) {
        return std::make_unique<HttpProtocol>(channel, echo_, limits_);
    }};
};

TEST_F(HttpClientOfServer, SendsARequestAndReadsTheAnswer) {
    const auto client = open(url());
    const auto answer = client->send(
        {.method = "POST", .target = "/a%20b?c=d", .body = "{}", .headers = {{"X-Test", "yes"}}});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 201);
    EXPECT_EQ(answer->header("content-type"), "text/plain");
    EXPECT_EQ(answer->body, "POST /a%20b?c=d yes application/json {}");
    EXPECT_EQ(client->send({.method = "GET", .target = "/x"})->body, "GET /x - - ");
    EXPECT_EQ(client->send({.method = "POST", .target = "/x"})->body, "POST /x - - ");
    EXPECT_EQ(client->send({.method = "HEAD", .target = "/x"})->body, "");
}

TEST_F(HttpClientOfServer, PutsItsPrefixBeforeEveryTarget) {
    EXPECT_EQ(open(url() + "/locks/")->send({.method = "GET", .target = "/x"})->body,
              "GET /locks/x - - ");
}

TEST_F(HttpClientOfServer, LetsNothingOutOfItsLine) {
    const auto answer = open(url())->send(
        {.method = "GET", .target = "/a b\r\nX: y", .headers = {{"X-Test", "1\r\nX-Evil: 2"}}});
    EXPECT_EQ(answer->body, "GET /a%20b%0D%0AX:%20y 1  X-Evil: 2 - ");
}

TEST_F(HttpClientOfServer, UsesItsConnectionAgain) {
    const auto client = open(url());
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(client->send({.method = "GET", .target = "/"}));
    EXPECT_EQ(server_.on_loop([&] { return server_.server().counts().connections; }), 1U);
}

TEST_F(HttpClientOfServer, ReadsAnswersInPieces) {
    EXPECT_EQ(open(url())->send({.method = "GET", .target = "/pieces"})->body, "one two three");
}

TEST_F(HttpClientOfServer, FindsHostsByName) {
    const auto port = std::to_string(server_.server().endpoint().port());
    const auto answer = open("http://localhost:" + port)->send({.method = "GET", .target = "/"});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 201);
}

TEST_F(HttpClientOfServer, IsUsedByManyThreadsAtOnce) {
    const auto client = open(url());
    std::atomic<int> right = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&, i] {
                for (int j = 0; j < 50; ++j) {
                    const std::string body = std::to_string(i * 1000 + j);
                    const auto answer =
                        client->send({.method = "PUT", .target = "/", .body = body});
                    if (answer && answer->body.ends_with(" " + body)) ++right;
                }
            });
        }
    }
    EXPECT_EQ(right, 400);
}

TEST_F(HttpClientOfServer, IsStoppedAtOnceAndTheServerLearnsOfIt) {
    const auto client = open(url());
    std::stop_source stop;
    std::jthread stopper([&] {
        echo_.arrived.wait();
        stop.request_stop();
    });
    const auto answer = client->send(
        {.method = "POST", .target = "/later", .timeout = 1h, .stop = stop.get_token()});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, Kind::cancelled);
    EXPECT_EQ(echo_.abandoned.get_future().wait_for(patience), std::future_status::ready);
    server_.on_loop([&] {
        echo_.later.clear();
        return 0;
    });
}

TEST(HttpClient, IsStoppedBeforeItBegins) {
    std::stop_source stop;
    stop.request_stop();
    TestPeer peer([](auto& conversation, int) { conversation.wait_for_end(); });
    const auto answer =
        open(peer.url())
            ->send({.method = "GET", .target = "/", .timeout = 1h, .stop = stop.get_token()});
    EXPECT_EQ(answer.error().kind, Kind::cancelled);
}

TEST(HttpClient, GivesUpOnAServerThatIsSilent) {
    TestPeer peer([](auto& conversation, int) { conversation.wait_for_end(); });
    const auto answer = open(peer.url())->send({.method = "GET", .target = "/", .timeout = 50ms});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, Kind::timed_out);
    EXPECT_EQ(answer.error().message, peer.url() + " does not answer in time");
}

TEST(HttpClient, ReadsAnAnswerThatComesByteByByte) {
    TestPeer peer([](auto& conversation, int) {
        conversation.read_request();
        for (const char byte : answer_of("hello")) conversation.send({&byte, 1});
        conversation.wait_for_end();
    });
    EXPECT_EQ(open(peer.url())->send({.method = "GET", .target = "/"})->body, "hello");
}

TEST(HttpClient, PassesOverInterimAnswers) {
    TestPeer peer([](auto& conversation, int) {
        conversation.read_request();
        conversation.send("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" + answer_of("hello"));
        conversation.wait_for_end();
    });
    const auto answer = open(peer.url())->send({.method = "GET", .target = "/"});
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "hello");
}

// Answers one request per connection and closes it without a word.
TestPeer::Act answer_once() {
    return [](TestPeer::Conversation& conversation, int number) {
        if (!conversation.read_request().empty()) {
            conversation.send(answer_of("number " + std::to_string(number)));
        }
    };
}

TEST(HttpClient, ReplacesAConnectionThatWasClosedMeanwhile) {
    TestPeer peer(answer_once());
    const auto client = open(peer.url());
    for (int i = 1; i <= 3; ++i) {
        const auto answer = client->send({.method = "GET", .target = "/"});
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->body, "number " + std::to_string(i));
    }
}

// Reads the second request of a connection, too, but does not answer it.
TestPeer::Act break_on_second() {
    return [](TestPeer::Conversation& conversation, int number) {
        if (conversation.read_request().empty()) return;
        conversation.send(answer_of("number " + std::to_string(number)));
        conversation.read_request();
    };
}

TEST(HttpClient, RepeatsOverAFreshConnectionWhatMayBeRepeated) {
    TestPeer peer(break_on_second());
    const auto client = open(peer.url());
    EXPECT_FALSE(client->send({.method = "GET", .target = "/"})->is_repeated);
    const auto second = client->send({.method = "GET", .target = "/"});
    EXPECT_EQ(second->body, "number 2");
    EXPECT_TRUE(second->is_repeated);
}

TEST(HttpClient, NeverRepeatsWhatMustNotBe) {
    TestPeer peer(break_on_second());
    const auto client = open(peer.url());
    EXPECT_EQ(client->send({.method = "GET", .target = "/"})->body, "number 1");
    const HttpCall once{.method = "DELETE", .target = "/", .repeat = Repeat::never};
    EXPECT_EQ(client->send(once)->body, "number 2");
    EXPECT_EQ(peer.count(), 2);
}

TEST(HttpClient, SaysThatAnAnswerWasCutOff) {
    TestPeer peer([](auto& conversation, int) {
        conversation.read_request();
        conversation.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel");
    });
    const auto answer = open(peer.url())->send({.method = "GET", .target = "/"});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, Kind::no_answer);
    EXPECT_EQ(answer.error().message, peer.url() + " closed the connection");
    EXPECT_EQ(peer.count(), 1);
}

TEST(HttpClient, RefusesAnAnswerThatIsTooLong) {
    TestPeer peer([](auto& conversation, int) {
        conversation.read_request();
        conversation.send(answer_of("hello"));
        conversation.wait_for_end();
    });
    const auto answer =
        open(peer.url(), {.answer_bytes_max = 4})->send({.method = "GET", .target = "/"});
    EXPECT_EQ(answer.error().kind, Kind::no_answer);
}

TEST(HttpClient, SaysWhoDoesNotSpeakHttp) {
    TestPeer peer([](auto& conversation, int) {
        conversation.send("SSH-2.0-OpenSSH_9.2\r\n\r\n");
        conversation.wait_for_end();
    });
    const auto answer = open(peer.url())->send({.method = "GET", .target = "/"});
    EXPECT_EQ(answer.error().message, peer.url() + " does not speak HTTP");
}

TEST(HttpClient, SaysThatNobodyIsThere) {
    std::string url;
    {
        const TestPeer peer([](auto&, int) {});
        url = peer.url();
    }
    const auto answer = open(url)->send({.method = "GET", .target = "/"});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, Kind::unreachable);
    EXPECT_EQ(answer.error().message, "cannot connect to " + url + ": Connection refused");
}

TEST(HttpClient, StreamsAnAnswerUntilSomebodyHasEnough) {
    std::promise<void> gone;
    TestPeer peer([&](auto& conversation, int) {
        conversation.read_request();
        conversation.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
        conversation.send("3\r\ntwo\r\n");
        conversation.wait_for_end();
        gone.set_value();
    });
    std::string got;
    int status = 0;
    const auto done =
        open(peer.url())
            ->stream({.method = "GET", .target = "/"}, {.on_head =
                                                            [&](const HttpAnswer& head) {
                                                                status = head.status;
                                                                return true;
                                                            },
                                                        .on_bytes =
                                                            [&](std::string_view bytes) {
                                                                got += bytes;
                                                                return got != "onetwo";
                                                            }});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(status, 200);
    EXPECT_EQ(got, "onetwo");
    EXPECT_EQ(gone.get_future().wait_for(patience), std::future_status::ready);
}

HttpStream swallow(std::chrono::milliseconds silence_max) {
    return {.on_head = [](const HttpAnswer&) { return true; },
            .on_bytes = [](std::string_view) { return true; },
            .silence_max = silence_max};
}

TEST(HttpClient, NoticesThatAStreamHasFallenSilent) {
    TestPeer peer([&](auto& conversation, int) {
        conversation.read_request();
        conversation.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
        conversation.wait_for_end();
    });
    const auto done = open(peer.url())->stream({.method = "GET", .target = "/"}, swallow(50ms));
    EXPECT_EQ(done.error().kind, Kind::timed_out);
}

TEST(HttpClient, TellsTheEndOfAStreamFromABrokenOne) {
    TestPeer peer([&](auto& conversation, int number) {
        conversation.read_request();
        conversation.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
        if (number == 1) conversation.send("0\r\n\r\n");
    });
    const auto client = open(peer.url());
    EXPECT_TRUE(client->stream({.method = "GET", .target = "/"}, swallow(patience)));
    const auto broken = client->stream({.method = "GET", .target = "/"}, swallow(patience));
    ASSERT_FALSE(broken);
    EXPECT_EQ(broken.error().kind, Kind::no_answer);
}

TEST(HttpClient, StopsAStreamAtOnce) {
    TestPeer peer([&](auto& conversation, int) {
        conversation.read_request();
        conversation.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
        conversation.wait_for_end();
    });
    std::stop_source stop;
    HttpStream stream = swallow(1h);
    stream.on_bytes = [&](std::string_view) {
        stop.request_stop();
        return true;
    };
    const auto done =
        open(peer.url())
            ->stream({.method = "GET", .target = "/", .stop = stop.get_token()}, stream);
    EXPECT_EQ(done.error().kind, Kind::cancelled);
}

}  // namespace
}  // namespace holdfast::net
