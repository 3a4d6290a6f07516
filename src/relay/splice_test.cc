#include "relay/splice.h"

#include <gtest/gtest.h>

#include "net/loop/test_channel.h"

namespace holdfast::relay {
namespace {

// A splice between two channels without sockets.
class SpliceTest : public ::testing::Test {
  protected:
    explicit SpliceTest(std::shared_ptr<net::Peer> peer = nullptr)
        : splice_(std::make_shared<Splice>(framed_, traffic_, std::move(peer))),
          raw_side_(Splice::make_raw_side(splice_, raw_, std::nullopt)) {}

    static std::string data(std::string_view bytes) {
        std::string wire;
        append_data(wire, bytes);
        return wire;
    }
    static std::string end() {
        std::string wire;
        append_end(wire);
        return wire;
    }
    static std::string gone() {
        std::string wire;
        append_gone(wire);
        return wire;
    }
    // Gives the splice bytes from the other node. Returns how many it has taken.
    std::size_t receive(std::string_view bytes) { return splice_->on_framed_input(bytes); }

    net::TestChannel raw_, framed_;
    Traffic traffic_;
    std::shared_ptr<Splice> splice_;
    std::unique_ptr<net::Protocol> raw_side_;
};

TEST_F(SpliceTest, FramesWhatComesFromTheClient) {
    EXPECT_EQ(5U, raw_side_->on_input("hello"));
    raw_side_->on_end_of_data();
    EXPECT_EQ(data("hello") + end(), framed_.sent);
    raw_side_->on_closed();
    EXPECT_EQ(data("hello") + end() + gone(), framed_.sent);
    EXPECT_TRUE(framed_.closed);
    EXPECT_FALSE(framed_.is_cut);
    EXPECT_EQ(5U, traffic_.to_framed);
    EXPECT_EQ(0U, traffic_.lost);
}

TEST_F(SpliceTest, UnframesWhatComesForTheClient) {
    const std::string wire = data("hello") + end();
    EXPECT_EQ(6U, receive(wire.substr(0, 6)));
    EXPECT_EQ("he", raw_.sent);
    EXPECT_EQ(3U + 4U, receive(wire.substr(6)));
    EXPECT_EQ("hello", raw_.sent);
    EXPECT_TRUE(raw_.is_finished);
    EXPECT_FALSE(raw_.closed);
}

TEST_F(SpliceTest, IsIdleWhenBothSidesHaveEnded) {
    EXPECT_FALSE(raw_side_->idle());
    raw_side_->on_end_of_data();
    EXPECT_FALSE(raw_side_->idle());
    EXPECT_EQ(4U, receive(end()));
    EXPECT_TRUE(raw_side_->idle());
}

TEST_F(SpliceTest, GivesTheClientItsLastBytesBeforeItCloses) {
    receive(data("bye") + gone());
    EXPECT_EQ("bye", raw_.sent);
    EXPECT_TRUE(raw_.closed);
    EXPECT_FALSE(raw_.is_cut);
    EXPECT_TRUE(framed_.closed);
    raw_side_->on_closed();
    EXPECT_EQ("", framed_.sent) << "the other node knows";
}

TEST_F(SpliceTest, ReadsNoMoreOfTheClientThanTheNetworkTakes) {
    framed_.is_congested = true;
    EXPECT_EQ(0U, raw_side_->on_input("hello"));
    EXPECT_TRUE(raw_.paused);
    EXPECT_EQ("", framed_.sent);
    framed_.is_congested = false;
    splice_->on_framed_output_sent();
    EXPECT_FALSE(raw_.paused);
}

TEST_F(SpliceTest, ReadsNoMoreFromTheNetworkThanTheClientTakes) {
    raw_.is_congested = true;
    EXPECT_EQ(0U, receive(data("hello")));
    EXPECT_TRUE(framed_.paused);
    EXPECT_EQ("", raw_.sent);
    raw_.is_congested = false;
    EXPECT_FALSE(raw_side_->on_output_sent());
    EXPECT_FALSE(framed_.paused);
}

TEST_F(SpliceTest, HearsOfTheEndEvenIfTheClientTakesNothing) {
    raw_.is_congested = true;
    EXPECT_EQ(8U, receive(end() + gone()));
    EXPECT_TRUE(raw_.is_finished);
    EXPECT_TRUE(raw_.closed);
}

TEST_F(SpliceTest, CountsAnEndWithoutGoneAsLoss) {
    receive(data("x"));
    splice_->on_framed_end_of_data();
    EXPECT_TRUE(raw_.closed);
    EXPECT_FALSE(raw_.is_cut) << "the client gets what has come for it";
    EXPECT_TRUE(framed_.is_cut);
    EXPECT_EQ(1U, traffic_.lost);
    splice_->on_framed_closed();
    EXPECT_EQ(1U, traffic_.lost);
}

TEST_F(SpliceTest, ClosesBothAfterAFault) {
    const std::string fault(4, '\x7f');
    EXPECT_EQ(4U, receive(fault));
    EXPECT_TRUE(raw_.closed);
    EXPECT_TRUE(framed_.is_cut);
    EXPECT_EQ(1U, traffic_.lost);
}

class LeaderSpliceTest : public SpliceTest {
  protected:
    LeaderSpliceTest() : LeaderSpliceTest(std::make_shared<net::Peer>()) {}
    explicit LeaderSpliceTest(const std::shared_ptr<net::Peer>& peer)
        : SpliceTest(peer), peer_(peer) {}

    std::shared_ptr<net::Peer> peer_;
};

TEST_F(LeaderSpliceTest, KnowsThatTheClientHasLeftWhenItHasGone) {
    raw_.is_congested = true;
    receive(gone());
    EXPECT_TRUE(peer_->has_left);
    EXPECT_TRUE(raw_.is_cut) << "the door must know at once";
}

TEST_F(LeaderSpliceTest, KnowsThatTheClientHasLeftWhenItStopsSending) {
    receive(end());
    EXPECT_TRUE(peer_->has_left);
    EXPECT_TRUE(raw_.is_finished);
    EXPECT_FALSE(raw_.closed);
}

TEST_F(LeaderSpliceTest, DoesNotTakeTheLossOfARelayForItsClient) {
    receive(data("x"));
    splice_->on_framed_closed();
    EXPECT_FALSE(peer_->has_left);
    EXPECT_TRUE(raw_.is_cut);
}

TEST_F(LeaderSpliceTest, DoesNotTakeAFaultForTheClient) {
    receive(std::string(4, '\x7f'));
    EXPECT_FALSE(peer_->has_left);
    EXPECT_TRUE(raw_.is_cut);
}

TEST_F(LeaderSpliceTest, IsCutAtOnce) {
    splice_->cut();
    EXPECT_TRUE(raw_.is_cut);
    EXPECT_TRUE(framed_.is_cut);
    EXPECT_FALSE(peer_->has_left);
    EXPECT_EQ("", framed_.sent);
}

}  // namespace
}  // namespace holdfast::relay
