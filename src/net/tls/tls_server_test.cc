// HTTP over TLS over real sockets.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/http/http_protocol.h"
#include "net/loop/test_server.h"
#include "net/tls/test_certificate.h"
#include "net/tls/test_tls_client.h"

namespace holdfast::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t big_bytes = 1'000'000;  // dozens of records

// Echoes bodies. /big answers a lot, /later is deferred, /stream streams. With several loops only
// the echo is used.
class Booth final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        if (request.path == "/big") {
            reply.send(200, "", std::string(big_bytes, 'b'));
        } else if (request.path == "/later") {
            later.push_back(reply.defer([this] { ++abandoned; }));
        } else if (request.path == "/stream") {
            streams.push_back(reply.stream(200, "text/event-stream"));
        } else {
            reply.send(200, "", request.body);
        }
    }
    std::vector<DeferredReply> later;
    std::vector<StreamedReply> streams;
    int abandoned = 0;
};

std::string post(const std::string& body) {
    return "POST / HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class TlsServer : public testing::Test {
  protected:
    TestServer& serve(const ConnectionLimits& limits = {}, std::size_t loops = 1) {
        server_ = std::make_unique<TestServer>(
            [this](Channel& channel, EventLoop&) {
                return std::make_unique<HttpProtocol>(channel, booth_, http_limits_);
            },
            ServerOptions{.limits = limits, .tls = source_.get(), .on_error = {}}, loops);
        return *server_;
    }
    TestTlsClient connect(const TestTlsOptions& options = {}) {
        return TestTlsClient(server_->server().endpoint(), options);
    }
    [[nodiscard]] bool all_are_gone() {
        return server_->eventually([this] { return server_->server().counts().connections == 0; });
    }

    HttpLimits http_limits_;
    Booth booth_;
    TestCertificate certificate_;
    std::unique_ptr<TlsSource> source_ = TlsSource::open(certificate_.files()).value();
    std::unique_ptr<TestServer> server_;
};

TEST_F(TlsServer, AnswersRequests) {
    serve();
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        auto client = connect({.version_max = version});
        ASSERT_TRUE(client.shake_hands());
        EXPECT_EQ(version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3", client.version());
        EXPECT_EQ("http/1.1", client.protocol());
        EXPECT_EQ("first", client.common_name());
        for (int i = 0; i < 100; ++i) {
            client.send(post("hi"));
            EXPECT_EQ("hi", client.response().body);
        }
    }
}

TEST_F(TlsServer, RefusesOldVersionsAndForeignProtocols) {
    serve();
    EXPECT_FALSE(connect({.version_max = TLS1_1_VERSION}).shake_hands());
    EXPECT_FALSE(connect({.protocols = "\x02h2"}).shake_hands());
    EXPECT_TRUE(connect({.protocols = ""}).shake_hands());
    EXPECT_TRUE(all_are_gone());
}

TEST_F(TlsServer, TakesBytesOneByOne) {
    serve();
    auto client = connect({.slice_bytes = 1});
    client.send(post("hi"));
    EXPECT_EQ("hi", client.response().body);
}

TEST_F(TlsServer, MovesPipelinedBodiesLargerThanARecordBothWays) {
    serve({.output_bytes_max = 20 * big_bytes});
    auto client = connect();
    std::string burst;
    for (char c = 'a'; c < 'k'; ++c) burst += post(std::string(big_bytes, c));
    client.send(burst);
    for (char c = 'a'; c < 'k'; ++c) {
        const auto body = client.response().body;
        ASSERT_EQ(big_bytes, body.size());
        ASSERT_EQ(big_bytes, static_cast<std::size_t>(std::count(body.begin(), body.end(), c)));
    }
}

TEST_F(TlsServer, StopsReadingFromAPeerThatDoesNotReadAndGoesOnWhenItDoes) {
    serve({.output_bytes_max = 1000});
    auto client = connect({.receive_buffer_bytes = 4096});
    constexpr int count = 20;
    std::string burst;
    for (int i = 0; i < count; ++i) burst += "GET /big HTTP/1.1\r\n\r\n" + post(std::to_string(i));
    client.send(burst);
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(big_bytes, client.response().body.size());
        ASSERT_EQ(std::to_string(i), client.response().body);
    }
}

TEST_F(TlsServer, ChangesKeysWhenThePeerWantsThat) {
    serve();
    auto client = connect();
    for (int i = 0; i < 10; ++i) {
        client.send(post("hi"));
        client.ask_for_new_keys();
        EXPECT_EQ("hi", client.response().body);
    }
}

// While the peer reads nothing, the answer to a change of keys cannot be sent either.
TEST_F(TlsServer, ChangesKeysOfAPeerThatReadsLate) {
    serve({.output_bytes_max = 100 * big_bytes});
    auto client = connect({.receive_buffer_bytes = 4096});
    std::string burst;
    for (int i = 0; i < 20; ++i) burst += "GET /big HTTP/1.1\r\n\r\n";
    client.send(burst);
    client.ask_for_new_keys();
    client.send(post("after"));
    for (int i = 0; i < 20; ++i) ASSERT_EQ(big_bytes, client.response().body.size());
    EXPECT_EQ("after", client.response().body);
}

TEST_F(TlsServer, SaysWhenItHasFinished) {
    serve();
    auto client = connect();
    client.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(200, client.response().status);
    EXPECT_EQ("", client.read_to_end());
    EXPECT_TRUE(client.was_told_the_end());
}

TEST_F(TlsServer, SaysWhenItHasFinishedAlsoToAPeerThatReadsLate) {
    serve();
    auto client = connect({.receive_buffer_bytes = 4096});
    client.send("GET /stream HTTP/1.0\r\n\r\n");
    client.response();
    ASSERT_TRUE(server_->eventually([this] { return booth_.streams.size() == 1; }));
    server_->on_loop([this] {
        booth_.streams[0].send(std::string(10 * big_bytes, 's'));
        booth_.streams.clear();
    });
    EXPECT_EQ(10 * big_bytes, client.read_to_end().size());
    EXPECT_TRUE(client.was_told_the_end());
}

TEST_F(TlsServer, AnswersAPeerThatHasHalfClosedWithOrWithoutAFarewell) {
    serve();
    for (const bool farewell : {true, false}) {
        auto client = connect();
        client.send("GET /later HTTP/1.1\r\n\r\n" + post("x") + "POST / HTT");
        EXPECT_TRUE(server_->eventually([this] { return booth_.later.size() == 1; }));
        farewell ? client.finish_sending() : client.cut_off();
        EXPECT_TRUE(server_->eventually([this] { return booth_.abandoned == 1; }));
        server_->on_loop([this] {
            booth_.later[0].send(200, "", "late");
            booth_.later.clear();
            booth_.abandoned = 0;
        });
        EXPECT_EQ("late", client.response().body);
        EXPECT_EQ("x", client.response().body);
        EXPECT_EQ("", client.read_to_end());
        EXPECT_TRUE(client.was_told_the_end());
    }
    EXPECT_TRUE(all_are_gone());
}

TEST_F(TlsServer, NoticesThatThePeerDied) {
    serve();
    auto client = connect();
    client.send("GET /later HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(server_->eventually([this] { return booth_.later.size() == 1; }));
    client.reset();
    EXPECT_TRUE(server_->eventually([this] { return booth_.abandoned == 1; }));
    EXPECT_TRUE(all_are_gone());
}

TEST_F(TlsServer, SurvivesAPeerThatDiesAtAnyByteOfItsHello) {
    serve();
    const auto hello = connect().hello();
    for (std::size_t size = 0; size <= hello.size(); ++size) {
        auto client = connect();
        client.send_raw(std::string_view(hello).substr(0, size));
        if (size % 2 == 0) client.reset();
    }
    EXPECT_TRUE(server_->eventually(
        [&] { return server_->server().counts().accepted == hello.size() + 2; }));
    EXPECT_TRUE(all_are_gone());
}

TEST_F(TlsServer, GivesUpAPeerThatDoesNotShakeHandsInTime) {
    serve({.request_timeout = milliseconds(30)});
    const auto silent = connect();
    ASSERT_TRUE(server_->eventually([this] { return server_->server().counts().accepted == 1; }));
    auto truncated = connect();
    const auto hello = truncated.hello();
    truncated.send_raw(hello.substr(0, hello.size() / 2));
    ASSERT_TRUE(server_->eventually([this] { return server_->server().counts().accepted == 2; }));
    EXPECT_TRUE(all_are_gone());
}

TEST_F(TlsServer, TimesAHandshakeFromItsBeginningHoweverItTrickles) {
    auto& server = serve({.request_timeout = milliseconds(50)});
    auto client = connect();
    const auto hello = client.hello();
    const auto is_gone = [&] { return server.server().counts().connections == 0; };
    ASSERT_TRUE(server.eventually([&] { return !is_gone(); }));
    for (std::size_t i = 0; i + 1 < hello.size() && !is_gone(); ++i) {
        client.try_send(hello.substr(i, 1));
        std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_TRUE(all_are_gone());
}

TEST_F(TlsServer, TimesARequestAfterTheHandshakeOnItsOwn) {
    serve({.request_timeout = milliseconds(30)});
    auto client = connect();
    client.send("GET / HTTP/1.1\r\n");
    EXPECT_EQ(408, client.response().status);
    EXPECT_EQ("", client.read_to_end());
    EXPECT_TRUE(client.was_told_the_end());
}

TEST_F(TlsServer, TellsAPeerThatSpeaksPlainHttp) {
    auto& server = serve();
    for (const auto* line : {"GET / HTTP/1.1", "DELETE /lock HTTP/1.1"}) {
        auto client = server.connect();
        client.send(std::string(line) + "\r\nContent-Length: 100000\r\n\r\n");
        const auto response = client.response();
        EXPECT_EQ(400, response.status);
        EXPECT_NE(std::string::npos, response.body.find("https://")) << response.body;
        EXPECT_TRUE(response.body.ends_with("}\n"));
        client.send(std::string(100'000, 'x'));
        EXPECT_EQ("", client.read_to_end());
    }
    EXPECT_TRUE(all_are_gone());
    auto noise = server.connect();
    noise.send("\x01\x02\x03\x04\x05\x06\x07");
    EXPECT_EQ("", noise.read_to_end());
}

TEST_F(TlsServer, ShowsNewConnectionsTheNewCertificateAndKeepsTheOldOnes) {
    serve();
    auto old = connect();
    old.send(post("a"));
    EXPECT_EQ("a", old.response().body);
    certificate_.renew("second");
    ASSERT_TRUE(source_->reload());
    auto fresh = connect();
    fresh.send(post("b"));
    EXPECT_EQ("b", fresh.response().body);
    EXPECT_EQ("second", fresh.common_name());
    old.send(post("c"));
    EXPECT_EQ("c", old.response().body);
    EXPECT_EQ("first", old.common_name());

    std::ofstream(certificate_.files().certificate_file) << "nonsense";
    EXPECT_FALSE(source_->reload());
    auto last = connect();
    EXPECT_TRUE(last.shake_hands());
    EXPECT_EQ("second", last.common_name());
}

TEST_F(TlsServer, MayBeReloadedWhileSeveralLoopsAccept) {
    serve({}, 3);
    std::vector<std::thread> clients;
    clients.reserve(3);
    for (int i = 0; i < 3; ++i) {
        clients.emplace_back([this] {
            for (int round = 0; round < 10; ++round) {
                auto client = connect();
                client.send(post("hi"));
                EXPECT_EQ("hi", client.response().body);
            }
        });
    }
    for (int round = 0; round < 20; ++round) EXPECT_TRUE(source_->reload());
    for (auto& client : clients) client.join();
    EXPECT_TRUE(all_are_gone());
}

TEST_F(TlsServer, SaysGoodbyeWhenItShutsDown) {
    auto& server = serve();
    auto idle = connect();
    idle.send(post("hi"));
    EXPECT_EQ("hi", idle.response().body);
    auto shaking = connect();
    shaking.send_raw(shaking.hello().substr(0, 10));
    EXPECT_TRUE(server.eventually([&] { return server.server().counts().connections == 2; }));
    const auto done = server.shut_down(seconds(60));
    EXPECT_EQ("", idle.read_to_end());
    EXPECT_TRUE(idle.was_told_the_end());
    EXPECT_EQ("", shaking.read_to_end());
    EXPECT_EQ(std::future_status::ready, done.wait_for(seconds(10)));
}

}  // namespace
}  // namespace holdfast::net
