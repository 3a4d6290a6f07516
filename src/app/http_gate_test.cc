#include "app/http_gate.h"

#include <gmock/gmock.h>

#include <string>

#include "net/test_channel.h"

namespace holdfast::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Says whether the asker is privileged.
class Room final : public net::HttpHandler {
  public:
    void handle(const net::HttpRequest& request, net::HttpReply& reply) override {
        reply.send(200, "", request.is_privileged ? "privileged" : "ordinary");
    }
};

class HttpGateTest : public testing::Test {
  protected:
    // The answer to a request with this Authorization header, or with none.
    std::string ask(const std::string& authorization, const char* line = "GET /lock") {
        const std::string header =
            authorization.empty() ? "" : "Authorization: " + authorization + "\r\n";
        channel_.feed(protocol_, std::string(line) + " HTTP/1.1\r\n" + header + "\r\n");
        return channel_.take();
    }

    Room room_;
    TokenSource source_{{}};
    HttpGate gate_{source_, room_};
    net::HttpLimits limits_;
    net::TestChannel channel_;
    net::HttpProtocol protocol_{channel_, gate_, limits_};
};

const auto refused = StartsWith("HTTP/1.1 401 Unauthorized\r\n");
const auto privileged = HasSubstr("\r\n\r\nprivileged");
const auto ordinary = HasSubstr("\r\n\r\nordinary");

TEST_F(HttpGateTest, IsOpenAndEverybodyPrivilegedWithoutSecrets) {
    EXPECT_THAT(ask(""), privileged);
    EXPECT_THAT(ask("Bearer whatever"), privileged);
    EXPECT_THAT(ask("Bearer "), privileged);
}

TEST_F(HttpGateTest, RefusesChangesThatOtherWebPagesAskForWhereThereIsNoToken) {
    const auto from = [this](const std::string& origin, const char* method = "POST") {
        channel_.feed(protocol_, std::string(method) +
                                     " /lock HTTP/1.1\r\nHost: localhost:8080\r\nOrigin: " +
                                     origin + "\r\n\r\n");
        return channel_.take();
    };
    const auto forbidden = StartsWith("HTTP/1.1 403 Forbidden\r\n");
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

}  // namespace
}  // namespace holdfast::app
