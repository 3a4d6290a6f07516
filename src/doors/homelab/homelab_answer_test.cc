#include "doors/homelab/homelab_answer.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::doors::homelab {
namespace {

using namespace std::chrono_literals;
using core::Outcome;
using core::Refusal;

// 2024-01-15T10:30:00Z is the engine's time zero.
const service::ManualClock test_clock{
    service::WallTime{std::chrono::sys_days{std::chrono::January / 15 / 2024} + 10h + 30min}};

HomelabRequest request_of(Action action, std::string client = "laptop1") {
    return {.action = action, .job = "default", .client = std::move(client), .ttl = {}};
}

core::LeaseView lease_of(std::string_view owner, core::LeaseState state = core::LeaseState::held) {
    return {.owner = {.name = owner},
            .state = state,
            .expires_at = core::Time{30s},
            .grace_until = core::Time{35s}};
}

// The status and the body, as `200 {...}`.
std::string answer(const HomelabRequest& request, const service::Response& response) {
    std::string body;
    const int status = append_answer(body, request, response, test_clock);
    return std::to_string(status) + " " + body;
}

std::string acquire(const Outcome& outcome) {
    return answer(request_of(Action::acquire), {.outcome = outcome});
}

std::string refuse(Refusal refusal) {
    return acquire(Outcome::refuse(refusal));
}

TEST(HomelabAnswer, ToAnAcquire) {
    EXPECT_EQ(acquire({.kind = Outcome::Kind::granted, .lease = lease_of("laptop1")}),
              R"(200 {"success":true,"job":"default","holder":"laptop1","message":"acquired",)"
              R"("expires_at":"2024-01-15T10:30:30Z"})"
              "\n");
    EXPECT_EQ(acquire({.kind = Outcome::Kind::renewed, .lease = lease_of("laptop1")}),
              R"(200 {"success":true,"job":"default","holder":"laptop1","message":"renewed",)"
              R"("expires_at":"2024-01-15T10:30:30Z"})"
              "\n");
    EXPECT_EQ(acquire({.kind = Outcome::Kind::granted,
                       .lease = lease_of("laptop1"),
                       .previous_owner = "laptop2"}),
              R"(200 {"success":true,"job":"default","holder":"laptop1",)"
              R"("message":"acquired from laptop2","expires_at":"2024-01-15T10:30:30Z"})"
              "\n");
}

TEST(HomelabAnswer, ToAnAcquireOfWhatWasItsOwn) {
    EXPECT_EQ(acquire({.kind = Outcome::Kind::granted,
                       .lease = lease_of("laptop1"),
                       .previous_owner = "laptop1"}),
              R"(200 {"success":true,"job":"default","holder":"laptop1","message":"renewed",)"
              R"("expires_at":"2024-01-15T10:30:30Z"})"
              "\n");
}

TEST(HomelabAnswer, ToAnAcquireThatSomebodyIsInTheWayOf) {
    EXPECT_EQ(acquire({.refusal = Refusal::held, .lease = lease_of("laptop2")}),
              R"(409 {"success":false,"job":"default","holder":"laptop2",)"
              R"("message":"held by another client","expires_at":"2024-01-15T10:30:30Z"})"
              "\n");
    EXPECT_EQ(acquire({.refusal = Refusal::in_grace, .lease = lease_of("laptop2")}),
              R"(409 {"success":false,"job":"default","holder":"laptop2",)"
              R"("message":"grace period active","error":"grace period active",)"
              R"("expires_at":"2024-01-15T10:30:30Z","grace_until":"2024-01-15T10:30:35Z"})"
              "\n");
}

// The lock is part of a set that another client waits for.
TEST(HomelabAnswer, ToAnAcquireBehindAnotherWait) {
    core::LeaseView waiter = lease_of("w1");
    waiter.ttl = core::endless;
    EXPECT_EQ(acquire({.refusal = Refusal::held, .lease = waiter, .is_behind_waiter = true}),
              R"(409 {"success":false,"job":"default","holder":"w1",)"
              R"("message":"another client waits for it already"})"
              "\n");
}

TEST(HomelabAnswer, ToAnAcquireBeyondALimit) {
    const auto expected = [](const std::string& status, const std::string& error) {
        return status + R"( {"success":false,"job":"default","holder":"","message":")" + error +
               R"(","error":")" + error + "\"}\n";
    };
    EXPECT_EQ(refuse(Refusal::ttl_out_of_range), expected("400", "ttl out of range"));
    EXPECT_EQ(refuse(Refusal::key_length_max), expected("400", "job is too long"));
    EXPECT_EQ(refuse(Refusal::name_not_utf8), expected("400", "job is not UTF-8"));
    EXPECT_EQ(refuse(Refusal::owner_length_max), expected("400", "client is too long"));
    EXPECT_EQ(refuse(Refusal::locks_max), expected("503", "too many locks on this server"));
    EXPECT_EQ(refuse(Refusal::leases_max), expected("503", "too many leases on this server"));
    EXPECT_EQ(refuse(Refusal::other_kind),
              expected("409", "this name is a semaphore at the moment"));
}

TEST(HomelabAnswer, ToARelease) {
    const HomelabRequest request = request_of(Action::release);
    EXPECT_EQ(answer(request, {.outcome = {.kind = Outcome::Kind::released}}),
              R"(200 {"success":true,"job":"default","holder":"","message":"lock released"})"
              "\n");
    service::Response refused{.outcome = Outcome::refuse(Refusal::unknown_lease)};
    const auto held_by = [](const std::string& holder) {
        return R"(403 {"success":false,"job":"default","holder":")" + holder +
               R"(","message":"client does not hold the lock",)"
               R"("error":"client does not hold the lock"})"
               "\n";
    };
    EXPECT_EQ(answer(request, refused), held_by(""));
    const auto details = std::make_shared<service::Details>();
    refused.details = details;
    details->locks.emplace_back();
    EXPECT_EQ(answer(request, refused), held_by(""));
    details->locks[0].lapsed = lease_of("laptop1", core::LeaseState::lapsed);
    EXPECT_EQ(answer(request, refused), held_by("laptop1")) << "until somebody else takes it";
    details->locks[0].holders.push_back(lease_of("laptop3"));
    EXPECT_EQ(answer(request, refused), held_by("laptop3"));
}

TEST(HomelabAnswer, ToAStatus) {
    const HomelabRequest request = request_of(Action::status, "");
    EXPECT_EQ(answer(request, {}),
              R"(200 {"success":true,"job":"default","holder":"","message":"no lock held",)"
              R"("is_expired":true})"
              "\n");
    const std::string shown =
        R"(200 {"success":true,"job":"default","holder":"laptop1","message":"lock held",)"
        R"("expires_at":"2024-01-15T10:30:30Z","is_expired":)";
    const std::string end = R"(,"grace_until":"2024-01-15T10:30:35Z"})"
                            "\n";
    const auto details = std::make_shared<service::Details>();
    const service::Response response{.details = details};
    core::LockView& lock = details->locks.emplace_back();
    lock.holders.push_back(lease_of("laptop1"));
    EXPECT_EQ(answer(request, response), shown + "false" + end);
    lock.holders[0].state = core::LeaseState::grace;
    EXPECT_EQ(answer(request, response), shown + "true" + end);
    lock.holders.clear();
    lock.lapsed = lease_of("laptop1", core::LeaseState::lapsed);
    EXPECT_EQ(answer(request, response), shown + "true" + end);
}

TEST(HomelabAnswer, WhenTheStoreHasFailed) {
    for (const Action action : {Action::acquire, Action::release, Action::status}) {
        const service::Response response{
            .outcome = {.kind = Outcome::Kind::granted, .lease = lease_of("laptop1")},
            .failure = "disk full"};
        EXPECT_EQ(
            answer(request_of(action), response),
            R"(503 {"success":false,"job":"default","holder":"","message":"disk full","error":"disk full"})"
            "\n");
    }
}

TEST(HomelabAnswer, EscapesNames) {
    HomelabRequest request = request_of(Action::acquire);
    request.job = "a\"b\n";
    EXPECT_EQ(answer(request, {.outcome = {.kind = Outcome::Kind::granted,
                                           .lease = lease_of("\xff\\"),
                                           .previous_owner = "\t"}}),
              R"(200 {"success":true,"job":"a\"b\n","holder":")"
              "\xEF\xBF\xBD"
              R"(\\","message":"acquired from \t","expires_at":"2024-01-15T10:30:30Z"})"
              "\n");
}

TEST(HomelabAnswer, ToWhatCouldNotBeRead) {
    std::string body;
    append_fault(body, {.job = "sync", .error = "invalid \"ttl\""});
    EXPECT_EQ(body, R"({"success":false,"job":"sync","holder":"","message":"invalid \"ttl\"",)"
                    R"("error":"invalid \"ttl\""})"
                    "\n");
}

}  // namespace
}  // namespace holdfast::doors::homelab
