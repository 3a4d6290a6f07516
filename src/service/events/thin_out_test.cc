#include "service/events/thin_out.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "service/lock_service.h"
#include "service/test_service.h"

namespace holdfast::service::testing {
namespace {

using core::EventKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

core::Event of_lease(EventKind kind, std::uint64_t fence, bool has_new_terms = false) {
    core::Event event{.kind = kind, .has_new_terms = has_new_terms};
    event.lease.token.fence = core::Fence{fence};
    return event;
}
core::Event of_wait(EventKind kind, std::uint64_t serial) {
    return {.kind = kind, .waiter = {.serial = serial}};
}
core::Event of_session(EventKind kind, std::uint64_t serial) {
    core::Event event{.kind = kind};
    event.lease.session.serial = serial;
    return event;
}

// What is left, by the places of the events before.
std::vector<std::size_t> left_of(std::vector<core::Event> events) {
    core::Changes changes;
    for (std::size_t place = 0; place < events.size(); ++place) {
        events[place].queue_length = place;
        changes.add(events[place]);
    }
    thin_out(changes);
    std::vector<std::size_t> left;
    for (const core::Event& event : changes) left.push_back(event.queue_length);
    return left;
}

TEST(ThinOut, KeepsTheLastRenewalOfEachLease) {
    EXPECT_THAT(left_of({of_lease(EventKind::renewed, 1), of_lease(EventKind::renewed, 2),
                         of_lease(EventKind::renewed, 1), of_lease(EventKind::renewed, 1)}),
                ElementsAre(1, 3));
}

TEST(ThinOut, KeepsNoRenewalOfALeaseThatHasEnded) {
    EXPECT_THAT(left_of({of_lease(EventKind::granted, 1), of_lease(EventKind::renewed, 1),
                         of_lease(EventKind::released, 1), of_lease(EventKind::renewed, 2),
                         of_lease(EventKind::expired, 2)}),
                ElementsAre(0, 2, 4));
}

TEST(ThinOut, KeepsWhatMustBeCommitted) {
    EXPECT_THAT(left_of({of_lease(EventKind::renewed, 1, true), of_lease(EventKind::renewed, 1),
                         of_lease(EventKind::renewed, 1), of_lease(EventKind::released, 1)}),
                ElementsAre(0, 3));
}

TEST(ThinOut, DropsWaitsAndSessionsThatBeganAndEnded) {
    EXPECT_THAT(
        left_of({of_wait(EventKind::queued, 1), of_session(EventKind::session_opened, 2),
                 of_wait(EventKind::queued, 3), of_wait(EventKind::wait_timed_out, 1),
                 of_session(EventKind::session_ended, 2), of_wait(EventKind::wait_cancelled, 3)}),
        IsEmpty());
}

TEST(ThinOut, KeepsWaitsAndSessionsThatBeganOrEndedOnly) {
    EXPECT_THAT(
        left_of({of_wait(EventKind::queued, 1), of_session(EventKind::session_opened, 2),
                 of_wait(EventKind::wait_timed_out, 3), of_session(EventKind::session_ended, 4)}),
        ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(left_of({of_wait(EventKind::queued, 1), of_wait(EventKind::granted, 1)}),
                ElementsAre(0, 1));
}

TEST(StalledCommit, RenewalsDoNotFillTheMemory) {
    TestService at(Durability::full);
    at.store.commits_at_once = true;
    core::Token token;
    EXPECT_EQ(at.service.submit(take("laptop1")), nullptr);
    at.service.await(
        answer_by([&token](const Response& response) { token = response.outcome.lease.token; }));
    at.executor.settle();
    at.store.commits_at_once = false;
    at.ask(take("laptop2", "other"));
    at.executor.settle();
    at.events.clear();
    for (int i = 0; i < 500'000; ++i) {
        ASSERT_EQ(at.ask(core::RenewRequest{.token = token}), "renewed laptop1");
        at.executor.end_turn();
    }
    EXPECT_THAT(at.events, IsEmpty()) << "they came after something that is not on disk";
    at.store.finish();
    at.executor.settle();
    EXPECT_LE(at.events.size(), 70'000U);
    EXPECT_EQ(at.events.front(), "granted laptop2");
    EXPECT_EQ(at.events.back(), "renewed laptop1");
}

}  // namespace
}  // namespace holdfast::service::testing
