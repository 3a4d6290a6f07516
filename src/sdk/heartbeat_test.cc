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

    [[nodiscard]] renewal::Watcher& watcher() { return heartbeat.watcher(); }
    [[nodiscard]] BootClock::time_point now() const { return now_.load(); }
    void set(Mood mood) { mood_ = mood; }

    // Lets time pass, and what is due happen.
    void advance(milliseconds step) {
        advance_while_it_hangs(step);
        heartbeat.wait_for_renewals();
    }
    // The same, but waits for no answer.
    void advance_while_it_hangs(milliseconds step) {
        advance_unnoticed(step);
        watcher().wake();
    }
    void advance_unnoticed(milliseconds step) { now_ = now() + step; }
    // Waits until so many renewals were asked for.
    void wait_for_renewals(int count) {
        std::unique_lock guard(mutex_);
        ASSERT_TRUE(changed_.wait_for(guard, 60s, [&] { return begun_ >= count; }));
    }
    // How many there were.
    [[nodiscard]] int renewals() {
        const std::lock_guard guard(mutex_);
        return begun_;
    }

    [[nodiscard]] Lease lease(milliseconds ttl = 30s) {
        return {.scope = LockScope::Named{"x"},
                .token = "t",
                .fencing_token = ++last_fencing_token_,
                .ttl = ttl,
                .lasts_until = now() + ttl};
    }

  private:
    Answered<Lease> renew(const Lease& lease, const Renewal& renewal) {
        const auto sent_at = now();
        const Mood mood = mood_;
        {
            const std::lock_guard guard(mutex_);
            ++begun_;
        }
        changed_.notify_all();
        switch (mood) {
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
    std::uint64_t last_fencing_token_ = 0;
    std::mutex mutex_;
    std::condition_variable changed_;
    int begun_ = 0;  // under mutex_

  public:
    // The last member: its threads use the others.
    Heartbeat heartbeat{
        [this](const Lease& lease, const Renewal& renewal) { return renew(lease, renewal); },
        [this] { return now(); }};
};

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
    const auto hold = *server.watcher().keep(server.lease(), {});
    EXPECT_EQ(server.watcher().time_left(*hold), 25s);
    server.advance(9'999ms);
    EXPECT_EQ(server.renewals(), 0);
    server.advance(1ms);
    EXPECT_EQ(server.renewals(), 1);
    EXPECT_EQ(server.watcher().time_left(*hold), 25s);
    for (int round = 2; round < 100; ++round) {
        server.advance(10s);
        EXPECT_EQ(server.renewals(), round);
        EXPECT_EQ(server.watcher().time_left(*hold), 25s);
    }
    EXPECT_EQ(server.watcher().let_go(hold), std::nullopt);
    EXPECT_EQ(server.watcher().time_left(*hold), 0s);
}

TEST(Heartbeat, KeepsItsOwnPace) {
    FakeServer server;
    const auto hold =
        *server.watcher().keep(server.lease(), {.every = 2s, .extend_by = 12s, .margin = 1s});
    EXPECT_EQ(server.watcher().time_left(*hold), 29s);
    server.advance(2s);
    EXPECT_EQ(server.watcher().time_left(*hold), 11s);
    EXPECT_EQ(server.watcher().lease_of(*hold).ttl, 12s);
    server.watcher().let_go(hold);
}

TEST(Heartbeat, CountsAShorterLeaseFromTheRequestAlsoIfItsAnswerIsLost) {
    FakeServer server;
    server.set(FakeServer::Mood::fails);
    const auto hold =
        *server.watcher().keep(server.lease(), {.every = 2s, .extend_by = 12s, .margin = 1s});
    server.advance(2s);
    EXPECT_EQ(server.watcher().time_left(*hold), 11s);
    server.watcher().let_go(hold);
}

TEST(Heartbeat, TriesMoreOftenAfterAFailureAndGoesOn) {
    FakeServer server;
    server.set(FakeServer::Mood::fails);
    const auto hold = *server.watcher().keep(server.lease(), {});
    server.advance(10s);
    server.advance(2'499ms);
    EXPECT_EQ(server.renewals(), 1);
    server.advance(1ms);
    EXPECT_EQ(server.renewals(), 2);
    server.set(FakeServer::Mood::answers);
    server.advance(2'500ms);
    EXPECT_EQ(server.renewals(), 3);
    EXPECT_EQ(server.watcher().time_left(*hold), 25s);
    EXPECT_FALSE(hold->stop.stop_requested());
    server.watcher().let_go(hold);
}

TEST(Heartbeat, IsLostAMarginBeforeTheLeaseEndsWhenNothingIsConfirmed) {
    FakeServer server;
    server.set(FakeServer::Mood::fails);
    Told told;
    const auto hold = *server.watcher().keep(server.lease(), told.options());
    server.advance(10s);
    server.advance(14'999ms);
    EXPECT_EQ(server.watcher().time_left(*hold), 1ms);
    EXPECT_FALSE(hold->stop.stop_requested());
    server.advance(1ms);
    EXPECT_EQ(server.watcher().time_left(*hold), 0ms);
    EXPECT_EQ(told.wait(), "the lock may be over: no renewal was confirmed in time (no answer)");
    EXPECT_TRUE(hold->stop.stop_requested());
    EXPECT_TRUE(server.watcher().let_go(hold));
}

TEST(Heartbeat, IsLostInTimeWhileARenewalHangs) {
    FakeServer server;
    server.set(FakeServer::Mood::hangs);
    Told told;
    const auto hold = *server.watcher().keep(server.lease(), told.options());
    server.advance_while_it_hangs(10s);
    server.wait_for_renewals(1);
    server.advance_while_it_hangs(15s);
    EXPECT_EQ(told.wait(), "the lock may be over: no renewal was confirmed in time");
    server.watcher().let_go(hold);
    server.heartbeat.wait_for_renewals();  // the renewal was stopped, too
}

TEST(Heartbeat, IsLostAtOnceWhenTheServerSaysSo) {
    FakeServer server;
    server.set(FakeServer::Mood::says_it_is_over);
    Told told;
    const auto hold = *server.watcher().keep(server.lease(), told.options());
    server.advance(10s);
    EXPECT_EQ(server.watcher().time_left(*hold), 0s);
    EXPECT_EQ(told.wait(), "the lock is over");
    server.advance(30s);
    EXPECT_EQ(server.renewals(), 1) << "it is over for good";
    server.watcher().let_go(hold);
}

TEST(Heartbeat, IsNotBroughtBackByALateConfirmation) {
    FakeServer server;
    Told told;
    const auto hold = *server.watcher().keep(server.lease(), told.options());
    server.advance(25s);  // it stood still: the renewal that is due comes too late
    EXPECT_EQ(told.wait(), "the lock may be over: no renewal was confirmed in time");
    EXPECT_EQ(server.watcher().time_left(*hold), 0s);
    server.advance(1s);
    EXPECT_EQ(server.watcher().time_left(*hold), 0s);
    server.watcher().let_go(hold);
}

TEST(Heartbeat, IsLostWhenItIsLetGoTooLateThoughNobodyHasNoticedYet) {
    FakeServer server;
    Told told;
    const auto hold = *server.watcher().keep(server.lease(), told.options());
    server.advance_unnoticed(25s);
    const auto loss = server.watcher().let_go(hold);
    ASSERT_TRUE(loss);
    EXPECT_TRUE(std::holds_alternative<LockNotGuaranteed>(*loss));
    EXPECT_TRUE(hold->stop.stop_requested());
    EXPECT_EQ(told.wait(), to_text(*loss));
}

TEST(Heartbeat, DoesNotLetAHangingRenewalHoldUpOthers) {
    FakeServer server;
    server.set(FakeServer::Mood::hangs);
    const auto stuck = *server.watcher().keep(server.lease(), {});
    server.advance_while_it_hangs(10s);
    server.wait_for_renewals(1);
    server.set(FakeServer::Mood::answers);
    const auto other = *server.watcher().keep(server.lease(), {});
    server.advance_while_it_hangs(10s);
    server.wait_for_renewals(2);
    EXPECT_EQ(server.watcher().time_left(*stuck), 5s);
    server.watcher().let_go(stuck);
    server.heartbeat.wait_for_renewals();
    EXPECT_EQ(server.watcher().time_left(*other), 25s);
    server.watcher().let_go(other);
}

TEST(Heartbeat, KeepsManyMoreHoldsThanItHasThreads) {
    FakeServer server;
    std::vector<renewal::HoldPointer> holds(100);
    for (auto& hold : holds) hold = *server.watcher().keep(server.lease(), {});
    server.advance(10s);
    EXPECT_EQ(server.renewals(), 100);
    for (const auto& hold : holds) EXPECT_EQ(server.watcher().time_left(*hold), 25s);
    for (const auto& hold : holds) server.watcher().let_go(hold);
}

TEST(Heartbeat, MayBeLetGoByTheOneItTells) {
    FakeServer server;
    server.set(FakeServer::Mood::says_it_is_over);
    std::promise<void> done;
    renewal::HoldPointer hold;
    std::latch is_set(1);
    hold = *server.watcher().keep(server.lease(), {.on_lost = [&](const GuardLost&) {
                                      is_set.wait();
                                      server.watcher().let_go(hold);
                                      done.set_value();
                                  }});
    is_set.count_down();
    server.advance(10s);
    EXPECT_EQ(done.get_future().wait_for(60s), std::future_status::ready);
    server.watcher().let_go(hold);
}

TEST(Heartbeat, RefusesAPaceThatCannotBeKept) {
    const auto is_refused = [](const HeartbeatOptions& options, milliseconds ttl) {
        return renewal::Pace::of(options, ttl).find_fault(ttl).has_value();
    };
    EXPECT_FALSE(is_refused({}, 30s));
    EXPECT_FALSE(is_refused({.every = 200ms, .extend_by = 500ms}, 500ms));
    EXPECT_TRUE(is_refused({.every = 30s}, 30s));
    EXPECT_TRUE(is_refused({.every = 26s}, 30s));
    EXPECT_TRUE(is_refused({.every = 0s}, 30s));
    EXPECT_TRUE(is_refused({.extend_by = 10s}, 2s));
    EXPECT_TRUE(is_refused({.margin = 30s}, 30s));
    EXPECT_TRUE(is_refused({.margin = -1s}, 30s));
    EXPECT_TRUE(is_refused({}, milliseconds::min()));
    EXPECT_FALSE(is_refused({}, milliseconds::max()));
}

TEST(Heartbeat, KeepsALeaseOnce) {
    FakeServer server;
    const Lease lease = server.lease();
    const auto hold = *server.watcher().keep(lease, {});
    EXPECT_EQ(to_text(server.watcher().keep(lease, {}).error()), "the lease has a guard already");
    server.watcher().let_go(hold);
    const auto again = server.watcher().keep(lease, {});
    ASSERT_TRUE(again);
    server.watcher().let_go(*again);
}

TEST(Heartbeat, DoesNotKeepWhatIsLostAlready) {
    FakeServer server;
    Lease lease = server.lease();
    lease.lasts_until = server.now();
    EXPECT_EQ(to_text(server.watcher().keep(lease, {}).error()), "the lock is over");
    lease.lasts_until = server.now() + 5s;
    EXPECT_EQ(to_text(server.watcher().keep(lease, {}).error()),
              "the lock may be over: no renewal was confirmed in time");
}

}  // namespace
}  // namespace holdfast::sdk
