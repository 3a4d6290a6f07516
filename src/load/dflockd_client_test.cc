#include "load/dflockd_client.h"

#include <gmock/gmock.h>

#include "load/test_servers.h"
#include "net/client/test_peer.h"

namespace holdfast::load {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

LineConnection line_to(LineServer& server) {
    return LineConnection::open(server.address()).value();
}

TEST(LineConnection, ReadsOneLineForEachRequest) {
    LineServer server([](const std::string& request) { return "you said " + request; });
    LineConnection line = line_to(server);
    ASSERT_TRUE(line.connect());
    EXPECT_EQ(line.exchange("a|b|c\n").value(), "you said a|b|c");
    EXPECT_EQ(line.exchange("d\n").value(), "you said d");
    EXPECT_TRUE(line.is_connected());
}

TEST(LineConnection, EndsWithTheServersConnection) {
    LineServer server([](const std::string&) { return ""; });  // closes the connection
    LineConnection line = line_to(server);
    ASSERT_TRUE(line.connect());
    EXPECT_THAT(line.exchange("a\n").error().message, HasSubstr("closed the connection"));
    EXPECT_FALSE(line.is_connected());
    EXPECT_TRUE(line.connect());
}

TEST(LineConnection, SaysWhomItCannotReach) {
    EXPECT_THAT(LineConnection::open("nowhere").error().message, HasSubstr("nowhere"));
    LineConnection line = LineConnection::open("127.0.0.1:1").value();
    EXPECT_THAT(line.connect().error().message, HasSubstr("cannot connect to 127.0.0.1:1: "));
}

TEST(LineConnection, ReachesAUnixSocket) {
    const net::TestSocketPath path;
    EXPECT_THAT(LineConnection::open(path.url()).value().connect().error().message,
                HasSubstr("cannot connect to " + path.url() + ": No such file or directory"));
    net::TestPeer peer(path, [](net::TestPeer::Conversation& conversation, int) {
        conversation.send("ok\n");
        conversation.wait_for_end();
    });
    LineConnection line = LineConnection::open(path.url()).value();
    ASSERT_TRUE(line.connect());
    EXPECT_EQ(line.exchange("ping\n").value(), "ok");
    EXPECT_THAT(LineConnection::open("unix:" + std::string(200, 'p')).error().message,
                HasSubstr("is longer than"));
}

// Three lines make a request of dflockd's; this server sees them one by one.
class DflockdServer {
  public:
    explicit DflockdServer(std::string answer) : answer_(std::move(answer)) {}

    // The third line of a request is answered.
    std::string operator()(const std::string& line) {
        lines_ += line + "|";
        if (std::count(lines_.begin(), lines_.end(), '|') % 3 != 0) return "-";
        const bool is_auth = lines_ == "auth|_|secret|";
        return is_auth ? "ok" : answer_;
    }

  private:
    const std::string answer_;
    std::string lines_;
};

base::Result<Acquisition> acquire_when_told(const std::string& answer, const char* token = "") {
    LineServer server{DflockdServer(answer)};
    return DflockdClient(line_to(server), token, 800ms).acquire("x");
}

TEST(DflockdClient, TakesTheNumberFromTheToken) {
    for (const char* token : {"", "secret"}) {
        const auto acquired =
            acquire_when_told("ok 00000000000000ff0123456789abcdef 1", token).value();
        const Grant& grant = std::get<Grant>(acquired);
        EXPECT_EQ(grant.fencing_number, 255U);
        EXPECT_EQ(grant.lease, "00000000000000ff0123456789abcdef");
        EXPECT_EQ(grant.ttl, 1s);  // whole seconds
    }
}

TEST(DflockdClient, KnowsARefusalFromAFault) {
    EXPECT_TRUE(std::holds_alternative<Refusal>(acquire_when_told("timeout").value()));
    for (const char* answer : {"error", "error_max_locks", "ok", "ok token 1", "ok 1 1"}) {
        EXPECT_THAT(acquire_when_told(answer).error().message, HasSubstr(answer));
    }
}

TEST(DflockdClient, SaysThatATokenIsMissingOrWrong) {
    LineServer server{DflockdServer("error_auth")};
    EXPECT_THAT(DflockdClient(line_to(server), "", 1s).greet().error().message,
                HasSubstr("wants a token"));
    LineServer strict([](const std::string& line) { return line == "wrong" ? "error_auth" : "-"; });
    EXPECT_THAT(DflockdClient(line_to(strict), "wrong", 1s).greet().error().message,
                HasSubstr("does not take the token"));
}

}  // namespace
}  // namespace holdfast::load
