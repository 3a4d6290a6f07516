// Bodies in pieces, and long answers.

#include "net/http/http_body.h"

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

#include "net/http/http_protocol.h"
#include "net/loop/test_channel.h"
#include "net/loop/test_server.h"

namespace holdfast::net {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

// Receives the body of a PUT in pieces; everything else is answered with its path and body at once.
// A path that begins with /no is refused before its body comes.
class Depot final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        if (request.path == "/late") {
            late = reply.defer();
            return;
        }
        reply.send(200, "", std::string(request.path).append(" ").append(request.body));
    }

    bool takes_pieces(std::string_view method, std::string_view /*target*/) const override {
        return method == "PUT";
    }

    std::unique_ptr<BodySink> receive(const HttpRequest& request, HttpReply& reply,
                                      BodySource& where_from) override {
        if (request.path.starts_with("/no")) {
            reply.send(423, "", "locked");
            return nullptr;
        }
        source = &where_from;
        auto made = std::make_unique<Sink>(*this, reply.defer());
        sink = made.get();
        return made;
    }

    class Sink final : public BodySink {
      public:
        Sink(Depot& depot, DeferredReply reply) : depot_(depot), reply_(std::move(reply)) {}
        ~Sink() override {
            if (reply_) depot_.notes.emplace_back("abandoned");
        }
        void on_piece(std::string_view piece) override {
            ASSERT_FALSE(piece.empty());
            body_.append(piece);
            ++depot_.pieces;
            if (body_.size() <= depot_.bytes_max || !reply_) return;
            reply_.close_after();
            reply_.send(413, "", "too much");
        }
        void on_whole() override {
            depot_.notes.push_back("whole " + body_);
            if (reply_) reply_.send(201, "", body_);
        }
        void on_fault(const HttpFault& fault) override {
            depot_.notes.push_back("fault " + std::to_string(fault.status));
            if (reply_) reply_.send(fault.status, "application/json", fault.json);
        }
        bool is_congested() const override { return depot_.is_congested; }
        bool is_wanted() const override { return depot_.is_wanted; }
        DeferredReply& reply() { return reply_; }

      private:
        Depot& depot_;
        DeferredReply reply_;
        std::string body_;
    };

    std::size_t bytes_max = SIZE_MAX;
    bool is_congested = false;
    bool is_wanted = true;
    Sink* sink = nullptr;  // the last one
    BodySource* source = nullptr;
    std::vector<std::string> notes;
    int pieces = 0;
    DeferredReply late;
};

std::string answer(const std::string& status, const std::string& body, bool closes = false) {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
           (closes ? "\r\nConnection: close" : "") + "\r\n\r\n" + body;
}

std::string created(const std::string& body) {
    return answer("201 Created", body);
}

class HttpBody : public testing::Test {
  protected:
    void feed(std::string_view bytes) { channel_.feed(*protocol_, bytes); }

    Depot depot_;
    HttpLimits limits_{.body_bytes_max = 4};
    TestChannel channel_;
    std::unique_ptr<HttpProtocol> protocol_ =
        std::make_unique<HttpProtocol>(channel_, depot_, limits_);
};

const std::string put_hello = "PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
const std::string put_chunks =
    "PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n1;x=y\r\no\r\n0\r\n"
    "Trailer: t\r\n\r\n";

TEST_F(HttpBody, ComesInPiecesHoweverItIsCutAndOfAnySize) {
    for (const std::string& request : {put_hello, put_chunks}) {
        const std::string all =
            request + "POST /b HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi" + request;
        const std::string expected =
            created("hello") + answer("200 OK", "/b hi") + created("hello");
        for (std::size_t cut = 0; cut <= all.size(); ++cut) {
            feed(all.substr(0, cut));
            feed(all.substr(cut));
            EXPECT_EQ(channel_.take(), expected) << "cut at " << cut;
            EXPECT_TRUE(protocol_->idle());
        }
        for (const char byte : all) feed({&byte, 1});
        EXPECT_EQ(channel_.take(), expected) << "byte by byte";
        EXPECT_TRUE(protocol_->idle());
    }
}

TEST_F(HttpBody, OfTheLastRequestOfAConnectionIsTakenToo) {
    const std::string request =
        "PUT /a HTTP/1.1\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    for (std::size_t cut = 0; cut <= request.size(); ++cut) {
        TestChannel channel;
        HttpProtocol protocol(channel, depot_, limits_);
        channel.feed(protocol, request.substr(0, cut));
        channel.feed(protocol, request.substr(cut) + "GET /ignored HTTP/1.1\r\n\r\n");
        EXPECT_EQ(channel.take(), answer("201 Created", "hello", true)) << "cut at " << cut;
        EXPECT_TRUE(channel.closed);
    }
}

TEST_F(HttpBody, IsGivenAsItArrives) {
    feed("PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe");
    EXPECT_EQ(depot_.pieces, 1);
    EXPECT_TRUE(channel_.held.empty()) << "what was given is not kept";
    EXPECT_FALSE(protocol_->idle());
    EXPECT_TRUE(protocol_->awaits_input());
    feed("ll");
    EXPECT_EQ(depot_.pieces, 2);
    feed("o");
    EXPECT_EQ(channel_.take(), created("hello"));
    EXPECT_FALSE(protocol_->awaits_input());
}

TEST_F(HttpBody, MayBeEmptyOrNotThere) {
    feed("PUT /a HTTP/1.1\r\nContent-Length: 0\r\n\r\nPUT /a HTTP/1.1\r\n\r\n");
    feed("PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    EXPECT_EQ(channel_.take(), created("") + created("") + created(""));
    EXPECT_EQ(depot_.pieces, 0);
}

TEST_F(HttpBody, ThatIsShortAndRefusedIsReadPast) {
    feed("PUT /no HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" + put_hello);
    EXPECT_EQ(channel_.take(), answer("423 Locked", "locked") + created("hello"));
    EXPECT_FALSE(channel_.closed);
}

TEST_F(HttpBody, ThatIsLongOrOfUnknownLengthAndRefusedClosesTheConnection) {
    for (const char* header : {"Content-Length: 5000000\r\n", "Transfer-Encoding: chunked\r\n",
                               "Content-Length: 5\r\nExpect: 100-continue\r\n"}) {
        TestChannel channel;
        HttpProtocol protocol(channel, depot_, limits_);
        channel.feed(protocol, std::string("PUT /no HTTP/1.1\r\n").append(header).append("\r\n"));
        EXPECT_EQ(channel.take(), answer("423 Locked", "locked", true)) << header;
        EXPECT_TRUE(channel.closed);
    }
}

TEST_F(HttpBody, IsAskedForOnlyIfItIsWanted) {
    const std::string header =
        "PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    feed(header);
    EXPECT_EQ(channel_.take(), "HTTP/1.1 100 Continue\r\n\r\n");
    feed("hello");
    EXPECT_EQ(channel_.take(), created("hello"));
    feed("POST /late HTTP/1.1\r\n\r\n" + header);
    EXPECT_EQ(channel_.take(), "") << "in its turn";
    depot_.late.send(200, "", "late");
    EXPECT_EQ(channel_.take(), answer("200 OK", "late") + "HTTP/1.1 100 Continue\r\n\r\n");
    feed("hello");
    EXPECT_EQ(channel_.take(), created("hello"));
}

TEST_F(HttpBody, IsAskedForWhenTheSinkHasRoomForIt) {
    depot_.is_congested = true;
    feed("PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    EXPECT_EQ(channel_.take(), "");
    EXPECT_FALSE(protocol_->awaits_input()) << "it is not the peer who is slow";
    depot_.is_congested = false;
    depot_.source->resume();
    EXPECT_EQ(channel_.take(), "HTTP/1.1 100 Continue\r\n\r\n");
    feed("hello");
    EXPECT_EQ(channel_.take(), created("hello"));
}

TEST_F(HttpBody, ThatIsEmptyIsNeitherAskedForNorWaitedFor) {
    depot_.is_congested = true;
    const std::string request =
        "PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n";
    for (std::size_t cut = 0; cut <= request.size(); ++cut) {
        feed(request.substr(0, cut));
        feed(request.substr(cut));
        EXPECT_EQ(channel_.take(), created("")) << "cut at " << cut;
        EXPECT_TRUE(protocol_->idle());
        EXPECT_FALSE(channel_.paused);
    }
    feed("PUT /no HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(channel_.take(), answer("423 Locked", "locked")) << "and need not be read past";
    EXPECT_FALSE(channel_.closed);
}

TEST_F(HttpBody, IsNotAskedForAfterAllIfItIsRefusedMeanwhile) {
    depot_.is_congested = true;
    feed("PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    depot_.is_congested = depot_.is_wanted = false;
    depot_.source->resume();
    EXPECT_EQ(channel_.take(), "");
    depot_.sink->reply().send(423, "", "locked");
    EXPECT_EQ(channel_.take(), answer("423 Locked", "locked", true));
    EXPECT_TRUE(channel_.closed);
}

TEST_F(HttpBody, ThatIsEmptyIsWholeThoughItsClientAsksBeforeItSends) {
    const std::string header =
        "PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n";
    depot_.is_congested = true;
    feed(header);
    EXPECT_EQ(channel_.take(), created(""));
    EXPECT_TRUE(protocol_->idle());
    EXPECT_FALSE(channel_.paused);
    depot_.is_congested = false;
    feed(header + put_hello);
    EXPECT_EQ(channel_.take(), created("") + created("hello"));
    feed("PUT /no HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n" + put_hello);
    EXPECT_EQ(channel_.take(), answer("423 Locked", "locked") + created("hello"));
}

TEST_F(HttpBody, ThatTricklesIsAnsweredByItsSink) {
    limits_.body_pace = {.grace = 10s, .bytes_per_second_min = 2};
    feed("PUT /a HTTP/1.1\r\nContent-Length: 5000\r\n\r\n");
    for (int second = 1; second < 20; ++second) {
        channel_.time += 1s;
        feed("h");
    }
    EXPECT_THAT(depot_.notes, IsEmpty()) << "19 bytes are enough for 19.5 s";
    channel_.time += 1s;
    feed("h");
    EXPECT_THAT(depot_.notes, IsEmpty()) << "as 20 bytes are for 20 s";
    channel_.time += 1s;
    feed("h");
    EXPECT_THAT(depot_.notes, ElementsAre("fault 408"));
    EXPECT_TRUE(channel_.take().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
    EXPECT_TRUE(channel_.closed);
}

TEST_F(HttpBody, ThatTricklesAfterItWasRefusedEndsTheConnection) {
    limits_.body_pace = {.grace = 10s, .bytes_per_second_min = 2};
    feed("PUT /no HTTP/1.1\r\nContent-Length: 5000\r\n\r\n");
    EXPECT_EQ(channel_.take(), answer("423 Locked", "locked"));
    for (int second = 1; second < 21; ++second) {
        channel_.time += 1s;
        feed("h");
        EXPECT_FALSE(channel_.closed);
    }
    channel_.time += 1s;
    feed("h");
    EXPECT_TRUE(channel_.closed);
    EXPECT_EQ(channel_.take(), "");
}

TEST_F(HttpBody, IsNotSlowWhenItIsTheServerThatDoesNotRead) {
    limits_.body_pace = {.grace = 10s, .bytes_per_second_min = 2};
    feed("PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nh");
    depot_.is_congested = true;
    feed("el");
    channel_.time += 1h;
    depot_.is_congested = false;
    depot_.source->resume();
    channel_.offer(*protocol_);
    channel_.time += 10s;
    feed("lo");
    EXPECT_EQ(channel_.take(), created("hello"));
}

TEST_F(HttpBody, WaitsForASinkThatIsCongested) {
    feed("PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nh");
    depot_.is_congested = true;
    feed("el");
    EXPECT_TRUE(channel_.paused);
    EXPECT_FALSE(protocol_->awaits_input()) << "it is not the peer who is slow";
    EXPECT_EQ(depot_.pieces, 1);
    feed("lo");
    depot_.is_congested = false;
    depot_.source->resume();
    EXPECT_FALSE(channel_.paused);
    channel_.offer(*protocol_);
    EXPECT_EQ(channel_.take(), created("hello"));
    EXPECT_EQ(depot_.pieces, 2);
}

TEST_F(HttpBody, MayBeAnsweredBeforeItIsWhole) {
    depot_.bytes_max = 3;
    feed("PUT /a HTTP/1.1\r\nContent-Length: 5000000\r\n\r\nhell");
    EXPECT_EQ(channel_.take(), answer("413 Payload Too Large", "too much", true));
    EXPECT_TRUE(channel_.closed);
    EXPECT_THAT(depot_.notes, IsEmpty());
}

TEST_F(HttpBody, ThatIsMalformedIsAnsweredByItsSink) {
    feed("PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\nnonsense\r\n");
    EXPECT_THAT(depot_.notes, ElementsAre("fault 400"));
    EXPECT_TRUE(channel_.take().starts_with("HTTP/1.1 400 Bad Request\r\n"));
    EXPECT_TRUE(channel_.closed);
}

// Nobody knows where the next request would begin.
TEST_F(HttpBody, ThatIsMalformedAfterItsAnswerIsFollowedByNoRequest) {
    feed("PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n");
    depot_.sink->reply().send(201, "", "early");
    EXPECT_EQ(channel_.take(), created("early"));
    feed("nonsense\r\nPOST /late HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(channel_.closed);
    EXPECT_FALSE(depot_.late);
}

TEST_F(HttpBody, ThatStopsArrivingIsAnsweredByItsSink) {
    feed("PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe");
    protocol_->on_read_timeout();
    EXPECT_THAT(depot_.notes, ElementsAre("fault 408"));
    EXPECT_TRUE(channel_.take().starts_with("HTTP/1.1 408 Request Timeout\r\n"));
    EXPECT_TRUE(channel_.closed);
}

TEST_F(HttpBody, OfAPeerThatIsGoneIsNeverWhole) {
    feed("PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe");
    protocol_->on_end_of_input();
    EXPECT_THAT(depot_.notes, IsEmpty()) << "the rest may be on its way";
    protocol_->on_end_of_data();
    EXPECT_THAT(depot_.notes, ElementsAre("abandoned"));
    feed("PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe");
    protocol_->on_closed();
    EXPECT_THAT(depot_.notes, ElementsAre("abandoned", "abandoned"));
}

TEST_F(HttpBody, OfAPeerThatOnlyStoppedSendingIsTaken) {
    feed("PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe");
    protocol_->on_end_of_input();
    feed("llo");
    protocol_->on_end_of_data();
    EXPECT_EQ(channel_.take(), created("hello"));
    EXPECT_TRUE(protocol_->idle());
}

// Answers with as many bytes as its path says, a piece whenever there is room.
class Source final : public HttpHandler {
  public:
    static constexpr std::size_t piece_bytes = 64 * 1024;

    void handle(const HttpRequest& request, HttpReply& reply) override {
        left_ = std::stoul(std::string(request.path.substr(1)));
        stream_ = reply.defer().stream(200, "", {}, {.length = left_});
        if (stream_) send_piece();
    }

    std::size_t piece_max = piece_bytes;
    bool stops_early = false;

  private:
    void send_piece() {
        const std::size_t size = std::min(left_, piece_max);
        left_ -= size;
        stream_.send(std::string(size, static_cast<char>('a' + left_ / piece_bytes % 26)));
        EXPECT_FALSE(stream_.is_congested());
        if (left_ == 0 || stops_early) return stream_.end();
        stream_.call_when_sent([this] { send_piece(); });
    }

    std::size_t left_ = 0;
    StreamedReply stream_;
};

TEST(HttpLongAnswer, SaysItsLengthAndGoesAsItIs) {
    Source source;
    source.piece_max = 3;
    TestChannel channel;
    const HttpLimits limits;
    HttpProtocol protocol(channel, source, limits);
    channel.feed(protocol, "GET /7 HTTP/1.1\r\n\r\n");
    EXPECT_EQ(channel.take(), "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\naaa");
    EXPECT_TRUE(protocol.on_output_sent());
    EXPECT_EQ(channel.take(), "aaa");
    EXPECT_TRUE(protocol.on_output_sent());
    EXPECT_EQ(channel.take(), "a");
    EXPECT_FALSE(protocol.on_output_sent());
    EXPECT_TRUE(protocol.idle());
    channel.feed(protocol, "HEAD /7 HTTP/1.1\r\n\r\n");
    EXPECT_EQ(channel.take(), "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
    EXPECT_TRUE(protocol.idle());
    channel.feed(protocol, "GET /2 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_EQ(channel.take(),
              "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\naa");
    EXPECT_FALSE(channel.closed);
}

TEST(HttpLongAnswer, ThatEndsEarlyBreaksTheConnection) {
    Source source;
    source.piece_max = 3;
    source.stops_early = true;
    TestChannel channel;
    const HttpLimits limits;
    HttpProtocol protocol(channel, source, limits);
    channel.feed(protocol, "GET /7 HTTP/1.1\r\n\r\n");
    EXPECT_EQ(channel.take(), "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\naaa");
    EXPECT_TRUE(channel.closed);
}

// An answer that is owned only by its own on_room callback.
class OwnAnswer : public std::enable_shared_from_this<OwnAnswer> {
  public:
    explicit OwnAnswer(int& alive) : alive_(alive) { ++alive_; }
    ~OwnAnswer() { --alive_; }
    void begin(HttpReply& reply) {
        stream_ = reply.defer().stream(200, "", {}, {.length = 100});
        stream_.send("some");
        stream_.call_when_sent([self = shared_from_this()] { self->stream_.end(); });
    }

  private:
    int& alive_;
    StreamedReply stream_;
};

class OwnAnswers final : public HttpHandler {
  public:
    void handle(const HttpRequest&, HttpReply& reply) override {
        std::make_shared<OwnAnswer>(alive)->begin(reply);
    }

    int alive = 0;
};

TEST(HttpLongAnswer, MayBeHeldByWhatWaitsForRoomAlone) {
    OwnAnswers answers;
    const HttpLimits limits;
    for (const bool is_drained : {false, true}) {
        TestChannel channel;
        HttpProtocol protocol(channel, answers, limits);
        channel.feed(protocol, "GET / HTTP/1.1\r\n\r\n");
        EXPECT_EQ(answers.alive, 1);
        if (is_drained) protocol.on_drain();
        protocol.on_closed();
        EXPECT_EQ(answers.alive, 0) << is_drained;
    }
}

TEST(HttpLongAnswer, LeavesAsFastAsItIsRead) {
    Source source;
    const HttpLimits limits;
    TestServer server([&](Channel& channel, EventLoop&) {
        return std::make_unique<HttpProtocol>(channel, source, limits);
    });
    TestClient client = server.connect();
    constexpr std::size_t bytes = 20'000'000;
    client.send("GET /" + std::to_string(bytes) + " HTTP/1.1\r\n\r\n");
    const auto response = client.response();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body.size(), bytes);
    client.send("GET /3 HTTP/1.1\r\n\r\n");
    EXPECT_EQ(client.response().body, "aaa");
}

TEST(HttpLongBody, IsTakenOverASocket) {
    Depot depot;
    const HttpLimits limits;
    TestServer server([&](Channel& channel, EventLoop&) {
        return std::make_unique<HttpProtocol>(channel, depot, limits);
    });
    const std::string body(3'000'000, 'x');
    TestClient client = server.connect();
    client.send("PUT /a HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                body);
    const auto response = client.response();
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.body.size(), body.size());
}

TEST(HttpLongBody, ThatStopsArrivingIsNotWaitedForForEver) {
    Depot depot;
    const HttpLimits limits;
    ConnectionLimits connection;
    connection.request_timeout = std::chrono::milliseconds{50};
    TestServer server(
        [&](Channel& channel, EventLoop&) {
            return std::make_unique<HttpProtocol>(channel, depot, limits);
        },
        {.limits = connection, .on_error = {}});
    TestClient client = server.connect();
    client.send("PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe");
    EXPECT_EQ(client.response().status, 408);
}

}  // namespace
}  // namespace holdfast::net
