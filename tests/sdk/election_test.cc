// Elections: one leader at a time, and everybody knows who. S17 is a scenario of clients/scenarios.md.

#include <gtest/gtest.h>
#include <signal.h>

#include <future>

#include "../e2e/process.h"
#include "observer.h"
#include "test_server.h"

namespace holdfast::sdk::testing {
namespace {

TEST(Election, HasOneLeaderAtATimeAndTellsWhoThatIs) {
    TestServer server;
    Client client = server.connect();
    const Observer observer(server.connect(), "boss");
    ASSERT_TRUE(eventually([&] { return observer.told() == Told{"nobody"}; }));

    auto first = client.campaign({.election = "boss", .candidate = "a", .value = "10.0.0.1"});
    ASSERT_TRUE(first) << to_note(first);
    ASSERT_TRUE(eventually([&] { return observer.told() == Told{"nobody", "a@10.0.0.1"}; }));
    const Observer late(server.connect(), "boss");
    EXPECT_TRUE(eventually([&] { return late.told() == Told{"a@10.0.0.1"}; }));

    auto campaigning = std::async(std::launch::async, [&] {
        return client.campaign({.election = "boss", .candidate = "b", .value = "10.0.0.2"});
    });
    ASSERT_TRUE(eventually([&] { return look(client, "boss")["queue_length"].number() == 1; }));
    const std::uint64_t token = first->fencing_token();
    EXPECT_TRUE(first->release());
    auto second = campaigning.get();
    ASSERT_TRUE(second);
    EXPECT_GT(second->fencing_token(), token);
    EXPECT_TRUE(eventually([&] {
        return observer.told() == Told{"nobody", "a@10.0.0.1", "nobody", "b@10.0.0.2"};
    }));
    EXPECT_TRUE(second->release());
    EXPECT_TRUE(eventually([&] { return late.told().back() == "nobody"; }));
}

TEST(Election, IsLeftByACandidateThatIsStopped) {
    TestServer server;
    Client client = server.connect();
    auto leader = client.campaign({.election = "boss", .candidate = "a"});
    ASSERT_TRUE(leader);
    std::stop_source stop;
    auto campaigning = std::async(std::launch::async, [&] {
        return client.campaign({.election = "boss", .candidate = "b"}, {}, stop.get_token());
    });
    ASSERT_TRUE(eventually([&] { return look(client, "boss")["queue_length"].number() == 1; }));
    stop.request_stop();
    EXPECT_TRUE(failed_with<LockCancelled>(campaigning.get()));
    EXPECT_TRUE(eventually([&] { return look(client, "boss")["queue_length"].number() == 0; }));
}

TEST(Election, S17TheValueChangesAndTheNextLeadsWhenTheLeaderIsKilled) {
    TestServer server;
    Client client = server.connect();
    const Observer observer(server.connect(), "boss");
    ASSERT_TRUE(eventually([&] { return observer.told() == Told{"nobody"}; }));
    // It leads, and changes its value.
    e2e::Process leader({.words = {HOLDFAST_SDK_LEADER},
                         .environment = {{"HOLDFAST_SERVER", server.url()},
                                         {"HOLDFAST_TOKEN_FILE", ""},
                                         {"HOLDFAST_CA_FILE", ""}}});
    ASSERT_NE(leader.wait_for_output("leading"), "");
    ASSERT_TRUE(eventually([&] {
        return observer.told() == Told{"nobody", "ann@one", "ann@two"};
    }));
    const Leader ann = observer.leader().value();
    EXPECT_EQ(ann.revision, 2U);

    auto campaigning = std::async(std::launch::async, [&] {
        return client.campaign({.election = "boss", .candidate = "bob", .value = "three"});
    });
    ASSERT_TRUE(eventually([&] { return look(client, "boss")["queue_length"].number() == 1; }));
    leader.signal(SIGKILL);
    auto bob = campaigning.get();
    ASSERT_TRUE(bob) << to_note(bob);
    EXPECT_GT(bob->fencing_token(), ann.fencing_token);
    EXPECT_TRUE(eventually([&] {
        return observer.leader() == Leader{.candidate = "bob",
                                           .value = "three",
                                           .revision = 1,
                                           .fencing_token = bob->fencing_token()};
    }));
    const auto changed = client.set_value(bob->lease(), "four");
    ASSERT_TRUE(changed) << to_note(changed);
    EXPECT_EQ(changed->value, "four");
    EXPECT_EQ(changed->revision, 2U);
    EXPECT_TRUE(eventually([&] { return observer.told().back() == "bob@four"; }));
    EXPECT_TRUE(bob->release());
    EXPECT_TRUE(eventually([&] { return observer.told().back() == "nobody"; }));
    EXPECT_EQ(observer.told(),
              (Told{"nobody", "ann@one", "ann@two", "nobody", "bob@three", "bob@four", "nobody"}));
}

TEST(Election, AValueIsNotMetadataAndHasTheErrorsOfARenewal) {
    TestServer server;
    Client client = server.connect();
    auto leader = client.campaign({.election = "boss", .candidate = "a", .value = "v"});
    ASSERT_TRUE(leader);
    const Lease lease = leader->lease();
    EXPECT_EQ(lease.value, "v");
    EXPECT_EQ(lease.revision, 1U);
    EXPECT_EQ(lease.metadata, "");
    EXPECT_EQ(client.set_value(lease, "v")->revision, 1U) << "it is the same";
    EXPECT_EQ(client.set_value(lease, "")->revision, 2U);
    EXPECT_EQ(client.renew(lease)->value, "");
    EXPECT_TRUE(failed_with<InvalidLockRequest>(client.set_value(lease, std::string(4097, 'x'))));
    ASSERT_EQ(*client.force_release(LockScope::Named{"boss"}), 1U);
    EXPECT_TRUE(failed_with<LockExpired>(client.set_value(lease, "w")))
        << to_note(client.set_value(lease, "w"));
    Lease unknown = lease;
    unknown.token = std::string(32, '0');
    EXPECT_TRUE(failed_with<LockNotFound>(client.set_value(unknown, "w")));
}

}  // namespace
}  // namespace holdfast::sdk::testing
