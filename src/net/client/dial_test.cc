#include "net/client/dial.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "net/client/http_client.h"
#include "net/client/test_peer.h"

namespace holdfast::net {
namespace {

using namespace std::chrono_literals;
using Kind = HttpFailure::Kind;

std::unique_ptr<HttpClient> open(const std::string& url) {
    return HttpClient::open(HttpAddress::parse_server(url).value()).value();
}

std::string answer_of(const std::string& body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(HttpClientOverAUnixSocket, SendsARequestAndReadsTheAnswer) {
    const TestSocketPath path;
    std::string request;
    TestPeer peer(path, [&](TestPeer::Conversation& conversation, int) {
        request = conversation.read_request();
        conversation.send(answer_of("hello"));
        conversation.read_request();
        conversation.send(answer_of("again"));
        conversation.wait_for_end();
    });
    const auto client = open(peer.url());
    const auto answer = client->send(
        {.method = "GET", .target = "/x", .headers = {{"Authorization", "Bearer secret"}}});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body, "hello");
    EXPECT_EQ(request,
              "GET /x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n\r\n");
    EXPECT_EQ(client->send({.method = "GET", .target = "/y"})->body, "again");
    EXPECT_EQ(peer.count(), 1);
}

TEST(HttpClientOverAUnixSocket, SaysWhyThereIsNoConnection) {
    const TestSocketPath path;
    const auto missing = open(path.url())->send({.method = "GET", .target = "/"});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, Kind::unreachable);
    EXPECT_EQ(missing.error().message,
              "cannot connect to " + path.url() + ": No such file or directory");
    {
        const TestPeer peer(path, [](TestPeer::Conversation&, int) {});
    }
    const auto refused = open(path.url())->send({.method = "GET", .target = "/"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Kind::unreachable);
    EXPECT_EQ(refused.error().message, "cannot connect to " + path.url() + ": Connection refused");
}

TEST(HttpClientOverAUnixSocket, WaitsForAServerThatIsSlowToAccept) {
    const TestSocketPath path;
    const auto address = Endpoint::unix_socket(path.path()).socket_address();
    const auto size = static_cast<socklen_t>(address.size());
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(0, ::bind(listener, address.data(), size));
    ASSERT_EQ(0, ::listen(listener, 0));
    const int first = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(0, ::connect(first, address.data(), size));
    const auto answer = open(path.url())->send({.method = "GET", .target = "/", .timeout = 50ms});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().message, "cannot connect to " + path.url() + ": no answer in time");
    ::close(first);
    ::close(listener);
}

}  // namespace
}  // namespace holdfast::net
