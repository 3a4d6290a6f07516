// The real program as a server: it serves, it stops, it does not die.

#include <gmock/gmock.h>
#include <signal.h>

#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* get_lock = "GET /lock HTTP/1.1\r\nHost: localhost\r\n\r\n";

class ServeThreads : public ::testing::TestWithParam<const char*> {
  protected:
    ServerProcess server_{{"--http", "127.0.0.1:0", "--threads", GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Threads, ServeThreads, ::testing::Values("1", "3"));

TEST_P(ServeThreads, ServesAndAnswers) {
    EXPECT_THAT(server_.ask("POST /lock?client=laptop1").body, HasSubstr("\"acquired\""));
    EXPECT_EQ(server_.ask("POST /lock?client=laptop2").status, 409);
    EXPECT_EQ(server_.ask("DELETE /lock?client=laptop1").status, 200);
}

TEST_P(ServeThreads, EndsCleanlyOnSigterm) {
    EXPECT_EQ(server_.ask("GET /lock").status, 200);
    server_.process.signal(SIGTERM);
    EXPECT_EQ(server_.process.wait(), 0);
    EXPECT_THAT(server_.process.error(), AllOf(HasSubstr("shutting down"), HasSubstr("stopped")));
}

TEST_P(ServeThreads, EndsCleanlyOnSigint) {
    net::TestClient idle = server_.connect();
    idle.send(get_lock);
    EXPECT_EQ(idle.response().status, 200);
    server_.process.signal(SIGINT);
    EXPECT_EQ(idle.read_to_end(), "");
    EXPECT_EQ(server_.process.wait(), 0);
}

TEST_P(ServeThreads, AnswersWhatIsInFlightBeforeItEnds) {
    {
        net::TestClient client = server_.connect();
        client.send(std::string(get_lock) + "GET /lock HT");  // read together
        EXPECT_EQ(client.response().status, 200);
        server_.process.signal(SIGTERM);
        server_.process.wait_for_error("shutting down");
        client.send("TP/1.1\r\nHost: localhost\r\n\r\n");
        EXPECT_EQ(client.response().status, 200);
        EXPECT_EQ(client.read_to_end(), "");
    }
    EXPECT_EQ(server_.process.wait(), 0);
}

TEST_P(ServeThreads, ASecondSignalDoesNotWait) {
    net::TestClient client = server_.connect();
    client.send(std::string(get_lock) + "GET /lock HT");
    EXPECT_EQ(client.response().status, 200);
    server_.process.signal(SIGTERM);
    server_.process.wait_for_error("shutting down");
    server_.process.signal(SIGTERM);
    EXPECT_EQ(server_.process.wait(), 128 + SIGTERM);
}

TEST_P(ServeThreads, GarbageDoesNotKillIt) {
    std::string every_byte;
    for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
    for (const std::string& garbage :
         {std::string("\r\n\r\n\r\n"), std::string("hello\r\n\r\n"), every_byte,
          std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
          std::string(100'000, 'A'),
          std::string("POST /lock HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"),
          std::string("POST /lock?%%%%% HTTP/1.1\r\nHost: localhost\r\n\r\n"),
          std::string("GET /lock HTTP/9.9\r\n\r\n")}) {
        net::TestClient client = server_.connect();
        client.try_send(garbage);
        client.finish_sending();
        net::TestClient rude = server_.connect();
        rude.try_send(garbage);
        rude.reset();
    }
    EXPECT_EQ(server_.ask("POST /lock?client=laptop1").status, 200);
    server_.process.signal(SIGTERM);
    EXPECT_EQ(server_.process.wait(), 0);
}

TEST(Serve, SaysWhichAddressIsTaken) {
    const ServerProcess server;
    const Finished second = run(serve_command({"--http", server.address}));
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_THAT(second.error, AllOf(StartsWith("holdfast: "), HasSubstr(server.address)));
    EXPECT_EQ(server.ask("GET /lock").status, 200);
}

TEST(Serve, APortIsFreeAgainAtOnce) {
    std::string address;
    {
        ServerProcess server;
        address = server.address;
        EXPECT_EQ(server.ask("GET /lock").status, 200);
        server.process.signal(SIGTERM);
        EXPECT_EQ(server.process.wait(), 0);
    }
    const ServerProcess again({"--http", address});
    EXPECT_EQ(again.address, address);
}

// The seed's client loop, with its own tool, word for word.
TEST(Serve, TheClientLoopOfTheSeedWorksWithCurl) {
    const ServerProcess server;
    const auto curl = [&](const std::string& method, const std::string& target) {
        return run({.words = {"curl", "--silent", "--noproxy", "*", "--write-out", "%{http_code}",
                              "-X", method, "http://" + server.address + target}})
            .output;
    };
    EXPECT_THAT(curl("POST", "/lock?client=myid&ttl=30s"),
                AllOf(HasSubstr("\"message\":\"acquired\""), HasSubstr("\n200")));
    EXPECT_THAT(curl("POST", "/lock?client=myid&ttl=30s"),
                AllOf(HasSubstr("\"message\":\"renewed\""), HasSubstr("\n200")));
    EXPECT_THAT(curl("POST", "/lock?client=other&ttl=30s"), HasSubstr("\n409"));
    EXPECT_THAT(curl("DELETE", "/lock?client=myid"), HasSubstr("\n200"));
    EXPECT_THAT(curl("GET", "/lock"), HasSubstr("\"holder\":\"\""));
}

// More than a pipe holds is logged, and nobody reads it until the server has ended.
TEST(Serve, GoesOnAlthoughNobodyReadsItsLog) {
    ServerProcess server;
    std::string name;
    for (int i = 0; i < 200; ++i) name += "%01";  // each is six characters of a line
    for (int i = 0; i < 100; ++i) {
        const std::string job = name + std::to_string(i);
        ASSERT_EQ(server.ask("POST /lock?ttl=1h&client=" + name + "&job=" + job).status, 200);
    }
    server.process.signal(SIGTERM);
    EXPECT_EQ(server.process.wait(), 0);
    EXPECT_GT(server.process.error().size(), std::size_t{64} * 1024);
    EXPECT_THAT(server.process.error(), HasSubstr("stopped"));
}

}  // namespace
}  // namespace holdfast::e2e
