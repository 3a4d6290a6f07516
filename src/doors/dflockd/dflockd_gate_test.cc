// The gate of the dflockd door: whom it admits, how long it waits, and which peers it refuses at
// once.

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "doors/dflockd/test_line.h"

namespace holdfast::doors::dflockd {
namespace {

using namespace std::chrono_literals;
using ::testing::MatchesRegex;

TEST_F(DflockdProtocolTest, WhatAnotherProtocolSendsEndsTheConnectionHoweverItIsCut) {
    const std::string request =
        "POST / HTTP/1.1\r\nHost: x\r\n\r\nl\nk\n0\nl\nother\n0\nl\nthird\n0\n";
    for (std::size_t cut = 1; cut < request.size(); ++cut) {
        Line line = connect();
        std::string heard = line.say(request.substr(0, cut));
        heard += line.say(request.substr(cut));
        ASSERT_EQ(heard, "error\n") << cut;
        ASSERT_TRUE(line.channel.closed);
        ASSERT_EQ(counts().leases, 0U);
        line.close();
    }
    Line late = connect();
    EXPECT_THAT(late.say("l\nk\n0\nGET / HTTP/1.1\r\nl\nother\n0\n"),
                MatchesRegex("ok [0-9a-f]{32} 33\nerror\n"));
    EXPECT_TRUE(late.channel.closed);
    EXPECT_EQ(counts().leases, 1U);
    late.close();
}

TEST_F(DflockdProtocolTest, ASecondAuthIsAnErrorAndTheConnectionGoesOn) {
    const SecretGate gate;
    DflockdDoor guarded({}, gate);
    for (DflockdDoor* const door : {&door_, &guarded}) {
        Line line(*door, at_.service, loop_);
        EXPECT_EQ(line.say("auth\n_\n s \nauth\n_\ns\nauth\n_\nwrong\nping\n_\n\n"),
                  "ok\nerror\nerror\nok\n");
        EXPECT_FALSE(line.channel.closed);
        line.close();
    }
}

class DflockdGateTimes : public DflockdProtocolTest {
  protected:
    Line connect() { return Line(guarded_, at_.service, loop_); }

    // Runs the loop for a while, or until the connection has closed.
    void run(const Line& line, std::chrono::milliseconds time) {
        const auto end = net::EventLoop::Clock::now() + time;
        while (!line.channel.closed && net::EventLoop::Clock::now() < end) {
            loop_.context().run_for(1ms);
        }
    }

    const SecretGate secret_gate_{};
    DflockdDoor guarded_{{.auth_timeout = 20ms}, secret_gate_};
};

TEST_F(DflockdGateTimes, ThereAreTenSecondsToShowTheSecret) {
    EXPECT_EQ(DflockdOptions{}.auth_timeout, 10s);
}

TEST_F(DflockdGateTimes, AConnectionThatShowsNoSecretIsClosed) {
    const auto begin = net::EventLoop::Clock::now();
    for (const char* beginning : {"", "auth", "auth\n_\ns"}) {
        Line line = connect();
        EXPECT_EQ(line.say(beginning), "");
        run(line, 30s);
        EXPECT_TRUE(line.channel.closed);
        EXPECT_EQ(line.channel.take(), "");
        line.close();
    }
    EXPECT_GE(net::EventLoop::Clock::now() - begin, 3 * 20ms);
}

TEST_F(DflockdGateTimes, ATrickleDoesNotHelp) {
    Line line = connect();
    EXPECT_EQ(line.say("auth\n_\n"), "");
    for (int i = 0; i < 30'000 && !line.channel.closed; ++i) {
        EXPECT_EQ(line.say("x"), "");
        run(line, 1ms);
    }
    EXPECT_TRUE(line.channel.closed);
    line.close();
}

TEST_F(DflockdGateTimes, AConnectionThatHasShownTheSecretStays) {
    Line line = connect();
    EXPECT_EQ(line.say("auth\n_\ns\n"), "ok\n");
    run(line, 60ms);
    EXPECT_FALSE(line.channel.closed);
    EXPECT_EQ(line.say("ping\n_\n\n"), "ok\n");
    line.close();
}

TEST_F(DflockdGateTimes, ARefusalIsToldThoughTheTimeIsOver) {
    DflockdDoor slow({.refusal_delay = 40ms, .auth_timeout = 20ms}, secret_gate_);
    Line line(slow, at_.service, loop_);
    EXPECT_EQ(line.say("auth\n_\nwrong\n"), "");
    run(line, 30s);
    EXPECT_EQ(line.channel.take(), "error_auth\n");
    line.close();
}

}  // namespace
}  // namespace holdfast::doors::dflockd
