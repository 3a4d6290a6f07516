#include "doors/dflockd/dflockd_protocol.h"

#include <gmock/gmock.h>

#include <string>

#include "doors/dflockd/test_line.h"
#include "service/ports/remote_port.h"

namespace holdfast::doors::dflockd {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST_F(DflockdProtocolTest, AnswersEverythingThatArrivedTogetherInOneGo) {
    Line line = connect();
    EXPECT_THAT(line.say("ping\n_\n\nl\nk\n0\nl\nk\n0\nbad\n\n\nping\n_\n\n"),
                MatchesRegex("ok\nok [0-9a-f]{32} 33\ntimeout\nerror\nok\n"));
    EXPECT_TRUE(line.protocol->idle());
    EXPECT_FALSE(line.channel.paused);
}

TEST_F(DflockdProtocolTest, OpensASessionOnlyForThoseWhoLock) {
    Line line = connect();
    line.say("ping\n_\n\nstats\n_\n\nr\nk\n00000000000000070000000000000009\n");
    EXPECT_EQ(counts().sessions, 0U);
    line.lock("k");
    line.lock("other");
    EXPECT_EQ(counts().sessions, 1U);
    line.close();
    EXPECT_EQ(counts().sessions, 0U);
    EXPECT_EQ(counts().leases, 0U);
}

TEST_F(DflockdProtocolTest, ABlockedRequestHoldsBackThoseBehindIt) {
    Line holder = connect();
    Line line = connect();
    const std::string token = holder.lock("k");
    EXPECT_EQ(line.say("ping\n_\n\nl\nk\n10\nping\n_\n\nl\nother\n0\n"), "ok\n");
    EXPECT_TRUE(line.channel.paused);
    EXPECT_FALSE(line.protocol->idle());
    EXPECT_EQ(counts().leases, 1U) << "what stands behind the blocked one has not been done";
    EXPECT_EQ(holder.say("r\nk\n" + token + "\n"), "ok\n");
    at_.executor.settle();
    EXPECT_THAT(line.hear(), MatchesRegex("ok [0-9a-f]{32} 33\nok\nok [0-9a-f]{32} 33\n"));
    line.close();
    holder.close();
}

TEST_F(DflockdProtocolTest, ABlockedRequestWhosePeerDiesIsNeverGranted) {
    Line holder = connect();
    Line dead = connect();
    Line next = connect();
    const std::string token = holder.lock("k");
    dead.say("l\nk\n10\n");
    next.say("l\nk\n10\n");
    dead.protocol->on_end_of_input();
    EXPECT_EQ(counts().waiters, 1U);
    holder.say("r\nk\n" + token + "\n");
    at_.executor.settle();
    EXPECT_EQ(dead.hear(), "error\n") << "somebody may have closed one half only";
    EXPECT_THAT(next.hear(), StartsWith("ok "));
    EXPECT_TRUE(dead.protocol->idle());
    dead.close();
    next.close();
    holder.close();
    EXPECT_EQ(counts().sessions + counts().leases + counts().waiters, 0U);
}

// dflockd 1.16.1: the token went to a caller that had been cancelled when the lock was handed on.
TEST_F(DflockdProtocolTest, AGrantOnItsWayToAConnectionThatClosesGoesToTheNext) {
    Line holder = connect();
    Line cancelled = connect();
    Line next = connect();
    const std::string token = holder.lock("k");
    cancelled.say("l\nk\n10\n");
    next.say("l\nk\n10\n");
    EXPECT_EQ(holder.say("r\nk\n" + token + "\n"), "ok\n");
    cancelled.close();  // the grant was made in this turn, and is not told yet
    at_.executor.settle();
    EXPECT_EQ(cancelled.channel.take(), "");
    EXPECT_THAT(next.hear(), StartsWith("ok "));
    next.close();
    holder.close();
}

TEST_F(DflockdProtocolTest, WhatIsHeldMayOutliveTheConnection) {
    DflockdDoor keeping({.releases_on_disconnect = false}, gate_);
    Line line(keeping, at_.service, loop_);
    const std::string token = line.lock("k", "0 60");
    EXPECT_EQ(line.say("e\nk\n\n"), "queued\n");
    line.close();
    EXPECT_EQ(counts().leases, 1U);
    EXPECT_EQ(counts().waiters, 0U);
    Line other = connect();
    EXPECT_EQ(other.say("l\nk\n0\n"), "timeout\n");
    EXPECT_EQ(other.say("r\nk\n" + token + "\n"), "ok\n");
    other.close();
}

// The client came through another node. When that node is lost, the client may still be at work.
TEST_F(DflockdProtocolTest, WhatIsHeldOutlivesTheNodeThatPassedTheConnectionOn) {
    Line line = connect();
    const std::string token = line.lock("k", "0 60");
    EXPECT_EQ(line.say("e\nk\n\n"), "queued\n");
    line.channel.is_lost = true;
    line.close();
    EXPECT_EQ(counts().leases, 1U);
    EXPECT_EQ(counts().waiters + counts().sessions, 0U);
    at_.clock.advance(std::chrono::seconds{59});
    Line other = connect();
    EXPECT_EQ(other.say("l\nk\n0\n"), "timeout\n");
    at_.clock.advance(std::chrono::seconds{2});
    other.lock("k");
    other.close();
    EXPECT_EQ(counts().leases, 0U) << "this client has left";
}

// Its answer was never written, so the client cannot have heard of the grant.
TEST_F(DflockdProtocolTest, AWaitEndsWithTheNodeThatPassedTheConnectionOn) {
    Line holder = connect();
    Line waiter = connect();
    Line next = connect();
    const std::string token = holder.lock("k");
    const std::string kept = waiter.lock("other");
    waiter.say("l\nk\n10\n");
    next.say("l\nk\n10\n");
    waiter.channel.is_lost = true;
    waiter.protocol->on_end_of_input();
    EXPECT_EQ(counts().waiters, 1U);
    EXPECT_EQ(counts().leases, 2U) << "what it held before stays";
    EXPECT_EQ(holder.say("r\nk\n" + token + "\n"), "ok\n");
    at_.executor.settle();
    EXPECT_THAT(next.hear(), StartsWith("ok "));
    waiter.close();
    EXPECT_EQ(next.say("r\nother\n" + kept + "\n"), "ok\n");
    next.close();
    holder.close();
}

TEST_F(DflockdProtocolTest, AServerThatStopsAnswersThoseWhoWaitAndKeepsWhatIsHeld) {
    Line line = connect();
    Line other = connect();
    line.lock("k");
    other.say("l\nk\n10\nping\n_\n\n");
    other.channel.is_draining = line.channel.is_draining = true;
    other.protocol->on_drain();
    line.protocol->on_drain();
    EXPECT_EQ(other.hear(), "error_draining\nok\n") << "what was asked behind it is answered";
    EXPECT_EQ(other.channel.held, "") << "nothing stands in the way of its end";
    EXPECT_TRUE(other.protocol->idle());
    EXPECT_EQ(line.say("l\nk\n10\n"), "timeout\n") << "nobody waits any more";
    other.close();
    line.close();
    EXPECT_EQ(counts().leases, 1U) << "a restarted server finds it again";
    EXPECT_EQ(counts().sessions, 0U);
}

TEST_F(DflockdProtocolTest, ARequestThatComesTooSlowlyEndsTheConnection) {
    Line line = connect();
    EXPECT_EQ(line.say("l\nk"), "");
    line.protocol->on_read_timeout();
    EXPECT_EQ(line.channel.take(), "error\n");
    EXPECT_TRUE(line.channel.closed);
    line.close();
}

TEST_F(DflockdProtocolTest, ALineThatIsTooLongEndsTheConnectionAfterTheAnswersBeforeIt) {
    Line holder = connect();
    const std::string token = holder.lock("k");
    Line line = connect();
    EXPECT_EQ(line.say("l\nk\n10\nping\n_\n\n" + std::string(300, 'x')), "");
    holder.say("r\nk\n" + token + "\n");
    at_.executor.settle();
    EXPECT_THAT(line.hear(), MatchesRegex("ok [0-9a-f]{32} 33\nok\nerror\n"));
    EXPECT_TRUE(line.channel.closed);
    line.close();
    holder.close();
}

TEST_F(DflockdProtocolTest, StopsWhileThePeerDoesNotRead) {
    Line line = connect();
    line.channel.is_congested = true;
    EXPECT_EQ(line.say("ping\n_\n\nping\n_\n\n"), "");
    line.channel.is_congested = false;
    EXPECT_EQ(line.hear(), "ok\nok\n");
    line.close();
}

// The same, a thread away from the service.
class RemoteDflockdProtocol : public DflockdProtocolTest {
  protected:
    Line connect() { return Line(door_, port_, loop_); }

    // Lets everything cross over, both ways, until nothing moves.
    void settle() {
        for (int i = 0; i < 10; ++i) {
            here_.settle();
            at_.executor.settle();
        }
    }
    // The answers when all messages between the two threads have arrived.
    std::string exchange(Line& line, std::string_view bytes) {
        std::string heard = line.say(bytes);
        for (int i = 0; i < 3; ++i) {
            settle();
            heard += line.hear();
        }
        return heard;
    }

    service::testing::ManualExecutor here_;
    service::RemotePort port_{here_, at_.executor, at_.service};
};

TEST_F(RemoteDflockdProtocol, AnswersInOrderWhateverCrossesOver) {
    Line line = connect();
    EXPECT_THAT(exchange(line, "ping\n_\n\nl\nk\n10\nping\n_\n\nl\nk\n0\nbad\n\n\ne\nk\n\n"),
                MatchesRegex("ok\nok [0-9a-f]{32} 33\nok\ntimeout\nerror\nqueued\n"));
    EXPECT_TRUE(line.protocol->idle());
    line.close();
    settle();
    EXPECT_EQ(counts().sessions + counts().leases + counts().waiters, 0U);
}

TEST_F(RemoteDflockdProtocol, AGrantThatCrossesOverToAConnectionThatClosesGoesToTheNext) {
    Line holder = connect();
    Line cancelled = connect();
    Line next = connect();
    const std::string token = exchange(holder, "l\nk\n0\n").substr(3, 32);
    EXPECT_EQ(exchange(cancelled, "l\nk\n10\n"), "");
    EXPECT_EQ(exchange(next, "l\nk\n10\n"), "");
    holder.say("r\nk\n" + token + "\n");
    here_.settle();
    at_.executor.settle();  // the token of the grant travels back
    cancelled.close();
    EXPECT_THAT(exchange(next, ""), StartsWith("ok "));
    EXPECT_EQ(cancelled.channel.take(), "");
    next.close();
    holder.close();
    settle();
    EXPECT_EQ(counts().sessions + counts().leases + counts().waiters, 0U);
}

TEST_F(RemoteDflockdProtocol, AConnectionMayCloseWhileItsSessionOpens) {
    Line line = connect();
    EXPECT_EQ(line.say("l\nk\n10\n"), "");
    line.close();
    settle();
    EXPECT_EQ(counts().sessions + counts().leases, 0U);
    Line second = connect();
    second.say("l\nk\n10\n");
    here_.settle();
    at_.executor.settle();
    second.close();  // the session is open, and its answer travels back
    settle();
    EXPECT_EQ(counts().sessions + counts().leases, 0U);
}

TEST_F(RemoteDflockdProtocol, APeerThatHasClosedOneHalfGetsItsAnswers) {
    Line line = connect();
    line.say("l\nk\n10\nping\n_\n\nl\nk\n10\nping\n_\n\n");
    line.protocol->on_end_of_input();
    EXPECT_THAT(exchange(line, ""), MatchesRegex("ok [0-9a-f]{32} 33\nok\nerror\n"))
        << "the second would wait for the first, and nobody for it";
    EXPECT_EQ(line.channel.held, "");
    EXPECT_EQ(counts().waiters, 0U);
    line.close();
    settle();
    EXPECT_EQ(counts().sessions + counts().leases, 0U);
}

TEST_F(RemoteDflockdProtocol, OneStatsIsMadeAtATime) {
    Line line = connect();
    EXPECT_EQ(line.say("stats\n_\n\nstats\n_\n\nping\n_\n\n"), "");
    EXPECT_EQ(line.channel.held, "stats\n_\n\nping\n_\n\n");
    settle();
    EXPECT_THAT(line.hear(), MatchesRegex("ok \\{.*\\}\n"));
    EXPECT_EQ(line.channel.held, "ping\n_\n\n");
    settle();
    EXPECT_THAT(line.hear(), MatchesRegex("ok \\{.*\\}\nok\n"));
    line.close();
}

TEST_F(RemoteDflockdProtocol, AConnectionMayCloseBeforeItIsKnownWhetherItWaits) {
    Line holder = connect();
    Line line = connect();
    exchange(holder, "l\nk\n0\n");
    EXPECT_EQ(exchange(line, "l\nk\n10\n"), "");
    line.protocol->on_end_of_input();
    line.close();
    settle();
    EXPECT_EQ(counts().waiters, 0U);
    EXPECT_EQ(counts().sessions, 1U) << "the holder's";
    holder.close();
    settle();
}

class DurableDflockdProtocol : public DflockdProtocolTest {
  protected:
    DurableDflockdProtocol() : DflockdProtocolTest(service::testing::Durability::full) {}

    void commit() {
        at_.executor.settle();
        if (at_.store.is_committing()) at_.store.finish();
        at_.executor.settle();
    }
};

TEST_F(DurableDflockdProtocol, ManyRequestsShareACommitAndAreAnsweredInOrder) {
    Line line = connect();
    EXPECT_EQ(line.say("l\na\n0\nping\n_\n\nl\nb\n0\nbad\n\n\nl\nb\n0\n"), "");
    commit();
    EXPECT_EQ(at_.store.commits.size(), 1U);
    EXPECT_THAT(line.hear(),
                MatchesRegex("ok [0-9a-f]{32} 33\nok\nok [0-9a-f]{32} 33\nerror\ntimeout\n"));
    line.close();
}

TEST_F(DurableDflockdProtocol, NoMoreIsReadThanCanBeAnswered) {
    Line line = connect();
    std::string requests;
    for (int i = 0; i < 300; ++i) requests += "l\nk" + std::to_string(i) + "\n0\n";
    line.say(requests);
    EXPECT_TRUE(line.channel.paused);
    EXPECT_LT(counts().leases, 300U);
    std::string answers;
    for (int i = 0; i < 10; ++i) {
        commit();
        answers += line.hear();
    }
    EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 300);
    EXPECT_EQ(counts().leases, 300U);
    line.close();
}

TEST_F(DurableDflockdProtocol, StatsIsNotMadeWhileItWouldHaveToWait) {
    Line line = connect();
    EXPECT_EQ(line.say("l\nk\n0\nping\n_\n\nstats\n_\n\nstats\n_\n\nping\n_\n\n"), "");
    EXPECT_EQ(line.channel.held, "stats\n_\n\nstats\n_\n\nping\n_\n\n");
    commit();
    EXPECT_THAT(line.hear(),
                MatchesRegex("ok [0-9a-f]{32} 33\nok\nok \\{.*\\}\nok \\{.*\\}\nok\n"));
    EXPECT_EQ(line.channel.held, "");
    line.close();
}

TEST_F(DurableDflockdProtocol, ATokenThatNobodyWasToldOfIsGivenBack) {
    Line line = connect();
    EXPECT_EQ(line.say("l\nk\n10\n"), "");
    line.close();
    EXPECT_EQ(counts().leases, 0U);
    commit();
    commit();
}

TEST_F(DurableDflockdProtocol, AFailedCommitIsAnErrorAndTheNextRequestHasANewSession) {
    Line line = connect();
    EXPECT_EQ(line.say("l\nk\n0\n"), "");
    at_.executor.settle();
    at_.store.fail("disk full");
    at_.executor.settle();
    EXPECT_EQ(line.hear(), "error\n");
    EXPECT_EQ(line.say("l\nk\n0\n"), "error\n");
    at_.executor.ring();
    Line other = connect();
    EXPECT_EQ(other.say("l\nother\n0\n"), "");
    EXPECT_EQ(line.say("l\nk\n0\n"), "error\n") << "its session is gone, and is nobody else's";
    EXPECT_EQ(line.say("l\nk\n0\n"), "");
    commit();
    EXPECT_THAT(line.hear(), StartsWith("ok "));
    line.close();
    EXPECT_EQ(counts().leases, 1U) << "the other connection's";
    other.close();
    commit();
}

}  // namespace
}  // namespace holdfast::doors::dflockd
