// One program, twice: with the engine inside it, and with a server. Only the line that opens the one or
// the other differs.

#include <gtest/gtest.h>

#include <concepts>
#include <future>
#include <mutex>
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
EXPECT_SAME(acquire_with_retry);
EXPECT_SAME(get_by_token);
EXPECT_SAME(start_heartbeat);
EXPECT_SAME(check);
EXPECT_SAME(pass_fence);
EXPECT_SAME(get_fence);
EXPECT_SAME(drop_fence);
EXPECT_SAME(list);
EXPECT_SAME(force_release);
EXPECT_SAME(campaign);
EXPECT_SAME(set_value);
EXPECT_SAME(observe);
EXPECT_SAME(watch);
#undef EXPECT_SAME

// These have two forms: for a lease, and for a program that has kept nothing but the token.
template <class Locks, class LeaseOrToken>
constexpr bool has_both = requires(Locks locks, LeaseOrToken lease,
                                   std::optional<std::chrono::milliseconds> ttl) {
    { locks.renew(lease, ttl) } -> std::same_as<LockResult<Lease>>;
    { locks.release(lease) } -> std::same_as<LockResult<void>>;
};
static_assert(has_both<LockManager, const Lease&> && has_both<LockManager, std::string_view>);
static_assert(has_both<Client, const Lease&> && has_both<Client, std::string_view>);

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

TYPED_TEST(SameStory, RenewsAndReleasesByTheTokenAlone) {
    auto& locks = this->locks_;
    const auto lease = locks.try_acquire(named("x", "a", 60s));
    ASSERT_TRUE(lease);
    const std::string token = lease->token;
    const auto renewed = locks.renew(token, 120s);
    ASSERT_TRUE(renewed) << to_note(renewed);
    EXPECT_EQ(renewed->ttl, 120s);
    EXPECT_EQ(renewed->scope, lease->scope);
    EXPECT_TRUE(renewed->is_guaranteed());
    EXPECT_EQ(locks.renew(token)->ttl, 120s) << "its old ttl";
    ASSERT_TRUE(locks.release(token));
    EXPECT_TRUE(failed_with<LockExpired>(locks.renew(token, 1s)));
    EXPECT_TRUE(failed_with<LockExpired>(locks.release(token)));
    EXPECT_TRUE(locks.try_acquire(named("x", "b")));
}

TYPED_TEST(SameStory, TellsWhatHasEndedFromWhatNeverWas) {
    auto& locks = this->locks_;
    const auto lease = locks.try_acquire(named("x"));
    ASSERT_TRUE(lease);
    const std::string invented(32, 'f');
    std::string guessed = lease->token;
    guessed.back() = guessed.back() == '0' ? '1' : '0';
    for (const std::string& token : {invented, guessed, std::string("nonsense")}) {
        EXPECT_TRUE(failed_with<LockNotFound>(locks.get_by_token(token))) << token;
        EXPECT_TRUE(failed_with<LockNotFound>(locks.renew(token, 1s))) << token;
        EXPECT_TRUE(failed_with<LockNotFound>(locks.release(token))) << token;
    }
    ASSERT_TRUE(locks.release(*lease));
    // Its fencing number was given out, whatever the rest of the token is.
    for (const std::string& token : {lease->token, guessed}) {
        EXPECT_TRUE(failed_with<LockExpired>(locks.get_by_token(token))) << token;
        EXPECT_TRUE(failed_with<LockExpired>(locks.renew(token, 1s))) << token;
        EXPECT_TRUE(failed_with<LockExpired>(locks.release(token))) << token;
    }
}

TYPED_TEST(SameStory, AsksAgainUntilTheLockIsFree) {
    auto& locks = this->locks_;
    const auto first = locks.try_acquire(named("x", "a"));
    ASSERT_TRUE(first);
    const RetryOptions twice{.retries_max = 2, .delay_min = 1ms, .delay_max = 5ms};
    EXPECT_TRUE(failed_with<LockHeld>(locks.acquire_with_retry(named("x", "b"), twice)));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_TRUE(failed_with<LockCancelled>(
        locks.acquire_with_retry(named("x", "b"), {}, stop.get_token())));
    auto asking = std::async(std::launch::async, [&] {
        return locks.acquire_with_retry(named("x", "b"),
                                        {.retries_max = 100'000, .delay_max = 5ms});
    });
    ASSERT_TRUE(locks.release(*first));
    const auto second = asking.get();
    ASSERT_TRUE(second) << to_note(second);
    EXPECT_EQ(second->holder, "b");
}

TYPED_TEST(SameStory, RemembersTheLargestNumberOfAResource) {
    auto& locks = this->locks_;
    EXPECT_EQ(*locks.get_fence("a/bucket"), std::nullopt);
    EXPECT_EQ(*locks.pass_fence("a/bucket", 34), 34U);
    EXPECT_EQ(*locks.pass_fence("a/bucket", 34), 34U) << "its holder writes twice";
    const auto stale = locks.pass_fence("a/bucket", 33);
    ASSERT_TRUE(failed_with<StaleFence>(stale)) << to_note(stale);
    EXPECT_EQ(to_note(stale), "a/bucket was used under fencing token 34, which is larger than 33");
    EXPECT_EQ(*locks.get_fence("a/bucket"), 34U);
    EXPECT_TRUE(failed_with<InvalidLockRequest>(locks.pass_fence("a/bucket", 0)));
    EXPECT_TRUE(failed_with<InvalidLockRequest>(locks.pass_fence(std::string(5'000, 'x'), 1)));
    EXPECT_EQ(*locks.drop_fence("a/bucket"), 34U);
    EXPECT_EQ(*locks.drop_fence("a/bucket"), std::nullopt);
    EXPECT_EQ(*locks.pass_fence("a/bucket", 1), 1U);
}

TYPED_TEST(SameStory, ListsWhatIsHeldTheOldestFirst) {
    auto& locks = this->locks_;
    EXPECT_TRUE(locks.list()->empty());
    const auto first = locks.try_acquire(
        {.scope = LockScope::Inode{7}, .holder = "a", .ttl = 60s, .metadata = "m"});
    const auto second = locks.try_acquire(
        {.holder = "b", .scopes = {{LockScope::Named{"x"}}, {LockScope::Path{"/y"}}}});
    const auto gone = locks.try_acquire(named("gone"));
    ASSERT_TRUE(first && second && gone && locks.release(*gone));
    const auto listed = locks.list();
    ASSERT_TRUE(listed) << to_note(listed);
    ASSERT_EQ(listed->size(), 2U);
    const Lease& one = listed->at(0);
    EXPECT_EQ(one.scope, first->scope);
    EXPECT_EQ(one.holder, "a");
    EXPECT_EQ(one.metadata, "m");
    EXPECT_EQ(one.ttl, 60s);
    EXPECT_EQ(one.fencing_token, first->fencing_token);
    EXPECT_EQ(listed->at(1).scopes, second->scopes);
}

TYPED_TEST(SameStory, EndsWhatAnybodyHolds) {
    auto& locks = this->locks_;
    const LeaseRequest permit{.scope = LockScope::Named{"printers"}, .limit = 2};
    const auto one = locks.try_acquire(permit);
    const auto other = locks.try_acquire(permit);
    ASSERT_TRUE(one && other);
    EXPECT_EQ(*locks.force_release(LockScope::Named{"printers"}), 2U);
    EXPECT_EQ(*locks.force_release(LockScope::Path{"/x"}), 0U);
    EXPECT_TRUE(failed_with<LockExpired>(locks.renew(*one)));
}

TYPED_TEST(SameStory, TellsWhoLeadsAndEveryChange) {
    auto& locks = this->locks_;
    std::mutex mutex;
    std::vector<std::string> told;
    std::stop_source stop;
    const auto note = [&](const std::optional<Leader>& leader) {
        const std::lock_guard guard(mutex);
        told.push_back(leader ? leader->candidate + "@" + leader->value + "#" +
                                    std::to_string(leader->revision)
                              : "nobody");
    };
    const auto has_told = [&](std::size_t count) {
        const std::lock_guard guard(mutex);
        return told.size() >= count;
    };
    EXPECT_TRUE(failed_with<InvalidLockRequest>(locks.observe("", note, stop.get_token())));
    auto observing = std::async(std::launch::async,
                                [&] { return locks.observe("boss", note, stop.get_token()); });
    ASSERT_TRUE(eventually([&] { return has_told(1); }));
    auto ann = locks.campaign({.election = "boss", .candidate = "ann", .value = "one"});
    ASSERT_TRUE(ann) << to_note(ann);
    const auto changed = locks.set_value(ann->lease(), "two");
    ASSERT_TRUE(changed) << to_note(changed);
    EXPECT_EQ(changed->value, "two");
    EXPECT_EQ(changed->revision, 2U);
    EXPECT_TRUE(
        failed_with<InvalidLockRequest>(locks.set_value(ann->lease(), std::string(4097, 'x'))));
    auto campaigning = std::async(std::launch::async, [&] {
        return locks.campaign({.election = "boss", .candidate = "bob"});
    });
    ASSERT_TRUE(ann->release());
    auto bob = campaigning.get();
    ASSERT_TRUE(bob);
    ASSERT_TRUE(locks.release(bob->lease()));
    EXPECT_TRUE(eventually([&] { return has_told(6); }));
    EXPECT_TRUE(failed_with<LockExpired>(locks.set_value(bob->lease(), "late")));
    stop.request_stop();
    EXPECT_TRUE(observing.get());
    EXPECT_EQ(told, (std::vector<std::string>{"nobody", "ann@one#1", "ann@two#2", "nobody",
                                              "bob@#0", "nobody"}));
}

TYPED_TEST(SameStory, TellsWhatHappens) {
    auto& locks = this->locks_;
    std::promise<void> opened;
    std::stop_source stop;
    std::vector<std::string> told;
    std::vector<std::uint64_t> ids;
    auto watching = std::async(std::launch::async, [&] {
        return locks.watch(
            {.prefix = "w", .on_open = [&] { opened.set_value(); }},
            [&](const LockEvent& event) {
                told.push_back(event.kind + " " + event.lock_kind + " " + event.lock_name + " " +
                               event.holder + " " + event.metadata);
                if (event.id) ids.push_back(*event.id);
                if (event.kind == "fence_refused") stop.request_stop();
            },
            stop.get_token());
    });
    ASSERT_EQ(opened.get_future().wait_for(patience), std::future_status::ready);
    const auto before = std::chrono::system_clock::now();
    ASSERT_TRUE(locks.try_acquire(named("other")));
    const auto lease =
        locks.try_acquire({.scope = LockScope::Named{"wanted"}, .holder = "a", .metadata = "m"});
    ASSERT_TRUE(lease && locks.renew(*lease) && locks.release(*lease));
    ASSERT_TRUE(locks.pass_fence("write", 2));
    ASSERT_FALSE(locks.pass_fence("write", 1));
    EXPECT_TRUE(watching.get());
    EXPECT_EQ(told,
              (std::vector<std::string>{"granted named wanted a m", "renewed named wanted a m",
                                        "released named wanted a m", "fence_refused  write  "}));
    ASSERT_EQ(ids.size(), 4U);

    // Once more from the first of these on; and from one that nobody remembers.
    for (const std::uint64_t after : {ids.front(), std::uint64_t{1}}) {
        std::stop_source again;
        std::vector<std::string> kinds;
        EXPECT_TRUE(locks.watch(
            {.prefix = "w", .after = after},
            [&](const LockEvent& event) {
                kinds.push_back(event.kind);
                EXPECT_TRUE(event.kind == "gap" || event.at >= before - 1s);
                if (event.kind == "fence_refused") again.request_stop();
            },
            again.get_token()));
        std::vector<std::string> expected{"renewed", "released", "fence_refused"};
        if (after == 1) expected.insert(expected.begin(), {"gap", "granted"});
        EXPECT_EQ(kinds, expected);
    }
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
