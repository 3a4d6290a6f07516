// The client and a server process that stands still, dies, or comes back; and the other way round.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <future>

#include "../e2e/durable.h"
#include "observer.h"
#include "switchboard.h"
#include "test_server.h"

namespace holdfast::sdk::testing {
namespace {

using e2e::DataFolder;
using e2e::ServerProcess;
using ::testing::HasSubstr;

ClientOptions options_for(const ServerProcess& server) {
    return {.servers = {"http://" + server.address}, .timeout = patience, .retry_for = patience};
}

// A server that keeps its locks in a folder, and can be killed and started again.
class MortalServer {
  public:
    MortalServer() { start(); }

    void kill_and_start_again() {
        e2e::kill_at_once(*server_);
        start();
    }
    [[nodiscard]] Client connect() const {
        return *Client::open(
            {.servers = {switchboard_.url()}, .timeout = patience, .retry_for = patience});
    }

  private:
    void start() {
        server_ = std::make_unique<ServerProcess>(e2e::flags_for(folder_.path()));
        switchboard_.connect_to(server_->address);
    }

    const DataFolder folder_;
    std::unique_ptr<ServerProcess> server_;
    Switchboard switchboard_;
};

// What on_lost says, and when.
struct Reports {
    std::promise<std::pair<GuardLost, BootClock::time_point>> promise;
    std::future<std::pair<GuardLost, BootClock::time_point>> future = promise.get_future();

    std::function<void(const GuardLost&)> on_lost() {
        return [this](const GuardLost& lost) { promise.set_value({lost, BootClock::now()}); };
    }
};

TEST(ServerTrouble, S9AGuardIsLostBeforeItsLeaseEndsWhenTheServerStandsStill) {
    ServerProcess server;
    Client client = *Client::open(options_for(server));
    Reports told;
    // A large margin: this machine may be slow to tell.
    auto guard = client.hold(named("x", "a", 12s), 0s,
                             {.every = 200ms, .margin = 10s, .on_lost = told.on_lost()});
    ASSERT_TRUE(guard) << to_note(guard);
    server.process.signal(SIGSTOP);
    ASSERT_EQ(told.future.wait_for(patience), std::future_status::ready);
    const auto [lost, at] = told.future.get();
    EXPECT_TRUE(std::holds_alternative<LockNotGuaranteed>(lost.error)) << to_text(lost.error);
    EXPECT_LT(at, lost.lease.lasts_until) << "somebody else may have it already";
    EXPECT_FALSE(guard->is_guaranteed());
    EXPECT_TRUE(guard->stop_token().stop_requested());
    server.process.signal(SIGCONT);
    EXPECT_TRUE(failed_with<LockNotGuaranteed>(guard->release()));
    EXPECT_FALSE(look(client, "x")["held"].is_true()) << "it was given back nevertheless";
}

TEST(ServerTrouble, S8AGuardGoesOnWhenTheServerIsKilledAndStartedAgainWithinTheLease) {
    MortalServer server;
    Client client = server.connect();
    std::atomic<int> losses = 0;
    auto guard = client.hold(named("x", "a", 60s), 0s,
                             {.every = 200ms, .on_lost = [&](const GuardLost&) { ++losses; }});
    ASSERT_TRUE(guard) << to_note(guard);
    const std::string token = guard->lease().token;
    server.kill_and_start_again();
    const auto restarted_at = BootClock::now();
    ASSERT_TRUE(eventually([&] { return guard->lease().lasts_until > restarted_at + 60s; }));
    EXPECT_TRUE(guard->is_guaranteed());
    EXPECT_EQ(guard->lease().token, token);
    EXPECT_TRUE(failed_with<LockHeld>(client.try_acquire(named("x", "b"))));
    EXPECT_TRUE(guard->release());
    EXPECT_EQ(losses, 0);
}

TEST(ServerTrouble, S9AGuardIsLostBeforeItsLeaseCanEndWhenTheServerIsKilledAndStaysAway) {
    ServerProcess server;
    ClientOptions options = options_for(server);
    options.timeout = 1s;
    Client client = *Client::open(options);
    Reports told;
    // A large margin: this machine may be slow to tell.
    auto guard = client.hold(named("x", "a", 12s), 0s,
                             {.every = 200ms, .margin = 10s, .on_lost = told.on_lost()});
    ASSERT_TRUE(guard) << to_note(guard);
    e2e::kill_at_once(server);
    ASSERT_EQ(told.future.wait_for(patience), std::future_status::ready);
    const auto [lost, at] = told.future.get();
    EXPECT_TRUE(std::holds_alternative<LockNotGuaranteed>(lost.error)) << to_text(lost.error);
    EXPECT_THAT(to_text(lost.error), HasSubstr("Connection refused")) << "says why";
    EXPECT_LT(at, lost.lease.lasts_until);
    EXPECT_FALSE(guard->is_guaranteed());
}

TEST(ServerTrouble, AWaitGoesOnWhenTheServerIsKilledAndStartedAgain) {
    MortalServer server;
    Client client = server.connect();
    const auto first = client.try_acquire(named("x", "a", 1h));
    ASSERT_TRUE(first);
    auto second =
        std::async(std::launch::async, [&] { return client.acquire(named("x", "b"), 1h); });
    ASSERT_TRUE(eventually([&] { return look(client, "x")["queue_length"].number() == 1; }));
    server.kill_and_start_again();
    ASSERT_TRUE(eventually([&] { return look(client, "x")["queue_length"].number() == 1; }));
    ASSERT_TRUE(client.release(*first));
    EXPECT_EQ(to_note(second.get()), "ok");
}

TEST(ServerTrouble, EventsGoOnWhenTheServerIsKilledAndStartedAgain) {
    MortalServer server;
    Client client = server.connect();
    std::stop_source stop;
    std::atomic<int> opened = 0;
    std::vector<std::string> names;
    auto watching = std::async(std::launch::async, [&] {
        return client.watch(
            {.prefix = "x", .on_open = [&] { ++opened; }},
            [&](const LockEvent& event) {
                if (event.kind != "granted") return;
                names.push_back(event.lock_name);
                if (event.lock_name == "x2") stop.request_stop();
            },
            stop.get_token());
    });
    ASSERT_TRUE(eventually([&] { return opened == 1; }));
    ASSERT_TRUE(client.try_acquire(named("x1")));
    server.kill_and_start_again();
    ASSERT_TRUE(eventually([&] { return opened == 2; }));
    ASSERT_TRUE(client.try_acquire(named("x2")));
    EXPECT_TRUE(watching.get());
    EXPECT_EQ(names.back(), "x2");
}

TEST(ServerTrouble, S17AnObserverGoesOnWhenTheServerIsKilledAndStartedAgain) {
    MortalServer server;
    Client client = server.connect();
    const Observer observer(server.connect(), "boss");
    ASSERT_TRUE(eventually([&] { return observer.told() == Told{"nobody"}; }));
    auto guard = client.campaign({.election = "boss", .candidate = "a", .value = "one"});
    ASSERT_TRUE(guard) << to_note(guard);
    ASSERT_TRUE(eventually([&] { return observer.told() == Told{"nobody", "a@one"}; }));
    server.kill_and_start_again();
    const auto changed = client.set_value(guard->lease(), "two");
    ASSERT_TRUE(changed) << to_note(changed);
    EXPECT_TRUE(eventually([&] { return observer.told() == Told{"nobody", "a@one", "a@two"}; }));
    EXPECT_TRUE(guard->release());
}

TEST(ServerTrouble, S13ASecondAddressIsUsedWhenTheFirstDoesNotAnswer) {
    ServerProcess server;
    ServerProcess gone;
    ClientOptions options = options_for(server);
    options.servers.insert(options.servers.begin(), "http://" + gone.address);
    gone.process.signal(SIGKILL);
    gone.process.wait();
    Client client = *Client::open(options);
    EXPECT_EQ(to_note(client.try_acquire(named("x"))), "ok");
}

TEST(ServerTrouble, NobodyThereIsSaidSo) {
    ServerProcess server;
    ClientOptions options = options_for(server);
    options.retry_for = 100ms;
    Client client = *Client::open(options);
    server.process.signal(SIGKILL);
    server.process.wait();
    const auto lease = client.acquire(named("x"), 1h);
    ASSERT_TRUE(failed_with<ServerUnavailable>(lease));
    EXPECT_EQ(to_note(lease),
              "cannot connect to http://" + server.address + ": Connection refused");
}

// The other way round: it is the client that stands still, for longer than its lease.
TEST(ClientTrouble, AHolderThatStoodStillIsNotSureAnyMoreAndItsWritesAreRefused) {
    const ServerProcess server;
    e2e::Process holder({.words = {HOLDFAST_SDK_HOLDER},
                         .environment = {{"HOLDFAST_SERVER", "http://" + server.address},
                                         {"HOLDFAST_TOKEN_FILE", ""},
                                         {"HOLDFAST_CA_FILE", ""}}});
    ASSERT_NE(holder.wait_for_output("holding"), "");
    holder.signal(SIGSTOP);
    Client client = *Client::open(options_for(server));
    auto next = client.hold(named("x", "next"), patience);
    ASSERT_TRUE(next) << to_note(next);
    ASSERT_TRUE(client.pass_fence("store", next->fencing_token()));
    holder.signal(SIGCONT);
    EXPECT_EQ(holder.wait(), 0);
    EXPECT_THAT(holder.output(), HasSubstr("\nnot sure\n"));
    EXPECT_THAT(holder.output(), HasSubstr("\nwrite: store was used under fencing token " +
                                           std::to_string(next->fencing_token())));
    EXPECT_THAT(holder.output(), HasSubstr("\nrelease: the lock "));
    EXPECT_THAT(holder.output(), HasSubstr("\nstopped\n"));
    EXPECT_TRUE(next->is_guaranteed());
}

}  // namespace
}  // namespace holdfast::sdk::testing
