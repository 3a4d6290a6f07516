// `holdfast run` when nothing goes wrong, or only what is wrong with the command line.

#include <gmock/gmock.h>
#include <signal.h>

#include "lab.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(Run, ReturnsTheExitCodeOfTheCommand) {
    const ServerProcess server;
    EXPECT_EQ(run(run_command(server.address, {"x"}, "exit 0")).exit_code, 0);
    EXPECT_EQ(run(run_command(server.address, {"x"}, "exit 7")).exit_code, 7);
    EXPECT_EQ(run(run_command(server.address, {"x"}, "kill -9 $$")).exit_code, 128 + SIGKILL);
    EXPECT_FALSE(is_held(server, "x"));
}

TEST(Run, HoldsTheLockWhileTheCommandRuns) {
    const ServerProcess server;
    const Finished finished =
        run(run_command(server.address, {"x", "--owner", "me"}, "$HOLDFAST show --json x"));
    EXPECT_EQ(finished.exit_code, 0) << finished.error;
    EXPECT_THAT(finished.output, AllOf(HasSubstr("\"held\":true"), HasSubstr("\"me\"")));
    EXPECT_FALSE(is_held(server, "x"));
}

TEST(Run, TellsTheCommandWhatItHolds) {
    const ServerProcess server;
    const Finished finished = run(run_command(
        server.address, {"a lock"},
        "echo \"$HOLDFAST_LOCK/$HOLDFAST_LEASE/$HOLDFAST_LEASE_TOKEN/$HOLDFAST_FENCING_TOKEN\"; "
        "$HOLDFAST fence bucket $HOLDFAST_FENCE && $HOLDFAST renew $HOLDFAST_LEASE_TOKEN"));
    EXPECT_EQ(finished.exit_code, 0) << finished.error;
    EXPECT_THAT(finished.output, MatchesRegex("a lock/a lock/[0-9a-f]{32}/[0-9]+\n[0-9T:.-]+Z\n"));
}

TEST(Run, ServerOptionsReachHoldfastInTheCommand) {
    const ServerProcess server;
    Command command = client_command(
        "127.0.0.1:1",
        {"run", "x", "--server", "http://" + server.address, "--", holdfast_program, "show", "x"});
    const Finished finished = run(command);
    EXPECT_EQ(finished.exit_code, 0) << finished.error;
    EXPECT_THAT(finished.output, HasSubstr("x is held"));
}

TEST(Run, ACommandThatCannotBeRunIsNamed) {
    const ServerProcess server;
    const Finished missing = run_client(server, {"run", "x", "--", "/no/such/program"});
    EXPECT_EQ(missing.exit_code, 127);
    EXPECT_THAT(missing.error, HasSubstr("/no/such/program"));
    EXPECT_EQ(run_client(server, {"run", "x", "--", "/etc/passwd"}).exit_code, 126);
    EXPECT_FALSE(is_held(server, "x"));
}

TEST(Run, FaultsOfTheCommandLineAreNamed) {
    struct Row {
        std::vector<std::string> words;
        std::string named;
    };
    const Row rows[] = {{{"run", "x"}, "the command to run is missing"},
                        {{"run", "--", "true"}, "the name of the lock is missing"},
                        {{"run", "inode:nonsense", "--", "true"}, "nonsense"},
                        {{"run", "x", "--ttl", "5", "--", "true"}, "--ttl"},
                        {{"run", "x", "--ttl", "10ms", "--", "true"}, "--ttl"},
                        {{"run", "x", "--try", "--wait", "1s", "--", "true"}, "--try"},
                        {{"run", "x", "--limit", "2", "--shared", "--", "true"}, "--shared"},
                        {{"run", "x", "--frobnicate", "--", "true"}, "--frobnicate"},
                        {{"run", "x", "--server", "ftp://nowhere", "--", "true"}, "nowhere"}};
    for (const Row& row : rows) {
        const Finished finished = run(client_command("127.0.0.1:1", row.words));
        EXPECT_EQ(finished.exit_code, 64) << row.named;
        EXPECT_THAT(finished.error, HasSubstr(row.named));
        EXPECT_EQ(finished.output, "");
    }
}

TEST(Run, WithoutAServerSaysWhatToDo) {
    const Finished finished =
        run(client_command("127.0.0.1:1", {"run", "x", "--try", "--", "true"}));
    EXPECT_EQ(finished.exit_code, 69);
    EXPECT_THAT(finished.error, AllOf(HasSubstr("127.0.0.1:1"), HasSubstr("holdfast serve"),
                                      HasSubstr("--server")));
}

TEST(Run, DoesNotRunTheCommandWithoutTheLock) {
    const ServerProcess server;
    const Finished held = run_client(server, {"lock", "x", "--ttl", "10m", "--owner", "somebody"});
    ASSERT_EQ(held.exit_code, 0) << held.error;
    const Finished tried = run(run_command(server.address, {"x", "--try"}, "echo ran"));
    EXPECT_EQ(tried.exit_code, 75);
    EXPECT_THAT(tried.error, AllOf(HasSubstr("held by somebody"), HasSubstr("x")));
    EXPECT_EQ(tried.output, "");
    const Finished waited = run(run_command(server.address, {"x", "--wait", "100ms"}, "echo ran"));
    EXPECT_EQ(waited.exit_code, 75);
    EXPECT_EQ(waited.output, "");
}

TEST(Run, WaitsForItsTurn) {
    const ServerProcess server;
    const Sign sign;
    Process first(run_command(server.address, {"x"}, "echo ready; " + sign.wait_line()));
    first.wait_for_output("ready");
    Process second(run_command(server.address, {"x"}, "echo my turn"));
    wait_until([&] { return has_waiter(server, "x"); });
    EXPECT_EQ(second.output(), "");
    sign.give();
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(second.wait(), 0);
    EXPECT_EQ(second.output(), "my turn\n");
}

TEST(Run, ALimitLetsSoManyIn) {
    const ServerProcess server;
    const Sign sign;
    Process first(
        run_command(server.address, {"x", "--limit", "2"}, "echo ready; " + sign.wait_line()));
    first.wait_for_output("ready");
    EXPECT_EQ(run(run_command(server.address, {"x", "--limit", "2", "--try"}, "exit 3")).exit_code,
              3);
    Process second(
        run_command(server.address, {"x", "--limit", "2"}, "echo ready; " + sign.wait_line()));
    second.wait_for_output("ready");
    EXPECT_EQ(run(run_command(server.address, {"x", "--limit", "2", "--try"}, "exit 3")).exit_code,
              75);
    sign.give();
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(second.wait(), 0);
}

TEST(Run, ScopesConflictAsTheServerHasIt) {
    const ServerProcess server;
    const Sign sign;
    Process writer(run_command(server.address, {"range:7:0-4096"},
                               "echo $HOLDFAST_LEASE; " + sign.wait_line()));
    writer.wait_for_output("range:7:0-4096");
    const auto exit_code_of = [&](const char* scope) {
        return run(run_command(server.address, {scope, "--try"}, "exit 0")).exit_code;
    };
    EXPECT_EQ(exit_code_of("range:7:4000-5000"), 75);
    EXPECT_EQ(exit_code_of("inode:7"), 75);
    EXPECT_EQ(exit_code_of("range:7:4096-5000"), 0);
    EXPECT_EQ(exit_code_of("path:/a/b"), 0);
    sign.give();
    EXPECT_EQ(writer.wait(), 0);
}

TEST(Run, SharedHoldersCoexist) {
    const ServerProcess server;
    const Sign sign;
    Process reader(
        run_command(server.address, {"x", "--shared"}, "echo ready; " + sign.wait_line()));
    reader.wait_for_output("ready");
    EXPECT_EQ(run(run_command(server.address, {"x", "--shared", "--try"}, "exit 0")).exit_code, 0);
    EXPECT_EQ(run(run_command(server.address, {"x", "--try"}, "exit 0")).exit_code, 75);
    sign.give();
    EXPECT_EQ(reader.wait(), 0);
}

TEST(Run, RenewsTheLeaseForAsLongAsTheCommandRuns) {
    const ServerProcess server;
    const Sign sign;
    Process holder(run_command(server.address, {"x", "--ttl", "1500ms"},
                               "echo ready; " + sign.wait_line() + "; exit 5"));
    holder.wait_for_output("ready");
    const auto renewals = [&] {
        const std::string body = server.ask("GET /v1/status").body;
        return std::stoi(body.substr(body.find("\"renewals\":") + 11));
    };
    wait_until([&] { return renewals() >= 5; });  // more than a lease's time
    EXPECT_TRUE(is_held(server, "x"));
    sign.give();
    EXPECT_EQ(holder.wait(), 5) << holder.error();
}

TEST(Run, SignalsGoToTheCommand) {
    const ServerProcess server;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
        Process process(run_command(server.address, {"x"},
                                    "trap 'echo got it; exit 9' INT TERM HUP QUIT USR1 USR2; "
                                    "echo ready; while :; do sleep 0.01; done"));
        process.wait_for_output("ready");
        process.signal(signal);
        EXPECT_EQ(process.wait(), 9) << signal;
        EXPECT_THAT(process.output(), HasSubstr("got it"));
        EXPECT_FALSE(is_held(server, "x"));
    }
}

TEST(Run, ACommandThatDiesOfASignalReturnsThat) {
    const ServerProcess server;
    Process process(run_command(server.address, {"x"}, "echo ready; exec sleep 1000"));
    process.wait_for_output("ready");
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), 128 + SIGTERM);
    EXPECT_FALSE(is_held(server, "x"));
}

TEST(Run, ASignalEndsTheWait) {
    const ServerProcess server;
    ASSERT_EQ(run_client(server, {"lock", "x", "--ttl", "10m"}).exit_code, 0);
    Process waiter(run_command(server.address, {"x"}, "echo ran"));
    wait_until([&] { return has_waiter(server, "x"); });
    waiter.signal(SIGTERM);
    EXPECT_EQ(waiter.wait(), 128 + SIGTERM);
    EXPECT_EQ(waiter.output(), "");
    EXPECT_FALSE(has_waiter(server, "x"));
}

TEST(Run, WhatTheCommandLeavesBehindIsGoneBeforeTheRelease) {
    const ServerProcess server;
    // One in the background, one in a session of its own; both hold the output open.
    const Finished finished = run(run_command(
        server.address, {"x", "--kill-after", "100ms"},
        "sleep 1000 & setsid sh -c 'trap \"\" TERM; while :; do sleep 1000; done' & exit 6"));
    EXPECT_EQ(finished.exit_code, 6);  // run() waits for the end of the output
    EXPECT_FALSE(is_held(server, "x"));
}

}  // namespace
}  // namespace holdfast::e2e
