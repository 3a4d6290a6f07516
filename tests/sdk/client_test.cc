// Client, Lease and LeaseGuard with a server that does what it should. S1 ... S14 are the scenarios of
// clients/scenarios.md; the others are in the files beside this one.

#include "holdfast/client.h"

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "test_server.h"

namespace holdfast::sdk::testing {
namespace {

class ClientOfServer : public ::testing::Test {
  protected:
    TestServer server_;
    Client client_ = server_.connect();
};

TEST_F(ClientOfServer, S1TakesRenewsAndGivesBack) {
    auto lease = client_.try_acquire(
        {.scope = LockScope::Named{"x"}, .holder = "a", .ttl = 60s, .metadata = "nightly"});
    ASSERT_TRUE(lease) << to_note(lease);
    EXPECT_EQ(lease->holder, "a");
    EXPECT_EQ(lease->metadata, "nightly");
    EXPECT_EQ(lease->token.size(), 32U);
    EXPECT_GT(lease->fencing_token, 0U);
    EXPECT_EQ(lease->expires_at - lease->acquired_at, 60s);
    EXPECT_TRUE(lease->is_guaranteed());

    const auto renewed = client_.renew(*lease, 120s);
    ASSERT_TRUE(renewed);
    EXPECT_EQ(renewed->ttl, 120s);
    EXPECT_EQ(renewed->fencing_token, lease->fencing_token);
    EXPECT_GT(renewed->lasts_until, lease->lasts_until);

    const auto found = client_.get_by_token(lease->token);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->holder, "a");
    EXPECT_FALSE(found->is_guaranteed()) << "nobody knows since when";

    EXPECT_TRUE(client_.release(*renewed));
    EXPECT_EQ(to_note(client_.release(*renewed)), "the lock is over");
    EXPECT_EQ(to_note(client_.renew(*renewed)), "the lock is over");
    EXPECT_FALSE(look(client_, "x")["held"].is_true());
    EXPECT_GT(client_.try_acquire(named("x"))->fencing_token, lease->fencing_token);
}

TEST_F(ClientOfServer, S2SaysWhoHoldsIt) {
    const auto lease = client_.try_acquire(named("x", "a"));
    ASSERT_TRUE(lease);
    const auto refused = client_.try_acquire(named("x", "b"));
    ASSERT_FALSE(refused);
    const auto* const held = std::get_if<LockHeld>(&refused.error());
    ASSERT_TRUE(held);
    EXPECT_EQ(held->holder, "a");
    EXPECT_EQ(held->expires_at, lease->expires_at);
    EXPECT_EQ(held->scope, lease->scope);
    EXPECT_GT(held->retry_after, 0ms);
    ASSERT_TRUE(client_.release(*lease));
    EXPECT_FALSE(look(client_, "x")["held"].is_true()) << "nothing was taken meanwhile";
}

TEST_F(ClientOfServer, LocksRegionsPathsAndShares) {
    const auto range = [](std::uint64_t start, std::uint64_t end) {
        return LeaseRequest{.scope = LockScope::ByteRange{.inode = 7, .start = start, .end = end}};
    };
    EXPECT_TRUE(client_.try_acquire(range(0, 10)));
    EXPECT_TRUE(client_.try_acquire(range(10, 20)));
    EXPECT_TRUE(failed_with<LockHeld>(client_.try_acquire(range(5, 15))));
    EXPECT_TRUE(failed_with<LockHeld>(client_.try_acquire({.scope = LockScope::Inode{7}})));
    const LeaseRequest reader{.scope = LockScope::Path{"/ä b"}, .mode = LockMode::shared};
    EXPECT_TRUE(client_.try_acquire(reader));
    EXPECT_TRUE(client_.try_acquire(reader));
    EXPECT_TRUE(failed_with<LockHeld>(client_.try_acquire({.scope = LockScope::Path{"/ä b"}})));
}

TEST_F(ClientOfServer, S3ServesWaitersInTheOrderInWhichTheyCame) {
    const auto first = client_.try_acquire(named("x", "a"));
    ASSERT_TRUE(first);
    std::mutex mutex;
    std::vector<std::string> served;
    std::vector<std::jthread> waiters;
    for (const std::string holder : {"b", "c", "d"}) {
        waiters.emplace_back([&, holder] {
            const auto lease = client_.acquire(named("x", holder), 1h);
            {
                const std::lock_guard guard(mutex);
                served.push_back(to_note(lease) + " " + holder);
            }
            EXPECT_TRUE(lease && client_.release(*lease));
        });
        const auto count = static_cast<std::int64_t>(waiters.size());
        ASSERT_TRUE(
            eventually([&] { return look(client_, "x")["queue_length"].number() == count; }));
    }
    EXPECT_TRUE(client_.release(*first));
    waiters.clear();
    EXPECT_EQ(served, (std::vector<std::string>{"ok b", "ok c", "ok d"}));
}

TEST_F(ClientOfServer, S4EndsAWaitInTimeAndSaysWhoHoldsIt) {
    ASSERT_TRUE(client_.try_acquire(named("x", "a")));
    const auto begin = BootClock::now();
    const auto refused = client_.acquire(named("x", "b"), 300ms);
    EXPECT_GE(BootClock::now() - begin, 300ms);
    ASSERT_TRUE(failed_with<LockHeld>(refused)) << to_note(refused);
    EXPECT_EQ(std::get<LockHeld>(refused.error()).holder, "a");
    EXPECT_EQ(look(client_, "x")["queue_length"].number(), 0);
}

TEST_F(ClientOfServer, CountsALeaseItWaitedForFromAfterTheGrant) {
    const auto first = client_.try_acquire(named("x", "a"));
    ASSERT_TRUE(first);
    const LeaseRequest request = named("x", "b", 3s);
    const auto begin = BootClock::now();
    auto second = std::async(std::launch::async, [&] { return client_.acquire(request, 1h); });
    // Longer than a third of the ttl: counted from the request, little of it would be left.
    ASSERT_TRUE(eventually([&] { return BootClock::now() - begin > 1'500ms; }));
    const auto released_at = BootClock::now();
    ASSERT_TRUE(client_.release(*first));
    const auto lease = second.get();
    ASSERT_TRUE(lease) << to_note(lease);
    EXPECT_GE(lease->lasts_until, released_at + 3s);
}

TEST_F(ClientOfServer, S5LeavesTheQueueWhenItIsStopped) {
    const auto first = client_.try_acquire(named("x", "a"));
    ASSERT_TRUE(first);
    std::stop_source stop;
    auto second = std::async(
        std::launch::async, [&] { return client_.acquire(named("x", "b"), 1h, stop.get_token()); });
    ASSERT_TRUE(eventually([&] { return look(client_, "x")["queue_length"].number() == 1; }));
    stop.request_stop();
    EXPECT_TRUE(failed_with<LockCancelled>(second.get()));
    EXPECT_TRUE(eventually([&] { return look(client_, "x")["queue_length"].number() == 0; }));
    ASSERT_TRUE(client_.release(*first));
    EXPECT_FALSE(look(client_, "x")["held"].is_true());
}

TEST_F(ClientOfServer, AsksAgainAndAgainUntilItIsFree) {
    const auto first = client_.try_acquire(named("x", "a"));
    ASSERT_TRUE(first);
    EXPECT_TRUE(failed_with<LockHeld>(
        client_.acquire_with_retry(named("x", "b"), {.retries_max = 2, .delay_max = 30ms})));
    auto second = std::async(std::launch::async, [&] {
        return client_.acquire_with_retry(named("x", "b"),
                                          {.retries_max = 1'000'000, .delay_max = 50ms});
    });
    EXPECT_EQ(second.wait_for(200ms), std::future_status::timeout);
    ASSERT_TRUE(client_.release(*first));
    EXPECT_TRUE(second.get());
}

TEST_F(ClientOfServer, S14LetsManyThreadsInOneAtATimeEachWithALargerToken) {
    std::optional<std::uint64_t> inside;
    std::vector<std::uint64_t> tokens;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 6; ++i) {
            threads.emplace_back([&] {
                for (int round = 0; round < 10; ++round) {
                    const auto done = client_.with_lock(named("x", ""), 1h, [&](LeaseGuard& guard) {
                        EXPECT_FALSE(inside) << "two at once";
                        inside = guard.fencing_token();
                        tokens.push_back(*inside);
                        std::this_thread::yield();
                        inside.reset();
                    });
                    EXPECT_TRUE(done) << to_note(done);
                }
            });
        }
    }
    EXPECT_EQ(tokens.size(), 60U);
    EXPECT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
    EXPECT_EQ(std::set<std::uint64_t>(tokens.begin(), tokens.end()).size(), 60U);
}

TEST_F(ClientOfServer, S1ReturnsWhatWasDoneUnderTheLockAndGivesItBackAlsoIfThatFails) {
    const auto sum = client_.with_lock(named("x"), 0s, [](LeaseGuard&) { return 1 + 2; });
    ASSERT_TRUE(sum);
    EXPECT_EQ(*sum, 3);
    EXPECT_FALSE(look(client_, "x")["held"].is_true());
    EXPECT_THROW((void)client_.with_lock(named("x"), 0s,
                                         [](LeaseGuard&) { throw std::runtime_error("no"); }),
                 std::runtime_error);
    EXPECT_FALSE(look(client_, "x")["held"].is_true());
}

TEST_F(ClientOfServer, RefusesWhatMakesNoSense) {
    EXPECT_TRUE(failed_with<InvalidLockRequest>(client_.try_acquire(named(""))));
    EXPECT_TRUE(failed_with<InvalidLockRequest>(client_.try_acquire(named("x", "a", 0s))));
    EXPECT_TRUE(failed_with<InvalidLockRequest>(client_.try_acquire(named("x", "a", 1'000h))));
    EXPECT_TRUE(failed_with<InvalidLockRequest>(client_.hold(named("x"), 0s, {.every = 1h})));
    EXPECT_FALSE(look(client_, "x")["held"].is_true()) << "the last one asked for nothing";
    EXPECT_TRUE(failed_with<LockNotFound>(client_.get_by_token("nonsense")));
}

TEST_F(ClientOfServer, ChecksTokensAndFences) {
    const auto lease =
        client_.try_acquire({.scope = LockScope::ByteRange{.inode = 7, .start = 0, .end = 10}});
    ASSERT_TRUE(lease);
    const LockScope within = LockScope::ByteRange{.inode = 7, .start = 2, .end = 4};
    EXPECT_EQ(to_note(client_.check(lease->token, within)), "ok");
    EXPECT_EQ(to_note(client_.check(lease->token, LockScope::Inode{7})),
              "a lock on range:7:0-10 is not enough for inode:7");

    EXPECT_EQ(*client_.get_fence("a/bucket"), std::nullopt);
    EXPECT_EQ(*client_.pass_fence("a/bucket", lease->fencing_token), lease->fencing_token);
    EXPECT_EQ(*client_.get_fence("a/bucket"), lease->fencing_token);
    const auto stale = client_.pass_fence("a/bucket", lease->fencing_token - 1);
    ASSERT_TRUE(failed_with<StaleFence>(stale));
    EXPECT_EQ(std::get<StaleFence>(stale.error()).highest, lease->fencing_token);
}

TEST_F(ClientOfServer, KeepsAGuardAliveFarBeyondItsTtl) {
    auto guard = client_.hold(named("x", "a", 4s), 0s, {.every = 200ms});
    ASSERT_TRUE(guard);
    const auto first = guard->lease();
    ASSERT_TRUE(eventually([&] { return guard->lease().lasts_until > first.lasts_until + 5s; }));
    EXPECT_TRUE(guard->is_guaranteed());
    EXPECT_GT(guard->time_left(), 0s);
    EXPECT_EQ(guard->lease().token, first.token);
    EXPECT_TRUE(failed_with<LockHeld>(client_.try_acquire(named("x", "b"))));
    EXPECT_TRUE(guard->release());
    EXPECT_FALSE(guard->is_guaranteed());
    EXPECT_FALSE(guard->stop_token().stop_requested()) << "it was not lost";
    EXPECT_TRUE(guard->release()) << "once more changes nothing";
    EXPECT_TRUE(client_.try_acquire(named("x", "b")));
}

TEST_F(ClientOfServer, S1GivesAGuardsLockBackWhenItIsDestroyedOrReplaced) {
    { const auto guard = client_.hold(named("x"), 0s); }
    EXPECT_FALSE(look(client_, "x")["held"].is_true());
    auto guard = *client_.hold(named("x"), 0s);
    LeaseGuard moved = std::move(guard);
    EXPECT_TRUE(moved.is_guaranteed());
    moved = *client_.hold(named("y"), 0s);
    EXPECT_FALSE(look(client_, "x")["held"].is_true());
    EXPECT_TRUE(look(client_, "y")["held"].is_true());
}

TEST_F(ClientOfServer, LetsAGuardOutliveIt) {
    auto guard = *server_.connect().hold(named("x"), 0s);
    EXPECT_TRUE(guard.is_guaranteed());
    EXPECT_TRUE(guard.release());
    EXPECT_FALSE(look(client_, "x")["held"].is_true());
}

TEST_F(ClientOfServer, S10LearnsThatItsLockWasTakenAway) {
    std::promise<GuardLost> lost;
    auto guard = client_.hold(
        named("x", "a"), 0s,
        {.every = 100ms, .on_lost = [&](const GuardLost& loss) { lost.set_value(loss); }});
    ASSERT_TRUE(guard);
    EXPECT_EQ(*client_.force_release(LockScope::Named{"x"}), 1U);
    EXPECT_EQ(*client_.force_release(LockScope::Path{"/x"}), 0U);
    auto told = lost.get_future();
    ASSERT_EQ(told.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(to_text(told.get().error), "the lock is over");
    EXPECT_TRUE(guard->stop_token().stop_requested());
    EXPECT_FALSE(guard->is_guaranteed());
    EXPECT_EQ(to_note(client_.check(guard->lease().token, LockScope::Named{"x"})),
              "the lock is over");
    EXPECT_EQ(to_note(guard->release()), "the lock is over");
}

TEST_F(ClientOfServer, TellsWhatHappens) {
    std::stop_source stop;
    std::promise<void> opened;
    std::vector<std::string> told;
    std::optional<std::uint64_t> first_id;
    auto watching = std::async(std::launch::async, [&] {
        return client_.watch(
            {.prefix = "w", .on_open = [&] { opened.set_value(); }},
            [&](const LockEvent& event) {
                if (!first_id) first_id = event.id;
                told.push_back(event.kind + " " + event.lock_name);
                if (event.kind == "released") stop.request_stop();
            },
            stop.get_token());
    });
    ASSERT_EQ(opened.get_future().wait_for(patience), std::future_status::ready);
    ASSERT_TRUE(client_.try_acquire(named("other")));
    const auto lease = client_.try_acquire(named("wanted"));
    ASSERT_TRUE(lease);
    ASSERT_TRUE(client_.release(*lease));
    EXPECT_TRUE(watching.get());
    EXPECT_EQ(told, (std::vector<std::string>{"granted wanted", "released wanted"}));

    std::stop_source again;
    std::string after;
    EXPECT_TRUE(client_.watch(
        {.prefix = "w", .after = first_id},
        [&](const LockEvent& event) {
            after += event.kind;
            again.request_stop();
        },
        again.get_token()));
    EXPECT_EQ(after, "released");
}

TEST_F(ClientOfServer, AsksForAnythingElse) {
    const auto answer = client_.ask({.target = "/nowhere"});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 404);
    EXPECT_EQ(client_.ask({.target = "/healthz"})->status, 200);
}

}  // namespace
}  // namespace holdfast::sdk::testing
