// `holdfast elect` and `holdfast observe`.

#include <gmock/gmock.h>
#include <signal.h>

#include "lab.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// `holdfast elect` with these options around a line of shell.
Command elect(const std::string& address, std::vector<std::string> options,
              const std::string& line) {
    options.insert(options.begin(), "elect");
    options.insert(options.end(), {"--", "/bin/sh", "-c", line});
    return client_command(address, options);
}

TEST(Elect, RunsTheCommandWhileItLeadsAndReturnsItsExitCode) {
    const ServerProcess server;
    const Finished finished =
        run(elect(server.address, {"e", "--owner", "ann", "--value", "10.0.0.1"},
                  "$HOLDFAST observe e --once; exit 7"));
    EXPECT_EQ(finished.exit_code, 7) << finished.error;
    EXPECT_THAT(finished.output, AllOf(HasSubstr("ann leads e since "), HasSubstr(" fence="),
                                       HasSubstr(" value=10.0.0.1\n")));
    EXPECT_EQ(run_client(server, {"observe", "e", "--once"}).output, "nobody leads e\n");
}

TEST(Elect, CampaignsAgainWhenItDoesNotLeadAnyMore) {
    const ServerProcess server;
    Process candidate(elect(server.address, {"e", "--owner", "ann", "--ttl", "3s"},
                            "echo term $HOLDFAST_FENCE; exec sleep 1000"));
    const std::string first = candidate.wait_for_output("term");
    EXPECT_EQ(run_client(server, {"force-unlock", "e", "--yes"}).exit_code, 0);
    candidate.wait_for_error("was stopped because");
    wait_until([&] { return is_held(server, "e"); });
    candidate.signal(SIGTERM);
    EXPECT_EQ(candidate.wait(), 128 + SIGTERM);
    wait_until([&] { return !is_held(server, "e"); });
}

TEST(Elect, WaitsUntilTheLeaderHasResigned) {
    const ServerProcess server;
    const Sign sign;
    Process first(
        elect(server.address, {"e", "--owner", "ann"}, "echo ready; " + sign.wait_line()));
    first.wait_for_output("ready");
    Process second(elect(server.address, {"e", "--owner", "bob"}, "echo next; exit 9"));
    wait_until([&] { return has_waiter(server, "e"); });
    sign.give();
    EXPECT_EQ(first.wait(), 0) << first.error();
    EXPECT_EQ(second.wait(), 9) << second.error();
    EXPECT_EQ(second.output(), "next\n");
}

TEST(Elect, FaultsOfTheCommandLineAreNamed) {
    const ServerProcess server;
    const Finished missing = run_client(server, {"elect", "e"});
    EXPECT_EQ(missing.exit_code, 64);
    EXPECT_THAT(missing.error, HasSubstr("the command to run is missing: holdfast elect e"));
    const Finished path = run_client(server, {"elect", "path:/x", "--", "true"});
    EXPECT_EQ(path.exit_code, 64);
    EXPECT_THAT(path.error, HasSubstr("an election has one name"));
}

TEST(Observe, PrintsALineForEachLeader) {
    const ServerProcess server;
    Process watcher(client_command(server.address, {"observe", "e"}));
    watcher.wait_for_output("nobody leads e");
    const Finished lease = run_client(server, {"lock", "e", "--owner", "ann", "--json"});
    EXPECT_EQ(lease.exit_code, 0) << lease.error;
    watcher.wait_for_output("ann leads e");
    EXPECT_EQ(run_client(server, {"force-unlock", "e", "--yes"}).exit_code, 0);
    EXPECT_EQ(run_client(server, {"lock", "e", "--owner", "bob"}).exit_code, 0);
    watcher.wait_for_output("bob leads e");
    const std::string output = watcher.output();
    EXPECT_LT(output.find("ann leads e"), output.rfind("nobody leads e"));
    watcher.signal(SIGTERM);
    watcher.wait();
}

TEST(Observe, PrintsTheAnswerOfTheServerAsJson) {
    const ServerProcess server;
    const Finished state = run_client(server, {"observe", "e", "--once", "--json"});
    EXPECT_THAT(state.output, HasSubstr(R"({"election":"e","candidates":0,"position":)"));
    EXPECT_EQ(run(client_command("127.0.0.1:1", {"observe", "e"})).exit_code, 69);
}

}  // namespace
}  // namespace holdfast::e2e
