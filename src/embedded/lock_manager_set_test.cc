// Several locks with one request, and deadlocks between requests for one after the other.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>

#include "embedded/test_manager.h"
#include "store/tables/test_leases.h"
#include "values/lease_request.h"

namespace holdfast::embedded {
namespace {

using namespace testing;

LockSetMember on(const char* text, LockMode mode = LockMode::exclusive) {
    return {.scope = LockScope::parse(text).value(), .mode = mode};
}

LeaseRequest ask_for_all(std::vector<LockSetMember> locks, std::string holder = "a") {
    return {.holder = std::move(holder), .ttl = 30s, .scopes = std::move(locks)};
}

LeaseRequest ask_for_named(const char* name, std::string holder) {
    return ask_for(LockScope::Named{name}, std::move(holder));
}

std::future<LockResult<Lease>> on_a_thread(std::function<LockResult<Lease>()> call) {
    return std::async(std::launch::async, std::move(call));
}

TEST(LockManagerSet, IsOneLease) {
    TestManager manager;
    const auto lease =
        manager->try_acquire(ask_for_all({on("a"), on("path:/x", LockMode::shared)}));
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->scope, LockScope(LockScope::Named{"a"}));
    EXPECT_EQ(lease->scopes, (std::vector{on("a"), on("path:/x", LockMode::shared)}));
    EXPECT_EQ(to_note(manager->try_acquire(ask_for_named("a", "b"))), "held by a");
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Path{"/x"}, "b"))), "held by a");
    EXPECT_EQ(to_note(manager->try_acquire(shared(ask_for(LockScope::Path{"/x"}, "b")))), "ok");
    EXPECT_EQ(to_note(manager->check(lease->token, LockScope::Named{"a"})), "ok");
    EXPECT_EQ(to_note(manager->check(lease->token, LockScope::Path{"/x"})), "mismatch");
    EXPECT_EQ(to_note(manager->check(lease->token, LockScope::Path{"/x"}, LockMode::shared)), "ok");
    const auto renewed = manager->renew(*lease);
    ASSERT_TRUE(renewed);
    EXPECT_EQ(renewed->scopes, lease->scopes);
    ASSERT_TRUE(manager->release(*lease));
    EXPECT_EQ(to_note(manager->try_acquire(ask_for_named("a", "b"))), "ok");
}

TEST(LockManagerSet, IsListedOnce) {
    TestManager manager;
    ASSERT_TRUE(manager->try_acquire(ask_for_all({on("a"), on("b"), on("inode:7")})));
    ASSERT_TRUE(manager->try_acquire(ask_for_named("c", "b")));
    const auto leases = manager->list();
    ASSERT_TRUE(leases);
    ASSERT_EQ(leases->size(), 2U);
    const Lease& set = leases->front().scopes.empty() ? leases->back() : leases->front();
    EXPECT_EQ(set.scopes_text(), "a, b, inode:7");
}

// S15
TEST(LockManagerSet, IsAllOrNothingAndWaitsHoldingNothing) {
    TestManager manager;
    const auto b = manager->try_acquire(ask_for_named("b", "bob"));
    ASSERT_TRUE(b);
    EXPECT_EQ(to_note(manager->try_acquire(ask_for_all({on("a"), on("b")}, "ann"))), "held by bob");
    auto waiting = on_a_thread([&] {
        return manager->acquire(ask_for_all({on("a"), on("b")}, "ann"), forever);
    });
    manager.wait_for_waiters(1);
    const auto leases = manager->list();
    ASSERT_TRUE(leases);
    EXPECT_EQ(leases->size(), 1U) << "whoever waits for a and b has neither";
    ASSERT_TRUE(manager->release(*b));
    const auto both = waiting.get();
    ASSERT_TRUE(both);
    EXPECT_EQ(to_note(manager->try_acquire(ask_for_named("a", "bob"))), "held by ann");
    EXPECT_EQ(to_note(manager->try_acquire(ask_for_named("b", "bob"))), "held by ann");
}

// S16
TEST(LockManagerSet, ADeadlockIsToldToOneAndTheOtherGoesOn) {
    TestManager manager;
    const auto ask = [](const char* name, const char* who) {
        LeaseRequest request = ask_for_named(name, who);
        request.waiter = who;
        return request;
    };
    const auto a = manager->try_acquire(ask("a", "ann"));
    const auto b = manager->try_acquire(ask("b", "bob"));
    ASSERT_TRUE(a && b);
    auto waiting = on_a_thread([&] { return manager->acquire(ask("b", "ann"), forever); });
    manager.wait_for_waiters(1);
    const auto refused = manager->acquire(ask("a", "bob"), forever);
    ASSERT_FALSE(refused);
    const auto* const deadlock = std::get_if<LockDeadlock>(&refused.error());
    ASSERT_TRUE(deadlock) << to_text(refused.error());
    EXPECT_EQ(to_text(refused.error()),
              "waiting for a would never end: bob waits for ann, who holds a and waits for bob");
    ASSERT_EQ(deadlock->cycle.size(), 2U);
    EXPECT_EQ(deadlock->cycle[0].fencing_token, a->fencing_token);
    EXPECT_EQ(deadlock->cycle[1].fencing_token, b->fencing_token);
    ASSERT_TRUE(manager->release(*b));
    EXPECT_TRUE(waiting.get()) << "the other one is not disturbed";
}

TEST(LockManagerSet, TheThreadsOfAnOwnerAreNotOneAnother) {
    TestManager manager;
    const auto a = manager->try_acquire(ask_for_named("a", "w"));
    ASSERT_TRUE(a);
    std::promise<void> has_b, may_ask;
    auto thread = on_a_thread([&] {
        const auto b = manager->try_acquire(ask_for_named("b", "w"));
        has_b.set_value();
        may_ask.get_future().wait();
        auto refused = manager->acquire(ask_for_named("a", "w"), forever);
        EXPECT_TRUE(manager->release(*b));
        return refused;
    });
    has_b.get_future().wait();
    // This thread waits for that one, by way of one who waits in its name.
    LeaseRequest request = ask_for_named("b", "w");
    request.waiter = values::waiter_of_this_thread();
    auto waiting = on_a_thread([&] { return manager->acquire(request, forever); });
    manager.wait_for_waiters(1);
    may_ask.set_value();
    EXPECT_EQ(to_note(thread.get()), "deadlock");
    EXPECT_TRUE(waiting.get());
}

TEST(LockManagerSet, ARequestMayWaitAlthoughOthersWaitForIt) {
    TestManager manager;
    const auto ask = [](const char* name, const char* who) {
        LeaseRequest request = ask_for_named(name, who);
        request.waiter = who;
        request.on_deadlock = OnDeadlock::tell;
        return request;
    };
    const auto a = manager->try_acquire(ask("a", "ann"));
    const auto b = manager->try_acquire(ask("b", "bob"));
    ASSERT_TRUE(a && b);
    auto ann = on_a_thread([&] { return manager->acquire(ask("b", "ann"), forever); });
    manager.wait_for_waiters(1);
    auto bob = on_a_thread([&] { return manager->acquire(ask("a", "bob"), forever); });
    manager.wait_for_waiters(2);
    ASSERT_TRUE(manager->release(*a));
    EXPECT_TRUE(bob.get());
    ASSERT_TRUE(manager->release(*b));
    EXPECT_TRUE(ann.get());
}

TEST(LockManagerSet, OutlivesTheProgram) {
    const store::testing::TemporaryFolder folder;
    const LockManagerOptions options{.path = folder / "locks.db"};
    std::optional<LockManager> manager(std::move(LockManager::open(options).value()));
    const auto lease =
        manager->try_acquire(ask_for_all({on("a"), on("range:7:0-9", LockMode::shared)}));
    ASSERT_TRUE(lease);
    manager.reset();
    manager.emplace(std::move(LockManager::open(options).value()));
    const auto found = manager->get_by_token(lease->token);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->scopes, lease->scopes);
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Inode{7}, "b"))), "held by a");
    ASSERT_TRUE(manager->release(*found));
    EXPECT_EQ(to_note(manager->try_acquire(ask_for(LockScope::Inode{7}, "b"))), "ok");
    EXPECT_EQ(to_note(manager->try_acquire(ask_for_named("a", "b"))), "ok");
}

TEST(LockManagerSet, OfNonsenseIsAnsweredInASentence) {
    TestManager manager;
    const auto overlapping = manager->try_acquire(ask_for_all({on("inode:7"), on("range:7:0-9")}));
    ASSERT_FALSE(overlapping);
    EXPECT_EQ(to_text(overlapping.error()),
              "inode:7 and range:7:0-9 overlap: a lease is on each lock once");
    LeaseRequest long_name = ask_for_named("a", "w");
    long_name.waiter.assign(257, 'w');
    const auto refused = manager->try_acquire(long_name);
    ASSERT_FALSE(refused);
    EXPECT_EQ(to_text(refused.error()), "the waiter's name is too long");
}

}  // namespace
}  // namespace holdfast::embedded
