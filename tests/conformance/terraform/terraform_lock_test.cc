// The lock of a state: who gets it, who may end it, and what the other doors see of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "terraform_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TerraformLock : public ::testing::TestWithParam<std::size_t> {
  protected:
    TerraformHost host_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, TerraformLock, ::testing::Values(1, 3));

TEST_P(TerraformLock, IsOfOneIdAtATime) {
    EXPECT_EQ(host_.say("LOCK " + prod, lock_info("a")), "200 " + lock_info("a"));
    EXPECT_EQ(host_.say("LOCK " + prod, lock_info("a")), "200 " + lock_info("a"));
    EXPECT_EQ(host_.say("LOCK " + prod, lock_info("b")), "423 " + lock_info("a"));
    EXPECT_EQ(host_.say("UNLOCK " + prod, lock_info("b")),
              R"(409 {"error":"the lock has another ID","lock":)" + lock_info("a") + "}");
    EXPECT_EQ(host_.say("UNLOCK " + prod, lock_info("a")), "200 {}");
    EXPECT_EQ(host_.say("UNLOCK " + prod, lock_info("a")), "200 {}");
    EXPECT_EQ(host_.say("LOCK " + prod, lock_info("b")), "200 " + lock_info("b"));
}

TEST_P(TerraformLock, CanBeHadByUsualMethodsToo) {
    EXPECT_EQ(host_.say("POST " + prod + "/lock", lock_info("a")), "200 " + lock_info("a"));
    EXPECT_EQ(host_.say("LOCK " + prod, lock_info("b")), "423 " + lock_info("a"));
    EXPECT_EQ(host_.say("DELETE " + prod + "/lock", lock_info("a")), "200 {}");
    EXPECT_EQ(host_.say("LOCK " + prod, lock_info("b")), "200 " + lock_info("b"));
    EXPECT_EQ(host_.say("DELETE " + prod + "/lock"), "200 {}");
    EXPECT_EQ(host_.say("LOCK " + prod, lock_info("c")), "200 " + lock_info("c"));
}

TEST_P(TerraformLock, HasNoEndAndSurvivesARestart) {
    EXPECT_THAT(host_.say("LOCK " + prod, lock_info("a")), StartsWith("200 "));
    host_.advance(24h * 365 * 20);
    EXPECT_EQ(host_.say("LOCK " + prod, lock_info("b")), "423 " + lock_info("a"));
    host_.restart();
    host_.advance(24h * 365 * 20);
    EXPECT_EQ(host_.say("LOCK " + prod, lock_info("b")), "423 " + lock_info("a"));
    EXPECT_EQ(host_.say("UNLOCK " + prod, lock_info("a")), "200 {}");
    EXPECT_THAT(host_.say("LOCK " + prod, lock_info("b")), StartsWith("200 "));
}

TEST_P(TerraformLock, EndsAfterTheLongestHoldIfThereIsOne) {
    TerraformHost host(GetParam(),
                       [](app::ServeOptions& options) { options.terraform.hold_max = 1h; });
    EXPECT_THAT(host.say("LOCK " + prod, lock_info("a")), StartsWith("200 "));
    host.advance(59min);
    EXPECT_THAT(host.say("POST " + prod + "?ID=a", "{}"), StartsWith("200 "));
    EXPECT_THAT(host.say("LOCK " + prod, lock_info("b")), StartsWith("423 "));
    host.advance(61min);
    EXPECT_EQ(host.say("POST " + prod + "?ID=a", "{}"),
              R"(423 {"error":"the lock with this ID has ended; the state was not changed"})");
    EXPECT_THAT(host.say("LOCK " + prod, lock_info("b")), StartsWith("200 "));
}

TEST_P(TerraformLock, IsTheNamedLockOfTheOtherDoors) {
    EXPECT_THAT(host_.say("LOCK " + prod, lock_info("a")), StartsWith("200 "));
    EXPECT_THAT(host_.say("GET /v1/locks/prod"),
                AllOf(StartsWith("200 "), HasSubstr(R"("held":true)"),
                      HasSubstr(R"("owner_id":"a")"), HasSubstr("ann@box")));
    const std::string acquire = R"({"owner_id":"w1","ttl_ms":60000,"metadata":"nightly"})";
    EXPECT_THAT(host_.say("POST /v1/locks/prod/acquire", acquire), StartsWith("409 "));
    EXPECT_EQ(host_.say("UNLOCK " + prod, lock_info("a")), "200 {}");
    EXPECT_THAT(host_.say("POST /v1/locks/prod/acquire", acquire), StartsWith("200 "));
    const std::string held = host_.say("LOCK " + prod, lock_info("a"));
    EXPECT_THAT(held, AllOf(StartsWith(R"(423 {"ID":"fence-)"), HasSubstr(R"("Who":"w1")"),
                            HasSubstr(R"("Info":"held at the lockserver door: nightly")"),
                            HasSubstr(R"("Created":"2024-01-15T10:30:00Z")")));
    EXPECT_THAT(host_.say("UNLOCK " + prod),
                AllOf(StartsWith("409 "), HasSubstr("holdfast force-unlock")));
    EXPECT_THAT(host_.say("POST " + prod, "{}"), StartsWith("423 "));
    host_.advance(60s);
    EXPECT_THAT(host_.say("POST " + prod, "{}"), StartsWith("200 "));
}

TEST_P(TerraformLock, OfASemaphoreIsRefusedWithAnId) {
    EXPECT_THAT(
        host_.say("POST /v1/locks/prod/acquire", R"({"owner_id":"w1","ttl_ms":60000,"limit":3})"),
        StartsWith("200 "));
    EXPECT_THAT(host_.say("LOCK " + prod, lock_info("a")), StartsWith(R"(423 {"ID":"fence-)"));
}

TEST_P(TerraformLock, IsForcedOpenByAdminsOnlyWhereThereAreTokens) {
    const files::testing::TemporaryFolder folder;
    std::ofstream(folder / "admin") << "root\n";
    TerraformHost host(GetParam(), [&](app::ServeOptions& options) {
        options.auth_token = "user";
        options.admin_token_file = folder / "admin";
    });
    const std::string user = "Authorization: Basic eDp1c2Vy\r\n";   // x:user
    const std::string admin = "Authorization: Basic eDpyb290\r\n";  // x:root
    EXPECT_EQ(host.ask("LOCK " + prod, lock_info("a")).status, 401);
    EXPECT_EQ(host.ask("POST " + prod, "{}").status, 401);
    EXPECT_EQ(host.ask("GET " + prod).status, 401);
    EXPECT_EQ(host.ask("LOCK " + prod, lock_info("a"), user).status, 200);
    const auto refused = host.ask("UNLOCK " + prod, "", user);
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.body, HasSubstr("needs the admin token"));
    EXPECT_EQ(host.ask("LOCK " + prod, lock_info("b"), user).status, 423);
    EXPECT_EQ(host.ask("UNLOCK " + prod, "", admin).status, 200);
    EXPECT_EQ(host.ask("LOCK " + prod, lock_info("b"), user).status, 200);
    EXPECT_EQ(host.ask("UNLOCK " + prod, lock_info("b"), user).status, 200);
}

}  // namespace
}  // namespace holdfast::conformance
