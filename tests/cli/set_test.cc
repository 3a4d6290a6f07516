// Several locks with one command, and commands that wait for one another.

#include <gmock/gmock.h>

#include "lab.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// Waits for its end.
Finished finish(Process& process) {
    const int exit_code = process.wait();
    return {.exit_code = exit_code, .output = process.output(), .error = process.error()};
}

TEST(RunSet, HoldsAllLocksWhileTheCommandRuns) {
    const ServerProcess server;
    const Finished finished =
        run(run_command(server.address, {"a", "path:/x", "--owner", "me"},
                        "echo \"$HOLDFAST_LOCK/$HOLDFAST_LEASE\"; $HOLDFAST ls --json"));
    EXPECT_EQ(finished.exit_code, 0) << finished.error;
    EXPECT_THAT(finished.output, AllOf(HasSubstr("a path:/x/a path:/x\n"),
                                       HasSubstr(R"({"scope":"a","kind":"named","held":true)"),
                                       HasSubstr(R"({"scope":"path:/x","kind":"path","held":true)"),
                                       HasSubstr(R"("scopes":["a","path:/x"])")));
    EXPECT_FALSE(is_held(server, "a"));
}

// S15
TEST(RunSet, WaitsHoldingNothing) {
    const ServerProcess server;
    const Finished held = run_client(server, {"lock", "b", "--owner", "bob"});
    ASSERT_EQ(held.exit_code, 0) << held.error;
    Process waiting(run_command(server.address, {"a", "b"}, "echo ran"));
    wait_until([&] { return has_waiter(server, "a"); });
    EXPECT_FALSE(is_held(server, "a"));
    const std::string token = held.output.substr(0, held.output.find(' '));
    EXPECT_EQ(run_client(server, {"unlock", token}).exit_code, 0);
    const Finished finished = finish(waiting);
    EXPECT_EQ(finished.exit_code, 0) << finished.error;
    EXPECT_EQ(finished.output, "ran\n");
}

TEST(RunSet, RefusesWordsWithTwoMeanings) {
    const Finished finished =
        run(client_command("127.0.0.1:1", {"run", "x", "sh", "-c", "true", "--", "y"}));
    EXPECT_EQ(finished.exit_code, 64);
    EXPECT_THAT(finished.error, HasSubstr("holdfast run x -- sh -c true -- y"));
}

TEST(LockSet, PrintsOneLease) {
    const ServerProcess server;
    const Finished lease = run_client(server, {"lock", "a", "b", "--owner", "w1", "--json"});
    EXPECT_EQ(lease.exit_code, 0) << lease.error;
    EXPECT_THAT(lease.output, AllOf(HasSubstr(R"("scope":"a","holder":"w1")"),
                                    HasSubstr(R"("scopes":["a","b"])")));
    const Finished refused = run_client(server, {"lock", "c", "b", "--try"});
    EXPECT_EQ(refused.exit_code, 75);
    EXPECT_THAT(refused.error, HasSubstr("c b is held by w1"));
    EXPECT_FALSE(is_held(server, "c"));
    EXPECT_THAT(run_client(server, {"ls"}).output,
                AllOf(HasSubstr("a (and b)"), HasSubstr("b (and a)")));
    EXPECT_THAT(run_client(server, {"show", "b"}).output, HasSubstr("w1 (and a)"));
    run_client(server, {"lock", "c", "path:/x", "--owner", "w2"});
    EXPECT_THAT(run_client(server, {"show", "path:/x"}).output, HasSubstr("w2 (and c)"));
}

// S16. The locks of a command that runs in another belong to both.
TEST(Deadlock, IsToldToOneCommandAndTheOtherGoesOn) {
    const ServerProcess server;
    const Sign both_hold;
    const auto crosswise = [&](const char* first, const char* second, const char* owner) {
        return run_command(server.address, {first, "--owner", owner},
                           both_hold.wait_line() + "; exec $HOLDFAST run " + second + " -- echo " +
                               owner + " has both");
    };
    Process ann(crosswise("a", "b", "ann")), bob(crosswise("b", "a", "bob"));
    wait_until([&] { return is_held(server, "a") && is_held(server, "b"); });
    both_hold.give();
    const Finished one = finish(ann), other = finish(bob);
    const bool is_ann_refused = one.exit_code != 0;
    const Finished& refused = is_ann_refused ? one : other;
    const Finished& done = is_ann_refused ? other : one;
    EXPECT_EQ(refused.exit_code, 75);
    EXPECT_THAT(refused.error, MatchesRegex("holdfast: waiting for [ab] would never end: (ann|bob) "
                                            "waits for (ann|bob), who holds [ab] and waits for "
                                            "(ann|bob)\n"));
    EXPECT_EQ(done.exit_code, 0) << done.error;
    EXPECT_EQ(done.output, is_ann_refused ? "bob has both\n" : "ann has both\n");
    EXPECT_FALSE(is_held(server, "a") || is_held(server, "b"));
}

TEST(Deadlock, IsListedWhileItExists) {
    const ServerProcess server;
    EXPECT_EQ(run_client(server, {"deadlocks"}).output, "there are no deadlocks\n");
    EXPECT_EQ(run_client(server, {"deadlocks", "--json"}).output, "");
    for (const char* const name : {"a", "b"}) {
        const char* const owner = name[0] == 'a' ? "ann" : "bob";
        ASSERT_EQ(run_client(server, {"lock", name, "--owner", owner}).exit_code, 0);
    }
    Process ann(client_command(server.address, {"lock", "b", "--owner", "ann"}));
    wait_until([&] { return has_waiter(server, "b"); });
    const Finished refused = run_client(server, {"lock", "a", "--owner", "bob", "--json"});
    EXPECT_EQ(refused.exit_code, 75);
    EXPECT_THAT(refused.output,
                AllOf(HasSubstr(R"({"error":"Deadlock","scope":"a","cycle":[{"holder":"bob",)"),
                      HasSubstr(R"("exit_code":75})")));
    Process bob(
        client_command(server.address, {"lock", "a", "--owner", "bob", "--on-deadlock", "wait"}));
    wait_until([&] { return has_waiter(server, "a"); });
    EXPECT_THAT(run_client(server, {"deadlocks"}).output,
                MatchesRegex("[0-9T:.-]+Z  bob waits for ann, who holds a and waits for bob\n"));
    EXPECT_THAT(
        run_client(server, {"deadlocks", "--json"}).output,
        AllOf(HasSubstr(R"({"since":")"), HasSubstr(R"("waits_for":"a")"), Not(HasSubstr("kind"))));
}

// As before there were deadlocks: it waits until the other one is done.
TEST(Deadlock, IsNotWhatCommandsOfOneOwnerHave) {
    const ServerProcess server;
    const Finished first = run_client(server, {"lock", "x", "--owner", "cron"});
    ASSERT_EQ(first.exit_code, 0) << first.error;
    Process second(client_command(server.address, {"lock", "x", "--owner", "cron"}));
    wait_until([&] { return has_waiter(server, "x"); });
    run_client(server, {"unlock", first.output.substr(0, first.output.find(' '))});
    EXPECT_EQ(second.wait(), 0);
}

}  // namespace
}  // namespace holdfast::e2e
