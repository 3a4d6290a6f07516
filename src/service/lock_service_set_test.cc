// Several locks at once, and deadlocks, as the service answers them.

#include <gmock/gmock.h>

#include "core/values/cycle.h"
#include "service/events/event_feed.h"
#include "service/events/texts.h"
#include "service/lock_service.h"
#include "service/ports/remote_port.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

const std::vector<core::SetMember> two_jobs{{.scope = core::Scope::named("job")},
                                            {.scope = core::Scope::named("other")}};

// Both jobs, or none.
core::AcquireRequest take_both(std::string_view owner, core::Duration wait = core::Duration{0}) {
    core::AcquireRequest request = take(owner);
    request.members = two_jobs;
    request.wait = wait;
    return request;
}

core::AcquireRequest wait_for_other(std::string_view owner, core::OnDeadlock on_deadlock) {
    core::AcquireRequest request = take(owner, "other");
    request.wait = core::wait_forever;
    request.on_deadlock = on_deadlock;
    return request;
}

TEST(ServiceSet, IsOneLeaseInOneCommit) {
    TestService at(Durability::full);
    EXPECT_EQ(at.ask(take_both("laptop1")), "later");
    at.executor.settle();
    EXPECT_EQ(at.store.commits.size(), 1u);
    at.store.finish();
    at.executor.settle();
    EXPECT_THAT(at.events, ElementsAre("granted laptop1"));
    EXPECT_THAT(at.take_notes(), ElementsAre("granted laptop1"));
    EXPECT_EQ(at.ask(take("laptop2", "other")), "refused held");
}

TEST(ServiceSet, FindsARepeatedRequest) {
    TestService at(Durability::none);
    EXPECT_EQ(at.ask(with_id(take_both("laptop1"), "r1")), "granted laptop1");
    EXPECT_EQ(at.ask(with_id(take_both("laptop1"), "r1")), "granted laptop1");
    EXPECT_EQ(at.service.counts().leases, 1u);
    // The first of the locks alone is another request.
    EXPECT_EQ(at.ask(with_id(take("laptop1"), "r1")), "refused held");
    EXPECT_EQ(at.ask(give_back("laptop1", "other")), "released");
    EXPECT_EQ(at.ask(with_id(take_both("laptop1"), "r1")), "refused request_ended");
}

TEST(ServiceSet, NamesWhoWasInTheWayWhenItsTimeIsOver) {
    TestService at(Durability::none);
    at.ask(take("laptop2", "other"));
    std::string holder;
    EXPECT_EQ(at.service.submit(take_both("laptop1", 5s)), nullptr);
    at.service.await(std::make_unique<NotedAnswer>(at.notes, "", [&](const Response& response) {
        holder = response.outcome.lease.owner.name;
    }));
    at.advance(5s);
    EXPECT_THAT(at.take_notes(), ElementsAre("refused timed_out"));
    EXPECT_EQ(holder, "laptop2");
}

// The set holds nothing while it waits, and is ahead of others in each of its queues.
TEST(ServiceSet, IsNamedToARequestThatTimesOutBehindIt) {
    TestService at(Durability::none);
    at.ask(take("laptop2", "other"));
    at.ask(take_both("laptop1", 1h));
    const core::Scope first = take_both("laptop1").members[0].scope;
    core::AcquireRequest behind = take("laptop3", first.name);
    behind.wait = 5s;
    EXPECT_EQ(at.service.submit(behind), nullptr);
    core::Outcome told;
    std::string waiter;
    at.service.await(std::make_unique<NotedAnswer>(at.notes, "", [&](const Response& response) {
        told = response.outcome;
        waiter = told.lease.owner.name;
    }));
    at.advance(5s);
    EXPECT_THAT(at.take_notes(), ElementsAre("refused timed_out"));
    EXPECT_TRUE(told.is_behind_waiter);
    EXPECT_EQ(waiter, "laptop1");
}

TEST(ServiceSet, ATokenIsGoodForEachMember) {
    TestService at(Durability::none);
    const core::Token token = at.service.submit(take_both("laptop1"))->outcome.lease.token;
    EXPECT_EQ(at.ask(CheckToken{.token = token, .scope = core::Scope::named("other")}),
              "found laptop1");
    EXPECT_EQ(at.ask(CheckToken{.token = token, .scope = core::Scope::named("third")}),
              "refused scope_mismatch");
}

TEST(ServiceSet, TravelsToTheThreadOfTheService) {
    TestService at(Durability::none);
    ManualExecutor here;
    RemotePort port(here, at.executor, at.service);
    {
        // What the request points to is gone when the service sees it.
        std::vector<std::string> names{"a lock with a name of some length", "another such lock"};
        std::vector<core::SetMember> members{{.scope = core::Scope::named(names[0])},
                                             {.scope = core::Scope::named(names[1])}};
        core::AcquireRequest request = take("laptop1", names[0]);
        request.members = members;
        EXPECT_EQ(port.submit(request), nullptr);
        members.clear();
        for (std::string& name : names) name.assign(name.size(), '?');
    }
    std::string members;
    port.await(std::make_unique<NotedAnswer>(
        at.notes, "", [&](const Response& response) { members = response.outcome.lease.members; }));
    here.end_turn();
    at.executor.settle();
    here.settle();
    EXPECT_THAT(at.take_notes(), ElementsAre("granted laptop1"));
    EXPECT_EQ(core::parse_set(members)->at(1).scope.name, "another such lock");
    EXPECT_EQ(at.ask(take("laptop2", "another such lock")), "refused held");
}

TEST(ServiceDeadlock, IsToldCountedAndListed) {
    TestService at(Durability::none);
    at.ask(take("ann"));
    at.ask(take("bob", "other"));
    at.ask(wait_for_other("ann", core::OnDeadlock::refuse), "ann ");
    EXPECT_EQ(at.ask(wait_for("bob"), "bob "), "later");
    at.executor.settle();
    EXPECT_THAT(at.events, Contains("deadlock bob"));
    EXPECT_EQ(at.service.submit(Measure{})->figures().deadlocks, 1u);
    const Response* const listed = at.service.submit(ListDeadlocks{});
    ASSERT_EQ(listed->deadlocks().cycles.size(), 1u);
    EXPECT_EQ(core::describe_cycle(*core::parse_cycle(listed->deadlocks().cycles[0].text)),
              "bob waits for job of ann, ann waits for other of bob");
    at.service.abandon(at.promise);
    EXPECT_TRUE(at.service.submit(ListDeadlocks{})->deadlocks().cycles.empty());
}

TEST(ServiceDeadlock, IsRefusedWithTheCycleOverAnyPort) {
    TestService at(Durability::none);
    ManualExecutor here;
    RemotePort port(here, at.executor, at.service);
    at.ask(take("ann"));
    at.ask(take("bob", "other"));
    at.executor.settle();
    core::AcquireRequest request = wait_for("bob");
    request.on_deadlock = core::OnDeadlock::refuse;
    at.ask(wait_for_other("ann", core::OnDeadlock::refuse), "ann ");
    EXPECT_EQ(port.submit(request), nullptr);
    std::string cycle;
    port.await(std::make_unique<NotedAnswer>(
        at.notes, "bob ", [&](const Response& response) { cycle = response.outcome.cycle; }));
    at.take_notes();
    here.end_turn();
    at.executor.settle();
    here.settle();
    EXPECT_THAT(at.take_notes(), ElementsAre("bob refused deadlock"));
    ASSERT_TRUE(core::parse_cycle(cycle));
    EXPECT_EQ(core::parse_cycle(cycle)->size(), 2u);
    EXPECT_EQ(at.service.counts().waiters, 1u);
}

TEST(ServiceDeadlock, IsInTheFeedWithItsTexts) {
    core::Changes changes;
    core::Event event{.kind = core::EventKind::deadlock};
    const std::string cycle =
        core::cycle_to_text(std::vector<core::CycleMember>{{.owner = {.name = "ann"},
                                                            .waits_for = core::Scope::named("b"),
                                                            .held_by = {.name = "bob"}}});
    event.cycle = cycle;
    event.lease.members = "x1:1:ax1:1:b";
    event.lease.notes.waiter = "thread 7";
    changes.add(event);
    EventFeed feed(1);
    ManualExecutor executor;
    const auto watch = feed.watch(executor, std::nullopt, [] {});
    feed.publish(std::move(changes));
    const auto page = watch->read(10);
    ASSERT_EQ(page.events.size(), 1u);
    changes.clear();  // NOLINT(bugprone-use-after-move): the feed has its own texts
    EXPECT_EQ(page.events[0]->event.cycle, cycle);
    EXPECT_EQ(page.events[0]->event.lease.members, "x1:1:ax1:1:b");
    EXPECT_EQ(page.events[0]->event.lease.notes.waiter, "thread 7");
}

}  // namespace
}  // namespace holdfast::service::testing
