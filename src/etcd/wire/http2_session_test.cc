// The session against a server of the test, which is made of libnghttp2's own server side, and
// against bytes that are not HTTP/2.

#include "etcd/wire/http2_session.h"

#include <gtest/gtest.h>

#include "etcd/test_http2_server.h"

namespace holdfast::etcd {
namespace {

class Http2SessionTest : public testing::Test, protected Http2Listener {
  protected:
    void on_message(StreamId, std::string message) override { messages_.push_back(message); }
    void on_end(StreamId, StreamEnd end) override { ends_.push_back(end); }

    // Lets both sides talk until they have nothing more to say.
    void exchange() {
        for (bool has_moved = true; has_moved;) {
            const std::string to_server(session_.output());
            session_.sent(to_server.size());
            server_.receive(to_server);
            const std::string to_client = server_.take_output();
            ASSERT_TRUE(session_.receive(to_client));
            has_moved = !to_server.empty() || !to_client.empty();
        }
    }

    std::optional<StreamId> ask(std::string message, bool stays_open = false) {
        return session_.request({.path = paths::range,
                                 .token = "secret",
                                 .needs_leader = true,
                                 .stays_open = stays_open,
                                 .frame = std::make_shared<const std::string>(to_frame(message))});
    }

    TestHttp2Server server_;
    std::vector<std::string> messages_;
    std::vector<StreamEnd> ends_;
    Http2Session session_{"h:2379", false, *this};
};

TEST_F(Http2SessionTest, AsksAndIsAnswered) {
    EXPECT_FALSE(session_.is_greeted());
    exchange();
    EXPECT_TRUE(session_.is_greeted());
    const auto stream = ask(std::string(100'000, 'x'));
    ASSERT_TRUE(stream);
    exchange();
    const auto& request = server_.requests.at(*stream);
    EXPECT_EQ(request.headers.at(":path"), "/etcdserverpb.KV/Range");
    EXPECT_EQ(request.headers.at(":method"), "POST");
    EXPECT_EQ(request.headers.at(":authority"), "h:2379");
    EXPECT_EQ(request.headers.at("content-type"), "application/grpc");
    EXPECT_EQ(request.headers.at("te"), "trailers");
    EXPECT_EQ(request.headers.at("token"), "secret");
    EXPECT_EQ(request.headers.at("hasleader"), "true");
    EXPECT_EQ(request.body, to_frame(std::string(100'000, 'x')));
    EXPECT_TRUE(request.is_ended);
    server_.answer(*stream, to_frame("answer"), {{"grpc-status", "0"}});
    exchange();
    EXPECT_EQ(messages_, std::vector<std::string>{"answer"});
    ASSERT_EQ(ends_.size(), 1U);
    EXPECT_EQ(ends_[0].http_status, 200);
    EXPECT_EQ(ends_[0].code, 0);
}

TEST_F(Http2SessionTest, HearsTheCodeAndTheMessageOfAFailure) {
    exchange();
    const auto stream = ask("x");
    exchange();
    server_.answer(*stream, "", {{"grpc-status", "14"}, {"grpc-message", "no%20leader"}});
    exchange();
    ASSERT_EQ(ends_.size(), 1U);
    EXPECT_EQ(ends_[0].code, 14);
    EXPECT_EQ(ends_[0].message, "no%20leader");
}

TEST_F(Http2SessionTest, DoesNotTrustASuccessWithoutTheWholeAnswer) {
    exchange();
    const auto stream = ask("x");
    exchange();
    server_.answer(*stream, to_frame("answer").substr(0, 8), {{"grpc-status", "0"}});
    exchange();
    ASSERT_EQ(ends_.size(), 1U);
    EXPECT_EQ(ends_[0].code, -1);
    EXPECT_TRUE(messages_.empty());
}

TEST_F(Http2SessionTest, EndsAStreamWhoseAnswerIsNoFrame) {
    exchange();
    const auto stream = ask("x");
    exchange();
    server_.answer(*stream, "\x01 compressed", {{"grpc-status", "0"}});
    exchange();
    ASSERT_EQ(ends_.size(), 1U);
    EXPECT_EQ(ends_[0].code, -1);
}

TEST_F(Http2SessionTest, KeepsTheRequestOfAWatchOpenAndIsSilentAfterCancel) {
    exchange();
    const auto stream = ask("watch", true);
    exchange();
    EXPECT_EQ(server_.requests.at(*stream).body, to_frame("watch"));
    EXPECT_FALSE(server_.requests.at(*stream).is_ended);
    session_.cancel(*stream);
    exchange();
    EXPECT_TRUE(server_.requests.at(*stream).is_reset);
    EXPECT_TRUE(ends_.empty());
    // Also of a stream that was never sent.
    const auto other = ask("x");
    session_.cancel(*other);
    exchange();
    EXPECT_TRUE(ends_.empty());
}

TEST_F(Http2SessionTest, KnowsThatALeavingServerHasNotLookedAtARequest) {
    exchange();
    const auto looked_at = ask("first");
    exchange();
    server_.leave(*looked_at);
    (void)ask("second");
    exchange();
    EXPECT_TRUE(session_.is_leaving());
    ASSERT_EQ(ends_.size(), 1U);
    EXPECT_EQ(explain(ends_[0], "m").kind, Failure::Kind::not_done);
    server_.answer(*looked_at, to_frame("answer"), {{"grpc-status", "0"}});
    exchange();
    EXPECT_EQ(messages_, std::vector<std::string>{"answer"});
}

TEST_F(Http2SessionTest, RefusesWhatIsNotHttp2) {
    EXPECT_FALSE(session_.is_over());
    (void)session_.receive("HTTP/1.1 400 Bad Request\r\n\r\n");
    session_.sent(session_.output().size());
    EXPECT_TRUE(session_.output().empty());
    EXPECT_TRUE(session_.is_over());
}

}  // namespace
}  // namespace holdfast::etcd
