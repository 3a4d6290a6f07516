// The client and servers that say what a test wants: wrong clocks, waits without an end, no answers.

#include <gtest/gtest.h>

#include <future>

#include "sdk/http/test_json_peer.h"
#include "test_server.h"

namespace holdfast::sdk::testing {
namespace {

PeerAnswer granted(const std::string& expires_at = "2024-01-15T10:30:30.000Z") {
    return {.body = R"({"token":"t","fencing_token":7,"scope":{"kind":"named","name":"x"},)"
                    R"("holder":"a","mode":"exclusive","acquired_at":"2024-01-15T10:30:00.000Z",)"
                    R"("expires_at":")" +
                    expires_at + R"(","ttl_ms":6000})"};
}

PeerAnswer still_waiting() {
    return {.status = 409,
            .body = R"({"error":"StillWaiting","message":"ask again","place_kept_ms":5000})"};
}

std::string_view id_of(const SeenRequest& request) {
    return request.body["request_id"].text();
}

// The server's wall clock goes back and forth by centuries. Then the server does not answer.
TEST(ScriptedServer, S11AWallClockThatIsSetChangesNothing) {
    std::atomic<bool> is_silent = false;
    JsonPeer peer([&](const SeenRequest&, int index) -> std::optional<PeerAnswer> {
        if (is_silent) return JsonPeer::silence();
        return granted(index % 2 == 0 ? "1970-01-01T00:00:00.000Z" : "2170-01-01T00:00:00.000Z");
    });
    Client client = *Client::open(peer.options());
    std::promise<GuardLost> lost;
    auto told = lost.get_future();
    auto guard = client.hold(
        named("x", "a", 6s), 0s,
        {.every = 50ms, .on_lost = [&](const GuardLost& loss) { lost.set_value(loss); }});
    ASSERT_TRUE(guard) << to_note(guard);
    for (std::size_t requests = 2; requests < 6; ++requests) {
        peer.wait_for(requests);
        EXPECT_TRUE(guard->is_guaranteed());
        EXPECT_LE(guard->time_left(), 5s);
    }
    is_silent = true;
    ASSERT_EQ(told.wait_for(patience), std::future_status::ready)
        << "it lasts as long as the server's clock says";
    EXPECT_TRUE(std::holds_alternative<LockNotGuaranteed>(told.get().error));
    is_silent = false;
}

// The server says after a moment what it says after ten minutes.
TEST(ScriptedServer, S12AWaitOfMoreThanTenMinutesKeepsItsPlace) {
    JsonPeer peer([](const SeenRequest&, int index) {
        if (index >= 3) return granted();
        std::this_thread::sleep_for(20ms);
        return still_waiting();
    });
    Client client = *Client::open(peer.options());
    const auto begin = BootClock::now();
    const auto lease = client.acquire(named("x"), 1h);
    ASSERT_TRUE(lease) << to_note(lease);
    EXPECT_EQ(lease->fencing_token, 7U);
    EXPECT_LT(BootClock::now() - begin, patience) << "it asks again at once";
    const auto seen = peer.seen();
    ASSERT_GE(seen.size(), 4U);
    for (std::size_t index = 0; index < 4; ++index) {
        EXPECT_EQ(seen[index].line, "POST /v1/leases");
        EXPECT_EQ(id_of(seen[index]), id_of(seen[0]));
        EXPECT_GT(seen[index].body["wait_ms"].number(), 600'000);
    }
}

TEST(ScriptedServer, S13TheNextServerIsAskedByTheSameIdWhenOneDoesNotAnswer) {
    JsonPeer mute(
        [](const SeenRequest&, int) -> std::optional<PeerAnswer> { return std::nullopt; });
    JsonPeer other([](const SeenRequest&, int) { return granted(); });
    ClientOptions options = mute.options();
    options.servers.push_back(other.url());
    Client client = *Client::open(options);
    const auto lease = client.try_acquire(named("x"));
    ASSERT_TRUE(lease) << to_note(lease);
    ASSERT_GE(mute.seen().size(), 1U);
    ASSERT_GE(other.seen().size(), 1U);
    EXPECT_NE(id_of(mute.seen()[0]), "");
    EXPECT_EQ(id_of(mute.seen()[0]), id_of(other.seen()[0]));
}

}  // namespace
}  // namespace holdfast::sdk::testing
