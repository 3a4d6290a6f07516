#include "cli/run/keeper.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr CommandLimits no_limits;

// A keeper, and a pipe that is at its end when nothing of its command lives any more.
class Kept {
  public:
    explicit Kept(std::vector<std::string> command, std::chrono::nanoseconds kill_after = 1min) {
        std::array<int, 2> ends{-1, -1};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        life_ = ends[0];
        ::dup2(ends[1], command_end);
        ::close(ends[1]);
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGCHLD);
        sigaddset(&blocked, SIGTTOU);
        KeeperOptions options{.command = std::move(command), .kill_after = kill_after};
        ::sigprocmask(SIG_BLOCK, &blocked, &options.command_mask);
        auto opened = Keeper::open(std::move(options));
        EXPECT_TRUE(opened);
        keeper.emplace(std::move(*opened));
        ::close(command_end);
    }
    ~Kept() { ::close(life_); }

    // A line that the command wrote to descriptor 9.
    std::string read_line() {
        std::string line;
        for (char byte = 0; ::read(life_, &byte, 1) == 1 && byte != '\n';) line += byte;
        return line;
    }
    // Waits until nothing of the command lives.
    void wait_for_silence() {
        while (!read_line().empty()) {
        }
    }

    std::optional<Keeper> keeper;

  private:
    static constexpr int command_end = 9;
    int life_ = -1;
};

std::vector<std::string> shell(const std::string& line) {
    return {"/bin/sh", "-c", "say() { echo \"$@\" >&9; }; " + line};
}

TEST(Keeper, TellsHowTheCommandEnded) {
    Kept kept({"/bin/sh", "-c", "exit 7"});
    kept.keeper->start(no_limits, {});
    const Report report = kept.keeper->read();
    EXPECT_EQ(report.kind, ReportKind::ended);
    EXPECT_TRUE(WIFEXITED(report.value));
    EXPECT_EQ(WEXITSTATUS(report.value), 7);
    EXPECT_FALSE(report.is_out_of_time);
}

TEST(Keeper, PassesTheEnvironmentOn) {
    Kept kept(shell("say \"$HOLDFAST_LOCK/$HOLDFAST_EMPTY/$HOLDFAST_SUM\""));
    kept.keeper->start(no_limits, {"HOLDFAST_LOCK=a b", "HOLDFAST_EMPTY=", "HOLDFAST_SUM=1+1=2"});
    EXPECT_EQ(kept.read_line(), "a b//1+1=2");
    EXPECT_EQ(kept.keeper->read().kind, ReportKind::ended);
}

TEST(Keeper, TellsWhyNothingCouldBeStarted) {
    struct Row {
        std::string command;
        int reason;
    };
    for (const Row& row : {Row{"/no/such/program", ENOENT}, Row{"/etc/passwd", EACCES}}) {
        Kept kept({row.command});
        kept.keeper->start(no_limits, {});
        const Report report = kept.keeper->read();
        EXPECT_EQ(report.kind, ReportKind::failed);
        EXPECT_EQ(report.value, row.reason);
    }
}

TEST(Keeper, StopsTheCommandWhenItsTimeIsOver) {
    Kept kept({"/bin/sleep", "1000"});
    kept.keeper->start({.stop_at = BootClock::now() + 50ms}, {});
    const Report report = kept.keeper->read();
    EXPECT_TRUE(report.is_out_of_time);
    ASSERT_TRUE(WIFSIGNALED(report.value));
    EXPECT_EQ(WTERMSIG(report.value), SIGTERM);
}

TEST(Keeper, KillsACommandThatDoesNotListen) {
    Kept kept(shell("trap '' TERM; say ready; while :; do sleep 1000; done"));
    kept.keeper->start(no_limits, {});
    ASSERT_EQ(kept.read_line(), "ready");
    kept.keeper->prolong({.stop_at = BootClock::now(), .kill_at = BootClock::now() + 100ms});
    const Report report = kept.keeper->read();
    EXPECT_TRUE(report.is_out_of_time);
    ASSERT_TRUE(WIFSIGNALED(report.value));
    EXPECT_EQ(WTERMSIG(report.value), SIGKILL);
    kept.wait_for_silence();
}

TEST(Keeper, ProlongedTimeCounts) {
    Kept kept(shell("say ready; sleep 0.2; exit 3"));
    kept.keeper->start({.stop_at = BootClock::now() + 1h}, {});
    ASSERT_EQ(kept.read_line(), "ready");
    kept.keeper->prolong({.stop_at = BootClock::now() + 2h});
    const Report report = kept.keeper->read();
    EXPECT_FALSE(report.is_out_of_time);
    EXPECT_EQ(WEXITSTATUS(report.value), 3);
}

TEST(Keeper, AnOrderToStopIsObeyedAtOnce) {
    Kept kept({"/bin/sleep", "1000"});
    kept.keeper->start(no_limits, {});
    kept.keeper->stop(BootTime::max());
    const Report report = kept.keeper->read();
    EXPECT_TRUE(report.is_out_of_time);
    EXPECT_EQ(WTERMSIG(report.value), SIGTERM);
}

TEST(Keeper, WithNoTimeLeftNobodyIsAsked) {
    Kept kept(shell("trap 'say asked' TERM; say ready; while :; do sleep 0.01; done"));
    kept.keeper->start(no_limits, {});
    ASSERT_EQ(kept.read_line(), "ready");
    kept.keeper->stop(BootClock::now());
    const Report report = kept.keeper->read();
    EXPECT_EQ(WTERMSIG(report.value), SIGKILL);
    EXPECT_EQ(kept.read_line(), "");
}

// One in the group, one in a session of its own, whose parent is gone.
constexpr const char* family =
    "sleep 1000 & setsid sh -c 'trap \"\" TERM; (sleep 1000 &); sleep 1000' & say ready; ";

TEST(Keeper, WhatTheCommandLeavesBehindEndsBeforeTheReport) {
    Kept kept(shell(std::string(family) + "exit 5"), 50ms);
    kept.keeper->start(no_limits, {});
    const Report report = kept.keeper->read();
    EXPECT_EQ(report.kind, ReportKind::ended);
    EXPECT_FALSE(report.is_out_of_time);
    EXPECT_EQ(WEXITSTATUS(report.value), 5);
    EXPECT_EQ(kept.read_line(), "ready");
    kept.wait_for_silence();
}

TEST(Keeper, EverythingDiesWithWhoeverStartedIt) {
    Kept kept(shell(std::string(family) + "trap '' TERM HUP; while :; do sleep 1000; done"));
    kept.keeper->start(no_limits, {});
    EXPECT_EQ(kept.read_line(), "ready");
    kept.keeper.reset();  // what a SIGKILL does to its end of the socket
    kept.wait_for_silence();
}

TEST(Keeper, EverythingDiesWithTheKeeper) {
    Kept kept(shell(std::string(family) + "while :; do sleep 1000; done"));
    kept.keeper->start(no_limits, {});
    EXPECT_EQ(kept.read_line(), "ready");
    kept.keeper->kill();
    EXPECT_EQ(kept.keeper->read().kind, ReportKind::gone);
    kept.keeper.reset();
    kept.wait_for_silence();
}

TEST(Keeper, SignalsReachTheCommand) {
    Kept kept(shell("trap 'say got; exit 9' USR1; say ready; while :; do sleep 0.01; done"));
    kept.keeper->start(no_limits, {});
    EXPECT_EQ(kept.read_line(), "ready");
    kept.keeper->forward(SIGUSR1);
    EXPECT_EQ(kept.read_line(), "got");
    EXPECT_EQ(WEXITSTATUS(kept.keeper->read().value), 9);
}

TEST(Keeper, TellsThatTheCommandWasStoppedAndContinuesIt) {
    Kept kept(shell("say ready; kill -TSTP $$; say on; exit 4"));
    kept.keeper->start(no_limits, {});
    EXPECT_EQ(kept.read_line(), "ready");
    const Report report = kept.keeper->read();
    EXPECT_EQ(report.kind, ReportKind::stopped);
    EXPECT_EQ(report.value, SIGTSTP);
    kept.keeper->forward(SIGCONT);
    EXPECT_EQ(kept.read_line(), "on");
    EXPECT_EQ(WEXITSTATUS(kept.keeper->read().value), 4);
}

TEST(Keeper, AStoppedCommandEndsInTimeToo) {
    Kept kept(shell("kill -STOP $$; exit 4"));
    kept.keeper->start({.stop_at = BootClock::now() + 200ms}, {});
    const Report report = kept.keeper->read();
    EXPECT_EQ(report.kind, ReportKind::ended);
    EXPECT_TRUE(report.is_out_of_time);
}

}  // namespace
}  // namespace holdfast::cli
