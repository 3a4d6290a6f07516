#include "sdk/heartbeat.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>

namespace holdfast::sdk {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// A server in virtual time, which a test can have answer, refuse or hang.
class FakeServer {
  public:
    enum class Mood { answers, fails, says_it_is_over, hangs };

    [[nodiscard]] BootClock::time_point now() const { return now_.load(); }
    void set(Mood mood) { mood_ = mood; }

    Heartbeat heartbeat{
        [this](const Lease& lease, Renewal renewal) { return renew(lease, renewal); },
        [this] { return now(); }};

    // Lets time pass, and waits until the watcher has seen it and no renewal is under way that
    // would end.
    void advance(milliseconds step) {
        now_ = now() + step;
        heartbeat.wake();
    }
    // Waits until so many renewals were asked for, and were answered unless they hang.
    void wait_for_renewals(int count) {
        std::unique_lock guard(mutex_);
        ASSERT_TRUE(changed_.wait_for(guard, 60s, [&] { return begun_ >= count; }));
    }
    [[nodiscard]] int renewals() {
        const std::lock_guard guard(mutex_);
        return begun_;
    }

    [[nodiscard]] Lease lease(milliseconds ttl = 30s) const {
        return {.scope = LockScope::Named{"x"},
                .token = "t",
                .fencing_token = 7,
                .ttl = ttl,
                .lasts_until = now() + ttl};
    }

  private:
    Answered<Lease> renew(const Lease& lease, const Renewal& renewal) {
        const auto sent_at = now();
        {
            const std::lock_guard guard(mutex_);
            ++begun_;
        }
        changed_.notify_all();
        switch (mood_.load()) {
            case Mood::answers: break;
            case Mood::fails:
                return tl::unexpected(NoAnswer{.error = ServerUnavailable{"no answer"}});
            case Mood::says_it_is_over:
                return tl::unexpected(NoAnswer{.error = LockExpired{}, .is_final = true});
            case Mood::hangs: {
                std::promise<void> stopped;
                const std::stop_callback on_stop(renewal.stop, [&] { stopped.set_value(); });
                stopped.get_future().wait();
                return tl::unexpected(NoAnswer{.error = LockCancelled{}, .is_final = true});
            }
        }
        Lease renewed = lease;
        renewed.ttl = renewal.ttl;
        renewed.lasts_until = sent_at + renewal.ttl;
        return renewed;
    }

    std::atomic<BootClock::time_point> now_{BootClock::time_point{1h}};
    std::atomic<Mood> mood_ = Mood::answers;
    std::mutex mutex_;
    std::condition_variable changed_;
    int begun_ = 0;  // under mutex_
};

// Waits until the hold is guaranteed for exactly so long: what a worker has just learnt is known.
void expect_time_left(FakeServer& server, const Hold& hold, milliseconds expected) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (server.heartbeat.time_left(hold) != expected && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
    }
    EXPECT_EQ(server.heartbeat.time_left(hold), expected);
}

// What on_lost says, once.
struct Told {
    std::promise<GuardLost> promise;
    std::future<GuardLost> future = promise.get_future();

    HeartbeatOptions options() {
        return {.on_lost = [this](const GuardLost& lost) { promise.set_value(lost); }};
    }
    std::string wait() {
        if (future.wait_for(60s) != std::future_status::ready) return "not told";
        return to_text(future.get().error);
    }
};

TEST(Heartbeat, RenewsEveryThirdOfTheTtl) {
    FakeServer server;
    const auto hold = *server.heartbeat.keep(server.lease(), {});
    EXPECT_EQ(server.heartbeat.time_left(*hold), 25s);
    server.advance(9'999ms);
    EXPECT_EQ(server.renewals(), 0);
    server.advance(1ms);
    server.wait_for_renewals(1);
    expect_time_left(server, *hold, 25s);
    for (int round = 2; round < 100; ++round) {
        server.advance(10s);
        server.wait_for_renewals(round);
        expect_time_left(server, *hold, 25s);
    }
    EXPECT_EQ(server.heartbeat.let_go(*hold), std::nullopt);
    EXPECT_EQ(server.heartbeat.time_left(*hold), 0s);
}

TEST(Heartbeat, KeepsItsOwnPace) {
    FakeServer server;
    const auto hold =
        *server.heartbeat.keep(server.lease(), {.every = 2s, .extend_by = 12s, .margin = 1s});
    EXPECT_EQ(server.heartbeat.time_left(*hold), 29s);
    server.advance(2s);
    server.wait_for_renewals(1);
    expect_time_left(server, *hold, 11s);
    EXPECT_EQ(server.heartbeat.lease_of(*hold).ttl, 12s);
    server.heartbeat.let_go(*hold);
}

TEST(Heartbeat, CountsAShorterLeaseFromTheRequestAlsoIfItsAnswerIsLost) {
    FakeServer server;
    server.set(FakeServer::Mood::fails);
    const auto hold =
        *server.heartbeat.keep(server.lease(), {.every = 2s, .extend_by = 12s, .margin = 1s});
    server.advance(2s);
    server.wait_for_renewals(1);
    expect_time_left(server, *hold, 11s);
    server.heartbeat.let_go(*hold);
}

TEST(Heartbeat, TriesMoreOftenAfterAFailureAndGoesOn) {
    FakeServer server;
    server.set(FakeServer::Mood::fails);
    const auto hold = *server.heartbeat.keep(server.lease(), {});
    server.advance(10s);
    server.wait_for_renewals(1);
    for (int round = 2; round <= 4; ++round) {
        if (round == 4) server.set(FakeServer::Mood::answers);
        // The worker may not have handed the hold back yet when the clock moves first.
        while (server.renewals() < round) server.advance(500ms);
    }
    expect_time_left(server, *hold, 25s);
    EXPECT_FALSE(hold->stop.stop_requested());
    server.heartbeat.let_go(*hold);
}

TEST(Heartbeat, IsLostAMarginBeforeTheLeaseEndsWhenNothingIsConfirmed) {
    FakeServer server;
    server.set(FakeServer::Mood::fails);
    Told told;
    const auto hold = *server.heartbeat.keep(server.lease(), told.options());
    server.advance(10s);
    server.wait_for_renewals(1);
    server.advance(14'999ms);
    EXPECT_EQ(server.heartbeat.time_left(*hold), 1ms);
    EXPECT_FALSE(hold->stop.stop_requested());
    server.advance(1ms);
    EXPECT_EQ(server.heartbeat.time_left(*hold), 0ms);
    EXPECT_EQ(told.wait(), "the lock may be over: no renewal was confirmed in time (no answer)");
    EXPECT_TRUE(hold->stop.stop_requested());
    EXPECT_TRUE(server.heartbeat.let_go(*hold));
}

TEST(Heartbeat, IsLostInTimeWhileARenewalHangs) {
    FakeServer server;
    server.set(FakeServer::Mood::hangs);
    Told told;
    const auto hold = *server.heartbeat.keep(server.lease(), told.options());
    server.advance(10s);
    server.wait_for_renewals(1);
    server.advance(15s);
    EXPECT_EQ(told.wait(), "the lock may be over: no renewal was confirmed in time");
    server.heartbeat.let_go(*hold);
}

TEST(Heartbeat, IsLostAtOnceWhenTheServerSaysSo) {
    FakeServer server;
    server.set(FakeServer::Mood::says_it_is_over);
    Told told;
    const auto hold = *server.heartbeat.keep(server.lease(), told.options());
    server.advance(10s);
    EXPECT_EQ(told.wait(), "the lock is over");
    EXPECT_EQ(server.heartbeat.time_left(*hold), 0s);
    server.advance(30s);
    EXPECT_EQ(server.renewals(), 1) << "it is over for good";
    server.heartbeat.let_go(*hold);
}

TEST(Heartbeat, IsNotBroughtBackByALateConfirmation) {
    FakeServer server;
    Told told;
    const auto hold = *server.heartbeat.keep(server.lease(), told.options());
    server.advance(25s);  // it stood still: the renewal that is due comes too late
    EXPECT_EQ(told.wait(), "the lock may be over: no renewal was confirmed in time");
    EXPECT_EQ(server.heartbeat.time_left(*hold), 0s);
    server.advance(1s);
    EXPECT_EQ(server.heartbeat.time_left(*hold), 0s);
    server.heartbeat.let_go(*hold);
}

TEST(Heartbeat, DoesNotLetAHangingRenewalHoldUpOthers) {
    FakeServer server;
    server.set(FakeServer::Mood::hangs);
    const auto stuck = *server.heartbeat.keep(server.lease(), {});
    server.advance(10s);
    server.wait_for_renewals(1);
    server.set(FakeServer::Mood::answers);
    const auto other = *server.heartbeat.keep(server.lease(), {});
    server.advance(10s);
    server.wait_for_renewals(2);
    expect_time_left(server, *other, 25s);
    server.heartbeat.let_go(*stuck);
    server.heartbeat.let_go(*other);
}

TEST(Heartbeat, KeepsManyMoreHoldsThanItHasThreads) {
    FakeServer server;
    std::vector<std::shared_ptr<Hold>> holds;
    for (int i = 0; i < 100; ++i) holds.push_back(*server.heartbeat.keep(server.lease(), {}));
    server.advance(10s);
    server.wait_for_renewals(100);
    for (const auto& hold : holds) expect_time_left(server, *hold, 25s);
    for (const auto& hold : holds) server.heartbeat.let_go(*hold);
}

TEST(Heartbeat, MayBeLetGoByTheOneItTells) {
    FakeServer server;
    server.set(FakeServer::Mood::says_it_is_over);
    std::promise<void> done;
    std::shared_ptr<Hold> hold;
    std::latch is_set(1);
    hold = *server.heartbeat.keep(server.lease(), {.on_lost = [&](const GuardLost&) {
                                      is_set.wait();
                                      server.heartbeat.let_go(*hold);
                                      done.set_value();
                                  }});
    is_set.count_down();
    server.advance(10s);
    EXPECT_EQ(done.get_future().wait_for(60s), std::future_status::ready);
    server.heartbeat.let_go(*hold);
}

TEST(Heartbeat, RefusesAPaceThatCannotBeKept) {
    EXPECT_FALSE(Heartbeat::find_fault({}, 30s));
    EXPECT_FALSE(Heartbeat::find_fault({.every = 200ms, .extend_by = 500ms}, 500ms));
    EXPECT_TRUE(Heartbeat::find_fault({.every = 30s}, 30s));
    EXPECT_TRUE(Heartbeat::find_fault({.every = 26s}, 30s));
    EXPECT_TRUE(Heartbeat::find_fault({.every = 0s}, 30s));
    EXPECT_TRUE(Heartbeat::find_fault({.extend_by = 10s}, 2s));
    EXPECT_TRUE(Heartbeat::find_fault({.margin = 30s}, 30s));
    EXPECT_TRUE(Heartbeat::find_fault({.margin = -1s}, 30s));
}

TEST(Heartbeat, DoesNotKeepWhatIsLostAlready) {
    FakeServer server;
    Lease lease = server.lease();
    lease.lasts_until = server.now();
    EXPECT_EQ(to_text(server.heartbeat.keep(lease, {}).error()), "the lock is over");
    lease.lasts_until = server.now() + 5s;
    EXPECT_EQ(to_text(server.heartbeat.keep(lease, {}).error()),
              "the lock may be over: no renewal was confirmed in time");
}

}  // namespace
}  // namespace holdfast::sdk
