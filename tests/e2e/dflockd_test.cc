// The real program in the place of a dflockd: started with its flags, spoken to by its clients.

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

struct DflockdProcess {
    explicit DflockdProcess(const Command& command) : process(command) {}

    // Says all of it over a connection of its own, and returns what is answered up to the end.
    [[nodiscard]] std::string ask(const std::string& requests) const {
        net::TestClient client(net::parse_endpoint(address).value());
        client.send(requests);
        client.finish_sending();
        return client.read_to_end();
    }
    [[nodiscard]] int end() {
        process.signal(SIGTERM);
        return process.wait();
    }

    Process process;
    const std::string address = [this] {
        const std::string line = process.wait_for_output("listening dflockd ");
        return line.empty() ? "127.0.0.1:1" : line.substr(line.rfind(' ') + 1);
    }();
};

Command dflockd_command(const std::vector<std::string>& flags,
                        const std::map<std::string, std::string>& environment = {}) {
    Command command{.words = {holdfast_program, "dflockd"}, .environment = environment};
    command.words.insert(command.words.end(), flags.begin(), flags.end());
    return command;
}

TEST(Dflockd, ServeAnnouncesTheDoorAfterTheHttpOne) {
    DflockdProcess server(serve_command({"--http", "127.0.0.1:0", "--dflockd", "127.0.0.1:0"}));
    EXPECT_THAT(server.process.output(),
                MatchesRegex("listening http 127.0.0.1:[0-9]+\nlistening dflockd [0-9.:]+\n"
                             "data in memory\n"));
    EXPECT_THAT(server.ask("ping\n_\n\nl\nk\n0\n"), MatchesRegex("ok\nok [0-9a-f]{32} 33\n"));
    EXPECT_EQ(server.end(), 0);
}

TEST(Dflockd, ServeWithoutTheDoor) {
    ServerProcess server({"--http", "127.0.0.1:0", "--dflockd", "none"});
    EXPECT_EQ(server.ask("GET /lock").status, 200);
    EXPECT_THAT(server.process.output(), Not(HasSubstr("dflockd")));
}

TEST(Dflockd, ServeWithNoOtherDoor) {
    DflockdProcess server(serve_command({"--http", "none", "--dflockd", "127.0.0.1:0"}));
    EXPECT_EQ(server.ask("ping\n_\n\n"), "ok\n");
    EXPECT_THAT(server.process.output(), Not(HasSubstr("http")));
    EXPECT_EQ(server.end(), 0);
}

TEST(Dflockd, StartsWithTheFlagsOfTheOriginal) {
    for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
             {"--port", "0", "--default-lease-ttl", "7", "--no-auto-release-on-disconnect"},
             {"-port=0", "-default-lease-ttl=7", "-auto-release-on-disconnect=false"},
             {"--port=0", "--default-lease-ttl=7.5", "--auto-release-on-disconnect=false"}}) {
        DflockdProcess server(dflockd_command(flags));
        EXPECT_THAT(server.ask("l\nk\n0\n"), MatchesRegex("ok [0-9a-f]{32} 7\n"));
        EXPECT_EQ(server.ask("l\nk\n0\n"), "timeout\n") << "it outlives its connection";
        EXPECT_EQ(server.end(), 0);
    }
}

TEST(Dflockd, StartsWithTheVariablesOfTheOriginal) {
    DflockdProcess server(dflockd_command({}, {{"DFLOCKD_PORT", "0"},
                                               {"DFLOCKD_DEFAULT_LEASE_TTL_S", "7"},
                                               {"DFLOCKD_MAX_LOCKS", "1"},
                                               {"DFLOCKD_AUTH_TOKEN", "secret"}}));
    EXPECT_THAT(server.ask("auth\n_\nsecret\nl\nk\n0\nl\nother\n0\n"),
                MatchesRegex("ok\nok [0-9a-f]{32} 7\nerror_max_locks\n"));
    EXPECT_EQ(server.ask("l\nk\n0\n"), "error_auth\n");
    EXPECT_EQ(server.end(), 0);
    EXPECT_THAT(server.process.error(), Not(HasSubstr("secret")));
}

TEST(Dflockd, ServeHonoursTheVariablesOfTheOriginal) {
    Command command = serve_command({"--http", "none", "--dflockd", "127.0.0.1:0"});
    command.environment["DFLOCKD_AUTO_RELEASE_ON_DISCONNECT"] = "0";
    command.environment["DFLOCKD_DEFAULT_LEASE_TTL_S"] = "7";
    command.environment["DFLOCKD_MAX_LOCKS"] = "1";
    command.environment["DFLOCKD_HTTP_PORT"] = "8080";
    DflockdProcess server(command);
    EXPECT_THAT(server.ask("l\nk\n0\nl\nother\n0\n"),
                MatchesRegex("ok [0-9a-f]{32} 7\nerror_max_locks\n"));
    EXPECT_EQ(server.ask("l\nk\n0\n"), "timeout\n") << "it outlives its connection";
    EXPECT_EQ(server.end(), 0);
    EXPECT_THAT(server.process.error(), AllOf(HasSubstr("DFLOCKD_HTTP_PORT"), HasSubstr("--http"),
                                              Not(HasSubstr("DFLOCKD_MAX_LOCKS"))));
    command.environment["DFLOCKD_MAX_LOCKS"] = "many";
    const Finished wrong = run(command);
    EXPECT_NE(wrong.exit_code, 0);
    EXPECT_THAT(wrong.error, HasSubstr("DFLOCKD_MAX_LOCKS"));
}

TEST(Dflockd, OpensOtherDoorsWhenAsked) {
    DflockdProcess server(dflockd_command({"--port", "0", "--http", "127.0.0.1:0"}));
    EXPECT_THAT(server.ask("l\nk\n0\n"), StartsWith("ok "));
    const std::string line = server.process.wait_for_output("listening http ");
    net::TestClient client(net::parse_endpoint(line.substr(line.rfind(' ') + 1)).value());
    client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(client.response().body, HasSubstr("<html"));
    client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_THAT(client.response().body, HasSubstr("lock_acquire_total{result=\"success\"} 1"));
    EXPECT_EQ(server.end(), 0);
    const Finished open = run(dflockd_command({"--port", "0", "--http", "0.0.0.0:0"}));
    EXPECT_EQ(open.exit_code, 1);
    EXPECT_THAT(open.error, HasSubstr("--insecure"));
}

TEST(Dflockd, ListensBeyondThisMachineWithAWarning) {
    DflockdProcess server(dflockd_command({"--host", "0.0.0.0", "--port", "0"}));
    EXPECT_THAT(server.process.wait_for_error("everybody who can reach"),
                HasSubstr("--auth-token-file"));
    EXPECT_EQ(server.end(), 0);
}

TEST(Dflockd, KeepsTheLeasesOfItsConnectionsOverARestart) {
    const std::string folder =
        ::testing::TempDir() + "holdfast_e2e_dflockd_" + std::to_string(::getpid());
    const std::vector<std::string> flags{"--port", "0", "--data", folder};
    std::string token;
    {
        DflockdProcess server(dflockd_command(flags));
        net::TestClient client(net::parse_endpoint(server.address).value());
        client.send("l\nk\n10 600\n");
        token = client.read(40).substr(3, 32);
        EXPECT_EQ(server.end(), 0);
        EXPECT_EQ(client.read_to_end(), "");
    }
    DflockdProcess server(dflockd_command(flags));
    EXPECT_EQ(server.ask("l\nk\n0\n"), "timeout\n");
    EXPECT_THAT(server.ask("n\nk\n" + token + " 600\nr\nk\n" + token + "\nl\nk\n0\n"),
                StartsWith("ok 600\nok\nok "));
    EXPECT_EQ(server.end(), 0);
    std::filesystem::remove_all(folder);
}

TEST(Dflockd, GarbageDoesNotKillIt) {
    DflockdProcess server(dflockd_command({"--port", "0", "--threads", "2"}));
    std::string every_byte;
    for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
    for (const std::string& garbage :
         {std::string("\n\n\n\n\n\n\n"), every_byte, every_byte + "\n\n\n",
          std::string(100'000, 'A'), std::string(100'000, '\n'),
          std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
          std::string("l\nk\n99999999999999999999999\n"), std::string("\x16\x03\x01\x02\x00", 5),
          "auth\n_\n" + std::string(200'000, 's')}) {
        net::TestClient client(net::parse_endpoint(server.address).value());
        client.try_send(garbage);
        client.finish_sending();
        net::TestClient rude(net::parse_endpoint(server.address).value());
        rude.try_send(garbage);
        rude.reset();
    }
    EXPECT_EQ(server.ask("ping\n_\n\n"), "ok\n");
    EXPECT_EQ(server.end(), 0);
}

// What starts the original, in one of its versions, starts this.
TEST(Dflockd, StartsWithWhateverTheOriginalStartsWith) {
    const std::string secret_file =
        ::testing::TempDir() + "holdfast_e2e_dflockd_secret_" + std::to_string(::getpid());
    std::ofstream(secret_file) << "\n  a secret \t\r\n";
    std::filesystem::permissions(secret_file, std::filesystem::perms::owner_read);
    for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
             {"--port", "0", "--host", "LocalHost"},
             {"--port", "6388", "--port", "0x0"},
             {"--port=0", "--auth-token="},
             {"--port", "0", "start", "--frobnicate"},
             {"--port", "0", "--http-port", "0", "--max-connections-per-ip", "5"}}) {
        DflockdProcess server(dflockd_command(flags));
        EXPECT_EQ(server.ask("ping\n_\n\n"), "ok\n") << flags.back();
        EXPECT_EQ(server.end(), 0);
    }
    DflockdProcess guarded(dflockd_command({"--port", "0", "--auth-token-file", secret_file},
                                           {{"DFLOCKD_MAX_LOCKS", "many"}}));
    EXPECT_EQ(guarded.ask("auth\n_\na secret\nping\n_\n\n"), "ok\nok\n");
    EXPECT_THAT(guarded.process.wait_for_error("DFLOCKD_MAX_LOCKS"), HasSubstr("no effect"));
    EXPECT_EQ(guarded.end(), 0);
    std::filesystem::remove(secret_file);
}

TEST(Dflockd, SaysWhatIsWrong) {
    for (const std::vector<std::string>& flags :
         std::vector<std::vector<std::string>>{{"--frobnicate"},
                                               {"--port", "x"},
                                               {"--port"},
                                               {"--port", "65536"},
                                               {"--auth-token", " "},
                                               {"--host", std::string(70, 'x')}}) {
        const Finished wrong = run(dflockd_command(flags));
        EXPECT_EQ(wrong.exit_code, 1) << flags.front();
        EXPECT_THAT(wrong.error, HasSubstr(flags.front()));
    }
    for (const char* flag : {"--help", "-help", "-h"}) {
        const Finished help = run(dflockd_command({flag}));
        EXPECT_EQ(help.exit_code, 0);
        EXPECT_THAT(help.output, AllOf(HasSubstr("--max-waiters"), HasSubstr("nc 127.0.0.1 6388")));
    }
    const Finished version = run(dflockd_command({"--version"}));
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_THAT(version.output, StartsWith("holdfast "));
}

}  // namespace
}  // namespace holdfast::e2e
