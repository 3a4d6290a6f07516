// Connections over real sockets, with a protocol simpler than any real one.

#include "net/loop/connection.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "net/loop/test_server.h"

namespace holdfast::net {
namespace {

using std::chrono::milliseconds;

// What the protocols of a test have seen. Used on the loop's thread only.
struct Journal {
    Channel* channel = nullptr;  // of the last connection
    std::string lines;           // handled, with their line ends
    std::size_t largest_input = 0;
    int ends = 0;
    int timeouts = 0;
    int closed = 0;
    bool busy = false;
};

// Echoes lines. "pause" pauses after itself, "quit" closes, "fill" answers with a mebibyte.
class Lines final : public Protocol {
  public:
    Lines(Channel& channel, Journal& journal) : channel_(channel), journal_(journal) {
        journal_.channel = &channel;
    }

    std::size_t on_input(std::string_view input) override {
        journal_.largest_input = std::max(journal_.largest_input, input.size());
        std::size_t consumed = 0;
        bool paused = false;
        while (!paused && !channel_.congested()) {
            const auto end = input.find('\n', consumed);
            if (end == std::string_view::npos) break;
            const auto line = input.substr(consumed, end - consumed + 1);
            consumed = end + 1;
            journal_.lines.append(line);
            if (line == "quit\n") channel_.close_after_flush();
            if (line == "fill\n") channel_.output().append(std::size_t{1} << 20, 'x');
            if (line == "pause\n") {
                paused = true;
                channel_.pause();
            }
            channel_.output().append(line);
        }
        return consumed;
    }
    void on_end_of_input() override { ++journal_.ends; }
    void on_read_timeout() override {
        ++journal_.timeouts;
        channel_.output().append("slow\n");
        channel_.close_after_flush();
    }
    void on_closed() override { ++journal_.closed; }
    bool idle() const override { return !journal_.busy; }

  private:
    Channel& channel_;
    Journal& journal_;
};

class ConnectionTest : public testing::Test {
  protected:
    TestServer& serve(const ConnectionLimits& limits = {}) {
        server_ = std::make_unique<TestServer>(
            [this](Channel& channel, EventLoop&) {
                return std::make_unique<Lines>(channel, journal_);
            },
            ServerOptions{.limits = limits, .on_error = {}});
        return *server_;
    }

    Journal journal_;
    std::unique_ptr<TestServer> server_;
};

TEST_F(ConnectionTest, EchoesLinesHoweverTheyAreCut) {
    auto client = serve().connect();
    client.send("a\nb");
    EXPECT_EQ("a\n", client.read(2));
    client.send("c\nd\n");
    EXPECT_EQ("bc\nd\n", client.read(5));
}

TEST_F(ConnectionTest, KeepsApartWhatManyHaveSentAtOnce) {
    constexpr std::size_t count = 30, lines = 3'000;  // more than fits into a turn's buffer
    auto& server = serve();
    std::vector<TestClient> clients;
    std::vector<std::string> texts;
    for (std::size_t index = 0; index < count; ++index) {
        clients.push_back(server.connect());
        clients.back().send("hello\n");
        EXPECT_EQ("hello\n", clients.back().read(6));
        texts.emplace_back();
        for (std::size_t line = 0; line < lines; ++line) {
            texts.back() += std::to_string(index * lines + line) + "\n";
        }
    }
    // Meanwhile the loop cannot receive, so that all connections are ready together afterwards.
    server.on_loop([&] {
        for (std::size_t index = 0; index < count; ++index) clients[index].send(texts[index]);
    });
    for (std::size_t index = 0; index < count; ++index) {
        EXPECT_EQ(texts[index], clients[index].read(texts[index].size())) << index;
    }
}

TEST_F(ConnectionTest, SendsWhatIsAppendedLaterWhenFlushed) {
    auto& server = serve();
    auto client = server.connect();
    client.send("a\n");
    EXPECT_EQ("a\n", client.read(2));
    server.on_loop([this] {
        journal_.channel->output().append("later\n");
        journal_.channel->flush();
    });
    EXPECT_EQ("later\n", client.read(6));
}

// What a service does: a request of one connection ends the wait of another at the end of the turn.
struct Grants final : TurnTask {
    void on_end_of_turn() override {
        waiter->output().append("granted\n");
        waiter->flush();
    }

    Channel* waiter = nullptr;
    std::string sent;  // the first letters of the answers, in the order in which they left
};

// "wait" is answered when somebody else has sent "release".
class Waiting final : public Protocol {
  public:
    Waiting(Channel& channel, EventLoop& loop, Grants& grants)
        : channel_(channel), loop_(loop), grants_(grants) {}

    std::size_t on_input(std::string_view input) override {
        if (input == "wait\n") {
            grants_.waiter = &channel_;
        } else {
            loop_.schedule(grants_);
            channel_.output().append("released\n");
        }
        return input.size();
    }
    bool on_output_sent() override {
        if (loop_.now() != last_turn_) grants_.sent += &channel_ == grants_.waiter ? 'g' : 'r';
        last_turn_ = loop_.now();
        return false;
    }
    void on_read_timeout() override {}
    bool idle() const override { return false; }

  private:
    Channel& channel_;
    EventLoop& loop_;
    Grants& grants_;
    EventLoop::TimePoint last_turn_;
};

TEST(ConnectionOrder, AGrantLeavesBeforeTheAnswerToTheRelease) {
    Grants grants;
    TestServer server([&grants](Channel& channel, EventLoop& loop) {
        return std::make_unique<Waiting>(channel, loop, grants);
    });
    auto waiter = server.connect();
    waiter.send("wait\n");
    ASSERT_TRUE(server.eventually([&grants] { return grants.waiter != nullptr; }));
    auto holder = server.connect();
    server.on_loop([&grants] { grants.sent.clear(); });
    holder.send("release\n");
    EXPECT_EQ("granted\n", waiter.read(8));
    EXPECT_EQ("released\n", holder.read(9));
    const auto sent = server.on_loop([&grants] { return grants.sent; });
    EXPECT_TRUE(sent.ends_with("gr")) << sent;
}

TEST_F(ConnectionTest, ClosesAfterTheLastAnswerAlthoughThePeerGoesOnSending) {
    auto client = serve().connect();
    client.send("a\nquit\n" + std::string(100'000, 'z'));
    EXPECT_EQ("a\nquit\n", client.read_to_end());
}

TEST_F(ConnectionTest, AnswersAPeerThatHasHalfClosed) {
    auto client = serve().connect();
    client.send("a\nincomplete");
    client.finish_sending();
    EXPECT_EQ("a\n", client.read_to_end());
    EXPECT_TRUE(server_->eventually([this] { return journal_.closed == 1; }));
    EXPECT_EQ(1, journal_.ends);
}

TEST_F(ConnectionTest, GivesAPausedProtocolNoInputUntilItResumes) {
    auto& server = serve();
    auto client = server.connect();
    client.send("pause\na\n");
    EXPECT_EQ("pause\n", client.read(6));
    client.send("b\n");
    server.on_loop([this] { EXPECT_EQ("pause\n", journal_.lines); });
    server.on_loop([this] { journal_.channel->resume(); });
    EXPECT_EQ("a\nb\n", client.read(4));
}

TEST_F(ConnectionTest, HoldsALimitedAmountOfInputWhilePaused) {
    auto& server = serve({.held_input_bytes_max = 1000});
    auto client = server.connect();
    client.send("pause\n");
    EXPECT_EQ("pause\n", client.read(6));
    const std::string line(std::size_t{1} << 16, 'y');
    while (client.try_send(line)) {
    }
    server.on_loop([this] { journal_.channel->resume(); });
    client.send("\n");
    EXPECT_TRUE(client.read(100).starts_with('y'));
}

TEST_F(ConnectionTest, NoticesWhilePausedThatThePeerHasGone) {
    for (const bool reset : {false, true}) {
        journal_ = {};
        auto& server = serve({.held_input_bytes_max = 10});
        auto client = server.connect();
        client.send("pause\nmore than is held while paused\n");
        EXPECT_EQ("pause\n", client.read(6));
        if (reset) {
            client.reset();
            EXPECT_TRUE(server.eventually([this] { return journal_.closed == 1; }));
        } else {
            client.finish_sending();
            EXPECT_TRUE(server.eventually([this] { return journal_.ends == 1; }));
            server.on_loop([this] { EXPECT_EQ("pause\n", journal_.lines); });
            server.on_loop([this] { journal_.channel->resume(); });
            EXPECT_EQ("more than is held while paused\n", client.read_to_end());
        }
        server_.reset();
    }
}

TEST_F(ConnectionTest, KeepsAHalfClosedConnectionWhileSomethingIsOwed) {
    journal_.busy = true;
    auto& server = serve();
    auto client = server.connect();
    client.finish_sending();
    EXPECT_TRUE(server.eventually([this] { return journal_.ends == 1; }));
    server.on_loop([this] {
        EXPECT_EQ(0, journal_.closed);
        journal_.busy = false;
        journal_.channel->output().append("at last\n");
        journal_.channel->flush();
    });
    EXPECT_EQ("at last\n", client.read_to_end());
}

TEST_F(ConnectionTest, StopsReadingFromAPeerThatDoesNotReadAndGoesOnWhenItDoes) {
    auto& server = serve({.output_bytes_max = 1000});
    auto client = server.connect(4096);
    constexpr int fills = 50;
    for (int i = 0; i < fills; ++i) client.send("fill\n");
    EXPECT_TRUE(server.eventually([this] { return !journal_.lines.empty(); }));
    server.on_loop([this] { EXPECT_LT(journal_.lines.size(), std::size_t{5} * fills); });
    const std::size_t answer = (std::size_t{1} << 20) + 5;
    EXPECT_EQ(answer * fills, client.read(answer * fills).size());
}

TEST_F(ConnectionTest, GivesUpAPeerThatNeverReads) {
    auto& server = serve({.write_timeout = milliseconds(50), .output_bytes_max = 1000});
    auto client = server.connect(4096);
    for (int i = 0; i < 50; ++i) client.send("fill\n");
    EXPECT_TRUE(server.eventually([this] { return journal_.closed == 1; }));
}

TEST_F(ConnectionTest, TimesARequestFromItsFirstByteHoweverItTrickles) {
    auto& server = serve({.request_timeout = milliseconds(50)});
    auto client = server.connect();
    bool answered = false;
    for (int i = 0; i < 10'000 && !answered; ++i) {
        client.try_send("x");
        std::this_thread::sleep_for(milliseconds(1));
        answered = server.on_loop([this] { return journal_.timeouts > 0; });
    }
    EXPECT_EQ("slow\n", client.read(5));
}

TEST_F(ConnectionTest, ClosesWhenItIsIdleForTooLong) {
    auto client = serve({.idle_timeout = milliseconds(50)}).connect();
    client.send("a\n");
    EXPECT_EQ("a\n", client.read_to_end());
}

TEST_F(ConnectionTest, IsNotTimedWhileItsRequestIsBlocked) {
    journal_.busy = true;
    auto& server = serve({.request_timeout = milliseconds(20), .idle_timeout = milliseconds(20)});
    auto blocked = server.connect();
    blocked.send("pause\nnext\n");
    EXPECT_EQ("pause\n", blocked.read(6));
    {
        auto slow = server.connect();
        slow.send("x");  // started later, and is over earlier
        EXPECT_EQ("slow\n", slow.read_to_end());
    }
    EXPECT_TRUE(server.eventually([this] { return journal_.closed == 1; }));
    EXPECT_EQ(1u, server.server().counts().connections);
}

TEST_F(ConnectionTest, HoldsNothingOfALargeRequestOnceItIsHandled) {
    auto& server = serve();
    auto client = server.connect();
    const std::string line = std::string(std::size_t{1} << 20, 'y') + "\n";
    client.send(line);
    EXPECT_EQ(line, client.read(line.size()));
    server.on_loop([this] { EXPECT_LE(journal_.channel->output().capacity(), 4096u); });
}

}  // namespace
}  // namespace holdfast::net
