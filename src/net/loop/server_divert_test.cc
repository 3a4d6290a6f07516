// Connections that a server gives away, gets from another node, or sends away.

#include <gtest/gtest.h>

#include <optional>

#include "net/loop/test_server.h"

namespace holdfast::net {
namespace {

// Says whose client it has, and returns every byte.
class AddressEcho final : public Protocol {
  public:
    AddressEcho(Channel& channel, std::atomic<int>& lost) : channel_(channel), lost_(lost) {
        channel_.output().append(channel_.client_address() + "\n");
        channel_.flush();
    }
    std::size_t on_input(std::string_view input) override {
        channel_.output().append(input);
        return input.size();
    }
    void on_read_timeout() override {}
    void on_closed() override {
        if (channel_.is_client_lost()) ++lost_;
    }
    bool idle() const override { return true; }

  private:
    Channel& channel_;
    std::atomic<int>& lost_;
};

// Reads the first `bytes`, then says what it wants to say and that it will say no more.
class Farewell final : public Protocol {
  public:
    explicit Farewell(Channel& channel) : channel_(channel) {}
    std::size_t on_input(std::string_view input) override {
        heard_ += input;
        if (!std::exchange(has_answered_, true)) {
            channel_.output().append("bye");
            channel_.finish_output();
        }
        return input.size();
    }
    void on_end_of_data() override { is_done_ = true; }
    void on_read_timeout() override {}
    bool idle() const override { return is_done_; }

  private:
    Channel& channel_;
    std::string heard_;
    bool has_answered_ = false;
    bool is_done_ = false;
};

// Takes nothing until it is told to, and then everything.
class Patient final : public Protocol {
  public:
    struct Record {
        std::atomic<Channel*> channel = nullptr;
        std::atomic<bool> may_read = false;
        std::atomic<bool> has_seen_end = false;
        std::atomic<std::size_t> heard_bytes = 0;
        std::atomic<bool> is_closed = false;
    };
    Patient(Channel& channel, Record& record) : channel_(channel), record_(record) {
        record_.channel = &channel;
    }
    std::size_t on_input(std::string_view input) override {
        if (!record_.may_read) return channel_.pause(), 0;
        record_.heard_bytes += input.size();
        return input.size();
    }
    void on_end_of_input() override { record_.has_seen_end = true; }
    void on_read_timeout() override {}
    void on_closed() override { record_.is_closed = true; }
    bool idle() const override { return false; }
    bool wants_all_input() const override { return true; }

  private:
    Channel& channel_;
    Record& record_;
};

class ServerDivertTest : public ::testing::Test {
  protected:
    ~ServerDivertTest() override {
        server_.on_loop([this] { return taken_.reset(), 0; });
    }

    ServerOptions options() {
        ServerOptions options;
        options.connections_max = 2;
        options.divert = [this](Arrival& arrival) {
            if (!diverts_) return false;
            taken_.emplace(std::move(arrival));
            return true;
        };
        return options;
    }

    std::atomic<bool> diverts_ = false;
    std::atomic<int> lost_ = 0;
    std::optional<Arrival> taken_;  // on the loop
    TestServer server_{[this](Channel& channel, EventLoop&) {
                           return std::make_unique<AddressEcho>(channel, lost_);
                       },
                       options()};
};

TEST_F(ServerDivertTest, CountsAConnectionThatWasTaken) {
    diverts_ = true;
    auto client = server_.connect();
    EXPECT_TRUE(server_.eventually([this] { return taken_.has_value(); }));
    EXPECT_EQ(1U, server_.server().counts().connections);
    server_.on_loop([this] { return taken_.reset(), 0; });
    EXPECT_EQ(0U, server_.server().counts().connections);
    EXPECT_EQ("", client.read_to_end());
    EXPECT_EQ(1U, server_.server().counts().accepted);
}

TEST_F(ServerDivertTest, ServesAConnectionThatWasGivenBack) {
    diverts_ = true;
    auto client = server_.connect();
    client.send("early");
    EXPECT_TRUE(server_.eventually([this] { return taken_.has_value(); }));
    server_.on_loop([this] {
        std::move(*taken_).serve();
        return taken_.reset(), 0;
    });
    EXPECT_TRUE(client.read(10) == "127.0.0.1:");
    EXPECT_EQ(1U, server_.server().counts().connections);
}

TEST_F(ServerDivertTest, RefusesMoreThanItsLimitWhereverTheyAre) {
    diverts_ = true;
    auto first = server_.connect();
    EXPECT_TRUE(server_.eventually([this] { return taken_.has_value(); }));
    diverts_ = false;
    auto second = server_.connect();
    EXPECT_EQ("127.0.0.1:", second.read(10));
    auto third = server_.connect();
    EXPECT_EQ("", third.read_to_end());
    EXPECT_EQ(1U, server_.server().counts().refused);
}

TEST_F(ServerDivertTest, ShutsDownWithoutWaitingForWhatWasTaken) {
    diverts_ = true;
    auto client = server_.connect();
    EXPECT_TRUE(server_.eventually([this] { return taken_.has_value(); }));
    auto done = server_.shut_down(std::chrono::seconds(10));
    EXPECT_EQ(std::future_status::ready, done.wait_for(std::chrono::seconds(10)));
}

TEST_F(ServerDivertTest, AdoptsAConnectionOfAnotherNode) {
    diverts_ = true;  // such a connection goes nowhere else
    std::array<int, 2> pair{};
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()));
    auto peer = std::make_shared<Peer>();
    peer->address = "192.0.2.1:9";
    EXPECT_TRUE(server_.server().adopt(Transport(pair[1]), peer));
    EXPECT_TRUE(server_.eventually([&] { return server_.server().counts().connections == 1; }));
    std::string heard(12, ' ');
    EXPECT_TRUE(server_.eventually(
        [&] { return ::recv(pair[0], heard.data(), heard.size(), MSG_DONTWAIT) > 0; }));
    EXPECT_EQ("192.0.2.1:9\n", heard);
    ::close(pair[0]);
    EXPECT_TRUE(server_.eventually([&] { return server_.server().counts().connections == 0; }));
    EXPECT_EQ(1, lost_) << "nobody has said that the client left";
}

TEST_F(ServerDivertTest, KnowsThatAClientOfAnotherNodeHasLeft) {
    std::array<int, 2> pair{};
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()));
    auto peer = std::make_shared<Peer>();
    EXPECT_TRUE(server_.server().adopt(Transport(pair[1]), peer));
    peer->has_left = true;
    ::close(pair[0]);
    EXPECT_TRUE(server_.eventually([&] { return server_.server().counts().connections == 0; }));
    EXPECT_EQ(0, lost_);
}

TEST_F(ServerDivertTest, SendsPresentClientsAwayAndAcceptsNewOnes) {
    auto client = server_.connect();
    EXPECT_EQ("127.0.0.1:", client.read(10));
    server_.server().send_away();
    client.read_to_end();
    EXPECT_TRUE(server_.eventually([&] { return server_.server().counts().connections == 0; }));
    auto next = server_.connect();
    EXPECT_EQ("127.0.0.1:", next.read(10));
    next.send("x");
    next.finish_sending();
    EXPECT_TRUE(next.read_to_end().ends_with("\nx"));
}

// Of a local socket, the kernel says for ever that the peer has closed, while there is still input.
TEST(Connection, HandlesAllInputOfAPeerThatHasClosedIfTheProtocolWantsIt) {
    Patient::Record record;
    TestServer server([&record](Channel& channel, EventLoop&) {
        return std::make_unique<Patient>(channel, record);
    });
    std::array<int, 2> pair{};
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()));
    EXPECT_TRUE(server.server().adopt(Transport(pair[1]), std::make_shared<Peer>()));
    const std::string kilobyte(1024, 'x');
    std::size_t sent_bytes = 0;  // more than a connection holds back
    EXPECT_TRUE(server.eventually([&] {
        const auto count = ::send(pair[0], kilobyte.data(), kilobyte.size(), MSG_DONTWAIT);
        if (count > 0) sent_bytes += static_cast<std::size_t>(count);
        return sent_bytes > std::size_t{128} * 1024;
    }));
    ::close(pair[0]);
    EXPECT_TRUE(server.eventually([&] { return record.has_seen_end.load(); }));
    EXPECT_FALSE(record.is_closed);
    server.on_loop([&] {
        record.may_read = true;
        return record.channel.load()->resume(), 0;
    });
    EXPECT_TRUE(server.eventually([&] { return record.is_closed.load(); }));
    EXPECT_EQ(sent_bytes, record.heard_bytes);
}

TEST(Connection, MayFinishItsOutputAndGoOnReading) {
    TestServer server(
        [](Channel& channel, EventLoop&) { return std::make_unique<Farewell>(channel); });
    auto client = server.connect();
    client.send("one");
    EXPECT_EQ("bye", client.read_to_end());
    client.send(std::string(100'000, 'x'));
    EXPECT_EQ(1U, server.server().counts().connections);
    client.finish_sending();
    EXPECT_TRUE(server.eventually([&] { return server.server().counts().connections == 0; }));
}

}  // namespace
}  // namespace holdfast::net
