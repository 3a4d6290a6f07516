// The value of a lease, when answers are lost or refuse.

#include <gtest/gtest.h>

#include "sdk/http/test_json_peer.h"
#include "sdk/lease_calls.h"

namespace holdfast::sdk {
namespace {

using namespace std::chrono_literals;

Lease lease_of_x() {
    return {.scope = LockScope::Named{"x"},
            .holder = "w",
            .limit = 3,
            .token = "t1",
            .fencing_token = 7,
            .ttl = 30s,
            .metadata = {},
            .acquired_at = {},
            .expires_at = {},
            .lasts_until = BootClock::now() + 30s};
}

PeerAnswer refusal(int status, const std::string& code) {
    return {.status = status, .body = R"({"error":")" + code + R"(","message":")" + code + R"("})"};
}

std::string said_of(const LockResult<Lease>& result) {
    return result ? "ok" : to_text(result.error());
}

TEST(LeaseValue, IsSetAgainUntilThereIsAnAnswer) {
    JsonPeer peer([](const SeenRequest&, int index) -> std::optional<PeerAnswer> {
        if (index == 0) return std::nullopt;
        if (index == 1) return refusal(503, "StoreBusy");
        return PeerAnswer{
            .body = R"({"token":"t1","fencing_token":7,"scope":{"kind":"named","name":"x"},)"
                    R"("holder":"w","mode":"exclusive","ttl_ms":60000,"value":"v","revision":2})"};
    });
    const auto exchange = *Exchange::open(peer.options());
    const Lease before = lease_of_x();
    const auto changed = LeaseCalls(*exchange).set_value(before, "v");
    ASSERT_TRUE(changed) << said_of(changed);
    EXPECT_EQ(changed->value, "v");
    EXPECT_EQ(changed->revision, 2U);
    EXPECT_EQ(changed->limit, 3U);
    EXPECT_EQ(changed->lasts_until, before.lasts_until) << "it is not renewed";
    ASSERT_EQ(peer.seen().size(), 3U);
    EXPECT_EQ(peer.seen()[2].line, "PUT /v1/leases/t1/value");
    EXPECT_EQ(peer.seen()[2].body["value"].text(), "v");
}

TEST(LeaseValue, IsNotSetForALeaseThatIsOverOrATextThatCannotBeSent) {
    JsonPeer peer([](const SeenRequest&, int index) {
        return index == 0 ? refusal(410, "LockExpired") : refusal(404, "LockNotFound");
    });
    const auto exchange = *Exchange::open(peer.options());
    LeaseCalls calls(*exchange);
    EXPECT_EQ(said_of(calls.set_value(lease_of_x(), "v")), "the lock is over");
    EXPECT_EQ(said_of(calls.set_value(lease_of_x(), "v")), "there is no such lock");
    EXPECT_EQ(said_of(calls.set_value(lease_of_x(), "\xff")),
              "'\xff' is not UTF-8, which the server speaks");
    EXPECT_EQ(peer.seen().size(), 2U);
}

}  // namespace
}  // namespace holdfast::sdk
