// Answers that are lost, late or strange.

#include "sdk/lease_calls.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "renewal/retry.h"
#include "sdk/http/test_json_peer.h"

namespace holdfast::sdk {
namespace {

using namespace std::chrono_literals;

std::string lease_json(const std::string& token, int ttl_ms = 30'000) {
    return R"({"token":")" + token +
           R"(","fencing_token":7,"scope":{"kind":"named","name":"x"},"holder":"w",)"
           R"("mode":"exclusive","acquired_at":"2024-01-15T10:30:00.000Z",)"
           R"("expires_at":"2024-01-15T10:30:30.000Z","ttl_ms":)" +
           std::to_string(ttl_ms) + "}";
}

PeerAnswer granted(const std::string& token = "t1") {
    return {.body = lease_json(token)};
}
PeerAnswer refused(const std::string& code, int status = 409, const std::string& more = "") {
    return {.status = status,
            .body = R"({"error":")" + code + R"(","message":")" + code +
                    R"(","scope":{"kind":"named","name":"x"})" + more + "}"};
}
const std::string by_other =
    R"(,"holder":"other","expires_at":"2024-01-15T10:30:30.000Z","retry_after_ms":1)";

LeaseRequest wanted() {
    return {.scope = LockScope::Named{"x"}, .holder = "w"};
}

template <class T>
std::string note_of(const LockResult<T>& result) {
    return result ? "ok" : to_text(result.error());
}

// A client of a peer.
struct TestCalls {
    explicit TestCalls(JsonPeer::Reply reply) : peer(std::move(reply)) {}
    // Gives the same answer to every request.
    explicit TestCalls(PeerAnswer answer)
        : peer([answer](const SeenRequest&, int) { return answer; }) {}

    // The requests so far: `POST /v1/leases`, and so on.
    [[nodiscard]] std::vector<std::string> lines() const {
        std::vector<std::string> all;
        for (const auto& request : peer.seen()) all.push_back(request.line);
        return all;
    }
    [[nodiscard]] std::string request_id(std::size_t index) const {
        return std::string(peer.seen().at(index).body["request_id"].text());
    }

    JsonPeer peer;
    std::unique_ptr<Exchange> exchange = *Exchange::open(peer.options());
    LeaseCalls calls{*exchange};
};

using Lines = std::vector<std::string>;

TEST(LeaseCalls, CountsALeaseFromBeforeTheRequest) {
    TestCalls test([](const SeenRequest&, int) { return granted(); });
    const auto before = BootClock::now();
    const auto lease = test.calls.acquire(wanted(), 0s, {});
    ASSERT_TRUE(lease);
    EXPECT_GE(lease->lasts_until, before + 30s);
    EXPECT_LE(lease->lasts_until, BootClock::now() + 30s);
    EXPECT_LE(lease->time_guaranteed(), 25s);
}

TEST(LeaseCalls, NamesAnOwnerIfNobodyElseDoes) {
    TestCalls test([](const SeenRequest&, int) { return granted(); });
    ASSERT_TRUE(test.calls.acquire({.scope = LockScope::Named{"x"}}, 0s, {}));
    const auto seen = test.peer.seen();
    EXPECT_NE(seen[0].body["holder"].text().find("-" + std::to_string(::getpid()) + "-"),
              std::string::npos);
}

TEST(LeaseCalls, AsksAgainByTheSameIdWhenTheAnswerIsLost) {
    TestCalls test([](const SeenRequest&, int index) -> std::optional<PeerAnswer> {
        if (index < 2) return std::nullopt;
        return granted();
    });
    ASSERT_TRUE(test.calls.acquire(wanted(), 0s, {}));
    EXPECT_EQ(test.lines(), (Lines{"POST /v1/leases", "POST /v1/leases", "POST /v1/leases"}));
    const std::string id = test.request_id(0);
    EXPECT_EQ(id.size(), 32U);
    EXPECT_EQ(test.request_id(1), id);
    EXPECT_EQ(test.request_id(2), id);
}

TEST(LeaseCalls, BeginsAnewWhenWhatItWasGrantedIsOver) {
    TestCalls test([](const SeenRequest&, int index) -> std::optional<PeerAnswer> {
        if (index == 0) return std::nullopt;
        if (index == 1) return refused("RequestEnded");
        return granted();
    });
    ASSERT_TRUE(test.calls.acquire(wanted(), 0s, {}));
    EXPECT_EQ(test.request_id(0), test.request_id(1));
    EXPECT_NE(test.request_id(1), test.request_id(2));
}

TEST(LeaseCalls, RenewsWhatAnIdOfTheProgramsFinds) {
    TestCalls test([](const SeenRequest&, int) { return granted(); });
    LeaseRequest request = wanted();
    request.request_id = "mine";
    ASSERT_TRUE(test.calls.acquire(request, 0s, {}));
    EXPECT_EQ(test.request_id(0), "mine");
    EXPECT_EQ(test.lines(), (Lines{"POST /v1/leases", "POST /v1/leases/t1/renew"}));
}

TEST(LeaseCalls, SaysThatWhatAnIdOfTheProgramsHadIsOver) {
    TestCalls test([](const SeenRequest&, int) { return refused("RequestEnded"); });
    LeaseRequest request = wanted();
    request.request_id = "mine";
    EXPECT_EQ(note_of(test.calls.acquire(request, 0s, {})), "the lock is over");
}

TEST(LeaseCalls, WaitsOnAtItsPlaceInTheQueueWhenTheServerSaysThatItStillWaits) {
    TestCalls test([](const SeenRequest&, int index) {
        return index < 2 ? refused("StillWaiting") : granted();
    });
    ASSERT_TRUE(test.calls.acquire(wanted(), 24h * 365, {}));
    EXPECT_EQ(test.request_id(0), test.request_id(1));
    EXPECT_EQ(test.request_id(0), test.request_id(2));
    for (const SeenRequest& request : test.peer.seen()) {
        if (request.line != "POST /v1/leases") continue;
        EXPECT_EQ(request.body["wait_ms"].number(), 31'536'000'000) << "without an end";
    }
}

TEST(LeaseCalls, SaysHowLongItWantsToWaitWhateverTheServerAnswersMeanwhile) {
    TestCalls test([](const SeenRequest&, int index) {
        return index == 0 ? refused("StillWaiting") : granted();
    });
    ASSERT_TRUE(test.calls.acquire(wanted(), 1h, {}));
    const auto seen = test.peer.seen();
    EXPECT_EQ(seen[0].body["wait_ms"].number(), 3'600'000);
    EXPECT_LE(seen[1].body["wait_ms"].number(), 3'600'000);
}

// Something between us and the server ends our waits.
TEST(LeaseCalls, AsksAgainWhenItsWaitWasEndedButNotForever) {
    TestCalls once([](const SeenRequest&, int index) {
        return index == 0 ? refused("Cancelled") : granted();
    });
    ASSERT_TRUE(once.calls.acquire(wanted(), 1h, {}));
    EXPECT_EQ(once.request_id(0), once.request_id(1));

    JsonPeer always([](const SeenRequest&, int) { return refused("Cancelled"); });
    ClientOptions options = always.options();
    options.retry_for = 200ms;
    const auto exchange = *Exchange::open(options);
    const auto refusal = LeaseCalls(*exchange).acquire(wanted(), 1h, {});
    ASSERT_FALSE(refusal);
    EXPECT_TRUE(std::holds_alternative<ServerUnavailable>(refusal.error()));
    EXPECT_EQ(note_of(refusal), "Cancelled");
}

TEST(LeaseCalls, IsCancelledByItsCallerAlsoWhenItsWaitWasEnded) {
    std::stop_source stop;
    TestCalls test([&](const SeenRequest&, int) {
        stop.request_stop();
        return refused("Cancelled");
    });
    EXPECT_EQ(note_of(test.calls.acquire(wanted(), 1h, stop.get_token())),
              "the request was cancelled");
}

TEST(LeaseCalls, WaitsOnWithTheSameIdWhenTheServerShutsDown) {
    TestCalls test([](const SeenRequest&, int index) {
        return index == 0 ? refused("ShuttingDown", 503) : granted();
    });
    ASSERT_TRUE(test.calls.acquire(wanted(), 1h, {}));
    EXPECT_EQ(test.request_id(0), test.request_id(1));
}

// The server would keep the place for a while, and perhaps grant it.
TEST(LeaseCalls, GivesItsPlaceUpWhenItIsCancelledBetweenTwoRequests) {
    std::stop_source stop;
    TestCalls test([&stop](const SeenRequest&, int index) {
        if (index == 0) stop.request_stop();
        return index == 0 ? refused("StillWaiting") : refused("LockHeld", 409, by_other);
    });
    EXPECT_EQ(note_of(test.calls.acquire(wanted(), 1h, stop.get_token())),
              "the request was cancelled");
    const auto seen = test.peer.seen();
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(test.request_id(0), test.request_id(1));
    EXPECT_EQ(seen[1].body["wait_ms"].number(), 0);
}

TEST(LeaseCalls, SaysWhoHasItAndWhatItWaitedForInVain) {
    TestCalls test([](const SeenRequest&, int index) {
        return index == 0 ? refused("LockHeld", 409, by_other) : refused("WaitTimedOut");
    });
    const auto held = test.calls.acquire(wanted(), 0s, {});
    ASSERT_FALSE(held);
    const auto* const reason = std::get_if<LockHeld>(&held.error());
    ASSERT_TRUE(reason);
    EXPECT_EQ(reason->holder, "other");
    EXPECT_EQ(reason->retry_after, 1ms);
    EXPECT_EQ(note_of(test.calls.acquire(wanted(), 0s, {})), "x was not granted in time");
}

TEST(LeaseCalls, AsksWhoHasItWhenAWaitIsOver) {
    TestCalls test([](const SeenRequest&, int index) {
        return index == 0 ? refused("WaitTimedOut") : refused("LockHeld", 409, by_other);
    });
    const auto held = test.calls.acquire(wanted(), 1ms, {});
    ASSERT_TRUE(!held && std::holds_alternative<LockHeld>(held.error()));
    EXPECT_EQ(std::get<LockHeld>(held.error()).holder, "other");
    EXPECT_EQ(test.request_id(0), test.request_id(1));
}

TEST(LeaseCalls, TellsRefusalsApart) {
    const auto note = [](const PeerAnswer& answer) {
        TestCalls test([=](const SeenRequest&, int) { return answer; });
        return test.calls.acquire(wanted(), 0s, {}).error();
    };
    EXPECT_TRUE(std::holds_alternative<InvalidLockRequest>(note(refused("BadRequest", 400))));
    EXPECT_TRUE(std::holds_alternative<InvalidLockRequest>(note(refused("LimitMismatch"))));
    EXPECT_TRUE(std::holds_alternative<InvalidLockRequest>(note(refused("RequestSuperseded"))));
    EXPECT_TRUE(std::holds_alternative<NotPermitted>(note(refused("no token", 401))));
    EXPECT_TRUE(std::holds_alternative<NotPermitted>(note(refused("Forbidden", 403))));
    EXPECT_TRUE(std::holds_alternative<ServerUnavailable>(note({.status = 200, .body = "{}"})));
    EXPECT_TRUE(std::holds_alternative<ServerUnavailable>(note({.status = 500, .body = "x"})));
}

TEST(LeaseCalls, GivesBackWhatACancelledRequestWasGranted) {
    TestCalls test([](const SeenRequest& request, int index) -> std::optional<PeerAnswer> {
        if (index == 0) return JsonPeer::silence();
        if (request.line.starts_with("POST")) return granted();
        return PeerAnswer{.body = R"({"released":true})"};
    });
    std::stop_source stop;
    std::jthread stopper([&] {
        test.peer.wait_for(1);
        stop.request_stop();
    });
    EXPECT_EQ(note_of(test.calls.acquire(wanted(), 1h, stop.get_token())),
              "the request was cancelled");
    EXPECT_EQ(test.lines(), (Lines{"POST /v1/leases", "POST /v1/leases", "DELETE /v1/leases/t1"}));
    EXPECT_EQ(test.request_id(0), test.request_id(1));
    EXPECT_EQ(test.peer.seen()[1].body["wait_ms"].number(), 0);
}

TEST(LeaseCalls, SendsNothingWhenItIsStoppedBeforeItBegins) {
    TestCalls test([](const SeenRequest&, int) { return granted(); });
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(note_of(test.calls.acquire(wanted(), 1h, stop.get_token())),
              "the request was cancelled");
    EXPECT_EQ(test.lines(), Lines{});
}

LockResult<Lease> acquire_with_retry(TestCalls& test, const RetryOptions& options,
                                     const std::stop_token& stop) {
    return renewal::retry([&] { return test.calls.acquire(wanted(), 0ms, stop); }, options, stop);
}

TEST(LeaseCalls, AsksAgainAndAgainAtThePaceOfTheServer) {
    TestCalls test([](const SeenRequest&, int index) {
        return index < 5 ? refused("LockHeld", 409, by_other) : granted();
    });
    const RetryOptions quick{.delay_min = 0ms};
    ASSERT_TRUE(acquire_with_retry(test, quick, {}));
    EXPECT_EQ(test.lines().size(), 6U);
}

TEST(LeaseCalls, GivesUpAfterSoManyRetriesOrSoLong) {
    TestCalls test([](const SeenRequest&, int) { return refused("LockHeld", 409, by_other); });
    const auto by_count = acquire_with_retry(test, {.retries_max = 3, .delay_min = 0ms}, {});
    EXPECT_TRUE(std::holds_alternative<LockHeld>(by_count.error()));
    EXPECT_EQ(test.lines().size(), 4U);
    const auto by_time = acquire_with_retry(test, {.wait_max = 0ms}, {});
    EXPECT_TRUE(std::holds_alternative<LockHeld>(by_time.error()));
    EXPECT_EQ(test.lines().size(), 5U);
}

TEST(LeaseCalls, StopsAskingWhenToldTo) {
    std::stop_source stop;
    TestCalls test([&](const SeenRequest&, int index) {
        if (index == 2) stop.request_stop();
        return refused("LockHeld", 409, by_other);
    });
    EXPECT_EQ(note_of(acquire_with_retry(test, {.delay_min = 0ms}, stop.get_token())),
              "the request was cancelled");
}

Lease held() {
    return {.scope = LockScope::Named{"x"},
            .token = "t1",
            .ttl = 30s,
            .lasts_until = BootClock::now() + 30s};
}

TEST(LeaseCalls, TakesALostAnswerToAReleaseForItsEnd) {
    TestCalls test([](const SeenRequest&, int index) -> std::optional<PeerAnswer> {
        if (index == 0) return std::nullopt;
        return refused("LockExpired", 410);
    });
    EXPECT_EQ(note_of(test.calls.release(held())), "ok");
}

TEST(LeaseCalls, SaysThatAReleasedLeaseWasOver) {
    TestCalls test([](const SeenRequest&, int) { return refused("LockExpired", 410); });
    EXPECT_EQ(note_of(test.calls.release(held())), "the lock is over");
}

TEST(LeaseCalls, RenewsUntilThereIsAnAnswer) {
    TestCalls test([](const SeenRequest&, int index) -> std::optional<PeerAnswer> {
        if (index == 0) return std::nullopt;
        if (index == 1) return refused("StoreBusy", 503);
        return PeerAnswer{.body = lease_json("t1", 60'000)};
    });
    const auto before = BootClock::now();
    const auto renewed = test.calls.renew(held(), 60s);
    ASSERT_TRUE(renewed);
    EXPECT_GE(renewed->lasts_until, before + 60s);
    EXPECT_EQ(test.peer.seen()[2].body["ttl_ms"].number(), 60'000);
}

TEST(LeaseCalls, SaysThatWhatIsRenewedIsOver) {
    TestCalls test([](const SeenRequest&, int index) {
        return index == 0 ? refused("LockExpired", 410) : refused("LockNotFound", 404);
    });
    EXPECT_EQ(note_of(test.calls.renew(held(), 60s)), "the lock is over");
    EXPECT_EQ(note_of(test.calls.renew(held(), 60s)), "there is no such lock");
}

TEST(Fences, ArePassedWithANumber) {
    TestCalls test(PeerAnswer{.body = R"({"resource":"a/b","fencing_token":34,"highest":34})"});
    EXPECT_EQ(*test.calls.pass_fence("a/b", 34), 34U);
    const auto seen = test.peer.seen();
    EXPECT_EQ(seen[0].line, "POST /v1/fence/a%2Fb");
    EXPECT_EQ(seen[0].body["fencing_token"].natural(), 34U);
}

TEST(Fences, RefuseASmallerNumber) {
    TestCalls test(PeerAnswer{.status = 409,
                              .body = R"({"error":"StaleFence","message":"no","resource":"bucket",)"
                                      R"("fencing_token":33,"highest":34})"});
    const auto refused = test.calls.pass_fence("bucket", 33);
    ASSERT_FALSE(refused);
    const auto* const stale = std::get_if<StaleFence>(&refused.error());
    ASSERT_TRUE(stale);
    EXPECT_EQ(stale->resource, "bucket");
    EXPECT_EQ(stale->fencing_token, 33U);
    EXPECT_EQ(stale->highest, 34U);
}

TEST(Fences, AreReadAndMayBeUnknown) {
    TestCalls known(PeerAnswer{.body = R"({"resource":"bucket","highest":34})"});
    EXPECT_EQ(*known.calls.get_fence("bucket"), 34U);
    TestCalls unknown(
        PeerAnswer{.status = 404, .body = R"({"error":"FenceNotFound","message":"no"})"});
    EXPECT_EQ(*unknown.calls.get_fence("bucket"), std::nullopt);
}

TEST(Fences, SayWhatMakesNoSense) {
    TestCalls test(PeerAnswer{.body = "[]"});
    EXPECT_EQ(to_text(test.calls.pass_fence("x", 1).error()), "the answer makes no sense");
    EXPECT_EQ(to_text(test.calls.get_fence("x").error()), "the answer makes no sense");
    EXPECT_EQ(to_text(test.calls.check("t", LockScope::Inode{7}, LockMode::shared).error()),
              "the answer makes no sense");
}

TEST(Fences, CheckWhatATokenIsGoodFor) {
    const LockScope inode = LockScope::Inode{7};
    TestCalls shared(
        PeerAnswer{.body = R"({"token":"t","fencing_token":7,"scope":{"kind":"inode","inode":7},)"
                           R"("holder":"w","mode":"shared","ttl_ms":5})"});
    EXPECT_TRUE(shared.calls.check("t", inode, LockMode::shared));
    EXPECT_EQ(to_text(shared.calls.check("t", inode, LockMode::exclusive).error()),
              "a lock on shared inode:7 is not enough for inode:7");
    TestCalls mismatch(PeerAnswer{.status = 409,
                                  .body =
                                      R"({"error":"LockScopeMismatch","message":"no",)"
                                      R"("scope":{"kind":"range","inode":7,"start":0,"end":5}})"});
    EXPECT_EQ(to_text(mismatch.calls.check("t", inode, LockMode::exclusive).error()),
              "a lock on range:7:0-5 is not enough for inode:7");
    TestCalls over(
        PeerAnswer{.status = 410, .body = R"({"error":"LockExpired","message":"over"})"});
    EXPECT_EQ(to_text(over.calls.check("t", inode, LockMode::exclusive).error()),
              "the lock is over");
}

}  // namespace
}  // namespace holdfast::sdk
