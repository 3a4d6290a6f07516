#include "doors/lockserver/lockserver_answer.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text/hex.h"
#include "core/values/turn_limits.h"
#include "service/doors.h"

namespace holdfast::doors::lockserver {
namespace {

using namespace std::chrono_literals;
using core::Outcome;
using core::Refusal;

// 2024-01-15T10:30:00Z, which is 1705314600 s, is the engine's time zero.
const service::ManualClock test_clock{
    service::WallTime{std::chrono::sys_days{std::chrono::January / 15 / 2024} + 10h + 30min}};

// The status and the body without its newline, as `200 {...}`.
std::string answer(const LockserverRequest& request, const service::Response& response) {
    std::string body;
    const int status = append_answer(body, request, response, test_clock);
    EXPECT_TRUE(body.ends_with('\n'));
    return std::to_string(status) + " " + body.substr(0, body.size() - 1);
}

const Acquire acquire_x{.lock_name = "x", .owner_id = "w1"};
const Renew renew_x{.lock_name = "x", .owner_id = "w1"};
const Release release_x{.lock_name = "x", .owner_id = "w1"};

core::LeaseView lease_of(std::string_view owner) {
    return {.scope = core::Scope::named("x"),
            .owner = {.door = service::lockserver_door, .name = owner},
            .token = {.fence = core::Fence{7}, .secret = core::Secret{0}},
            .expires_at = core::Time{5s},
            .grace_until = core::Time{5s}};
}

std::string refuse(Refusal refusal) {
    return answer(acquire_x, {.outcome = Outcome::refuse(refusal)});
}

TEST(LockserverAnswer, ToAnAcquire) {
    EXPECT_EQ(
        answer(acquire_x, {.outcome = {.kind = Outcome::Kind::granted, .lease = lease_of("w1")}}),
        R"(200 {"acquired":true,"lock_name":"x","owner_id":"w1",)"
        R"("lease_id":"00000000-0000-401c-8000-000000000000","fencing_token":7,)"
        R"("lease_expiry_ms":1705314605000})");
}

TEST(LockserverAnswer, ToAnAcquireThatSomebodyIsInTheWayOf) {
    core::LeaseView lease = lease_of("w2");
    EXPECT_EQ(answer(acquire_x, {.now = core::Time{3s},
                                 .outcome = {.refusal = Refusal::held, .lease = lease}}),
              R"(409 {"acquired":false,"lock_name":"x","current_owner_id":"w2",)"
              R"("current_expiry_ms":1705314605000,"recommended_retry_ms":500,"reason":"HELD"})");
    lease.grace_until = core::Time{9s};
    EXPECT_EQ(answer(acquire_x, {.now = core::Time{6s},
                                 .outcome = {.refusal = Refusal::in_grace, .lease = lease}}),
              R"(409 {"acquired":false,"lock_name":"x","current_owner_id":"w2",)"
              R"("current_expiry_ms":1705314609000,"recommended_retry_ms":750,"reason":"HELD"})");
}

TEST(LockserverAnswer, ToEveryOtherRefusal) {
    const auto reason = [](const std::string& rest) {
        return R"(409 {"acquired":false,"lock_name":"x",)" + rest + "}";
    };
    EXPECT_EQ(refuse(Refusal::timed_out),
              reason(R"("recommended_retry_ms":25,"reason":"WAIT_TIMED_OUT")"));
    EXPECT_EQ(refuse(Refusal::still_waiting),
              reason(R"("recommended_retry_ms":25,"reason":"STILL_WAITING","place_kept_ms":5000)"));
    EXPECT_EQ(refuse(Refusal::stopping),
              reason(R"("recommended_retry_ms":50,"reason":"BUSY_RETRY")"));
    EXPECT_EQ(refuse(Refusal::limit_mismatch), reason(R"("reason":"LIMIT_MISMATCH")"));
    EXPECT_EQ(refuse(Refusal::request_ended), reason(R"("reason":"REQUEST_ENDED")"));
    EXPECT_EQ(refuse(Refusal::request_superseded), reason(R"("reason":"REQUEST_SUPERSEDED")"));
    EXPECT_EQ(refuse(Refusal::key_length_max), R"(400 {"error":"lock_name is too long"})");
    EXPECT_EQ(refuse(Refusal::name_not_utf8), R"(400 {"error":"lock_name is not UTF-8"})");
    EXPECT_EQ(refuse(Refusal::owner_length_max), R"(400 {"error":"owner_id is too long"})");
    EXPECT_EQ(refuse(Refusal::request_id_length_max), R"(400 {"error":"request_id is too long"})");
    EXPECT_EQ(refuse(Refusal::metadata_length_max), R"(400 {"error":"metadata is too long"})");
    EXPECT_EQ(refuse(Refusal::locks_max), R"(503 {"error":"too many locks on this server"})");
    EXPECT_EQ(refuse(Refusal::leases_max), R"(503 {"error":"too many leases on this server"})");
    for (const Refusal refusal : {Refusal::waiters_max, Refusal::waiters_per_lock_max}) {
        EXPECT_EQ(refuse(refusal), R"(503 {"error":"too many requests are waiting"})");
    }
    // No request of this door can cause these, so they are our fault.
    for (const Refusal refusal :
         {Refusal::none, Refusal::permits_max, Refusal::ttl_out_of_range, Refusal::empty_key,
          Refusal::empty_range, Refusal::unknown_session, Refusal::already_enqueued,
          Refusal::not_enqueued, Refusal::unknown_lease, Refusal::lease_ended}) {
        EXPECT_EQ(refuse(refusal),
                  "500 {\"error\":\"" + std::string(core::to_text(refusal)) + "\"}");
    }
}

TEST(LockserverAnswer, ToARenewal) {
    EXPECT_EQ(
        answer(renew_x, {.outcome = {.kind = Outcome::Kind::renewed, .lease = lease_of("w1")}}),
        R"(200 {"renewed":true,"lease_expiry_ms":1705314605000})");
    for (const Refusal refusal : {Refusal::unknown_lease, Refusal::lease_ended}) {
        EXPECT_EQ(answer(renew_x, {.outcome = Outcome::refuse(refusal)}),
                  R"(409 {"renewed":false,"reason":"NOT_OWNER_OR_EXPIRED"})");
    }
}

TEST(LockserverAnswer, ToARelease) {
    EXPECT_EQ(answer(release_x, {.outcome = {.kind = Outcome::Kind::released}}),
              R"(200 {"released":true})");
    for (const Refusal refusal : {Refusal::unknown_lease, Refusal::lease_ended}) {
        EXPECT_EQ(answer(release_x, {.outcome = Outcome::refuse(refusal)}),
                  R"(200 {"released":false,"reason":"NOT_OWNER"})");
    }
}

TEST(LockserverAnswer, ToAForcedRelease) {
    const ForceRelease request{.lock_name = "x"};
    EXPECT_EQ(answer(request, {.count = 2}), R"(200 {"released":true,"holders":2})");
    EXPECT_EQ(answer(request, {}), R"(200 {"released":false,"reason":"NOT_HELD","holders":0})");
}

TEST(LockserverAnswer, ToALookAtWhatNobodyKnows) {
    EXPECT_EQ(answer(Get{.lock_name = "x"}, {}), R"(200 {"lock_name":"x","held":false})");
    EXPECT_EQ(answer(Get{.lock_name = "x", .with_queue = true}, {}),
              R"(200 {"lock_name":"x","held":false,"queue_length":0,"queue":[]})");
    EXPECT_EQ(answer(ListLocks{}, {}), R"(200 {"locks":[]})");
}

TEST(LockserverAnswer, ShowsTheLeaseIdsOfHoldersToThoseWhoMayEndTheirLeases) {
    const auto details = std::make_shared<service::Details>();
    const service::Response response{.details = details};
    details->locks.push_back({.scope = core::Scope::named("x"),
                              .version = 3,
                              .holders = {lease_of("w1"), lease_of("w2")},
                              .holder_count = 2});
    const std::string id = R"("lease_id":"00000000-0000-401c-8000-000000000000",)";
    for (const bool is_shown : {false, true}) {
        const std::string looked =
            answer(Get{.lock_name = "x", .with_lease_ids = is_shown}, response);
        const std::string listed = answer(ListLocks{.with_lease_ids = is_shown}, response);
        for (const std::string& text : {looked, listed}) {
            EXPECT_EQ(text.find(id) != std::string::npos, is_shown) << text;
            EXPECT_EQ(text.find("lease_id") != std::string::npos, is_shown) << text;
            EXPECT_NE(text.find(R"("owner_id":"w1",)"), std::string::npos) << text;
            EXPECT_NE(text.find(R"("fencing_token":7,)"), std::string::npos) << text;
        }
    }
}

// Rows may be long: an answer ends behind the one with which it has a MiB.
TEST(LockserverAnswer, EndsAPageThatHasEnoughBytes) {
    const std::string metadata(300'000, 'm');
    const auto details = std::make_shared<service::Details>();
    const service::Response response{.details = details};
    const auto make_lock = [&](std::string_view name, std::uint32_t holders) {
        core::LockView& lock = details->locks.emplace_back();
        lock.scope = core::Scope::semaphore(name);
        lock.holder_count = holders;
        for (std::uint64_t number = 1; number <= holders; ++number) {
            lock.holders.push_back(lease_of("w"));
            lock.holders.back().token.fence = core::Fence{number};
            lock.holders.back().notes.metadata = metadata;
        }
    };
    const auto ends_at_the_limit = [&](const std::string& text) {
        return text.size() > core::copied_max &&
               text.size() < core::copied_max + 2 * metadata.size();
    };
    make_lock("crowded", 9);
    core::LockView& lock = details->locks.front();
    lock.waiter_count = 2;
    lock.waiters.resize(2);
    const std::string looked = answer(Get{.lock_name = "crowded", .with_queue = true}, response);
    EXPECT_TRUE(ends_at_the_limit(looked));
    const std::string tail = R"("holder_count":9,"holders_next":"3","queue_length":2,"queue":[]})";
    EXPECT_TRUE(looked.ends_with(tail)) << looked.substr(looked.size() - 200);
    make_lock("next", 1);
    const std::string crowded = answer(ListLocks{}, response);
    EXPECT_TRUE(ends_at_the_limit(crowded));
    EXPECT_NE(crowded.find(R"("holders_next":"4")"), crowded.npos);
    const auto next = [](std::string_view scope) {
        return R"(],"next":")" + base::to_hex(scope) + R"("})";
    };
    EXPECT_TRUE(crowded.ends_with(next("semaphore:crowded")));
    details->locks.clear();
    for (const std::string_view name : {"a", "b", "c", "d", "e", "f"}) make_lock(name, 1);
    const std::string several = answer(ListLocks{}, response);
    EXPECT_TRUE(ends_at_the_limit(several));
    EXPECT_TRUE(several.ends_with(next("semaphore:d")));
}

// The blocker of a wait on several scopes may hold any of them.
TEST(LockserverAnswer, NamesNoBlockerOfAWaitThatIsAlsoForSomethingHidden) {
    class ReadsX final : public core::ScopeFilter {
        [[nodiscard]] bool includes(const core::Scope& scope) const override {
            return scope.name == "x";
        }
    };
    const std::vector<core::SetMember> both = {{.scope = core::Scope::named("x")},
                                               {.scope = core::Scope::named("secret")}};
    const std::string text = core::set_to_text(both);
    const auto details = std::make_shared<service::Details>();
    core::LockView& lock = details->locks.emplace_back();
    lock.scope = core::Scope::named("x");
    lock.waiter_count = 2;
    for (const std::string_view members : {std::string_view(text), std::string_view()}) {
        lock.waiters.push_back({.owner = {.name = "w1"},
                                .deadline = core::Time::max(),
                                .blocker = {.name = "boss"},
                                .members = members});
    }
    Get look{.lock_name = "x", .with_queue = true};
    const std::string whole = answer(look, {.details = details});
    EXPECT_NE(whole.find(R"("waits_for":"boss","scopes":["x","secret"])"), whole.npos) << whole;
    look.readable = std::make_shared<ReadsX>();
    const std::string shown = answer(look, {.details = details});
    EXPECT_EQ(shown.find("secret"), shown.npos) << shown;
    const std::size_t blocker = shown.find("boss");
    EXPECT_GT(blocker, shown.find("\"place\"", shown.find("\"place\"") + 1)) << shown;
    EXPECT_EQ(shown.find("boss", blocker + 1), shown.npos) << "only that of the second: " << shown;
}

TEST(LockserverAnswer, OneWhoStoppedSendingIsTold) {
    std::string body;
    EXPECT_EQ(append_cancelled(body, acquire_x), 409);
    EXPECT_EQ(body, "{\"acquired\":false,\"lock_name\":\"x\",\"reason\":\"CANCELLED\"}\n");
}

// What may have been done is not denied.
TEST(LockserverAnswer, WhileTheStoreIsBusyAndTheResultIsUnknown) {
    const service::Response unknown{
        .failure = "node b leads (it may have been done)", .is_busy = true, .is_unknown = true};
    for (const LockserverRequest& request :
         {LockserverRequest{acquire_x}, LockserverRequest{renew_x}, LockserverRequest{release_x}}) {
        EXPECT_EQ(answer(request, unknown),
                  R"x(503 {"error":"node b leads (it may have been done)"})x");
    }
}

// Another process has locked the store: requests that change something may be repeated.
TEST(LockserverAnswer, WhileTheStoreIsBusy) {
    // A grant that was not committed is none.
    const service::Response busy{
        .outcome = {.kind = Outcome::Kind::granted, .lease = lease_of("w1")},
        .failure = "the database is locked",
        .is_busy = true};
    EXPECT_EQ(answer(acquire_x, busy),
              R"(409 {"acquired":false,"lock_name":"x","recommended_retry_ms":50,)"
              R"("reason":"BUSY_RETRY"})");
    EXPECT_EQ(answer(renew_x, busy),
              R"(409 {"renewed":false,"reason":"BUSY_RETRY","recommended_retry_ms":50})");
    EXPECT_EQ(answer(release_x, busy),
              R"(200 {"released":false,"reason":"BUSY_RETRY","recommended_retry_ms":50})");
    for (const LockserverRequest& request :
         {LockserverRequest{Get{}}, LockserverRequest{ListLocks{}},
          LockserverRequest{ForceRelease{}}}) {
        EXPECT_EQ(answer(request, busy), R"(503 {"error":"the database is locked"})");
    }
}

TEST(LockserverAnswer, WhenTheStoreHasFailed) {
    const service::Response failed{
        .outcome = {.kind = Outcome::Kind::granted, .lease = lease_of("w1")},
        .failure = "disk \"full\""};
    for (const LockserverRequest& request :
         {LockserverRequest{acquire_x}, LockserverRequest{renew_x}, LockserverRequest{release_x},
          LockserverRequest{Get{}}, LockserverRequest{ListLocks{}},
          LockserverRequest{ForceRelease{}}}) {
        EXPECT_EQ(answer(request, failed), R"(503 {"error":"disk \"full\""})");
    }
}

}  // namespace
}  // namespace holdfast::doors::lockserver
