#include "service/request_memory.h"

#include <gtest/gtest.h>

namespace holdfast::service {
namespace {

using namespace std::chrono_literals;
using core::EventKind;
using State = RequestMemory::Known::State;

core::AcquireRequest ask(std::string_view id, std::string_view owner = "a",
                         std::string_view job = "job") {
    core::AcquireRequest request{.scope = core::Scope::named(job), .owner = {.name = owner}};
    request.notes.request_id = id;
    return request;
}

core::Event happen(EventKind kind, const core::AcquireRequest& request, core::Time at = {}) {
    core::Event event{.kind = kind, .at = at};
    event.lease.scope = request.scope;
    event.lease.owner = request.owner;
    event.lease.notes = request.notes;
    event.lease.token = {.fence = core::Fence{7}};
    event.waiter = {.serial = 3};
    return event;
}

TEST(RequestMemory, FollowsARequestFromItsQueueToItsEnd) {
    RequestMemory memory;
    EXPECT_EQ(memory.find(ask("r1")), nullptr);
    memory.on_event(happen(EventKind::queued, ask("r1")));
    ASSERT_NE(memory.find(ask("r1")), nullptr);
    EXPECT_EQ(memory.find(ask("r1"))->state, State::waiting);
    EXPECT_EQ(memory.find(ask("r1"))->waiter.serial, 3U);
    memory.on_event(happen(EventKind::granted, ask("r1")));
    EXPECT_EQ(memory.find(ask("r1"))->state, State::held);
    EXPECT_EQ(memory.find(ask("r1"))->token.fence, core::Fence{7});
    memory.on_event(happen(EventKind::released, ask("r1")));
    EXPECT_EQ(memory.find(ask("r1"))->state, State::ended);
}

TEST(RequestMemory, KnowsAnIdOnlyOfItsOwnerAndLock) {
    RequestMemory memory;
    memory.on_event(happen(EventKind::granted, ask("r1")));
    EXPECT_EQ(memory.find(ask("r1", "b")), nullptr);
    EXPECT_EQ(memory.find(ask("r1", "a", "other")), nullptr);
    EXPECT_EQ(memory.find(ask("r2")), nullptr);
    EXPECT_EQ(memory.find(ask("")), nullptr);
}

// Texts chosen so that they would run together.
TEST(RequestMemory, TellsNamesApartThatLookAlikeWhenJoined) {
    RequestMemory memory;
    memory.on_event(happen(EventKind::granted, ask("r", "a:named:b", "c")));
    EXPECT_EQ(memory.find(ask("r", "a", "b:named:c")), nullptr);
    EXPECT_EQ(memory.find(ask("c:r", "a:named:b", "c")), nullptr);
}

TEST(RequestMemory, ForgetsWhatWaitedInVain) {
    RequestMemory memory;
    for (const EventKind end : {EventKind::wait_timed_out, EventKind::wait_cancelled}) {
        memory.on_event(happen(EventKind::queued, ask("r1")));
        memory.on_event(happen(end, ask("r1")));
        EXPECT_EQ(memory.find(ask("r1")), nullptr);
    }
    EXPECT_EQ(memory.size(), 0U);
}

TEST(RequestMemory, ForgetsAnEndedRequestAfterAWhile) {
    RequestMemory memory;
    memory.on_event(happen(EventKind::expired, ask("r1"), core::Time{1s}));
    memory.on_event(happen(EventKind::granted, ask("r2"), core::Time{10min}));
    EXPECT_NE(memory.find(ask("r1")), nullptr);
    memory.on_event(happen(EventKind::renewed, ask("r2"), core::Time{10min + 1s}));
    EXPECT_EQ(memory.find(ask("r1")), nullptr);
    EXPECT_NE(memory.find(ask("r2")), nullptr) << "it is held";
}

TEST(RequestMemory, KeepsNoMoreEndedRequestsThanItMay) {
    RequestMemory memory;
    for (std::size_t i = 0; i < RequestMemory::ended_max + 5; ++i) {
        const std::string id = std::to_string(i);
        memory.on_event(happen(EventKind::released, ask(id)));
    }
    EXPECT_EQ(memory.size(), RequestMemory::ended_max);
    EXPECT_EQ(memory.find(ask("4")), nullptr);
    EXPECT_NE(memory.find(ask("5")), nullptr);
}

TEST(RequestMemory, KnowsRestoredLeases) {
    RequestMemory memory;
    core::RestoreRequest lease{.scope = core::Scope::named("job"), .owner = {.name = "a"}};
    lease.token.fence = core::Fence{9};
    lease.notes.request_id = "r1";
    memory.on_restored(lease);
    ASSERT_NE(memory.find(ask("r1")), nullptr);
    EXPECT_EQ(memory.find(ask("r1"))->token.fence, core::Fence{9});
    lease.notes.request_id = "r2";
    lease.is_in_grace = true;
    memory.on_restored(lease);
    EXPECT_EQ(memory.find(ask("r2")), nullptr);
}

}  // namespace
}  // namespace holdfast::service
