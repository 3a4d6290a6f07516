// Requests and deadlines that are about very many leases: who is answered when, and who in between.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

core::AcquireRequest share(std::string_view owner, std::string_view job = "job") {
    core::AcquireRequest request = take(owner, job);
    request.mode = core::Mode::shared;
    return request;
}

// A table that handles a few records in a part.
struct PartsOfWork : ::testing::Test, TestService {
    PartsOfWork() : TestService(Durability::none, {}, {.visits_max = 40}) {}

    // Forty shared leases on one lock.
    void crowd() {
        for (int number = 0; number < 40; ++number) {
            names.push_back("c" + std::to_string(number));
            ASSERT_EQ(ask(share(names.back())), "granted " + names.back());
        }
        executor.settle();
        events.clear();
    }

    std::vector<std::string> names;
};

TEST_F(PartsOfWork, AForcedReleaseIsAnsweredAfterItsLastPart) {
    crowd();
    EXPECT_EQ(ask(ForceRelease{.scope = core::Scope::named("job")}, "force "), "later");
    EXPECT_GT(service.counts().leases, 10U);
    EXPECT_EQ(ask(take("other", "elsewhere")), "granted other") << "others go on in between";
    executor.settle();
    EXPECT_THAT(notes, SizeIs(1));
    EXPECT_EQ(service.counts().leases, 1U);
}

TEST_F(PartsOfWork, TheEndOfASessionGoesOnAlthoughItsClientHasGone) {
    const core::SessionId session = service.submit(OpenSession{})->session;
    for (int number = 0; number < 40; ++number) {
        names.push_back("c" + std::to_string(number));
        core::AcquireRequest request = take("s", names.back());
        request.session = session;
        ask(request);
    }
    EXPECT_EQ(ask(EndSession{.session = session}, "end "), "later");
    service.abandon(promise);
    executor.settle();
    EXPECT_THAT(notes, IsEmpty());
    EXPECT_EQ(service.counts().leases, 0U);
    EXPECT_EQ(service.counts().sessions, 0U);
}

// All forty are over, and few of them were handled: what is asked of the lock is answered as if all
// had been, a little later; and in the order in which it was asked.
TEST_F(PartsOfWork, ARequestOnACrowdedLockWaitsUntilWhatIsDueIsHandled) {
    crowd();
    clock.advance(30s);
    EXPECT_EQ(ask(take("late"), "late "), "later");
    EXPECT_EQ(ask(take("later"), "later "), "later");
    EXPECT_EQ(ask(take("other", "elsewhere")), "granted other");
    EXPECT_THAT(notes, IsEmpty());
    executor.settle();
    EXPECT_THAT(notes, ElementsAre("late granted late", "later refused held"));
    EXPECT_EQ(service.counts().leases, 2U);
}

TEST_F(PartsOfWork, ARequestThatWaitsForTheTableMayBeGivenUp) {
    crowd();
    clock.advance(30s);
    EXPECT_EQ(ask(take("late"), "late "), "later");
    service.abandon(promise);
    executor.settle();
    EXPECT_THAT(notes, IsEmpty());
    EXPECT_EQ(service.counts().leases, 0U);
}

TEST_F(PartsOfWork, AListShowsTheTableWhenItIsNotBehind) {
    crowd();
    clock.advance(30s);
    std::size_t listed = 1;
    ASSERT_EQ(service.submit(ListLeases{}), nullptr);
    service.await(answer_by([&](const Response& response) { listed = response.leases().size(); }));
    executor.settle();
    EXPECT_EQ(listed, 0U);
}

// A request that finds that leases are due ends a part of them, as the timer does, and is counted.
TEST_F(PartsOfWork, WhatARequestFindsDueIsMeasuredToo) {
    crowd();
    clock.advance(30s);
    ask(take("other", "elsewhere"));
    const Response* const measured = service.submit(Measure{});
    ASSERT_NE(measured, nullptr);
    EXPECT_GT(measured->figures().expired, 0U);
    EXPECT_LT(measured->figures().expired, 40U);
}

}  // namespace
}  // namespace holdfast::service::testing
