#include "cli/failure.h"

#include <gmock/gmock.h>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::string told(const Failure& failure, Telling telling) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(complain(failure, telling), failure.exit_code);
    const std::string output = ::testing::internal::GetCapturedStdout();
    return output + "|" + ::testing::internal::GetCapturedStderr();
}

LockHeld held() {
    return {.scope = LockScope::Path{"/a"},
            .holder = "w\"1",
            .expires_at = std::chrono::system_clock::time_point{1'700'000'000s},
            .retry_after = 25ms};
}

TEST(Failure, HasACodeOfItsOwn) {
    const LockScope scope = LockScope::Named{"x"};
    const std::pair<LockError, int> rows[] = {
        {held(), exit_not_got},
        {LockHeld{.scope = scope}, exit_not_got},
        {ServerUnavailable{"gone"}, exit_unavailable},
        {NotPermitted{"no"}, exit_not_permitted},
        {InvalidLockRequest{"what"}, exit_usage},
        {LockLimitReached{"full"}, exit_unavailable},
        {LockExpired{}, exit_refused},
        {LockNotFound{}, exit_refused},
        {StaleFence{.resource = "r", .fencing_token = 3, .highest = 4}, exit_refused},
        {LockCancelled{}, exit_refused},
        {LockDeadlock{.scope = scope, .cycle = {}}, exit_not_got},
    };
    for (const auto& [error, exit_code] : rows) {
        EXPECT_EQ(to_failure(error, "x").exit_code, exit_code) << to_text(error);
    }
}

TEST(Failure, IsASentenceForPeople) {
    EXPECT_EQ(told(to_failure(held(), "path:/a"), Telling::sentence),
              "|holdfast: path:/a is held by w\"1 until 2023-11-14T22:13:20.000Z\n");
}

TEST(Failure, KnowsLocksWithoutAnEnd) {
    LockHeld held_for_ever = held();
    held_for_ever.expires_at = std::chrono::system_clock::time_point::max();
    EXPECT_EQ(to_failure(held_for_ever, "x").message, "x is held by w\"1 until it is released");
    EXPECT_EQ(to_text(LockError(held_for_ever)), "path:/a is held by w\"1");
}

TEST(Failure, IsJsonForScripts) {
    EXPECT_EQ(told(to_failure(held(), "path:/a"), Telling::json),
              R"({"error":"LockHeld","scope":"path:/a","holder":"w\"1",)"
              R"("expires_at":"2023-11-14T22:13:20.000Z","retry_after_ms":25,)"
              R"("message":"path:/a is held by w\"1 until 2023-11-14T22:13:20.000Z",)"
              R"("exit_code":75})"
              "\n|");
    const LockError stale = StaleFence{.resource = "r", .fencing_token = 3, .highest = 4};
    EXPECT_THAT(told(to_failure(stale, ""), Telling::json),
                HasSubstr(R"("error":"StaleFence","resource":"r","fencing_token":3,"highest":4)"));
    EXPECT_THAT(told({exit_usage, "what"}, Telling::json_on_standard_error),
                EndsWith("|{\"error\":\"BadRequest\",\"message\":\"what\",\"exit_code\":64}\n"));
}

TEST(Failure, OfADeadlockSaysWhoWaitsForWhom) {
    const LockError error = LockDeadlock{.scope = LockScope::Named{"b"},
                                         .cycle = {{.holder = "ann",
                                                    .waiter = "t1",
                                                    .door = "scoped",
                                                    .waits_for = LockScope::Named{"b"},
                                                    .held_by = "bob",
                                                    .fencing_token = 7},
                                                   {.is_hidden = true}}};
    EXPECT_EQ(
        told(to_failure(error, "b c"), Telling::sentence),
        "|holdfast: waiting for b c would never end: ann waits for bob, who holds b and waits "
        "for ann\n");
    EXPECT_EQ(told(to_failure(error, "b c"), Telling::json),
              R"({"error":"Deadlock","scope":"b","cycle":[{"holder":"ann","waiter":"t1",)"
              R"("door":"scoped","waits_for":"b","held_by":"bob","fencing_token":7},)"
              R"({"hidden":true}],"message":"waiting for b c would never end: ann waits for bob, )"
              R"(who holds b and waits for ann","exit_code":75})"
              "\n|");
}

}  // namespace
}  // namespace holdfast::cli
