// Several locks with one request, and deadlocks. S15 and S16 are scenarios of clients/scenarios.md.

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>

#include "holdfast/client.h"
#include "test_server.h"

namespace holdfast::sdk::testing {
namespace {

LeaseRequest all_of(std::initializer_list<const char*> texts, std::string holder = "a") {
    LeaseRequest request{.holder = std::move(holder), .ttl = 60s};
    for (const char* const text : texts) {
        request.scopes.push_back({.scope = LockScope::parse(text).value()});
    }
    return request;
}

LeaseRequest of_waiter(LeaseRequest request, const std::string& waiter) {
    request.waiter = waiter;
    return request;
}

class SetOfServer : public ::testing::Test {
  protected:
    bool waits(const std::string& name) {
        return eventually([&] { return look(client_, name)["queue"].items().size() == 1; });
    }
    auto acquire_later(const LeaseRequest& request) {
        return std::async(std::launch::async,
                          [this, request] { return client_.acquire(request, 1h); });
    }

    TestServer server_;
    Client client_ = server_.connect();
};

TEST_F(SetOfServer, S15IsAllOrNothingAndWaitsHoldingNothing) {
    const auto b = client_.try_acquire(named("b", "bob"));
    ASSERT_TRUE(b);
    const auto refused = client_.try_acquire(all_of({"a", "b"}, "ann"));
    ASSERT_FALSE(refused);
    const auto* const held = std::get_if<LockHeld>(&refused.error());
    ASSERT_TRUE(held) << to_note(refused);
    EXPECT_EQ(held->scope, LockScope(LockScope::Named{"b"}));
    EXPECT_EQ(held->holder, "bob");

    auto waiting = acquire_later(all_of({"a", "b"}, "ann"));
    ASSERT_TRUE(waits("b"));
    EXPECT_FALSE(look(client_, "a")["held"].is_true());
    ASSERT_TRUE(client_.release(*b));
    const auto both = waiting.get();
    ASSERT_TRUE(both) << to_note(both);
    EXPECT_EQ(both->scopes_text(), "a, b");
    EXPECT_GT(both->fencing_token, b->fencing_token);
    for (const char* const name : {"a", "b"}) {
        EXPECT_EQ(look(client_, name)["fencing_token"].natural(), both->fencing_token);
    }
    const auto renewed = client_.renew(*both);
    ASSERT_TRUE(renewed);
    EXPECT_EQ(renewed->scopes, both->scopes);
    EXPECT_EQ(client_.get_by_token(both->token)->scopes, both->scopes);
    ASSERT_TRUE(client_.release(*both));
    for (const char* const name : {"a", "b"}) {
        EXPECT_FALSE(look(client_, name)["held"].is_true()) << name;
    }
}

TEST_F(SetOfServer, S16ADeadlockIsToldToOneAndTheOtherGoesOn) {
    const auto a = client_.try_acquire(of_waiter(named("a", "ann"), "t1"));
    auto b = client_.hold(of_waiter(named("b", "bob"), "t2"), 0ms);
    ASSERT_TRUE(a && b);
    auto ann = acquire_later(of_waiter(named("b", "ann"), "t1"));
    ASSERT_TRUE(waits("b"));
    const auto refused = client_.hold(of_waiter(named("a", "bob"), "t2"), 1h);
    ASSERT_FALSE(refused);
    const auto* const deadlock = std::get_if<LockDeadlock>(&refused.error());
    ASSERT_TRUE(deadlock) << to_text(refused.error());
    EXPECT_EQ(deadlock->scope, LockScope(LockScope::Named{"a"}));
    EXPECT_EQ(deadlock->cycle,
              (std::vector<DeadlockMember>{{.holder = "bob",
                                            .waiter = "t2",
                                            .door = "scoped",
                                            .waits_for = LockScope::Named{"a"},
                                            .held_by = "ann",
                                            .fencing_token = a->fencing_token},
                                           {.holder = "ann",
                                            .waiter = "t1",
                                            .door = "scoped",
                                            .waits_for = LockScope::Named{"b"},
                                            .held_by = "bob",
                                            .fencing_token = b->fencing_token()}}));
    EXPECT_TRUE(b->is_guaranteed()) << "what it holds it still holds";
    ASSERT_TRUE(b->release());
    EXPECT_TRUE(ann.get());
}

TEST_F(SetOfServer, ThreadsOfOneClientAreToldFromOneAnother) {
    const auto a = client_.try_acquire(named("a"));
    ASSERT_TRUE(a);
    std::promise<void> has_b, may_ask;
    auto other = std::async(std::launch::async, [&] {
        const auto b = client_.try_acquire(named("b"));
        has_b.set_value();
        may_ask.get_future().wait();
        const auto refused = client_.acquire(named("a"), 1h);
        EXPECT_TRUE(client_.release(*b));
        return failed_with<LockDeadlock>(refused);
    });
    has_b.get_future().wait();
    // The other thread asks only when this one waits.
    std::thread watcher([&] {
        EXPECT_TRUE(waits("b"));
        may_ask.set_value();
    });
    const auto b = client_.acquire(named("b"), 1h);
    EXPECT_TRUE(b) << to_note(b);
    EXPECT_TRUE(other.get());
    watcher.join();
}

TEST_F(SetOfServer, ThreadsThatOnlyWaitForOneAnotherAreNotRefused) {
    const auto a = client_.try_acquire(named("a"));
    ASSERT_TRUE(a);
    auto next = acquire_later(named("a"));
    ASSERT_TRUE(waits("a"));
    ASSERT_TRUE(client_.release(*a));
    EXPECT_TRUE(next.get());
}

TEST_F(SetOfServer, IsGuardedAndCheckedAsAWhole) {
    LeaseRequest request = all_of({"inode:7", "path:/x"});
    request.scopes[1].mode = LockMode::shared;
    auto guard = client_.hold(request, 0ms);
    ASSERT_TRUE(guard);
    const std::string token = guard->lease().token;
    EXPECT_TRUE(client_.check(token, LockScope::ByteRange{7, 0, 9}));
    EXPECT_TRUE(client_.check(token, LockScope::Path{"/x"}, LockMode::shared));
    EXPECT_TRUE(failed_with<LockScopeMismatch>(client_.check(token, LockScope::Path{"/x"})));
    EXPECT_TRUE(failed_with<LockScopeMismatch>(client_.check(token, LockScope::Named{"x"})));
    EXPECT_TRUE(guard->release());
}

TEST_F(SetOfServer, ARequestMayWaitAlthoughOthersWaitForIt) {
    const auto ask = [](const char* name, const char* who) {
        LeaseRequest request = of_waiter(named(name, who), who);
        request.on_deadlock = OnDeadlock::tell;
        return request;
    };
    const auto a = client_.try_acquire(ask("a", "ann"));
    const auto b = client_.try_acquire(ask("b", "bob"));
    ASSERT_TRUE(a && b);
    auto ann = acquire_later(ask("b", "ann"));
    auto bob = acquire_later(ask("a", "bob"));
    ASSERT_TRUE(waits("a"));
    ASSERT_TRUE(waits("b"));
    ASSERT_TRUE(client_.release(*a));
    EXPECT_TRUE(bob.get());
    ASSERT_TRUE(client_.release(*b));
    EXPECT_TRUE(ann.get());
}

}  // namespace
}  // namespace holdfast::sdk::testing
