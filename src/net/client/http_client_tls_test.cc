// HttpClient over TLS: whom it believes, and whom not.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "net/client/http_client.h"
#include "net/client/test_peer.h"
#include "net/http/http_protocol.h"
#include "net/loop/test_server.h"
#include "net/tls/test_certificate.h"

namespace holdfast::net {
namespace {

using Kind = HttpFailure::Kind;

class BodyEcho final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        reply.send(200, "text/plain", request.body);
    }
};

class HttpClientOverTls : public testing::Test {
  protected:
    [[nodiscard]] std::string url(const std::string& host) {
        return "https://" + host + ":" + std::to_string(server_.server().endpoint().port());
    }
    [[nodiscard]] static HttpResult<HttpAnswer> ask(const std::string& url,
                                                    const std::string& ca_file,
                                                    std::string body = "hello") {
        const auto client =
            HttpClient::open(HttpAddress::parse(url).value(), {.ca_file = ca_file}).value();
        return client->send({.method = "POST", .target = "/", .body = std::move(body)});
    }

    HttpLimits limits_;
    BodyEcho echo_;
    TestCertificate certificate_;
    std::unique_ptr<TlsSource> source_ = TlsSource::open(certificate_.files()).value();
    TestServer server_{[this](Channel& channel, EventLoop&) {
                           return std::make_unique<HttpProtocol>(channel, echo_, limits_);
                       },
                       ServerOptions{.tls = source_.get()}};
};

TEST_F(HttpClientOverTls, SpeaksToAServerItTrusts) {
    const std::string ca_file = certificate_.files().certificate_file;
    for (const char* const host : {"127.0.0.1", "localhost"}) {
        const auto answer = ask(url(host), ca_file);
        ASSERT_TRUE(answer) << answer.error().message;
        EXPECT_EQ(answer->body, "hello");
    }
}

TEST_F(HttpClientOverTls, CarriesLongBodiesBothWays) {
    const std::string body(900'000, 'b');
    const auto answer = ask(url("127.0.0.1"), certificate_.files().certificate_file, body);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, body);
}

TEST_F(HttpClientOverTls, UsesItsConnectionAgain) {
    const auto client = HttpClient::open(HttpAddress::parse(url("127.0.0.1")).value(),
                                         {.ca_file = certificate_.files().certificate_file})
                            .value();
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(client->send({.method = "POST", .target = "/", .body = "x"}));
    }
    EXPECT_LE(server_.on_loop([&] { return server_.server().counts().connections; }), 2U);
}

TEST_F(HttpClientOverTls, RefusesACertificateNobodyVouchesFor) {
    const TestCertificate other("other");
    const auto answer = ask(url("127.0.0.1"), other.files().certificate_file);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, Kind::certificate);
    EXPECT_EQ(ask(url("127.0.0.1"), "").error().kind, Kind::certificate);  // the system's
}

TEST_F(HttpClientOverTls, RefusesACertificateOfAnotherHost) {
    // Another way to write 127.0.0.1, of which the certificate does not speak.
    const auto answer = ask(url("127.1"), certificate_.files().certificate_file);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, Kind::certificate);
    EXPECT_EQ(answer.error().message,
              "the certificate of " + url("127.1") + " is not accepted: hostname mismatch");
}

TEST(HttpClientTls, SaysWhichFileIsNoGood) {
    const auto address = HttpAddress::parse("https://localhost").value();
    EXPECT_EQ(HttpClient::open(address, {.ca_file = "/nowhere/ca.crt"}).error().message,
              "cannot read the CA certificates /nowhere/ca.crt: No such file or directory");
    const TestCertificate certificate;
    const std::string no_certificate = certificate.files().key_file;
    EXPECT_EQ(HttpClient::open(address, {.ca_file = no_certificate}).error().message,
              no_certificate + " holds no certificate in PEM form");
}

TEST(HttpClientTls, GetsNoAnswerFromAPlainServer) {
    TestPeer peer([](auto& conversation, int) {
        conversation.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        conversation.wait_for_end();
    });
    HttpAddress address = HttpAddress::parse(peer.url()).value();
    address.is_tls = true;
    const auto client = HttpClient::open(address).value();
    EXPECT_EQ(client->send({.method = "GET", .target = "/"}).error().kind, Kind::no_answer);
}

}  // namespace
}  // namespace holdfast::net
