#include "doors/terraform/lock_info.h"

#include <gtest/gtest.h>

#include "service/doors.h"

namespace holdfast::doors::terraform {
namespace {

const std::string info =
    R"({"ID":"6c1d","Operation":"OperationTypeApply","Info":"","Who":"ann@box","Version":"1.11.4",)"
    R"("Created":"2026-01-15T10:30:00.5Z","Path":""})";

TEST(LockInfo, IsKeptAsItCame) {
    const auto read = read_lock_info(info);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->id, "6c1d");
    EXPECT_EQ(read->json, info);
    EXPECT_EQ(read_lock_info("\n{ \"ID\" : \"x\",\n \"More\": [1, true] }\n")->json,
              R"({"ID":"x","More":[1,true]})");
}

TEST(LockInfo, WithoutAnIdIsRefused) {
    for (const char* body :
         {"", "x", "[]", "\"ID\"", "{}", R"({"ID":""})", R"({"ID":7})", R"({"id":"x"})",
          R"({"ID":"x","ID":"x"})", R"({"ID":"x"} {)", R"({"ID":"x")"}) {
        EXPECT_FALSE(read_lock_info(body)) << body;
    }
}

TEST(LockInfo, OfAHolderIsWhatTheHolderHasSent) {
    const service::ManualClock clock{service::WallTime{std::chrono::seconds{1'768'473'000}}};
    const core::LeaseView lease{.owner = {.door = service::terraform_door, .name = "6c1d"},
                                .notes = {.request_id = {}, .metadata = info}};
    EXPECT_EQ(describe_holder(lease, clock), info);
}

TEST(LockInfo, OfAHolderAtAnotherDoorIsMadeUp) {
    const service::ManualClock clock{service::WallTime{std::chrono::seconds{1'768'473'000}}};
    const core::LeaseView lease{.scope = core::Scope::named("prod"),
                                .owner = {.door = service::lockserver_door, .name = "w\"1"},
                                .token = {.fence = core::Fence{42}},
                                .acquired_at = clock.now(),
                                .notes = {.request_id = {}, .metadata = "nightly run"}};
    EXPECT_EQ(
        describe_holder(lease, clock),
        R"({"ID":"fence-42","Operation":"","Info":"held at the lockserver door: nightly run",)"
        R"("Who":"w\"1","Version":"","Created":"2026-01-15T10:30:00Z","Path":"prod"})");
}

TEST(LockInfo, OfAClientThatWaitsSaysSo) {
    const service::ManualClock clock{service::WallTime{std::chrono::seconds{1'768'473'000}}};
    const core::LeaseView wanted{.scope = core::Scope::named("prod"),
                                 .owner = {.door = service::scoped_door, .name = "w1"},
                                 .acquired_at = clock.now()};
    EXPECT_EQ(describe_holder(wanted, clock),
              R"({"ID":"fence-0","Operation":"","Info":"awaited at the scoped door",)"
              R"("Who":"w1","Version":"","Created":"2026-01-15T10:30:00Z","Path":"prod"})");
}

}  // namespace
}  // namespace holdfast::doors::terraform
