// What a door hears when something dies: the client, the relay, or the leader.

#include <gmock/gmock.h>

#include "relay/test_node.h"

namespace holdfast::relay {
namespace {

using ::testing::ElementsAre;

TEST_F(RelayTest, TellsTheDoorThatAClientHasClosed) {
    {
        auto client = follower_.connect();
        EXPECT_EQ("leader\n", client.read(7));
    }
    EXPECT_TRUE(eventually([&] { return !leader_.farewells.all().empty(); }));
    EXPECT_THAT(leader_.farewells.all(), ElementsAre("left"));
}

TEST_F(RelayTest, TellsTheDoorThatAClientWasKilled) {
    auto client = follower_.connect();
    EXPECT_EQ("leader\n", client.read(7));
    client.reset();
    EXPECT_TRUE(eventually([&] { return !leader_.farewells.all().empty(); }));
    EXPECT_THAT(leader_.farewells.all(), ElementsAre("left"));
}

TEST_F(RelayTest, TellsTheDoorThatTheRelayWasKilled) {
    auto client = follower_.connect();
    EXPECT_EQ("leader\n", client.read(7));
    follower_.kill();
    EXPECT_TRUE(eventually([&] { return !leader_.farewells.all().empty(); }));
    EXPECT_THAT(leader_.farewells.all(), ElementsAre("lost"));
    EXPECT_EQ(1U, leader_.peer().counts().lost);
}

TEST_F(RelayTest, LosesNoClientWhenItIsClosed) {
    auto client = follower_.connect();
    EXPECT_EQ("leader\n", client.read(7));
    follower_.relay().close_all();
    EXPECT_EQ("", client.read_to_end());
    EXPECT_TRUE(eventually([&] { return !leader_.farewells.all().empty(); }));
    EXPECT_THAT(leader_.farewells.all(), ElementsAre("lost")) << "its locks stay";
}

TEST_F(RelayTest, ClosesItsClientsWhenTheLeaderWasKilled) {
    auto client = follower_.connect();
    EXPECT_EQ("leader\n", client.read(7));
    leader_.kill();
    EXPECT_EQ("", client.read_to_end());
    EXPECT_EQ(1U, follower_.relay().counts().lost);
}

TEST_F(RelayTest, ClosesItsClientsWhenAnotherNodeLeads) {
    TestNode next("next");
    next.lead(8);
    auto client = follower_.connect();
    EXPECT_EQ("leader\n", client.read(7));
    follower_.follow(next.peer().endpoint(), 8);
    EXPECT_EQ("", client.read_to_end());
    EXPECT_EQ("next\n", follower_.connect().read(5));
}

TEST_F(RelayTest, GoesOnWhenItHearsOfTheSameLeaderAgain) {
    auto client = follower_.connect();
    EXPECT_EQ("leader\n", client.read(7));
    follower_.follow(leader_.peer().endpoint());
    leader_.lead();
    auto other = follower_.connect();  // what was posted before is done when it is served
    EXPECT_EQ("leader\n", other.read(7));
    client.send("x");
    EXPECT_EQ("x", client.read(1));
}

TEST_F(RelayTest, IsClosedAtOnceByANodeThatNoLongerLeads) {
    auto client = follower_.connect();
    EXPECT_EQ("leader\n", client.read(7));
    leader_.peer().stop_leading();
    EXPECT_EQ("", client.read_to_end());
    EXPECT_TRUE(eventually([&] { return leader_.peer().counts().open == 0; }));
    EXPECT_TRUE(eventually([&] { return !leader_.farewells.all().empty(); }));
    EXPECT_THAT(leader_.farewells.all(), ElementsAre("lost"));
    EXPECT_EQ("follower\n", follower_.connect().read(9)) << "the own door says that nobody leads";
}

TEST_F(RelayTest, IsClosedAtOnceByANodeThatLeadsAnew) {
    auto client = follower_.connect();
    EXPECT_EQ("leader\n", client.read(7));
    leader_.lead(8);
    EXPECT_EQ("", client.read_to_end());
}

TEST_F(RelayTest, KeepsClientsHereWhenItFollowsNobody) {
    auto client = follower_.connect();
    EXPECT_EQ("leader\n", client.read(7));
    follower_.relay().follow(std::nullopt);
    EXPECT_EQ("", client.read_to_end());
    EXPECT_EQ("follower\n", follower_.connect().read(9));
    EXPECT_EQ(0U, follower_.relay().counts().given_back) << "nobody was asked";
}

}  // namespace
}  // namespace holdfast::relay
