#include "service/books/request_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace holdfast::service {
namespace {

using namespace std::chrono_literals;
using core::EventKind;
using State = RequestMemory::Known::State;

constexpr core::Time now{};

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
    EXPECT_EQ(memory.find(ask("r1"), {}, now), nullptr);
    memory.on_event(happen(EventKind::queued, ask("r1")));
    ASSERT_NE(memory.find(ask("r1"), {}, now), nullptr);
    EXPECT_EQ(memory.find(ask("r1"), {}, now)->state, State::waiting);
    EXPECT_EQ(memory.find(ask("r1"), {}, now)->waiter.serial, 3U);
    memory.on_event(happen(EventKind::granted, ask("r1")));
    EXPECT_EQ(memory.find(ask("r1"), {}, now)->state, State::held);
    EXPECT_EQ(memory.find(ask("r1"), {}, now)->token.fence, core::Fence{7});
    memory.on_event(happen(EventKind::released, ask("r1")));
    EXPECT_EQ(memory.find(ask("r1"), {}, now)->state, State::ended);
}

TEST(RequestMemory, KnowsAnIdOnlyOfItsOwnerAndLock) {
    RequestMemory memory;
    memory.on_event(happen(EventKind::granted, ask("r1")));
    EXPECT_EQ(memory.find(ask("r1", "b"), {}, now), nullptr);
    EXPECT_EQ(memory.find(ask("r1", "a", "other"), {}, now), nullptr);
    EXPECT_EQ(memory.find(ask("r2"), {}, now), nullptr);
    EXPECT_EQ(memory.find(ask(""), {}, now), nullptr);
}

TEST(RequestMemory, KnowsAnIdOnlyOfItsAccessToken) {
    RequestMemory memory;
    const auto by = [](core::Event event, std::string_view token, std::uint64_t number) {
        event.by = token;
        event.lease.token.fence = core::Fence{number};
        event.waiter.serial = number;
        return event;
    };
    const auto fence_of = [&](std::string_view token) {
        const RequestMemory::Known* const known = memory.find(ask("r1"), token, now);
        return known == nullptr ? 0 : core::as_number(known->token.fence);
    };
    memory.on_event(by(happen(EventKind::granted, ask("r1")), "ci", 1));
    EXPECT_EQ(fence_of("ci"), 1U);
    EXPECT_EQ(fence_of("cd"), 0U);
    EXPECT_EQ(fence_of("http@192.0.2.7"), 0U) << "a client without a token";
    memory.on_event(by(happen(EventKind::queued, ask("r1")), "cd", 2));
    memory.on_event(by(happen(EventKind::granted, ask("r1")), "cd", 2));
    EXPECT_EQ(memory.size(), 2U);
    EXPECT_EQ(fence_of("cd"), 2U);
    EXPECT_EQ(fence_of("ci"), 1U);
    // Whoever ends a lease: the id stays that of the token that was granted it.
    memory.on_event(by(happen(EventKind::released, ask("r1")), "cd", 1));
    EXPECT_EQ(memory.find(ask("r1"), "ci", now)->state, State::ended);
    EXPECT_EQ(memory.find(ask("r1"), "cd", now)->state, State::held);
    memory.on_event(by(happen(EventKind::queued, ask("r2")), "cd", 3));
    memory.on_event(by(happen(EventKind::queued, ask("r2")), "ci", 4));
    memory.on_event(by(happen(EventKind::wait_cancelled, ask("r2")), "", 3));
    EXPECT_EQ(memory.find(ask("r2"), "cd", now), nullptr);
    EXPECT_EQ(memory.find(ask("r2"), "ci", now)->waiter.serial, 4U);
}

TEST(RequestMemory, AnIdOfNoAccessTokenBelongsToEverybody) {
    RequestMemory memory;
    core::Event grant = happen(EventKind::granted, ask("r1"));
    grant.by = "http@192.0.2.7";
    memory.on_event(grant);
    for (const char* by : {"", "http@192.0.2.8", "ci"}) {
        EXPECT_NE(memory.find(ask("r1"), by, now), nullptr) << by;
    }
    core::RestoreRequest restored{ask("r2")};
    restored.by = "ci";
    memory.on_restored(restored);
    EXPECT_NE(memory.find(ask("r2"), "ci", now), nullptr);
    EXPECT_EQ(memory.find(ask("r2"), "cd", now), nullptr);
    EXPECT_EQ(memory.find(ask("r2"), "", now), nullptr);
}

// Texts chosen so that they would run together.
TEST(RequestMemory, TellsNamesApartThatLookAlikeWhenJoined) {
    RequestMemory memory;
    memory.on_event(happen(EventKind::granted, ask("r", "a:named:b", "c")));
    EXPECT_EQ(memory.find(ask("r", "a", "b:named:c"), {}, now), nullptr);
    EXPECT_EQ(memory.find(ask("c:r", "a:named:b", "c"), {}, now), nullptr);
}

TEST(RequestMemory, ForgetsWhatWaitedInVain) {
    RequestMemory memory;
    for (const EventKind end : {EventKind::wait_timed_out, EventKind::wait_cancelled}) {
        memory.on_event(happen(EventKind::queued, ask("r1")));
        memory.on_event(happen(end, ask("r1")));
        EXPECT_EQ(memory.find(ask("r1"), {}, now), nullptr);
    }
    EXPECT_EQ(memory.size(), 0U);
}

// Nothing happens in between: an old id is unknown all the same.
TEST(RequestMemory, ForgetsAnEndedRequestAfterTenMinutesWhateverHappensMeanwhile) {
    RequestMemory memory;
    memory.on_event(happen(EventKind::granted, ask("r2")));
    memory.on_event(happen(EventKind::expired, ask("r1"), core::Time{1s}));
    EXPECT_NE(memory.find(ask("r1"), {}, core::Time{10min + 1s - 1us}), nullptr);
    EXPECT_EQ(memory.find(ask("r1"), {}, core::Time{10min + 1s}), nullptr);
    EXPECT_NE(memory.find(ask("r2"), {}, core::Time{24h}), nullptr) << "it is held";
}

TEST(RequestMemory, SaysWhenThereIsSomethingToRemove) {
    RequestMemory memory;
    EXPECT_EQ(memory.next_removal(), std::nullopt);
    memory.on_event(happen(EventKind::granted, ask("r1")));
    EXPECT_EQ(memory.next_removal(), std::nullopt) << "it is held";
    memory.on_event(happen(EventKind::released, ask("r1"), core::Time{1s}));
    memory.on_event(happen(EventKind::released, ask("r2"), core::Time{30s}));
    EXPECT_EQ(memory.next_removal(), core::Time{11min + 1s});
    memory.forget_old(core::Time{10min + 29s});
    EXPECT_EQ(memory.size(), 1U);
    EXPECT_EQ(memory.next_removal(), core::Time{11min + 30s});
    memory.forget_old(core::Time{11min + 30s});
    EXPECT_EQ(memory.size(), 0U);
    EXPECT_EQ(memory.ended_bytes(), 0U);
    EXPECT_EQ(memory.next_removal(), std::nullopt);
}

// The id was used again after it had been forgotten, and before its record was removed.
TEST(RequestMemory, ARemovalDoesNotTouchANewerRequestOfTheSameId) {
    RequestMemory memory;
    memory.on_event(happen(EventKind::released, ask("r1"), core::Time{1s}));
    core::Event again = happen(EventKind::granted, ask("r1"), core::Time{10min + 1s});
    again.lease.token = {.fence = core::Fence{8}};
    memory.on_event(again);
    memory.forget_old(core::Time{24h});
    ASSERT_NE(memory.find(ask("r1"), {}, core::Time{24h}), nullptr);
    EXPECT_EQ(memory.find(ask("r1"), {}, core::Time{24h})->state, State::held);
}

TEST(RequestMemory, KeepsNoMoreBytesOfEndedRequestsThanItMay) {
    RequestMemory memory;
    const std::string owner(1024, 'o'), job(4096, 'j');
    constexpr std::size_t count = 20'000;  // of which each takes more than 10 000 bytes
    for (std::size_t i = 0; i < count; ++i) {
        const std::string id = std::to_string(i);
        memory.on_event(happen(EventKind::released, ask(id, owner, job)));
    }
    EXPECT_LE(memory.ended_bytes(), RequestMemory::ended_bytes_max);
    EXPECT_LE(memory.size(), RequestMemory::ended_bytes_max / 10'000);
    EXPECT_EQ(memory.find(ask("0", owner, job), {}, now), nullptr);
    EXPECT_NE(memory.find(ask(std::to_string(count - 1), owner, job), {}, now), nullptr);
}

TEST(RequestMemory, KeepsNoMoreEndedRequestsThanItMay) {
    RequestMemory memory;
    for (std::size_t i = 0; i < RequestMemory::ended_max + 5; ++i) {
        const std::string id = std::to_string(i);
        memory.on_event(happen(EventKind::released, ask(id)));
    }
    EXPECT_EQ(memory.size(), RequestMemory::ended_max);
    EXPECT_EQ(memory.find(ask("4"), {}, now), nullptr);
    EXPECT_NE(memory.find(ask("5"), {}, now), nullptr);
}

// A key is made of all texts of a lease. Most events are renewals: one that changes nothing must not pay for that.
TEST(RequestMemory, ReadsNoTextsOfALeaseThatIsRenewed) {
    constexpr std::size_t size = 4096;
    void* const page = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    const std::string_view unreadable(static_cast<const char*>(page), size);
    RequestMemory memory;
    for (const EventKind kind :
         {EventKind::renewed, EventKind::grace_ended, EventKind::value_set}) {
        memory.on_event(happen(kind, ask("r1", unreadable, unreadable)));
    }
    EXPECT_EQ(memory.size(), 0U);
    ::munmap(page, size);
}

TEST(RequestMemory, KnowsRestoredLeases) {
    RequestMemory memory;
    core::RestoreRequest lease{{.scope = core::Scope::named("job"), .owner = {.name = "a"}}};
    lease.token.fence = core::Fence{9};
    lease.notes.request_id = "r1";
    memory.on_restored(lease);
    ASSERT_NE(memory.find(ask("r1"), {}, now), nullptr);
    EXPECT_EQ(memory.find(ask("r1"), {}, now)->token.fence, core::Fence{9});
    lease.notes.request_id = "r2";
    lease.is_in_grace = true;
    memory.on_restored(lease);
    EXPECT_EQ(memory.find(ask("r2"), {}, now), nullptr);
}

}  // namespace
}  // namespace holdfast::service
