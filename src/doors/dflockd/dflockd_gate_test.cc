// The gate of the dflockd door: whom it admits, how long it waits, and which peers it refuses at
// once.

#include <gmock/gmock.h>

#include <chrono>
#include <string>

#include "doors/dflockd/test_line.h"

namespace holdfast::doors::dflockd {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

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
    const rights::TokenSource gate({.auth = "s"});
    DflockdDoor guarded({}, gate);
    for (DflockdDoor* const door : {&door_, &guarded}) {
        Line line(*door, at_.service, loop_);
        EXPECT_EQ(line.say("auth\n_\n s \nauth\n_\ns\nauth\n_\nwrong\nping\n_\n\n"),
                  "ok\nerror\nerror\nok\n");
        EXPECT_FALSE(line.channel.closed);
        line.close();
    }
}

// A source of one token, `ci`, with the secret `s`.
rights::Tokens ci(std::string_view rights) {
    return {.lines = rights::parse_token_file("ci " + std::string(rights) + " " +
                                              rights::to_text(base::sha256("s")) + "\n")
                         .value()};
}

TEST_F(DflockdProtocolTest, RefusesWhatTheTokenHasNoRightTo) {
    rights::TokenSource tokens(ci("lock deploy/* read logs"));
    DflockdDoor guarded({}, tokens);
    Line other = connect();
    const std::string token = other.lock("prod");
    other.lock("logs");
    Line line(guarded, at_.service, loop_);
    EXPECT_EQ(line.say("auth\n_\ns\n"), "ok\n");
    line.lock("deploy/web");
    for (const std::string& request :
         {std::string("l\nprod\n0\n"), std::string("e\nprod\n\n"), std::string("w\nprod\n0\n"),
          "r\nprod\n" + token + "\n", "n\nprod\n" + token + "\n"}) {
        EXPECT_EQ(line.say(request), "error_denied lock prod\n") << request;
    }
    EXPECT_EQ(line.say("sl\nprod\n0 3\n"), "error_denied lock semaphore:prod\n");
    EXPECT_EQ(line.say("l\nlogs\n0\n"), "error_denied lock logs\n") << "it may only read that";
    EXPECT_EQ(line.say("ping\n_\n\n"), "ok\n");
    EXPECT_EQ(counts().leases, 3U);
    const std::string stats = line.say("stats\n_\n\n");
    EXPECT_THAT(stats,
                AllOf(HasSubstr("\"deploy/web\""), HasSubstr("\"logs\""), Not(HasSubstr("prod"))));
    EXPECT_THAT(other.say("stats\n_\n\n"), HasSubstr("\"prod\""));
    EXPECT_EQ(tokens.current()->find("s")->denials(rights::Right::lock), 7U);

    tokens.replace(ci("lock prod"));
    EXPECT_EQ(line.say("l\ndeploy/db\n0\n"), "error_denied lock deploy/db\n");
    EXPECT_EQ(line.say("l\nprod\n0\n"), "timeout\n") << "an open connection has the new rights";
    tokens.replace({.lines = rights::parse_token_file("").value()});
    EXPECT_EQ(line.say("l\nprod\n0\n"), "error_denied lock prod\n") << "it was withdrawn";
    EXPECT_EQ(line.say("stats\n_\n\n"), "error_denied read *\n");
    line.close();
    other.close();
}

TEST_F(DflockdProtocolTest, AdmitsATokenOnlyIfItMayDoSomethingHere) {
    rights::TokenSource tokens(ci("read * @http"));
    DflockdDoor guarded({}, tokens);
    Line line(guarded, at_.service, loop_);
    EXPECT_EQ(line.say("auth\n_\ns\nping\n_\n\n"), "error_denied read *\n");
    EXPECT_TRUE(line.channel.closed);
    line.close();
    tokens.replace(ci("read logs @dflockd"));
    Line other(guarded, at_.service, loop_);
    EXPECT_EQ(other.say("auth\n_\ns\nping\n_\n\n"), "ok\nok\n");
    other.close();
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

    const rights::TokenSource secret_gate_{{.auth = "s"}};
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
