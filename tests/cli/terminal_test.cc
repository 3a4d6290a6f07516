// The command line on a terminal: who gets the keys, and what is left when the terminal goes.

#include <gmock/gmock.h>

#include <optional>

#include "lab.h"
#include "terminal_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* control_c = "\x03";
constexpr const char* control_z = "\x1a";

TEST(Terminal, TheCommandReadsFromIt) {
    const ServerProcess server;
    TerminalProcess process(
        run_command(server.address, {"x"}, "echo ready; read line; echo \"got $line\"; exit 3"));
    process.wait_for("ready");
    process.press("hello\n");
    process.wait_for("got hello");
    EXPECT_EQ(process.wait(), 3);
}

TEST(Terminal, ControlCGoesToTheCommand) {
    const ServerProcess server;
    TerminalProcess process(run_command(server.address, {"x"},
                                        "trap 'echo cleaning up; exit 5' INT; echo ready; "
                                        "while :; do sleep 0.01; done"));
    process.wait_for("ready");
    process.press(control_c);
    process.wait_for("cleaning up");
    EXPECT_EQ(process.wait(), 5);
    EXPECT_FALSE(is_held(server, "x"));
}

TEST(Terminal, InAPipeItIsGivenToTheCommandThatAsksForIt) {
    const ServerProcess server;
    Command shell = client_command(server.address, {});
    shell.words = {"/bin/sh", "-c",
                   "set -m; echo piped | $HOLDFAST run x -- sh -c 'cat; read line < /dev/tty; "
                   "echo got $line' | cat; echo done"};
    TerminalProcess process(shell);
    process.wait_for("piped");
    process.press("hello\n");
    process.wait_for("got hello");
    process.wait_for("done");
    EXPECT_EQ(process.wait(), 0);
}

// The shell gets the terminal back, the lock stays held, and the command goes on afterwards.
TEST(Terminal, ControlZStopsTheJob) {
    const ServerProcess server;
    Command shell = client_command(server.address, {});
    shell.words = {"/bin/sh", "-c",
                   "set -m; $HOLDFAST run x --ttl 1m -- sh -c 'echo ready; read line; echo got "
                   "$line; exit 6'; echo stopped; read line; fg; echo code $?"};
    TerminalProcess process(shell);
    process.wait_for("ready");
    process.press(control_z);
    process.wait_for("stopped");
    EXPECT_TRUE(is_held(server, "x"));
    process.press("go on\n");
    wait_until([&] { return is_held(server, "x"); });
    process.press("hello\n");
    process.wait_for("got hello");
    process.wait_for("code 6");
    process.wait();
}

TEST(Terminal, AJobThatIsStoppedForLongerThanItsLeaseIsKilled) {
    const ServerProcess server;
    Command shell = client_command(server.address, {});
    shell.words = {"/bin/sh", "-c",
                   "set -m; $HOLDFAST run x --ttl 6s -- sh -c 'echo ready; read line'; "
                   "echo stopped; read line; fg; echo code $?"};
    TerminalProcess process(shell);
    process.wait_for("ready");
    process.press(control_z);
    process.wait_for("stopped");
    wait_until([&] { return !is_held(server, "x"); });
    process.press("\n");
    process.wait_for("code 76");
    process.wait();
}

// Everything is a child of the shell here, which does not care about its jobs: the kernel tells the
// command that is in the foreground, and the shell; `run` itself has to notice.
TEST(Terminal, NothingOutlivesIt) {
    const ServerProcess server;
    const Sign file;
    std::optional<TerminalProcess> process;
    process.emplace(run_command(
        server.address, {"x", "--kill-after", "100ms"},
        "exec 9> " + file.path() + "; flock -x 9; echo ready; while :; do sleep 1000; done"));
    process->wait_for("ready");
    process->hang_up();
    process->wait();
    const Finished next =
        run(run_command(server.address, {"x"}, "flock -n " + file.path() + " echo alone"));
    EXPECT_EQ(next.output, "alone\n");
}

TEST(Terminal, ModesAreRestoredAfterACommandThatWasKilled) {
    const ServerProcess server;
    Command shell = client_command(server.address, {});
    shell.words = {
        "/bin/sh", "-c",
        "set -m; stty -a | grep -o ' -*echo '; $HOLDFAST run x -- sh -c 'stty -echo raw; "
        "kill -9 $$'; stty -a | grep -o ' -*echo '; echo done"};
    TerminalProcess process(shell);
    process.wait_for(" echo ");
    process.wait_for(" echo ");
    process.wait_for("done");
    process.wait();
    EXPECT_THAT(process.text(), Not(HasSubstr("-echo ")));
}

TEST(Terminal, TopShowsWhatHappensAndLeavesTheScreenAsItWas) {
    const ServerProcess server;
    ASSERT_EQ(
        run_client(server, {"lock", "first", "--ttl", "10m", "--owner", "\x1b[2Jw1"}).exit_code, 0);
    TerminalProcess top(client_command(server.address, {"top"}));
    top.wait_for("\x1b[?1049h");
    top.wait_for("first");
    top.wait_for("\\x1b[2Jw1");
    ASSERT_EQ(run_client(server, {"lock", "second", "--ttl", "10m"}).exit_code, 0);
    top.wait_for("second");
    top.press("/");
    top.press("sec");
    top.wait_for("/sec_");
    top.press("\r");
    top.wait_for("filter: sec");
    top.press("q");
    EXPECT_EQ(top.wait(), 0);
    EXPECT_THAT(top.text(), HasSubstr("\x1b[?1049l"));
}

TEST(Terminal, TopIsEndedBySignalsAndLeavesTheScreenAsItWas) {
    const ServerProcess server;
    for (const int signal : {SIGTERM, SIGHUP, SIGABRT}) {
        TerminalProcess top(client_command(server.address, {"top"}));
        top.wait_for("nothing is held");
        ::kill(top.pid(), signal);
        EXPECT_EQ(top.wait(), 128 + signal);
        EXPECT_THAT(top.text(), HasSubstr("\x1b[?1049l"));
    }
}

TEST(Terminal, ForceUnlockAsks) {
    const ServerProcess server;
    ASSERT_EQ(run_client(server, {"lock", "x", "--ttl", "10m", "--owner", "w1"}).exit_code, 0);
    TerminalProcess no(client_command(server.address, {"force-unlock", "x"}));
    no.wait_for("x is held by w1");
    no.press("n\n");
    EXPECT_EQ(no.wait(), 1);
    EXPECT_TRUE(is_held(server, "x"));
    TerminalProcess yes(client_command(server.address, {"force-unlock", "x"}));
    yes.wait_for("[y/N]");
    yes.press("y\n");
    EXPECT_EQ(yes.wait(), 0);
    EXPECT_FALSE(is_held(server, "x"));
}

TEST(Terminal, ColoursAreForTerminalsThatWantThem) {
    const ServerProcess server;
    ASSERT_EQ(run_client(server, {"lock", "x", "--ttl", "10m"}).exit_code, 0);
    TerminalProcess coloured(client_command(server.address, {"ls"}));
    coloured.wait_for("\x1b[1mLOCK\x1b[0m");
    coloured.wait();
    Command plain = client_command(server.address, {"ls"});
    plain.environment["NO_COLOR"] = "1";
    TerminalProcess without(plain);
    without.wait_for("LOCK");
    without.wait();
    EXPECT_THAT(without.text(), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace holdfast::e2e
