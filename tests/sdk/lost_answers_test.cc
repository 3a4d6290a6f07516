// Answers that are lost on the way leave no hold that nobody knows of.

#include <gtest/gtest.h>

#include <future>

#include "net/client/test_peer.h"
#include "net/loop/test_client.h"
#include "test_server.h"

namespace holdfast::sdk::testing {
namespace {

// Stands between a client and the server, and loses answers: it passes requests on, and when the
// answer is there and says that something was done, it may close the connection instead.
class LossyRelay {
  public:
    enum class Fate { passes, is_lost, is_held_back };
    // Called with the first line of each request, and the number of those before it.
    using Decide = std::function<Fate(const std::string& line, int index)>;

    LossyRelay(const TestServer& server, Decide decide)
        : server_(net::parse_endpoint(server.url().substr(7)).value()),
          decide_(std::move(decide)),
          peer_([this](auto& conversation, int) { relay(conversation); }) {}

    [[nodiscard]] Client connect() const {
        return *Client::open(
            {.servers = {peer_.url()}, .timeout = patience, .retry_for = patience});
    }
    // How many answers did not get through.
    [[nodiscard]] int lost() const { return lost_; }

  private:
    void relay(net::TestPeer::Conversation& conversation) {
        net::TestClient upstream(server_);
        while (true) {
            const std::string request = conversation.read_request();
            if (request.empty()) return;
            const Fate fate = decide_(request.substr(0, request.find(" HTTP")), index_++);
            upstream.send(request);
            const net::TestResponse answer = upstream.response();
            if (fate != Fate::passes) ++lost_;
            if (fate == Fate::is_lost) return;
            if (fate == Fate::is_held_back) return conversation.wait_for_end();
            conversation.send(answer.header + answer.body);
        }
    }

    const net::Endpoint server_;
    const Decide decide_;
    std::atomic<int> index_ = 0;
    std::atomic<int> lost_ = 0;
    net::TestPeer peer_;
};

using Fate = LossyRelay::Fate;

TEST(LostAnswers, S6OfAnAcquireLeaveNoHoldThatNobodyKnowsOf) {
    TestServer server;
    Client direct = server.connect();
    LossyRelay relay(server, [](const std::string&, int index) {
        return index < 2 ? Fate::is_lost : Fate::passes;
    });
    Client client = relay.connect();
    auto guard = client.hold(named("x", "a"), 0s);
    ASSERT_TRUE(guard) << to_note(guard);
    EXPECT_EQ(relay.lost(), 2);
    EXPECT_EQ(look(direct, "x")["fencing_token"].natural(), guard->fencing_token());
    EXPECT_TRUE(guard->release());
    EXPECT_FALSE(look(direct, "x")["held"].is_true());
}

TEST(LostAnswers, OfAWaitingAcquireAreAskedForAgain) {
    TestServer server;
    Client direct = server.connect();
    const auto first = direct.try_acquire(named("x", "a"));
    ASSERT_TRUE(first);
    LossyRelay relay(server, [](const std::string&, int index) {
        return index == 0 ? Fate::is_lost : Fate::passes;
    });
    Client client = relay.connect();
    auto second =
        std::async(std::launch::async, [&] { return client.acquire(named("x", "b"), 1h); });
    ASSERT_TRUE(eventually([&] { return look(direct, "x")["queue_length"].number() == 1; }));
    ASSERT_TRUE(direct.release(*first));
    const auto lease = second.get();
    ASSERT_TRUE(lease) << to_note(lease);
    EXPECT_EQ(relay.lost(), 1);
    EXPECT_EQ(look(direct, "x")["fencing_token"].natural(), lease->fencing_token);
}

TEST(LostAnswers, S5OfAnAcquireThatIsStoppedMeanwhileAreGivenBack) {
    TestServer server;
    Client direct = server.connect();
    LossyRelay relay(server, [](const std::string&, int index) {
        return index == 0 ? Fate::is_held_back : Fate::passes;
    });
    Client client = relay.connect();
    std::stop_source stop;
    auto acquiring = std::async(
        std::launch::async, [&] { return client.acquire(named("x", "a"), 1h, stop.get_token()); });
    ASSERT_TRUE(eventually([&] { return look(direct, "x")["held"].is_true(); }));
    stop.request_stop();
    EXPECT_TRUE(failed_with<LockCancelled>(acquiring.get()));
    EXPECT_FALSE(look(direct, "x")["held"].is_true());
}

TEST(LostAnswers, S7OfAReleaseCountAsReleased) {
    TestServer server;
    LossyRelay relay(server, [](const std::string& line, int index) {
        return line.starts_with("DELETE") && index == 1 ? Fate::is_lost : Fate::passes;
    });
    Client client = relay.connect();
    const auto lease = client.try_acquire(named("x", "a"));
    ASSERT_TRUE(lease);
    EXPECT_EQ(to_note(client.release(*lease)), "ok");
    EXPECT_EQ(relay.lost(), 1);
    EXPECT_EQ(to_note(client.release(*lease)), "the lock is over");
}

TEST(LostAnswers, OfRenewalsDoNotLoseAGuardThatHasTime) {
    TestServer server;
    LossyRelay relay(server, [](const std::string& line, int index) {
        return line.ends_with("/renew") && index % 2 == 1 ? Fate::is_lost : Fate::passes;
    });
    Client client = relay.connect();
    auto guard = client.hold(named("x", "a", 30s), 0s, {.every = 50ms});
    ASSERT_TRUE(guard);
    ASSERT_TRUE(eventually([&] { return relay.lost() >= 5; }));
    EXPECT_TRUE(guard->is_guaranteed());
    EXPECT_TRUE(guard->release());
}

TEST(LostAnswers, OfWhatIsNotSafeTwiceAreNotAskedForAgain) {
    TestServer server;
    LossyRelay relay(server, [](const std::string&, int) { return Fate::is_lost; });
    Client client = relay.connect();
    EXPECT_TRUE(failed_with<ServerUnavailable>(
        client.ask({.method = "DELETE", .target = "/v1/locks/x", .is_repeatable = false})));
    EXPECT_EQ(relay.lost(), 1);
}

}  // namespace
}  // namespace holdfast::sdk::testing
