// What becomes of requests whose client has lost a right since they began, and of those with an id that
// another access token has used.

#include <gmock/gmock.h>

#include "service/lock_service.h"
#include "service/ports/remote_port.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// `holder` holds the job.
struct Rights : TestService {
    explicit Rights(Durability durability = Durability::none) : TestService(durability) {
        store.commits_at_once = true;
        ask(take("holder"), "holder: ");
        executor.settle();
        take_notes();
    }

    // The client with these rights loses the right to the job.
    std::size_t withdraw() {
        rights->lost.insert("job");
        const std::size_t ended = service.end_waits_without_right();
        executor.settle();
        return ended;
    }
    void release() {
        ask(give_back("holder"));
        executor.settle();
    }

    const std::shared_ptr<TestRights> rights = std::make_shared<TestRights>();
    const Asker ci{.by = "ci", .allowed = rights};
};

TEST(RightsOfWaits, AWaitWithoutARightIsRefusedAndTheNextOneIsServed) {
    for (const Durability durability : {Durability::none, Durability::full}) {
        Rights at(durability);
        EXPECT_EQ(at.ask(wait_for("withdrawn"), "withdrawn: ", at.ci), "later");
        EXPECT_EQ(at.ask(wait_for("other"), "other: "), "later");
        EXPECT_EQ(at.service.end_waits_without_right(), 0U) << "it still has the right";
        EXPECT_EQ(at.withdraw(), 1U);
        EXPECT_THAT(at.take_notes(), ElementsAre("withdrawn: refused denied"));
        EXPECT_EQ(at.service.end_waits_without_right(), 0U) << "once";
        at.release();
        EXPECT_THAT(at.take_notes(), Contains("other: granted other"));
    }
}

TEST(RightsOfWaits, AnAnswerNamesTheFirstScopeWithoutARight) {
    Rights at;
    const std::vector<core::SetMember> both{{.scope = core::Scope::path("/free")},
                                            {.scope = core::Scope::named("job")}};
    core::AcquireRequest set = wait_for("withdrawn");
    set.scope = both[0].scope;
    set.members = both;
    ASSERT_EQ(at.service.submit(set, "ci", at.rights), nullptr);
    std::string denied;
    at.service.await(answer_by(
        [&](const Response& response) { denied = core::to_text(response.outcome.lease.scope); }));
    EXPECT_EQ(at.withdraw(), 1U);
    EXPECT_EQ(denied, "job");
    EXPECT_EQ(at.ask(take("other", "/free")), "granted other") << "the set waits for nothing";
}

// Neither its queued first half nor its second half.
TEST(RightsOfWaits, AnEntryThatWaitsWithoutAConnectionIsNotGranted) {
    for (const bool waits : {false, true}) {
        Rights at;
        core::SessionId session;
        ask(at.service, OpenSession{.owner = {.name = "withdrawn"}},
            [&](const Response& response) { session = response.session; });
        core::AcquireRequest entry = take("withdrawn");
        entry.session = session;
        EXPECT_EQ(at.ask(Enqueue{.request = entry}, "", at.ci), "queued");
        const Wait second_half{.session = session, .scope = entry.scope, .timeout = 1h};
        if (waits) {
            EXPECT_EQ(at.ask(second_half, "wait: ", at.ci), "later");
        }
        EXPECT_EQ(at.withdraw(), 1U);
        at.release();
        EXPECT_EQ(at.service.counts().leases, 0U) << "nothing is granted";
        if (waits) {
            EXPECT_THAT(at.take_notes(), ElementsAre("wait: refused denied"));
        }
    }
}

TEST(RightsOfWaits, APlaceThatIsKeptIsNotGranted) {
    Rights at;
    core::AcquireRequest endless = take("holder");
    endless.ttl = 24h;
    at.release();
    at.ask(endless);
    EXPECT_EQ(at.ask(with_id(wait_for("withdrawn"), "r1"), "withdrawn: ", at.ci), "later");
    at.advance(WaitLimits{}.answer_max);
    EXPECT_THAT(at.take_notes(), ElementsAre("withdrawn: refused still_waiting"));
    EXPECT_EQ(at.withdraw(), 1U);
    at.release();
    EXPECT_EQ(at.service.counts().leases, 0U);
    at.advance(WaitLimits{}.place_kept);
    EXPECT_THAT(at.take_notes(), IsEmpty());
}

// What was free before the right ended, at a time when nobody looked.
TEST(RightsOfWaits, WhatWasDueBeforeHappensFirst) {
    Rights at;
    EXPECT_EQ(at.ask(wait_for("withdrawn"), "withdrawn: ", at.ci), "later");
    at.clock.advance(30s);  // the lease of the holder ends
    EXPECT_EQ(at.withdraw(), 0U);
    EXPECT_THAT(at.take_notes(), ElementsAre("withdrawn: granted withdrawn"));
}

TEST(RightsOfWaits, ARequestThatComesFromAnotherThreadTooLateIsRefused) {
    Rights at;
    ManualExecutor here;
    RemotePort port(here, at.executor, at.service);
    Notes notes;
    const auto ask_there = [&](const Request& request) {
        EXPECT_EQ(port.submit(request, "ci", at.rights), nullptr);
        port.await(std::make_unique<NotedAnswer>(notes, ""));
    };
    const auto settle = [&] {
        for (int round = 0; round < 3; ++round) {
            here.settle();
            at.executor.settle();
        }
    };
    ask_there(take("withdrawn", "free"));
    settle();
    EXPECT_THAT(notes, ElementsAre("granted withdrawn"));
    ask_there(wait_for("withdrawn"));
    ask_there(take("withdrawn", "also free"));
    here.settle();  // they are on their way
    at.rights->lost = {"job", "also free"};
    at.service.end_waits_without_right();
    settle();
    EXPECT_THAT(notes, ElementsAre("granted withdrawn", "refused denied", "refused denied"));
}

TEST(RightsOfForce, EndsNothingIfAHolderIsAlsoOnSomethingElse) {
    Rights at;
    const std::vector<core::SetMember> set{{.scope = core::Scope::named("deploy")},
                                           {.scope = core::Scope::named("hidden")}};
    core::AcquireRequest both = take("set", "deploy");
    both.members = set;
    both.is_only_kind = true;
    EXPECT_EQ(at.ask(both), "granted set");
    const auto force = [&](const char* name) {
        const ForceRelease request{.scope = core::Scope::named(name),
                                   .or_else = core::Scope::semaphore(name)};
        const Response* const response = at.service.submit(request, "adm", at.rights);
        if (response->outcome.refusal == core::Refusal::denied) {
            return "denied " + core::to_text(response->outcome.lease.scope);
        }
        return std::to_string(response->count);
    };
    at.rights->lost = {"hidden"};
    EXPECT_EQ(force("deploy"), "denied hidden");
    EXPECT_EQ(at.service.counts().leases, 2U);
    EXPECT_EQ(force("job"), "1");
    at.rights->lost = {};
    EXPECT_EQ(force("deploy"), "1");
    EXPECT_EQ(at.service.counts().leases, 0U);
}

TEST(RequestIds, BelongToTheNameOfTheAccessToken) {
    Rights at;
    core::AcquireRequest wanted = with_id(wait_for("w1"), "r1");
    EXPECT_EQ(at.ask(wanted, "ci: ", {.by = "ci"}), "later");
    EXPECT_EQ(at.ask(wanted, "cd: ", {.by = "cd"}), "later");
    EXPECT_THAT(at.take_notes(), IsEmpty()) << "nobody has lost a place";
    EXPECT_EQ(at.service.counts().waiters, 2U);
    EXPECT_EQ(at.ask(wanted, "again: ", {.by = "ci"}), "later");
    at.executor.settle();
    EXPECT_THAT(at.take_notes(), ElementsAre("ci: refused request_superseded"));
    at.release();
    EXPECT_THAT(at.take_notes(), ElementsAre("again: granted w1"));
    wanted.wait = 0s;
    EXPECT_EQ(at.ask(wanted, "", {.by = "ci"}), "granted w1");
    EXPECT_EQ(at.ask(wanted, "", {.by = "http@192.0.2.7"}), "refused held");
}

}  // namespace
}  // namespace holdfast::service::testing
