#include "app/http/http_gate.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "app/http/http_router.h"
#include "app/http/json_replies.h"
#include "net/loop/test_channel.h"

namespace holdfast::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Stands for all handlers. Says whether the client is an administrator.
class Handler final : public net::RouteHandler {
  public:
    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override {
        reply.send(200, "", request.is_admin() ? "privileged" : "ordinary");
    }
    std::unique_ptr<net::BodySink> receive(const net::RoutedRequest& request, net::HttpReply& reply,
                                           net::BodySource& /*source*/) override {
        handle(request, reply);
        return nullptr;
    }
    void refuse(const net::HttpRequest& /*request*/, const net::RouteRefusal& refusal,
                net::HttpReply& reply) override {
        refuse_as_json(refusal, reply);
    }
};

class HttpGateTest : public testing::Test {
  protected:
    // The answer to a request with this Authorization header, or with none.
    std::string ask(const std::string& authorization, const char* line = "GET /lock") {
        return ask_with(authorization.empty() ? "" : "Authorization: " + authorization + "\r\n",
                        line);
    }

    // The answer to a request with these headers beside a Host.
    std::string ask_with(const std::string& headers, const std::string& line) {
        channel_.feed(protocol_, line + " HTTP/1.1\r\nHost: localhost:8080\r\n" + headers + "\r\n");
        return channel_.take();
    }

    // The answer to a request that calls the server by this name.
    std::string ask_as(const std::string& host, const char* line = "GET /lock") {
        channel_.feed(protocol_, std::string(line) + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
        return channel_.take();
    }

    Handler all_;
    TokenSource source_{{}};
    const HostNames names_{{"box", "locks.example.org"}};
    HttpRouter router_{http_routes({all_, all_, all_, all_, all_, all_, all_, all_, all_, all_}),
                       HttpGate(source_, names_)};
    net::HttpLimits limits_;
    net::TestChannel channel_;
    net::HttpProtocol protocol_{channel_, router_, limits_};
};

const auto forbidden = StartsWith("HTTP/1.1 403 Forbidden\r\n");
const auto misdirected = StartsWith("HTTP/1.1 421 Misdirected Request\r\n");
const auto refused = StartsWith("HTTP/1.1 401 Unauthorized\r\n");
const auto privileged = HasSubstr("\r\n\r\nprivileged");
const auto ordinary = HasSubstr("\r\n\r\nordinary");

TEST_F(HttpGateTest, IsOpenAndEverybodyPrivilegedWithoutSecrets) {
    EXPECT_THAT(ask(""), privileged);
    EXPECT_THAT(ask("Bearer whatever"), privileged);
    EXPECT_THAT(ask("Bearer "), privileged);
}

TEST_F(HttpGateTest, RefusesChangesThatOtherWebPagesAskForWhereThereIsNoToken) {
    const auto from = [this](const std::string& origin, const std::string& method = "POST") {
        return ask_with("Origin: " + origin + "\r\n", method + " /lock");
    };
    EXPECT_THAT(from("http://localhost:8080"), privileged);
    EXPECT_THAT(from("http://LOCALHOST:8080"), privileged);
    for (const char* origin : {"http://evil.example", "http://localhost:8081", "http://localhost",
                               "null", "http://localhost:8080.evil.example"}) {
        EXPECT_THAT(from(origin), forbidden) << origin;
        EXPECT_THAT(from(origin, "DELETE"), forbidden) << origin;
        EXPECT_THAT(from(origin, "GET"), privileged) << "it cannot read the answer";
    }
    source_.replace({.auth = "open sesame"});
    EXPECT_THAT(from("http://evil.example"), refused) << "it cannot know the token";
}

TEST_F(HttpGateTest, RefusesBackupsThatOtherWebPagesAskForWhereThereIsNoToken) {
    const auto backup = [this](const std::string& headers) {
        return ask_with(headers, "GET /v1/backup");
    };
    EXPECT_THAT(backup(""), privileged) << "no browser";
    EXPECT_THAT(backup("Sec-Fetch-Site: none\r\n"), privileged) << "by hand";
    EXPECT_THAT(backup("Sec-Fetch-Site: same-origin\r\n"), privileged);
    EXPECT_THAT(backup("Origin: http://localhost:8080\r\n"), privileged);
    for (const char* headers :
         {"Origin: http://evil.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n",
          "Sec-Fetch-Site: same-site\r\n",
          "Origin: http://localhost:8080\r\nSec-Fetch-Site: cross-site\r\n"}) {
        EXPECT_THAT(backup(headers), forbidden) << headers;
    }
    source_.replace({.auth = "open sesame"});
    EXPECT_THAT(backup("Origin: http://evil.example\r\n"), refused);
}

TEST_F(HttpGateTest, AnswersOnlyToItsOwnNamesWhereThereIsNoToken) {
    for (const char* name : {"127.0.0.1:8080", "[::1]:8080", "192.168.1.2", "localhost:8080",
                             "app.localhost", "box:8080", "BOX.", "locks.example.org:443"}) {
        EXPECT_THAT(ask_as(name), privileged) << name;
        EXPECT_THAT(ask_as(name), privileged) << name << ", again";
    }
    for (const char* line : {"GET /v1/backup", "DELETE /v1/locks/x", "GET /lock", "GET /",
                             "GET /healthz", "POST /lock?client=c"}) {
        EXPECT_THAT(ask_as("evil.example:8080", line), misdirected) << line;
    }
    EXPECT_THAT(ask_as(""), misdirected);
    EXPECT_THAT(ask_as("evil.example"),
                AllOf(HasSubstr("\r\nContent-Type: application/json\r\n"),
                      HasSubstr("not known as evil.example"), HasSubstr("--host-name")));
    EXPECT_FALSE(channel_.closed);
    EXPECT_THAT(ask_as("127.0.0.1"), privileged) << "a wrong name is not remembered";
}

TEST_F(HttpGateTest, KnowsTheNameInATargetToo) {
    EXPECT_THAT(ask_as("localhost", "GET http://box:8080/lock"), privileged);
    EXPECT_THAT(ask_as("localhost", "GET /lock?from=http://evil.example/"), privileged);
    for (const char* line : {"GET http://evil.example/lock", "GET http://evil.example?x",
                             "GET http://box@evil.example/lock", "GET http://"}) {
        EXPECT_THAT(ask_as("localhost", line), misdirected) << line;
    }
}

TEST_F(HttpGateTest, TakesARequestOfHttp10WithoutAName) {
    channel_.feed(protocol_, "GET /healthz HTTP/1.0\r\n\r\n");
    EXPECT_THAT(channel_.take(), privileged);
}

TEST_F(HttpGateTest, DoesNotLookAtNamesWhereATokenIsAskedFor) {
    source_.replace({.auth = "secret"});
    channel_.feed(
        protocol_,
        "GET /lock HTTP/1.1\r\nHost: a.proxy.example\r\nAuthorization: Bearer secret\r\n\r\n");
    EXPECT_THAT(channel_.take(), ordinary);
    EXPECT_THAT(ask_as("evil.example"), refused);
    EXPECT_THAT(ask_as("a.balancer.example", "GET /healthz"), ordinary);
    source_.replace({.admin = "root"});
    EXPECT_THAT(ask_as("evil.example"), misdirected) << "everybody may lock, but not a page";
}

TEST_F(HttpGateTest, AsksForTheTokenAndMakesNobodyPrivilegedWithoutAnAdminToken) {
    source_.replace({.auth = "open sesame"});
    EXPECT_THAT(ask("Bearer open sesame"), ordinary);
    for (const char* wrong :
         {"", "Bearer", "Bearer ", "Bearer open sesam", "Bearer open sesame!", "Bearer Open sesame",
          "Basic open sesame", "open sesame", "Beareropen sesame", "Bearer open sesame, Bearer x",
          "Bearer\topen sesame"}) {
        EXPECT_THAT(ask(wrong), refused) << wrong;
    }
    EXPECT_FALSE(channel_.closed);
}

TEST_F(HttpGateTest, SaysWhatIsMissing) {
    source_.replace({.auth = "secret"});
    EXPECT_THAT(ask(""), AllOf(HasSubstr("\r\nWWW-Authenticate: Bearer realm=\"holdfast\"\r\n"),
                               HasSubstr("\r\n\r\n{\"error\":\"a token is needed: ")));
    EXPECT_THAT(ask("Bearer wrong"),
                AllOf(HasSubstr("\r\nWWW-Authenticate: Bearer realm=\"holdfast\"\r\n"),
                      HasSubstr("\r\n\r\n{\"error\":\"the token is not the right one\"}\n")));
}

TEST_F(HttpGateTest, TakesTheSchemeInAnyCaseAndAnySpacesBehindIt) {
    source_.replace({.auth = "secret"});
    for (const char* right :
         {"Bearer secret", "bearer secret", "BEARER secret", "bEaReR    secret"}) {
        EXPECT_THAT(ask(right), ordinary) << right;
    }
}

TEST_F(HttpGateTest, TakesTheTokenAsThePasswordOfAnyUser) {
    source_.replace({.auth = "secret:1", .admin = "root"});
    EXPECT_THAT(ask("Basic YW55Ym9keTpzZWNyZXQ6MQ=="), ordinary);  // anybody:secret:1
    EXPECT_THAT(ask("basic  OnNlY3JldDox"), ordinary);             // :secret:1
    EXPECT_THAT(ask("Basic dGVycmFmb3JtOnJvb3Q="), privileged);    // terraform:root
    for (const char* wrong : {"Basic", "Basic ", "Basic c2VjcmV0OjE6",
                              "Basic cm9vdA==", "Basic eDpzZWNyZXQ=", "Basic YW55Ym9keTpzZWNyZXQ6M",
                              "Basic YW55Ym9keTpzZWNyZXQ6MQ==!"}) {
        EXPECT_THAT(ask(wrong), refused) << wrong;
    }
}

TEST_F(HttpGateTest, RefusesChangesThatOtherWebPagesAskForWithARememberedPassword) {
    source_.replace({.auth = "user", .admin = "root"});
    const std::string password = "Authorization: Basic eDpyb290\r\n";  // x:root
    EXPECT_THAT(ask_with(password + "Origin: https://evil.example\r\n", "POST /lock"), forbidden);
    EXPECT_THAT(ask_with(password + "Sec-Fetch-Site: cross-site\r\n", "GET /v1/backup"), forbidden);
    EXPECT_THAT(ask_with(password + "Origin: http://localhost:8080\r\n", "POST /lock"), privileged);
    EXPECT_THAT(ask_with(password, "POST /lock"), privileged);
    EXPECT_THAT(
        ask_with("Authorization: Bearer root\r\nOrigin: https://good.example\r\n", "POST /lock"),
        privileged);
}

TEST_F(HttpGateTest, LetsTheAdminPassAndBePrivileged) {
    source_.replace({.auth = "user", .admin = "root"});
    EXPECT_THAT(ask("Bearer user"), ordinary);
    EXPECT_THAT(ask("Bearer root"), privileged);
    EXPECT_THAT(ask("Bearer other"), refused);
    EXPECT_THAT(ask(""), refused);
}

TEST_F(HttpGateTest, AsksNobodyWhereOnlyAdminsHaveATokenButKnowsThem) {
    source_.replace({.admin = "root"});
    EXPECT_THAT(ask(""), ordinary);
    EXPECT_THAT(ask("Bearer other"), ordinary);
    EXPECT_THAT(ask("Bearer root"), privileged);
}

TEST_F(HttpGateTest, LetsEverybodyAskHowTheServerIs) {
    source_.replace({.auth = "user", .admin = "root"});
    for (const char* line : {"GET /healthz", "HEAD /healthz", "GET /readyz", "HEAD /readyz",
                             "GET /readyz?verbose", "GET /", "GET /ui/main.js"}) {
        EXPECT_THAT(ask("", line), StartsWith("HTTP/1.1 200")) << line;
    }
    EXPECT_THAT(ask("", "GET /healthz"), ordinary);
    EXPECT_THAT(ask("Bearer root", "GET /healthz"), privileged);
    for (const char* line :
         {"POST /healthz", "GET /healthz/", "GET /healthzz", "GET //healthz", "GET /v1/status",
          "GET /ui", "POST /", "GET /lock?/healthz", "GET /%68ealthz", "get /healthz"}) {
        EXPECT_THAT(ask("", line), refused) << line;
    }
}

TEST_F(HttpGateTest, KnowsTheTokensThatHoldNow) {
    source_.replace({.auth = "old"});
    EXPECT_THAT(ask("Bearer old"), ordinary);
    source_.replace({.auth = "new"});
    EXPECT_THAT(ask("Bearer old"), refused);
    EXPECT_THAT(ask("Bearer new"), ordinary);
    source_.replace({});
    EXPECT_THAT(ask(""), privileged);
}

// Whatever route it is sent to, the body of a stranger is not kept while it arrives.
TEST_F(HttpGateTest, KeepsNoBodiesOfStrangers) {
    source_.replace({.auth = "user"});
    net::BodyBudget budget(std::size_t{1} << 20U);
    limits_.bodies = &budget;
    std::size_t kept = 0;
    const char* const lines[] = {
        "POST /v1/leases",        "POST /v1/locks/x/acquire", "GET /lock",
        "PUT /v1/leases/x/value", "POST /v1/nothing",         "GET /healthz",
        "LOCK /v1/terraform/x",   "POST /v1/terraform/x"};
    for (const char* const line : lines) {
        for (const char* const size : {"Content-Length: 1000000", "Transfer-Encoding: chunked"}) {
            net::TestChannel channel;
            net::HttpProtocol protocol(channel, router_, limits_);
            channel.feed(protocol, std::string(line) + " HTTP/1.1\r\nHost: localhost\r\n" + size +
                                       "\r\n\r\nfff\r\n");
            for (int piece = 0; piece < 10 && !channel.closed; ++piece) {
                channel.feed(protocol, std::string(100, 'x'));
                kept += channel.held.size() + budget.used();
            }
            EXPECT_TRUE(channel.closed) << line;
            EXPECT_THAT(channel.take(), std::string_view(line).ends_with("healthz")
                                            ? StartsWith("HTTP/1.1 200 OK\r\n")
                                            : refused);
        }
    }
    EXPECT_EQ(kept, 0U);
    net::TestChannel channel;
    net::HttpProtocol protocol(channel, router_, limits_);
    channel.feed(protocol,
                 "POST /v1/leases HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer user\r\n"
                 "Content-Length: 10\r\n\r\nhello");
    EXPECT_GT(budget.used(), 5U) << "that of a client is";
    channel.feed(protocol, "world");
    EXPECT_THAT(channel.take(), ordinary);
}

}  // namespace
}  // namespace holdfast::app
