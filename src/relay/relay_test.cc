// What passes through a relay: bytes, ends, back pressure, TLS.

#include "relay/relay.h"

#include <gmock/gmock.h>

#include "net/tls/test_certificate.h"
#include "net/tls/test_tls_client.h"
#include "relay/test_node.h"

namespace holdfast::relay {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

// Bytes that tell where they are.
std::string pattern(std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; text.size() < bytes; ++i) text += std::to_string(i) + ",";
    text.resize(bytes);
    return text;
}

TEST_F(RelayTest, LetsClientsOfAnyNodeTalkToTheLeader) {
    auto client = follower_.connect();
    EXPECT_EQ("leader\n", client.read(7));
    client.send("hello");
    EXPECT_EQ("hello", client.read(5));
    EXPECT_EQ(1U, follower_.relay().counts().open);
    EXPECT_EQ(1U, follower_.door().counts().connections) << "it counts where it was accepted";
    EXPECT_EQ(1U, leader_.door().counts().connections) << "and where it is served";
    EXPECT_EQ(1U, leader_.peer().counts().open);
    EXPECT_EQ(5U, follower_.relay().counts().bytes_to_leader);
    EXPECT_EQ(12U, follower_.relay().counts().bytes_to_clients);
}

TEST_F(RelayTest, TellsTheLeaderTheAddressOfTheClient) {
    auto client = follower_.connect();
    client.read(7);
    ASSERT_THAT(leader_.addresses.all(), ElementsAre(StartsWith("127.0.0.1:")));
    auto direct = leader_.connect();
    direct.read(7);
    ASSERT_EQ(2U, leader_.addresses.all().size());
    EXPECT_NE(leader_.addresses.all()[0], leader_.addresses.all()[1]);
}

TEST_F(RelayTest, PassesTheEndOfTheClientsBytesOn) {
    auto client = follower_.connect();
    const std::string sent = pattern(300'000);
    std::thread sender([&] {
        client.send(sent);
        client.finish_sending();
    });
    EXPECT_EQ("leader\n" + sent, client.read_to_end());
    sender.join();
    EXPECT_TRUE(eventually([&] { return follower_.relay().counts().open == 0; }));
    EXPECT_TRUE(eventually([&] { return leader_.peer().counts().open == 0; }));
    EXPECT_TRUE(eventually([&] { return follower_.door().counts().connections == 0; }));
    EXPECT_TRUE(eventually([&] { return !leader_.farewells.all().empty(); }));
    EXPECT_THAT(leader_.farewells.all(), ElementsAre("left"));
    EXPECT_EQ(0U, follower_.relay().counts().lost);
    EXPECT_EQ(0U, leader_.peer().counts().lost);
}

TEST_F(RelayTest, PassesTheEndOfTheDoorsBytesOn) {
    auto client = follower_.connect();
    client.send("bye!");
    EXPECT_EQ("leader\nbye", client.read_to_end());
    client.finish_sending();
    EXPECT_TRUE(eventually([&] { return follower_.relay().counts().open == 0; }));
    EXPECT_TRUE(eventually([&] { return leader_.peer().counts().open == 0; }));
}

// The client reads nothing until the server takes no more. Then every byte is there, in order.
TEST_F(RelayTest, PassesManyBytesBothWaysToASlowReader) {
    auto client = follower_.connect(16 * 1024);
    const std::string sent = pattern(std::size_t{10} << 20);
    std::thread sender([&] {
        client.send(sent);
        client.finish_sending();
    });
    EXPECT_EQ("leader\n", client.read(7));
    const std::string received = client.read_to_end();
    sender.join();
    EXPECT_TRUE(received == sent) << received.size();
}

// The door has closed its connection before a slow client reads anything.
TEST_F(RelayTest, GivesASlowClientEverythingAfterTheDoorHasClosed) {
    auto client = follower_.connect(16 * 1024);
    const std::string sent = pattern(400'000);
    client.send(sent + "!");
    EXPECT_TRUE(eventually([&] { return !leader_.farewells.all().empty(); }));
    EXPECT_TRUE(client.read_to_end() == "leader\n" + sent);
}

TEST(Relay, SpreadsItsConnectionsOverAllLoops) {
    TestNode leader("leader", {.loop_count = 2});
    TestNode follower("follower", {.loop_count = 2});
    leader.lead();
    follower.follow(leader.peer().endpoint());
    std::vector<net::TestClient> clients;
    for (int i = 0; i < 20; ++i) clients.push_back(follower.connect());
    for (auto& client : clients) {
        client.send("x");
        EXPECT_EQ("leader\nx", client.read(8));
    }
    EXPECT_EQ(20U, follower.relay().counts().open);
    clients.clear();
    EXPECT_TRUE(eventually([&] { return leader.peer().counts().open == 0; }));
    EXPECT_TRUE(eventually([&] { return leader.farewells.all().size() == 20; }));
}

class TlsRelayTest : public ::testing::Test {
  protected:
    net::TestCertificate leader_files_{"leader"};
    net::TestCertificate follower_files_{"follower"};
    std::unique_ptr<net::TlsSource> leader_tls_ =
        std::move(net::TlsSource::open(leader_files_.files()).value());
    std::unique_ptr<net::TlsSource> follower_tls_ =
        std::move(net::TlsSource::open(follower_files_.files()).value());

    std::shared_ptr<const net::TlsTrust> trust_in(const net::TestCertificate& files) {
        return net::TlsTrust::load(files.files().certificate_file).value();
    }
};

TEST_F(TlsRelayTest, LetsTheLeaderEndTheTlsOfClients) {
    TestNode leader("leader", {.door_tls = leader_tls_.get()});
    TestNode follower("follower", {.door_tls = follower_tls_.get()});
    leader.lead();
    follower.follow(leader.peer().endpoint());
    net::TestTlsClient client(follower.door().endpoint());
    ASSERT_TRUE(client.shake_hands());
    EXPECT_EQ("leader", client.common_name());
    client.send("hello");
    EXPECT_EQ("leader\nhello", client.read(12));
    client.finish_sending();
    EXPECT_EQ("", client.read_to_end());
    EXPECT_TRUE(client.was_told_the_end());
}

TEST_F(TlsRelayTest, AnswersWithItsOwnCertificateWhileNobodyLeads) {
    TestNode follower("follower", {.door_tls = follower_tls_.get()});
    net::TestTlsClient client(follower.door().endpoint());
    ASSERT_TRUE(client.shake_hands());
    EXPECT_EQ("follower", client.common_name());
}

TEST_F(TlsRelayTest, EncryptsAmongNodes) {
    TestNode leader("leader", {.peer_tls = leader_tls_.get()});
    TestNode follower("follower", {.trust = trust_in(leader_files_)});
    leader.lead();
    follower.follow(leader.peer().endpoint());
    auto client = follower.connect();
    const std::string sent = pattern(500'000);
    std::thread sender([&] {
        client.send(sent);
        client.finish_sending();
    });
    EXPECT_EQ("leader\n" + sent, client.read_to_end());
    sender.join();
}

TEST_F(TlsRelayTest, GivesNothingToALeaderThatItDoesNotTrust) {
    TestNode leader("leader", {.peer_tls = leader_tls_.get()});
    TestNode follower("follower", {.trust = trust_in(follower_files_)});
    leader.lead();
    follower.follow(leader.peer().endpoint());
    EXPECT_EQ("follower\n", follower.connect().read(9));
    EXPECT_EQ(0U, leader.peer().counts().joined);
}

}  // namespace
}  // namespace holdfast::relay
