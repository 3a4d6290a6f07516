// A leader that refuses, is not there, or is none: the door of the own node answers instead.

#include <gmock/gmock.h>

#include "relay/test_node.h"

namespace holdfast::relay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class RelayRefusalTest : public RelayTest {
  protected:
    // A client of the follower is served by the follower itself, with all that it sends.
    void expect_own_door() {
        auto client = follower_.connect();
        client.send("hello");
        EXPECT_EQ("follower\nhello", client.read(14));
        EXPECT_EQ(1U, follower_.relay().counts().given_back);
        EXPECT_EQ(0U, follower_.relay().counts().open);
        EXPECT_EQ(1U, follower_.door().counts().connections);
        EXPECT_TRUE(leader_.farewells.all().empty());
    }
};

TEST_F(RelayRefusalTest, ComesWithTheWrongSecret) {
    follower_.follow(leader_.peer().endpoint(), 7, "guess");
    expect_own_door();
    EXPECT_THAT(leader_.refusals.all(), ElementsAre("the secret of the cluster is another"));
}

TEST_F(RelayRefusalTest, ComesWithAnotherEpoch) {
    follower_.follow(leader_.peer().endpoint(), 6);
    expect_own_door();
    EXPECT_THAT(leader_.refusals.all(), ElementsAre("this node leads in another epoch"));
    EXPECT_THAT(follower_.failures.all(), ElementsAre("this node leads in another epoch"));
}

TEST_F(RelayRefusalTest, ComesFromANodeThatDoesNotLead) {
    leader_.peer().stop_leading();
    expect_own_door();
    EXPECT_THAT(leader_.refusals.all(), ElementsAre("this node does not lead"));
}

// Two nodes that take one another for the leader: nothing goes in circles.
TEST_F(RelayRefusalTest, ComesFromANodeThatFollowsThisOne) {
    leader_.peer().stop_leading();
    leader_.follow(follower_.peer().endpoint());
    expect_own_door();
}

TEST_F(RelayRefusalTest, ComesIfNobodyListens) {
    const auto endpoint = leader_.peer().endpoint();
    leader_.kill();
    auto client = follower_.connect();
    EXPECT_EQ("follower\n", client.read(9));
    EXPECT_THAT(follower_.failures.all(), ElementsAre("the connection to it failed"));
}

TEST(RelayRefusal, ComesIfTheLeaderHasNoSuchDoor) {
    TestNode leader("leader");
    leader.lead();
    net::EventLoop loop;
    Relay relay({&loop}, {.node = "follower"});
    relay.follow(Leader{.peers = {leader.peer().endpoint()}, .epoch = 7, .secret = "secret"});
    Farewells farewells;
    net::ServerOptions options;
    options.divert = relay.divert("window");
    auto server =
        std::move(net::Server::start(
                      net::parse_endpoint("localhost:0").value(), {&loop},
                      [&](net::Channel& channel, net::EventLoop&) {
                          return std::make_unique<EchoProtocol>(channel, "own", farewells);
                      },
                      std::move(options))
                      .value());
    std::thread thread([&] { loop.run(); });
    EXPECT_EQ("own\n", net::TestClient(server->endpoint()).read(4));
    EXPECT_THAT(leader.refusals.all(), ElementsAre("this node does not have that door"));
    loop.stop();
    thread.join();
}

TEST(RelayRefusal, ComesIfTheDoorHasTooManyConnections) {
    TestNode leader("leader", {.connections_max = 1});
    TestNode follower("follower");
    leader.lead();
    follower.follow(leader.peer().endpoint());
    auto first = leader.connect();
    EXPECT_EQ("leader\n", first.read(7));
    EXPECT_EQ("follower\n", follower.connect().read(9));
    EXPECT_THAT(leader.refusals.all(), ElementsAre("the door has too many connections"));
    EXPECT_TRUE(eventually([&] { return !leader.turned_away.all().empty(); }))
        << "the leader does not learn which limit it is";
    EXPECT_THAT(leader.turned_away.all(), SizeIs(1));
    EXPECT_EQ(1U, leader.door().counts().refused);
    EXPECT_EQ(0U, leader.peer().counts().open);
}

// A name with two addresses, of which one is wrong.
TEST_F(RelayRefusalTest, ComesOnlyIfNoAddressOfTheLeaderWorks) {
    TestNode gone("gone");
    const net::Endpoint dead = gone.peer().endpoint();
    gone.kill();
    const auto follow = [&](std::vector<net::Endpoint> peers) {
        follower_.relay().follow(
            Leader{.peers = std::move(peers), .host = "localhost", .epoch = 7, .secret = "secret"});
    };
    follow({dead, leader_.peer().endpoint()});
    for (int count = 0; count < 3; ++count) {
        EXPECT_EQ("leader\n", follower_.connect().read(7));
    }
    EXPECT_EQ(0U, follower_.relay().counts().given_back);
    EXPECT_EQ("", follower_.relay().trouble());
    follow({dead, dead});
    EXPECT_EQ("follower\n", follower_.connect().read(9));
    EXPECT_EQ("the connection to it failed", follower_.relay().trouble());
}

TEST_F(RelayRefusalTest, IsTroubleUntilTheLeaderTakesConnectionsAgain) {
    const auto trouble = [&] { return follower_.relay().trouble(); };
    leader_.peer().stop_leading();
    EXPECT_EQ("follower\n", follower_.connect().read(9));
    EXPECT_EQ("this node does not lead", trouble());
    leader_.lead();
    follower_.relay().look();
    EXPECT_TRUE(eventually([&] { return trouble().empty(); }));
    leader_.peer().stop_leading();
    follower_.relay().look();
    EXPECT_TRUE(eventually([&] { return !trouble().empty(); }));
    EXPECT_EQ(1U, follower_.relay().counts().given_back);
    // Only the connection and the second look were refused.
    EXPECT_EQ(leader_.refusals.all().size(), 2U);
}

// Says something and hears nothing.
class Speech final : public net::Protocol {
  public:
    Speech(net::Channel& channel, const std::string& text) {
        channel.output().append(text);
        channel.flush();
    }
    std::size_t on_input(std::string_view input) override { return input.size(); }
    void on_read_timeout() override {}
    bool idle() const override { return true; }
};

// Listens and speaks as the test says, like somebody who pretends to lead.
class Impostor {
  public:
    explicit Impostor(std::string speech) {
        auto factory = [speech = std::move(speech)](net::Channel& channel, net::EventLoop&) {
            return std::make_unique<Speech>(channel, speech);
        };
        server_ = std::move(
            net::Server::start(net::parse_endpoint("localhost:0").value(), {&loop_}, factory)
                .value());
        thread_ = std::thread([this] { loop_.run(); });
    }
    ~Impostor() {
        loop_.stop();
        thread_.join();
    }
    [[nodiscard]] net::Endpoint endpoint() const { return server_->endpoint(); }

  private:
    net::EventLoop loop_;
    std::unique_ptr<net::Server> server_;
    std::thread thread_;
};

TEST_F(RelayRefusalTest, IsWhatAnImpostorGets) {
    std::string speech;
    append_challenge(speech, random_bytes(challenge_bytes));
    append_accepted(speech, std::string(nonce_bytes, 'n'), random_bytes(challenge_bytes), "guess");
    const Impostor impostor(speech);
    follower_.follow(impostor.endpoint());
    expect_own_door();
    EXPECT_THAT(follower_.failures.all(), ElementsAre(HasSubstr("does not know the secret")));
}

TEST_F(RelayRefusalTest, IsWhatAnotherProtocolGets) {
    const Impostor impostor("SSH-2.0-OpenSSH_9.2\r\n");
    follower_.follow(impostor.endpoint());
    expect_own_door();
    EXPECT_THAT(follower_.failures.all(), ElementsAre("it is no Holdfast"));
}

TEST(RelayRefusal, ComesInTimeIfTheLeaderSaysNothing) {
    const Impostor silent("");
    TestNode follower("follower", {.connect_timeout = std::chrono::milliseconds(20)});
    follower.follow(silent.endpoint());
    EXPECT_EQ("follower\n", follower.connect().read(9));
    EXPECT_THAT(follower.failures.all(), ElementsAre("it did not answer in time"));
}

// Somebody has overheard a preface, and sends it again.
TEST_F(RelayRefusalTest, ComesForARepeatedPreface) {
    const Preface preface{.door = "door",
                          .client = "192.0.2.1:1",
                          .node = "follower",
                          .epoch = 7,
                          .nonce = random_bytes(nonce_bytes)};
    std::string overheard;
    constexpr std::size_t challenge_size = 5 + challenge_bytes;
    constexpr std::size_t answer_size = 5 + 1 + 32;
    {
        net::TestClient first(leader_.peer().endpoint());
        const auto challenge = read_challenge(first.read(challenge_size)).value;
        append_preface(overheard, preface, challenge, "secret");
        first.send(overheard);
        const auto answer = read_answer(first.read(answer_size));
        EXPECT_TRUE(is_accepted(answer.value, preface.nonce, challenge, "secret"));
    }
    net::TestClient second(leader_.peer().endpoint());
    second.read(challenge_size);
    second.send(overheard);
    EXPECT_EQ(Verdict::not_authentic, read_answer(second.read(answer_size)).value.verdict);
    EXPECT_EQ("", second.read_to_end());
    EXPECT_EQ(1U, leader_.peer().counts().joined);
}

TEST_F(RelayRefusalTest, EndsTheConnectionOfAStranger) {
    net::TestClient stranger(leader_.peer().endpoint());
    stranger.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_THAT(stranger.read_to_end(), ::testing::StartsWith("HFRc"));
}

}  // namespace
}  // namespace holdfast::relay
