// One program, twice: with the engine inside it, and with a server. Only the line that opens the one or
// the other differs.

#include <gtest/gtest.h>

#include <future>
#include <tuple>
#include <type_traits>

#include "holdfast/client.h"
#include "holdfast/lock_manager.h"
#include "test_server.h"

namespace holdfast::sdk::testing {
namespace {

struct InsideTheProgram {
    LockManager locks = *LockManager::open();
};

struct OfAServer {
    TestServer server;
    Client locks = server.connect();
};

template <class Place>
class SameStory : public ::testing::Test {
  protected:
    // A call that waits for `x`, and is in the queue.
    auto wait_for_x(const std::stop_token& stop = {}) {
        auto waiting = std::async(
            std::launch::async, [this, stop] { return locks_.acquire(named("x", "b"), 1h, stop); });
        // Nobody gets past those that wait: a shared request is refused as soon as `b` is queued.
        EXPECT_TRUE(eventually([this] {
            const auto reader = locks_.try_acquire(shared_x());
            if (!reader) return true;
            EXPECT_TRUE(locks_.release(*reader));
            return false;
        }));
        return waiting;
    }
    static LeaseRequest shared_x() {
        LeaseRequest request = named("x", "reader");
        request.mode = LockMode::shared;
        return request;
    }

    Place place_;
    decltype(Place::locks)& locks_ = place_.locks;
};

using Places = ::testing::Types<InsideTheProgram, OfAServer>;
TYPED_TEST_SUITE(SameStory, Places);

template <class Result, class Class, class... Arguments>
std::tuple<Result, Arguments...> signature(Result (Class::*)(Arguments...));

#define EXPECT_SAME(method)                                                 \
    static_assert(std::is_same_v<decltype(signature(&LockManager::method)), \
                                 decltype(signature(&Client::method))>)
EXPECT_SAME(hold);
EXPECT_SAME(try_acquire);
EXPECT_SAME(acquire);
EXPECT_SAME(renew);
EXPECT_SAME(release);
EXPECT_SAME(get_by_token);
EXPECT_SAME(start_heartbeat);
EXPECT_SAME(check);
#undef EXPECT_SAME

TYPED_TEST(SameStory, TakesRenewsAndGivesBack) {
    auto& locks = this->locks_;
    const auto lease = locks.try_acquire(
        {.scope = LockScope::Named{"x"}, .holder = "a", .ttl = 60s, .metadata = "nightly"});
    ASSERT_TRUE(lease) << to_note(lease);
    EXPECT_EQ(lease->scope, LockScope(LockScope::Named{"x"}));
    EXPECT_EQ(lease->holder, "a");
    EXPECT_EQ(lease->metadata, "nightly");
    EXPECT_EQ(lease->token.size(), 32U);
    EXPECT_EQ(lease->ttl, 60s);
    EXPECT_TRUE(lease->is_guaranteed());
    const auto renewed = locks.renew(*lease, 120s);
    ASSERT_TRUE(renewed);
    EXPECT_EQ(renewed->token, lease->token);
    EXPECT_EQ(renewed->fencing_token, lease->fencing_token);
    EXPECT_GT(renewed->lasts_until, lease->lasts_until + 30s);
    EXPECT_EQ(locks.get_by_token(lease->token)->ttl, 120s);
    EXPECT_TRUE(locks.release(*renewed));
    EXPECT_TRUE(failed_with<LockExpired>(locks.release(*renewed)));
    EXPECT_TRUE(failed_with<LockExpired>(locks.renew(*renewed)));
    EXPECT_TRUE(failed_with<LockExpired>(locks.get_by_token(renewed->token)));
    const auto next = locks.try_acquire(named("x", "b"));
    ASSERT_TRUE(next);
    EXPECT_GT(next->fencing_token, lease->fencing_token);
}

TYPED_TEST(SameStory, SaysWhoHoldsItAtOnceAndAfterAWait) {
    auto& locks = this->locks_;
    const auto lease = locks.try_acquire(named("x", "a"));
    ASSERT_TRUE(lease);
    for (const std::chrono::milliseconds wait : {0ms, 20ms}) {
        const auto refused = locks.acquire(named("x", "b"), wait);
        ASSERT_TRUE(failed_with<LockHeld>(refused)) << to_note(refused);
        EXPECT_EQ(std::get<LockHeld>(refused.error()).holder, "a");
        EXPECT_EQ(std::get<LockHeld>(refused.error()).scope, lease->scope);
    }
}

TYPED_TEST(SameStory, WaitsItsTurn) {
    auto& locks = this->locks_;
    const auto first = locks.try_acquire(this->shared_x());
    ASSERT_TRUE(first);
    auto waiting = this->wait_for_x();
    ASSERT_TRUE(locks.release(*first));
    const auto second = waiting.get();
    ASSERT_TRUE(second) << to_note(second);
    EXPECT_EQ(second->holder, "b");
    EXPECT_GT(second->fencing_token, first->fencing_token);
}

TYPED_TEST(SameStory, IsCancelledByItsCallerAndHoldsNothing) {
    auto& locks = this->locks_;
    const auto first = locks.try_acquire(this->shared_x());
    ASSERT_TRUE(first);
    std::stop_source stop;
    auto waiting = this->wait_for_x(stop.get_token());
    stop.request_stop();
    EXPECT_TRUE(failed_with<LockCancelled>(waiting.get()));
    EXPECT_TRUE(failed_with<LockCancelled>(locks.acquire(named("y"), 0s, stop.get_token())));
    EXPECT_TRUE(eventually([&] { return locks.try_acquire(this->shared_x()).has_value(); }))
        << "nobody waits any more";
}

TYPED_TEST(SameStory, KeepsAGuardAliveBeyondItsTtl) {
    auto& locks = this->locks_;
    auto guard = locks.hold(named("x", "a", 4s), 0s, {.every = 100ms});
    ASSERT_TRUE(guard) << to_note(guard);
    const Lease first = guard->lease();
    EXPECT_TRUE(eventually([&] { return guard->lease().lasts_until > first.lasts_until + 1s; }));
    EXPECT_TRUE(guard->is_guaranteed());
    EXPECT_EQ(guard->lease().token, first.token);
    EXPECT_EQ(to_note(locks.start_heartbeat(first)), "the lease has a guard already");
    EXPECT_TRUE(guard->release());
    EXPECT_FALSE(guard->is_guaranteed());
    EXPECT_TRUE(guard->release()) << "once more changes nothing";
    EXPECT_TRUE(locks.try_acquire(named("x", "b")));
}

TYPED_TEST(SameStory, StartsAHeartbeatForALeaseThatWasFoundAgain) {
    auto& locks = this->locks_;
    const auto lease = locks.try_acquire(named("x"));
    ASSERT_TRUE(lease);
    const auto found = locks.get_by_token(lease->token);
    ASSERT_TRUE(found);
    const auto renewed = locks.renew(*found);
    ASSERT_TRUE(renewed);
    const auto guard = locks.start_heartbeat(*renewed);
    ASSERT_TRUE(guard) << to_note(guard);
    EXPECT_TRUE(guard->is_guaranteed());
    EXPECT_EQ(guard->fencing_token(), lease->fencing_token);
}

TYPED_TEST(SameStory, LosesWhatSomebodyElseEnds) {
    auto& locks = this->locks_;
    std::promise<GuardLost> lost;
    auto guard = locks.hold(
        named("x", "a"), 0s,
        {.every = 50ms, .on_lost = [&](const GuardLost& loss) { lost.set_value(loss); }});
    ASSERT_TRUE(guard);
    ASSERT_TRUE(locks.release(guard->lease()));
    auto told = lost.get_future();
    ASSERT_EQ(told.wait_for(patience), std::future_status::ready);
    const GuardLost loss = told.get();
    EXPECT_TRUE(std::holds_alternative<LockExpired>(loss.error)) << to_text(loss.error);
    EXPECT_EQ(loss.lease.token, guard->lease().token);
    EXPECT_FALSE(guard->is_guaranteed());
    EXPECT_TRUE(guard->stop_token().stop_requested());
    EXPECT_TRUE(failed_with<LockExpired>(guard->release()));
}

TYPED_TEST(SameStory, ReturnsWhatWasDoneUnderTheLockUnlessItWasLost) {
    auto& locks = this->locks_;
    const auto sum = locks.with_lock(named("x"), 0s, [&](LeaseGuard& guard) {
        EXPECT_TRUE(failed_with<LockHeld>(locks.try_acquire(named("x", "b"))));
        return guard.is_guaranteed() ? 1 + 2 : 0;
    });
    ASSERT_TRUE(sum) << to_note(sum);
    EXPECT_EQ(*sum, 3);
    const auto lost = locks.with_lock(
        named("x"), 0s, [&](LeaseGuard& guard) { EXPECT_TRUE(locks.release(guard.lease())); },
        {.every = 50ms});
    EXPECT_TRUE(failed_with<LockExpired>(lost)) << to_note(lost);
    EXPECT_TRUE(locks.try_acquire(named("x", "b")));
}

TYPED_TEST(SameStory, ChecksWhatATokenIsGoodFor) {
    auto& locks = this->locks_;
    const auto lease =
        locks.try_acquire({.scope = LockScope::ByteRange{.inode = 7, .start = 0, .end = 10}});
    const auto reader = locks.try_acquire(this->shared_x());
    ASSERT_TRUE(lease && reader);
    const LockScope within = LockScope::ByteRange{.inode = 7, .start = 2, .end = 4};
    EXPECT_EQ(to_note(locks.check(lease->token, within)), "ok");
    EXPECT_EQ(to_note(locks.check(lease->token, LockScope::Inode{7})),
              "a lock on range:7:0-10 is not enough for inode:7");
    EXPECT_EQ(to_note(locks.check(reader->token, reader->scope)),
              "a lock on shared x is not enough for x");
    EXPECT_EQ(to_note(locks.check(reader->token, reader->scope, LockMode::shared)), "ok");
    EXPECT_TRUE(failed_with<LockNotFound>(locks.check("nonsense", within)));
    ASSERT_TRUE(locks.release(*lease));
    EXPECT_TRUE(failed_with<LockExpired>(locks.check(lease->token, within)));
}

TYPED_TEST(SameStory, LetsAsManyInAsASemaphoreHasPermits) {
    auto& locks = this->locks_;
    const LeaseRequest permit{.scope = LockScope::Named{"printers"}, .limit = 2};
    const auto first = locks.try_acquire(permit);
    ASSERT_TRUE(first && locks.try_acquire(permit));
    EXPECT_EQ(first->scope, LockScope(LockScope::Semaphore{"printers"}));
    EXPECT_EQ(first->limit, 2U);
    EXPECT_TRUE(failed_with<LockHeld>(locks.try_acquire(permit)));
    LeaseRequest other = permit;
    other.limit = 3;
    EXPECT_TRUE(failed_with<InvalidLockRequest>(locks.try_acquire(other)));
    EXPECT_EQ(locks.renew(*first)->limit, 2U);
}

TYPED_TEST(SameStory, FindsAndRenewsWhatARequestIdWasGranted) {
    auto& locks = this->locks_;
    LeaseRequest request = named("x");
    request.request_id = "mine";
    const auto lease = locks.try_acquire(request);
    ASSERT_TRUE(lease);
    const auto again = locks.try_acquire(request);
    ASSERT_TRUE(again) << to_note(again);
    EXPECT_EQ(again->token, lease->token);
    EXPECT_GT(again->lasts_until, lease->lasts_until);
    ASSERT_TRUE(locks.release(*again));
    EXPECT_TRUE(failed_with<LockExpired>(locks.try_acquire(request)));
}

TYPED_TEST(SameStory, RefusesWhatMakesNoSense) {
    auto& locks = this->locks_;
    const LeaseRequest senseless[] = {
        named(""),
        named("x", "a", 0s),
        named("x", std::string(5'000, 'a')),
        {.scope = LockScope::Named{"x"}, .limit = 0},
        {.scope = LockScope::Inode{7}, .limit = 2},
        {.scope = LockScope::ByteRange{.inode = 7, .start = 5, .end = 5}},
    };
    for (const LeaseRequest& request : senseless) {
        const auto refused = locks.try_acquire(request);
        EXPECT_TRUE(failed_with<InvalidLockRequest>(refused))
            << request.scope.to_text() << ": " << to_note(refused);
    }
    EXPECT_TRUE(failed_with<InvalidLockRequest>(locks.hold(named("x"), 0s, {.every = 1h})));
    EXPECT_TRUE(locks.try_acquire(named("x"))) << "nothing was taken";
}

}  // namespace
}  // namespace holdfast::sdk::testing
