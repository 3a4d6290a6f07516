#include "doors/scoped/scoped_answer.h"

#include <gmock/gmock.h>

#include "core/values/cycle.h"
#include "core/values/scope_set.h"
#include "core/values/turn_limits.h"
#include "service/doors.h"

namespace holdfast::doors::scoped {
namespace {

using namespace std::chrono_literals;
using core::Outcome;
using core::Refusal;
using service::FenceOutcome;
using service::Response;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const service::ManualClock the_clock{
    service::WallTime{std::chrono::sys_days{std::chrono::January / 15 / 2024} + 10h + 30min}};

core::LeaseView lease() {
    return {.scope = core::Scope::of_range(7, {0, 4096}),
            .owner = {.door = core::Door{4}, .name = "w1"},
            .token = {.fence = core::Fence{42}, .secret = core::Secret{255}},
            .acquired_at = core::Time{1500ms},
            .expires_at = core::Time{31'500ms},
            .grace_until = core::Time{31'500ms},
            .ttl = 30s};
}

// `200 {..}`, without the newline that must be there.
std::string answer(const ScopedRequest& request, const Response& response) {
    std::string body;
    const int status = append_answer(body, request, response, the_clock);
    EXPECT_TRUE(body.ends_with("}\n")) << body;
    return std::to_string(status) + " " + body.substr(0, body.size() - 1);
}

Acquire acquire() {
    return {.scope = {.kind = core::ScopeKind::inode, .inode = 7}, .holder = "w2"};
}

Response with(Outcome outcome) {
    return {.now = core::Time{2s}, .outcome = outcome};
}

std::string refuse(const ScopedRequest& request, Refusal refusal) {
    return answer(request, with(Outcome::refuse(refusal)));
}

TEST(ScopedAnswer, ShowsALeaseToWhoSpeaksForIt) {
    const std::string shown =
        R"(200 {"token":"000000000000002a00000000000000ff","fencing_token":42,)"
        R"("scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1",)"
        R"("mode":"exclusive","acquired_at":"2024-01-15T10:30:01.500Z",)"
        R"("expires_at":"2024-01-15T10:30:31.500Z","ttl_ms":30000,"duration_ms":30000})";
    EXPECT_EQ(answer(acquire(), with({.kind = Outcome::Kind::granted, .lease = lease()})), shown);
    EXPECT_EQ(answer(Renew{}, with({.kind = Outcome::Kind::renewed, .lease = lease()})), shown);
    EXPECT_EQ(answer(Look{}, with({.kind = Outcome::Kind::found, .lease = lease()})), shown);
    EXPECT_EQ(answer(CheckToken{}, with({.kind = Outcome::Kind::found, .lease = lease()})), shown);
}

TEST(ScopedAnswer, ShowsAllScopesOfALease) {
    const std::string members = core::set_to_text(
        std::vector<core::SetMember>{{.scope = core::Scope::named("a")},
                                     {.scope = core::Scope::path("/x"), .mode = core::Mode::shared},
                                     {.scope = core::Scope::semaphore("s"), .limit = 3}});
    core::LeaseView set = lease();
    // A view of one lock has the scope and the mode that the lease has there.
    set.scope = core::Scope::path("/x");
    set.mode = core::Mode::shared;
    set.members = members;
    EXPECT_EQ(answer(acquire(), with({.kind = Outcome::Kind::granted, .lease = set})),
              R"(200 {"token":"000000000000002a00000000000000ff","fencing_token":42,)"
              R"("scope":{"kind":"named","name":"a"},"holder":"w1","mode":"exclusive","scopes":[)"
              R"({"scope":{"kind":"named","name":"a"},"mode":"exclusive"},)"
              R"({"scope":{"kind":"path","path":"/x"},"mode":"shared"},)"
              R"({"scope":{"kind":"semaphore","name":"s"},"mode":"exclusive","limit":3}],)"
              R"("acquired_at":"2024-01-15T10:30:01.500Z","expires_at":"2024-01-15T10:30:31.500Z",)"
              R"("ttl_ms":30000,"duration_ms":30000})");
}

// Only what the client may read: everything but `secret`.
class AllButSecret final : public core::ScopeFilter {
  public:
    [[nodiscard]] bool includes(const core::Scope& scope) const override {
        return scope.name != "secret";
    }
};

core::CycleMember waits(std::string_view owner, std::string_view scope, std::string_view held_by,
                        std::uint64_t fence) {
    return {.owner = {.door = service::scoped_door, .name = owner},
            .waits_for = core::Scope::named(scope),
            .held_by = {.door = service::scoped_door, .name = held_by},
            .fence = core::Fence{fence}};
}

TEST(ScopedAnswer, TellsOfADeadlock) {
    std::vector<core::CycleMember> members{waits("ann", "b", "bob", 7),
                                           waits("bob", "secret", "ann", 0)};
    members[0].waiter = "t1";
    const std::string cycle = core::cycle_to_text(members);
    Outcome outcome = Outcome::refuse(Refusal::deadlock);
    outcome.cycle = cycle;
    const std::string ann =
        R"({"holder":"ann","waiter":"t1","door":"scoped","waits_for":{"kind":"named","name":"b"},)"
        R"("held_by":"bob","fencing_token":7})";
    EXPECT_EQ(answer(acquire(), with(outcome)),
              R"(409 {"error":"Deadlock","message":"ann waits for bob, who holds b and waits for )"
              R"(ann","scope":{"kind":"named","name":"b"},"cycle":[)" +
                  ann +
                  R"(,{"holder":"bob","door":"scoped","waits_for":{"kind":"named",)"
                  R"("name":"secret"},"held_by":"ann"}]})");
    Acquire limited = acquire();
    limited.readable = std::make_shared<AllButSecret>();
    EXPECT_THAT(answer(limited, with(outcome)),
                HasSubstr(R"("cycle":[)" + ann + R"(,{"hidden":true}]})"));
}

TEST(ScopedAnswer, ListsDeadlocks) {
    const std::string of_two =
        core::cycle_to_text(std::vector{waits("ann", "b", "bob", 7), waits("bob", "a", "ann", 6)});
    const std::string of_secrets = core::cycle_to_text(
        std::vector{waits("ann", "secret", "bob", 7), waits("bob", "secret", "ann", 6)});
    const Response response{
        .details = std::make_shared<service::Details>(service::Details{
            .deadlocks = {.cycles = {{.since = core::Time{1500ms}, .text = of_two},
                                     {.since = core::Time{2s}, .text = of_secrets}}}})};
    EXPECT_THAT(
        answer(ListDeadlocks{}, response),
        AllOf(HasSubstr(R"(200 {"deadlocks":[{"since":"2024-01-15T10:30:01.500Z","cycle":[{)"),
              HasSubstr("secret")));
    EXPECT_THAT(answer(ListDeadlocks{.readable = std::make_shared<AllButSecret>()}, response),
                AllOf(HasSubstr(R"("since":"2024-01-15T10:30:01.500Z")"),
                      Not(HasSubstr("2024-01-15T10:30:02"))));
    EXPECT_EQ(answer(ListDeadlocks{}, {}), R"(200 {"deadlocks":[]})");
    const Response cut{.details = std::make_shared<service::Details>(
                           service::Details{.deadlocks = {.cycles = {}, .is_cut = true}})};
    EXPECT_EQ(answer(ListDeadlocks{}, cut), R"(200 {"deadlocks":[],"truncated":true})");
}

TEST(ScopedAnswer, TellsWhoIsInTheWay) {
    Outcome outcome{.kind = Outcome::Kind::refused, .refusal = Refusal::held, .lease = lease()};
    outcome.queue_length = 2;
    EXPECT_EQ(answer(acquire(), with(outcome)),
              R"(409 {"error":"LockHeld","message":"range:7:0-4096 is held by w1",)"
              R"("scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1",)"
              R"("mode":"exclusive","expires_at":"2024-01-15T10:30:31.500Z","queue_length":2,)"
              R"("retry_after_ms":1000})");
    outcome.refusal = Refusal::in_grace;
    outcome.lease.grace_until += 5s;
    EXPECT_THAT(answer(acquire(), with(outcome)),
                HasSubstr(R"("message":"range:7:0-4096 is kept for its last holder, w1")"));
    EXPECT_THAT(answer(acquire(), with(outcome)),
                HasSubstr(R"("expires_at":"2024-01-15T10:30:36.500Z")"));
}

TEST(ScopedAnswer, TellsWhoAskedEarlierIfNobodyHoldsTheLock) {
    Outcome outcome{.kind = Outcome::Kind::refused, .refusal = Refusal::held};
    outcome.lease.scope = core::Scope::named("a");
    outcome.lease.owner.name = "ann";
    outcome.lease.ttl = core::endless;
    outcome.lease.expires_at = outcome.lease.grace_until = core::Time::max();
    outcome.is_behind_waiter = true;
    outcome.queue_length = 1;
    EXPECT_EQ(answer(acquire(), with(outcome)),
              R"(409 {"error":"LockHeld","message":"a is not held, but earlier asked for by ann",)"
              R"("scope":{"kind":"named","name":"a"},"holder":"ann",)"
              R"("mode":"exclusive","queue_length":1,"retry_after_ms":1000})");
}

TEST(ScopedAnswer, TellsWhoWasAheadUntilTheEndOfAWaitIfNobodyHeldTheLock) {
    Outcome outcome{.kind = Outcome::Kind::refused, .refusal = Refusal::timed_out};
    outcome.lease.scope = core::Scope::named("a");
    outcome.lease.owner.name = "ann";
    outcome.lease.ttl = core::endless;
    outcome.is_behind_waiter = true;
    EXPECT_THAT(answer(acquire(), with(outcome)),
                HasSubstr(R"("message":"it was not granted within wait_ms: a is not held, but )"
                          R"(earlier asked for by ann")"));
}

TEST(ScopedAnswer, TellsWhoHeldTheLockUntilTheEndOfAWait) {
    Outcome outcome{
        .kind = Outcome::Kind::refused, .refusal = Refusal::timed_out, .lease = lease()};
    outcome.queue_length = 2;
    EXPECT_EQ(answer(acquire(), with(outcome)),
              R"(409 {"error":"WaitTimedOut",)"
              R"("message":"it was not granted within wait_ms: range:7:0-4096 is held by w1",)"
              R"("scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1",)"
              R"("mode":"exclusive","expires_at":"2024-01-15T10:30:31.500Z","queue_length":2,)"
              R"("retry_after_ms":1000})");
}

TEST(ScopedAnswer, NamesEveryRefusal) {
    const std::tuple<ScopedRequest, Refusal, std::string> rows[] = {
        {acquire(), Refusal::timed_out,
         R"(409 {"error":"WaitTimedOut","message":"it was not granted within wait_ms","scope":{"kind":"inode","inode":7}})"},
        {acquire(), Refusal::limit_mismatch,
         R"(409 {"error":"LimitMismatch","message":"the semaphore has another limit","scope":{"kind":"inode","inode":7}})"},
        {acquire(), Refusal::request_ended,
         R"(409 {"error":"RequestEnded","message":"what this request_id was granted is over","scope":{"kind":"inode","inode":7}})"},
        {acquire(), Refusal::request_superseded,
         R"(409 {"error":"RequestSuperseded","message":"a later request of this request_id waits","scope":{"kind":"inode","inode":7}})"},
        {acquire(), Refusal::still_waiting,
         R"(409 {"error":"StillWaiting","message":"ask again with the same request_id: the place in the queue is kept","scope":{"kind":"inode","inode":7},"place_kept_ms":5000})"},
        {acquire(), Refusal::stopping,
         R"(503 {"error":"ShuttingDown","message":"the server is shutting down; ask again later"})"},
        {acquire(), Refusal::key_length_max,
         R"(400 {"error":"BadRequest","message":"the scope is too long"})"},
        {acquire(), Refusal::owner_length_max,
         R"(400 {"error":"BadRequest","message":"holder is too long"})"},
        {acquire(), Refusal::request_id_length_max,
         R"(400 {"error":"BadRequest","message":"request_id is too long"})"},
        {acquire(), Refusal::metadata_length_max,
         R"(400 {"error":"BadRequest","message":"metadata is too long"})"},
        {acquire(), Refusal::waiter_length_max,
         R"(400 {"error":"BadRequest","message":"waiter is too long"})"},
        {acquire(), Refusal::overlapping_set,
         R"(400 {"error":"BadRequest","message":"scopes must not overlap"})"},
        {acquire(), Refusal::sets_max_members,
         R"(400 {"error":"BadRequest","message":"scopes has too many elements"})"},
        {acquire(), Refusal::ttl_out_of_range,
         R"(400 {"error":"BadRequest","message":"ttl_ms is beyond a limit of this server"})"},
        {acquire(), Refusal::locks_max,
         R"(503 {"error":"LimitReached","message":"there are too many locks on this server"})"},
        {acquire(), Refusal::leases_max,
         R"(503 {"error":"LimitReached","message":"there are too many leases on this server"})"},
        {acquire(), Refusal::waiters_max,
         R"(503 {"error":"LimitReached","message":"too many requests are waiting"})"},
        {acquire(), Refusal::waiters_per_lock_max,
         R"(503 {"error":"LimitReached","message":"too many requests are waiting"})"},
        {Renew{}, Refusal::unknown_lease,
         R"(404 {"error":"LockNotFound","message":"no lease was ever given this token"})"},
        {Release{}, Refusal::lease_ended,
         R"(410 {"error":"LockExpired","message":"the lease of this token has ended"})"},
        {CheckToken{}, Refusal::lease_ended,
         R"(410 {"error":"LockExpired","message":"the lease of this token has ended"})"},
    };
    for (const auto& [request, refusal, expected] : rows) {
        EXPECT_EQ(refuse(request, refusal), expected);
    }
}

TEST(ScopedAnswer, ShowsWhatATokenIsReallyFor) {
    EXPECT_EQ(answer(CheckToken{}, with({.kind = Outcome::Kind::refused,
                                         .refusal = Refusal::scope_mismatch,
                                         .lease = lease()})),
              R"(409 {"error":"LockScopeMismatch","message":"the lease is on range:7:0-4096",)"
              R"("scope":{"kind":"range","inode":7,"start":0,"end":4096}})");
}

// What a client may read that has the right on names that begin with `deploy/`, and on the beginning
// of an inode.
class ReadsDeploy final : public core::ScopeFilter {
  public:
    [[nodiscard]] bool includes(const core::Scope& scope) const override {
        return scope.name.starts_with("deploy/") ||
               (scope.kind == core::ScopeKind::range && scope.range.end <= 100);
    }
};
const std::shared_ptr<const core::ScopeFilter> reads_deploy = std::make_shared<ReadsDeploy>();

TEST(ScopedAnswer, OfACheckNamesOnlyWhatTheClientMayRead) {
    const std::vector<core::SetMember> members = {
        {.scope = core::Scope::semaphore("secret"), .mode = core::Mode::shared, .limit = 3},
        {.scope = core::Scope::named("deploy/x")}};
    const std::string text = core::set_to_text(members);
    core::LeaseView set = lease();
    set.scope = members[0].scope;
    set.members = text;
    const CheckToken check{.scope = {.kind = core::ScopeKind::named, .name = "deploy/x"},
                           .readable = reads_deploy};
    const std::string found = answer(check, with({.kind = Outcome::Kind::found, .lease = set}));
    EXPECT_THAT(found, HasSubstr(R"("scope":{"kind":"named","name":"deploy/x"},"holder":"w1",)"
                                 R"("mode":"exclusive","scopes":[{"scope":{"kind":"named",)"
                                 R"("name":"deploy/x"},"mode":"exclusive"}])"));
    EXPECT_THAT(found, Not(HasSubstr("secret")));
    Outcome mismatch{
        .kind = Outcome::Kind::refused, .refusal = Refusal::scope_mismatch, .lease = set};
    const std::string other = answer(check, with(mismatch));
    EXPECT_THAT(other, HasSubstr(R"("message":"the lease is on deploy/x","scope":{)"));
    EXPECT_THAT(other, Not(HasSubstr("secret")));
    mismatch.lease.members = {};
    EXPECT_EQ(answer(check, with(mismatch)),
              R"(409 {"error":"LockScopeMismatch","message":"the lease is on something else"})");
}

TEST(ScopedAnswer, ARefusalNamesWhatWasAskedForIfTheHolderHasMoreThanTheClientMayRead) {
    Acquire asked = acquire();
    asked.scope = {.kind = core::ScopeKind::range, .inode = 7, .range = {0, 50}};
    asked.readable = reads_deploy;
    const Outcome outcome{
        .kind = Outcome::Kind::refused, .refusal = Refusal::held, .lease = lease()};
    EXPECT_THAT(answer(asked, with(outcome)),
                AllOf(HasSubstr(R"("message":"range:7:0-50 is held by w1")"),
                      HasSubstr(R"("start":0,"end":50})"), Not(HasSubstr("4096"))));
}

TEST(ScopedAnswer, ListsWithoutTokens) {
    const Response response{.details = std::make_shared<service::Details>(
                                service::Details{.leases = {lease(), lease()}})};
    const std::string one =
        R"({"fencing_token":42,"scope":{"kind":"range","inode":7,"start":0,"end":4096},)"
        R"("holder":"w1","mode":"exclusive","acquired_at":"2024-01-15T10:30:01.500Z",)"
        R"("expires_at":"2024-01-15T10:30:31.500Z","ttl_ms":30000,"duration_ms":30000,"door":"scoped"})";
    EXPECT_EQ(answer(ListLeases{.limit = 2}, response),
              R"(200 {"leases":[)" + one + "," + one + "]}");
    EXPECT_EQ(answer(ListLeases{.limit = 1}, response),
              R"(200 {"leases":[)" + one + R"(],"next":"42"})");
    EXPECT_EQ(answer(ListLeases{}, {}), R"(200 {"leases":[]})");
}

TEST(ScopedAnswer, OfFences) {
    const auto fence = [](FenceOutcome::Kind kind, std::uint64_t highest = 0) {
        return Response{.details = std::make_shared<service::Details>(service::Details{
                            .fence = FenceOutcome{.kind = kind, .highest = highest}})};
    };
    using Kind = FenceOutcome::Kind;
    const RaiseFence raise{.resource = "r", .fence = core::Fence{7}};
    EXPECT_EQ(answer(raise, fence(Kind::accepted, 7)),
              R"(200 {"resource":"r","fencing_token":7,"highest":7})");
    EXPECT_EQ(answer(raise, fence(Kind::stale, 9)),
              R"(409 {"error":"StaleFence","message":"a larger fencing token was shown for this )"
              R"(resource","resource":"r","fencing_token":7,"highest":9})");
    EXPECT_EQ(answer(raise, fence(Kind::resource_length_max)),
              R"(400 {"error":"BadRequest","message":"resource is too long"})");
    EXPECT_THAT(answer(raise, fence(Kind::resources_max)),
                HasSubstr(R"(503 {"error":"LimitReached","message":"too many resources)"));
    EXPECT_EQ(answer(ReadFence{.resource = "r"}, fence(Kind::accepted, 7)),
              R"(200 {"resource":"r","highest":7})");
    EXPECT_THAT(answer(ReadFence{.resource = "r"}, fence(Kind::unknown)),
                HasSubstr(R"(404 {"error":"FenceNotFound")"));
    EXPECT_EQ(answer(DropFence{.resource = "r"}, fence(Kind::accepted, 7)),
              R"(200 {"dropped":true,"resource":"r","highest":7})");
    EXPECT_THAT(answer(DropFence{.resource = "r"}, fence(Kind::unknown)),
                HasSubstr(R"(404 {"error":"FenceNotFound")"));
}

// Leases may be long: a page ends behind the one with which it has a MiB.
TEST(ScopedAnswer, EndsAPageThatHasEnoughBytes) {
    const std::string value(300'000, 'v');
    const auto details = std::make_shared<service::Details>();
    for (std::uint64_t number = 1; number <= 10; ++number) {
        details->leases.push_back({.scope = core::Scope::named("x"),
                                   .token = {.fence = core::Fence{number}, .secret = {}},
                                   .value = value,
                                   .revision = 1});
    }
    const std::string first = answer(ListLeases{.limit = 9}, {.details = details});
    EXPECT_GT(first.size(), core::copied_max);
    EXPECT_LT(first.size(), core::copied_max + value.size());
    EXPECT_TRUE(first.ends_with(R"(,"next":"4"})")) << first.substr(first.size() - 100);
    details->leases.erase(details->leases.begin(), details->leases.begin() + 7);
    const std::string last = answer(ListLeases{.limit = 9}, {.details = details});
    EXPECT_EQ(last.find(R"("next")"), last.npos);
}

TEST(ScopedAnswer, SaysThatTheStoreFailed) {
    const ScopedRequest requests[] = {acquire(),       Renew{},      Release{},    Look{},
                                      ListLeases{},    CheckToken{}, RaiseFence{}, ReadFence{},
                                      ListDeadlocks{}, DropFence{}};
    for (const ScopedRequest& request : requests) {
        EXPECT_EQ(answer(request, {.failure = "disk full"}),
                  R"(503 {"error":"StoreFailed","message":"disk full"})");
        EXPECT_EQ(answer(request, {.failure = "locked", .is_busy = true}),
                  R"(503 {"error":"StoreBusy","message":"locked"})");
        const std::string_view unknown = "disk full (it may have been done)";
        EXPECT_EQ(answer(request, {.failure = unknown, .is_unknown = true}),
                  R"x(503 {"error":"StoreFailed","message":"disk full (it may have been done)"})x");
    }
}

TEST(ScopedAnswer, OfAWaitThatWasGivenUpOrARequestThatMakesNoSense) {
    std::string body;
    EXPECT_EQ(append_cancelled(body, acquire()), 409);
    EXPECT_THAT(body, HasSubstr(R"({"error":"Cancelled",)"));
    body.clear();
    append_fault(body, {.status = 400, .message = "holder required"});
    EXPECT_EQ(body, "{\"error\":\"BadRequest\",\"message\":\"holder required\"}\n");
}

}  // namespace
}  // namespace holdfast::doors::scoped
