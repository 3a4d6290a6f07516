// The same door as bytes on a connection: in one piece, in many, cut anywhere, too long, too
// late, and by somebody who may not.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "dflockd_host.h"
#include "net/tls/test_certificate.h"
#include "net/tls/test_tls_client.h"

namespace holdfast::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

class DflockdWire : public ::testing::TestWithParam<std::size_t> {
  protected:
    [[nodiscard]] static app::ServeOptions options() {
        return options_of(Start::dflockd, GetParam());
    }
};
INSTANTIATE_TEST_SUITE_P(Threads, DflockdWire, ::testing::Values(1, 3));

constexpr const char* token = "00000000000000010000000000000002";

TEST_P(DflockdWire, PipelinedRequestsAreAnsweredInOrder) {
    DflockdHost host(options());
    DflockdClient client = host.connect();
    client.send("ping\n_\n\nl\na\n0\nl\r\na\r\n0\r\nbad\n\n\nsl\na\n0 1 7\nw\na\n1\nping\n_\n\n");
    std::string answers;
    for (int i = 0; i < 7; ++i) answers += client.hear() + "\n";
    EXPECT_THAT(answers, MatchesRegex("ok\nok [0-9a-f]{32} 33\ntimeout\nerror\n"
                                      "ok [0-9a-f]{32} 7\nerror_not_enqueued\nok\n"));
}

TEST_P(DflockdWire, TenThousandPipelinedRequestsAreAllAnswered) {
    DflockdHost host(options());
    DflockdClient client = host.connect();
    const std::string lock = client.lock("k");
    std::string requests;
    for (int i = 0; i < 10'000; ++i) requests += "n\nk\n" + lock + "\n";
    std::thread sender([&] { client.send(requests + "ping\n_\n\n"); });
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(client.hear(), "ok 33");
    EXPECT_EQ(client.hear(), "ok");
    sender.join();
}

TEST_P(DflockdWire, ABlockedRequestHoldsBackTheLaterOnes) {
    DflockdHost host(options());
    DflockdClient holder = host.connect();
    DflockdClient client = host.connect();
    const std::string held = holder.lock("k");
    client.send("ping\n_\n\nl\nk\n100\nl\nother\n0\nping\n_\n\n");
    EXPECT_EQ(client.hear(), "ok");
    EXPECT_TRUE(host.comes_to("1 locks 1 waiters")) << "`other` is still free";
    EXPECT_EQ(holder.ask("r|k|" + held), "ok");
    EXPECT_THAT(client.hear(), StartsWith("ok "));
    EXPECT_THAT(client.hear(), StartsWith("ok "));
    EXPECT_EQ(client.hear(), "ok");
}

struct Row {
    std::string request;
    std::string answer;  // a regular expression
};

const std::vector<Row>& rows() {
    static const std::vector<Row> all{
        {"l\nmine\n10\n", "ok [0-9a-f]{32} 33"},
        {"l\r\nmine\r\n10 60\r\n", "ok [0-9a-f]{32} 60"},
        {"l\nheld\n0\n", "timeout"},
        {std::string("r\nheld\n") + token + "\n", "error"},
        {std::string("n\nheld\n") + token + " 5\n", "error"},
        {"e\nmine\n\n", "acquired [0-9a-f]{32} 33"},
        {"e\nheld\n5\n", "queued"},
        {"w\nmine\n5\n", "error_not_enqueued"},
        {"sl\nmine\n10 3 60\n", "ok [0-9a-f]{32} 60"},
        {"se\nmine\n3\n", "acquired [0-9a-f]{32} 33"},
        {"sw\nmine\n5\n", "error_not_enqueued"},
        {std::string("sr\nmine\n") + token + "\n", "error"},
        {std::string("sn\nmine\n") + token + "\n", "error"},
        {"ping\n_\n\n", "ok"},
        {"stats\n_\n\n", "ok \\{\"connections\":.*\"idle_semaphores\":.*\\}"},
        {"auth\n_\nsecret\n", "ok"},
        {"l\r\r\nmine\r\r\n+10 +60\r\r\n", "ok [0-9a-f]{32} 60"},
        {"l\nmi\rne\n10\n", "error"},
        {"nonsense\nk\n1 2 3 4 5\n", "error"},
        {"\n\n\n", "error"},
    };
    return all;
}

// A request is cut in two at every byte, each time on a connection of its own.
TEST_P(DflockdWire, EveryRequestMayBeCutAnywhere) {
    DflockdHost host(options());
    DflockdClient holder = host.connect();
    holder.lock("held", "0 3600");
    for (const Row& row : rows()) {
        for (std::size_t cut = 1; cut < row.request.size(); ++cut) {
            {
                DflockdClient client = host.connect();
                client.send(row.request.substr(0, cut));
                host.pause();
                client.send(row.request.substr(cut));
                ASSERT_THAT(client.hear(), MatchesRegex(row.answer)) << row.request << cut;
            }
            ASSERT_TRUE(host.comes_to("1 locks 0 waiters")) << row.request << cut;
        }
    }
}

TEST_P(DflockdWire, EveryRequestMayComeByteByByte) {
    DflockdHost host(options());
    DflockdClient holder = host.connect();
    holder.lock("held", "0 3600");
    for (const Row& row : rows()) {
        {
            DflockdClient client = host.connect();
            for (const char byte : row.request) {
                client.send(std::string(1, byte));
                host.pause();
            }
            ASSERT_THAT(client.hear(), MatchesRegex(row.answer)) << row.request;
        }
        ASSERT_TRUE(host.comes_to("1 locks 0 waiters")) << row.request;
    }
}

TEST_P(DflockdWire, ARequestThatEndsTooEarlyDoesNothing) {
    DflockdHost host(options());
    const std::string request = "l\nkey\n10 60\n";
    for (std::size_t cut = 0; cut < request.size(); ++cut) {
        DflockdClient client = host.connect();
        client.send(request.substr(0, cut));
        client.finish_sending();
        ASSERT_EQ(client.read_to_end(), "") << cut;
    }
    EXPECT_TRUE(host.comes_to("0 locks 0 waiters"));
}

// `printf ... | nc -N`: everything is said, and then the answers are waited for.
TEST_P(DflockdWire, AHalfClosedPeerGetsItsAnswers) {
    DflockdHost host(options());
    DflockdClient client = host.connect();
    client.send("ping\n_\n\nl\nk\n10\nl\nk\n0\nping\n_\n\n");
    client.finish_sending();
    EXPECT_THAT(client.read_to_end(), MatchesRegex("ok\nok [0-9a-f]{32} 33\ntimeout\nok\n"));
    EXPECT_TRUE(host.comes_to("0 locks 0 waiters"));
}

TEST_P(DflockdWire, ALineThatIsTooLongClosesTheConnection) {
    DflockdHost host(options());
    const std::string longest(256, 'x');
    for (const std::string& request :
         {longest + "x", "l\n" + longest + "x", "l\nk\n" + longest + "x",
          "auth\n_\n" + std::string(65'537, 'x'), "ping\n" + longest + "\r\n"}) {
        DflockdClient client = host.connect();
        client.send("ping\n_\n\n" + request);
        EXPECT_EQ(client.read_to_end(), "ok\nerror\n") << request.substr(0, 20);
    }
}

// A page can make a browser send any body to any port, and cannot read the answer.
TEST_P(DflockdWire, ABrowserCannotSpeakForAWebPage) {
    DflockdHost host(options());
    const std::string commands = "l\nstolen\n0\nl\nstolen\n0\nl\nstolen\n0\nl\nstolen\n0\n";
    for (const char* const extra : {"", "A: 1\r\n", "A: 1\r\nB: 2\r\n"}) {
        const std::string request = std::string("POST / HTTP/1.1\r\nHost: 127.0.0.1:6388\r\n") +
                                    extra + "Content-Length: " + std::to_string(commands.size()) +
                                    "\r\n\r\n" + commands;
        DflockdClient browser = host.connect();
        browser.try_send(request);
        EXPECT_EQ(browser.read_to_end(), "error\n");
    }
    // A TLS client whose session ticket, which a server chose, has requests in it.
    DflockdClient encrypted = host.connect();
    encrypted.try_send(std::string("\x16\x03\x01\x02\x00\x01\x00", 7) + "\n\n" + commands);
    EXPECT_EQ(encrypted.read_to_end(), "error\n");
    EXPECT_EQ(host.tally(), "0 locks 0 waiters");
}

TEST_P(DflockdWire, OnlyARequestBegunIsTimed) {
    app::ServeOptions fast = options();
    fast.dflockd_read_timeout = 50ms;
    DflockdHost host(fast);
    DflockdClient idle = host.connect();
    const std::string held = idle.lock("k");
    DflockdClient slow = host.connect();
    slow.send("l\nk");
    EXPECT_EQ(slow.read_to_end(), "error\n");
    EXPECT_EQ(idle.ask("r|k|" + held), "ok") << "it has said nothing for as long";
}

TEST_P(DflockdWire, TooManyConnectionsAreClosedWithoutAByte) {
    app::ServeOptions few = options();
    few.connections_max = few.dflockd_limits.connections_max = 2;
    DflockdHost host(few);
    DflockdClient first = host.connect();
    DflockdClient second = host.connect();
    EXPECT_EQ(first.ask("ping|_|"), "ok");
    EXPECT_EQ(second.ask("ping|_|"), "ok");
    DflockdClient third = host.connect();
    EXPECT_EQ(third.read_to_end(), "");
    EXPECT_EQ(first.ask("ping|_|"), "ok");
}

TEST_P(DflockdWire, AProtectedServerIsShownTheSecretFirst) {
    app::ServeOptions guarded = options();
    guarded.auth_token = "the secret";
    DflockdHost host(guarded);
    DflockdClient good = host.connect();
    good.send("auth\n_\nthe secret\r\nl\nk\n0\n");
    EXPECT_EQ(good.hear(), "ok");
    EXPECT_THAT(good.hear(), StartsWith("ok "));
    EXPECT_EQ(good.ask("auth|_|the secret"), "error") << "once is enough";
    EXPECT_EQ(good.ask("auth|_|guess"), "error");
    DflockdClient blank = host.connect();
    EXPECT_EQ(blank.ask("auth|_| \tthe secret \r"), "ok");
    for (const char* first : {"auth\n_\nguess\n", "auth\n_\n\n", "auth\n_\nthe  secret\n",
                              "ping\n_\n\n", "l\nfree\n0\n", "stats\n_\n\n", "bad\n\n\n"}) {
        const auto begin = std::chrono::steady_clock::now();
        DflockdClient bad = host.connect();
        bad.send(std::string(first) + "auth\n_\nthe secret\nl\nfree\n0\n");
        EXPECT_EQ(bad.read_to_end(), "error_auth\n") << first;
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 100ms) << "guessing takes time";
    }
    EXPECT_THAT(good.ask("l|free|0"), StartsWith("ok ")) << "nothing was done for them";
}

TEST_P(DflockdWire, WhoeverShowsNoSecretInTimeIsClosed) {
    app::ServeOptions guarded = options();
    guarded.auth_token = "the secret";
    guarded.dflockd.auth_timeout = 50ms;
    DflockdHost host(guarded);
    DflockdClient silent = host.connect();
    DflockdClient slow = host.connect();
    slow.try_send("auth\n_\nthe sec");
    EXPECT_EQ(silent.read_to_end(), "");
    EXPECT_EQ(slow.read_to_end(), "");
}

TEST_P(DflockdWire, SpeaksTls) {
    const net::TestCertificate certificate;
    app::ServeOptions encrypted = options();
    encrypted.tls = certificate.files();
    DflockdHost host(encrypted);
    net::TestTlsClient client(host.endpoint());
    ASSERT_TRUE(client.shake_hands());
    client.send("ping\n_\n\nl\nk\n0\n");
    EXPECT_EQ(client.read(6), "ok\nok ");
}

TEST_P(DflockdWire, StatsTellWhatThereIs) {
    DflockdHost host(options());
    DflockdClient client = host.connect();
    client.lock("a", "0 20");
    DflockdClient other = host.connect();
    EXPECT_THAT(client.ask("sl|s|0 5"), StartsWith("ok "));
    EXPECT_EQ(other.ask("e|a|"), "queued");
    client.lock("b");
    const std::string idle = client.lock("gone");
    EXPECT_EQ(client.ask("r|gone|" + idle), "ok");
    host.advance(2500ms);
    EXPECT_EQ(client.ask("stats|_|"),
              R"(ok {"connections":2,"locks":[)"
              R"({"key":"a","owner_conn_id":1,"lease_expires_in_s":17.5,"waiters":1},)"
              R"({"key":"b","owner_conn_id":1,"lease_expires_in_s":30.5,"waiters":0}],)"
              R"("semaphores":[{"key":"s","limit":5,"holders":1,"waiters":0}],)"
              R"("idle_locks":[{"key":"gone","idle_s":2.5}],"idle_semaphores":[]})");
    host.advance(57499ms);
    EXPECT_THAT(client.ask("stats|_|"), HasSubstr("\"gone\""));
    host.advance(1ms);
    EXPECT_THAT(client.ask("stats|_|"), HasSubstr("\"connections\":2"));
    EXPECT_EQ(client.ask("stats|_|").find("\"gone\""), std::string::npos) << "idle for a minute";
}

TEST_P(DflockdWire, ASemaphoresLimitIsForgottenWithIt) {
    DflockdHost host(options());
    DflockdClient client = host.connect();
    const std::string answer = client.ask("sl|s|0 5");
    EXPECT_EQ(client.ask("sr|s|" + answer.substr(3, 32)), "ok");
    EXPECT_EQ(client.ask("sl|s|0 6"), "error_limit_mismatch");
    host.advance(60s);
    EXPECT_THAT(client.ask("sl|s|0 6"), StartsWith("ok "));
}

TEST_P(DflockdWire, AServerThatStopsAnswersThoseWhoWait) {
    DflockdHost host(options());
    DflockdClient holder = host.connect();
    DflockdClient waiter = host.connect();
    holder.lock("k");
    waiter.send("l\nk\n1000\nping\n_\n\n");
    ASSERT_TRUE(host.comes_to("1 locks 1 waiters"));
    host.shut_down();
    EXPECT_EQ(waiter.read_to_end(), "error_draining\nok\n") << "and what was asked behind it";
    EXPECT_EQ(holder.read_to_end(), "");
}

}  // namespace
}  // namespace holdfast::conformance
