// `holdfast bench` against the real server, and against one that breaks its word.

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

#include "load/test_servers.h"
#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Where a server is, as the tool is told.
std::vector<std::string> address_flags(ServerProcess& server) {
    const std::string line = server.process.wait_for_output("listening dflockd");
    return {"--url", "http://" + server.address, "--dflockd", line.substr(line.rfind(' ') + 1)};
}

Finished bench(std::vector<std::string> flags, const std::vector<std::string>& more) {
    Command command{.words = {holdfast_program, "bench", "--duration", "1s"}};
    flags.insert(flags.end(), more.begin(), more.end());
    command.words.insert(command.words.end(), flags.begin(), flags.end());
    return run(command);
}

// The lines `name=value` in what it prints.
std::map<std::string, std::uint64_t> counts_in(const std::string& output) {
    std::map<std::string, std::uint64_t> counts;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line) && !line.empty();) {
        const auto equals = line.find('=');
        counts[line.substr(0, equals)] = std::stoull(line.substr(equals + 1));
    }
    return counts;
}

class Bench : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Doors, Bench, ::testing::Values("lockserver", "dflockd", "homelab"));

// Half of the holders outstay their lease, so that much is refused.
TEST_P(Bench, FindsThatTheServerKeepsItsWord) {
    ServerProcess server({"--http", "127.0.0.1:0", "--log-level", "off", "--grace", "0s"});
    const Finished finished =
        bench(address_flags(server), {"--door", GetParam(), "--clients", "6", "--ttl", "40ms",
                                      "--hold", "1ms", "--jitter", "3ms", "--failrate", "0.5"});
    EXPECT_EQ(finished.exit_code, 0) << finished.error;
    EXPECT_EQ(finished.error, "");
    EXPECT_THAT(finished.output, StartsWith("acquire_success="));
    auto counts = counts_in(finished.output);
    EXPECT_EQ(counts.size(), 7U) << finished.output;
    EXPECT_GE(counts["acquire_success"], 1U);
    EXPECT_EQ(counts["writes_accepted"] + counts["stale_rejected"], counts["acquire_success"]);
    EXPECT_LE(counts["release_success"], counts["acquire_success"]);
    EXPECT_GE(counts["last_token"], 1U);
    EXPECT_EQ(counts["errors"], 0U);
    EXPECT_THAT(finished.output,
                AllOf(HasSubstr(" locks/s, "), HasSubstr("p99.9"), HasSubstr("acquire, up to ms\n"),
                      HasSubstr("\n6 clients, 1s: all promises kept: no two ")));
}

TEST_P(Bench, TakesManyLocks) {
    ServerProcess server({"--http", "127.0.0.1:0", "--log-level", "off"});
    const Finished finished = bench(
        address_flags(server), {"--door", GetParam(), "--clients", "4", "--keys", "50", "--lock",
                                "many", "--hold", "0s", "--jitter", "1ms", "--failrate", "0"});
    EXPECT_EQ(finished.exit_code, 0) << finished.error;
    EXPECT_GE(counts_in(finished.output)["acquire_success"], 2U);
    EXPECT_EQ(counts_in(finished.output)["stale_rejected"], 0U);
}

TEST_P(Bench, ShowsATokenWhereOneIsWanted) {
    const std::string path =
        ::testing::TempDir() + "holdfast_bench_" + std::to_string(::getpid()) + ".token";
    std::ofstream(path) << "the-token\n";
    ServerProcess server(
        {"--http", "127.0.0.1:0", "--log-level", "off", "--auth-token-file", path});
    const std::vector<std::string> flags = address_flags(server);
    const Finished refused = bench(flags, {"--door", GetParam()});
    EXPECT_EQ(refused.exit_code, 69);
    EXPECT_EQ(refused.output, "");
    EXPECT_THAT(refused.error, StartsWith("holdfast: "));
    const Finished let_in =
        bench(flags, {"--door", GetParam(), "--clients", "2", "--token-file", path});
    EXPECT_EQ(let_in.exit_code, 0) << let_in.error;
    ::unlink(path.c_str());
}

TEST(BenchFault, AServerThatHasTwoHoldersIsCaught) {
    load::JsonServer server([number = 1](const net::HttpRequest&) mutable {
        return std::pair(200,
                         R"({"acquired":true,"lease_id":"x","released":true,"fencing_token":)" +
                             std::to_string(number++) + "}");
    });
    const Finished finished = bench({"--url", server.url()}, {"--clients", "3", "--ttl", "60s",
                                                              "--hold", "60s", "--failrate", "0"});
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_THAT(finished.error, AllOf(HasSubstr("BROKEN: hotlock was granted to bench-"),
                                      HasSubstr("the server broke its promises ")));
    EXPECT_THAT(finished.output,
                AllOf(StartsWith("acquire_success="), HasSubstr("\n3 clients, 1s: BROKEN ")));
}

TEST(BenchFault, AServerThatIsNotThereIsAnotherMatter) {
    const Finished finished = bench({"--url", "http://127.0.0.1:1"}, {});
    EXPECT_EQ(finished.exit_code, 69);
    EXPECT_THAT(finished.error, HasSubstr("127.0.0.1:1"));
    EXPECT_EQ(bench({"--door", "dflockd", "--dflockd", "127.0.0.1:1"}, {}).exit_code, 69);
}

TEST(BenchFault, NonsenseIsNamed) {
    for (const char* flag : {"--door", "--clients", "--keys", "--ttl", "--failrate"}) {
        const Finished finished = bench({flag, "-7"}, {});
        EXPECT_NE(finished.exit_code, 0);
        EXPECT_THAT(finished.error, HasSubstr(flag));
    }
    EXPECT_THAT(bench({"--ttl", "0s"}, {}).error, HasSubstr("--ttl"));
}

}  // namespace
}  // namespace holdfast::e2e
