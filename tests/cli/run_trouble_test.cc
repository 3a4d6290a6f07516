// `holdfast run` when the server, the network or somebody with `kill` gets in the way. Wherever the
// lock is lost, nothing of the command may live when somebody else gets it.
//
// Process::wait() waits for the end of the output, which everything that came of the command holds
// open: what returns from it is gone as a whole.

#include <gmock/gmock.h>
#include <signal.h>

#include "lab.h"

namespace holdfast::e2e {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Long enough that half of its margin is time enough to die in, on a slow machine.
constexpr auto ttl = 12s;
const std::vector<std::string> short_lease{"x", "--ttl", "12s"};

// A command that listens to nobody, in several processes, one of which has left the group and lost
// its parent. All of them hold a lock of the kernel's on the file, until the last has died.
std::string stubborn(const std::string& file) {
    return "exec 9>" + file +
           "; flock -x 9; trap '' TERM HUP INT; "
           "setsid sh -c 'trap \"\" TERM; (while :; do sleep 1000; done) &' & "
           "echo ready; while :; do sleep 1000; done";
}

// Says whether it is alone.
std::string witness(const std::string& file) {
    return "flock -n " + file + " echo alone || echo NOT ALONE";
}

TEST(RunTrouble, AStoppedRunDoesNotKeepTheCommandAlive) {
    const ServerProcess server;
    const Sign file;
    Process holder(run_command(server.address, short_lease, stubborn(file.path())));
    holder.wait_for_output("ready");
    holder.signal(SIGSTOP);  // renews nothing, and could stop nobody
    const Finished next = run(run_command(server.address, {"x"}, witness(file.path())));
    EXPECT_EQ(next.output, "alone\n") << next.error;
    holder.signal(SIGCONT);
    EXPECT_EQ(holder.wait(), 76);
    EXPECT_THAT(holder.error(), HasSubstr("lost"));
}

TEST(RunTrouble, AKilledRunTakesTheCommandWithIt) {
    const ServerProcess server;
    const Sign file;
    Process holder(run_command(server.address, short_lease, stubborn(file.path())));
    holder.wait_for_output("ready");
    holder.signal(SIGKILL);
    EXPECT_EQ(holder.wait(), 128 + SIGKILL);
    const Finished next = run(run_command(server.address, {"x"}, witness(file.path())));
    EXPECT_EQ(next.output, "alone\n") << next.error;
}

TEST(RunTrouble, AKilledKeeperTakesTheCommandWithIt) {
    const ServerProcess server;
    const Sign file;
    Process holder(run_command(server.address, short_lease, stubborn(file.path())));
    holder.wait_for_output("ready");
    const auto keepers = children_of(holder.pid());
    ASSERT_EQ(keepers.size(), 1U);
    ::kill(keepers[0], SIGKILL);
    EXPECT_EQ(holder.wait(), 70);
    EXPECT_FALSE(is_held(server, "x"));
}

TEST(RunTrouble, AStoppedKeeperIsNotWaitedFor) {
    ServerProcess server;
    const Sign file;
    Process holder(run_command(server.address, short_lease, stubborn(file.path())));
    holder.wait_for_output("ready");
    const auto keepers = children_of(holder.pid());
    ASSERT_EQ(keepers.size(), 1U);
    ::kill(keepers[0], SIGSTOP);
    server.process.signal(SIGKILL);
    EXPECT_EQ(holder.wait(), 76);
}

TEST(RunTrouble, AServerThatDoesNotAnswerEndsTheCommandBeforeTheLeaseEnds) {
    ServerProcess server;
    const Sign file;
    Process holder(run_command(server.address, short_lease, stubborn(file.path())));
    holder.wait_for_output("ready");
    Process next(run_command(server.address, {"x"}, witness(file.path())));
    wait_until([&] { return has_waiter(server, "x"); });
    server.process.signal(SIGSTOP);
    std::this_thread::sleep_for(ttl);  // the lease ends at the latest now: this is what is tried
    server.process.signal(SIGCONT);
    EXPECT_EQ(next.wait(), 0) << next.error();
    EXPECT_EQ(next.output(), "alone\n");
    EXPECT_EQ(holder.wait(), 76);
    EXPECT_THAT(holder.error(), AllOf(HasSubstr("lost"), HasSubstr("x")));
}

TEST(RunTrouble, AServerThatIsGoneEndsTheCommand) {
    ServerProcess server;
    Process holder(run_command(server.address, {"x", "--ttl", "12s"},
                               "trap 'echo asked; exit 0' TERM; echo ready; "
                               "while :; do sleep 0.01; done"));
    holder.wait_for_output("ready");
    server.process.signal(SIGKILL);
    EXPECT_EQ(holder.wait(), 76);
    EXPECT_THAT(holder.output(), HasSubstr("asked"));
}

TEST(RunTrouble, AServerThatComesBackInTimeIsNoTrouble) {
    const DataFolder folder;
    const Sign sign;
    std::optional<ServerProcess> server;
    server.emplace(flags_for(folder.path()));
    const std::string address = server->address;
    Process holder(run_command(address, {"x", "--ttl", "20s"},
                               "echo ready; " + sign.wait_line() + "; exit 8"));
    holder.wait_for_output("ready");
    kill_at_once(*server);
    server.emplace(std::vector<std::string>{"--data", folder.path(), "--http", address});
    const auto is_renewed = [&] {
        const std::string body = server->ask("GET /v1/status").body;
        return body.find("\"renewals\":0") == std::string::npos;
    };
    wait_until(is_renewed);
    sign.give();
    EXPECT_EQ(holder.wait(), 8) << holder.error();
    EXPECT_FALSE(is_held(*server, "x"));
}

TEST(RunTrouble, ALockThatIsTakenAwayEndsTheCommandAtOnce) {
    const ServerProcess server;
    Process holder(run_command(server.address, {"x", "--ttl", "12s"},
                               "trap 'echo asked' TERM; echo ready; while :; do sleep 0.01; done"));
    holder.wait_for_output("ready");
    const Finished forced = run_client(server, {"force-unlock", "--yes", "x"});
    EXPECT_EQ(forced.exit_code, 0) << forced.error;
    EXPECT_EQ(holder.wait(), 76);
    EXPECT_EQ(holder.output(), "ready\n");  // there was no time to ask
}

TEST(RunTrouble, ALeaseIsNotLostWhileTheCommandStandsStill) {
    const ServerProcess server;
    const Sign sign;
    Process holder(
        run_command(server.address, short_lease, "echo ready $$; kill -STOP $$; echo on; exit 4"));
    const std::string line = holder.wait_for_output("ready");
    const auto renewals = [&] {
        const std::string body = server.ask("GET /v1/status").body;
        return std::stoi(body.substr(body.find("\"renewals\":") + 11));
    };
    wait_until([&] { return renewals() >= 4; });
    ::kill(std::stoi(line.substr(6)), SIGCONT);
    EXPECT_EQ(holder.wait(), 4) << holder.error();
}

}  // namespace
}  // namespace holdfast::e2e
