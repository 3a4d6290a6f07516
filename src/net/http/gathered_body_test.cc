// Bodies that arrive after their header: who may have them kept, and how many bytes that is.

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "net/http/http_protocol.h"
#include "net/loop/test_channel.h"

namespace holdfast::net {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Answers with the path and the body. `/no` is refused before its body comes, the body of `/any` means
// nothing, and `/any/late` is answered when the test says so.
class Porter final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        if (request.path == "/any/late") {
            late = reply.defer();
            return;
        }
        reply.send(200, "", std::string(request.path).append(" ").append(request.body));
    }
    bool wants_body(const HttpRequest& head, HttpReply& reply) override {
        EXPECT_EQ(head.body, "");
        ++asked;
        if (head.path == "/no") return reply.send(401, "", "no"), false;
        if (head.path.starts_with("/any")) return handle(head, reply), false;
        return reply.pass(), true;
    }

    int asked = 0;
    DeferredReply late;
};

std::string answer(const std::string& status, const std::string& body, bool closes = false) {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
           (closes ? "\r\nConnection: close" : "") + "\r\n\r\n" + body;
}

std::string with_length(const std::string& line, std::size_t bytes) {
    return line + " HTTP/1.1\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n";
}

std::string with_chunks(const std::string& line) {
    return line + " HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
}

constexpr std::size_t piece_bytes = 4096;

struct Line {
    Line(Porter& porter, const HttpLimits& limits) : protocol(channel, porter, limits) {}

    void feed(std::string_view bytes) { channel.feed(protocol, bytes); }

    TestChannel channel;
    HttpProtocol protocol;
};

struct GatheredBody : ::testing::Test {
    BodyBudget budget{100'000};
    HttpLimits limits{.header_bytes_max = 1024, .body_bytes_max = 1'000'000, .bodies = &budget};
    Porter porter;
    Line line{porter, limits};
};

TEST_F(GatheredBody, IsWholeHoweverItIsCut) {
    const std::string requests = with_length("POST /a", 5) + "hello" + with_chunks("POST /b") +
                                 "4\r\nhell\r\n1;x=y\r\no\r\n0\r\nTrailer: t\r\n\r\n" +
                                 with_length("POST /c", 2) + "hi";
    const std::string expected =
        answer("200 OK", "/a hello") + answer("200 OK", "/b hello") + answer("200 OK", "/c hi");
    for (std::size_t cut = 0; cut <= requests.size(); ++cut) {
        line.feed(requests.substr(0, cut));
        line.feed(requests.substr(cut));
        EXPECT_EQ(line.channel.take(), expected) << "cut at " << cut;
        EXPECT_TRUE(line.protocol.idle());
        EXPECT_EQ(budget.used(), 0U);
    }
    for (const char byte : requests) line.feed({&byte, 1});
    EXPECT_EQ(line.channel.take(), expected) << "byte by byte";
}

TEST_F(GatheredBody, IsNotAskedForIfTheRequestArrivedWhole) {
    line.feed(with_length("POST /a", 5) + "hello");
    EXPECT_EQ(porter.asked, 0);
}

// The bytes of a body are kept once, and given back with the answer.
TEST_F(GatheredBody, CountsItsBytes) {
    const std::string header = with_length("POST /a", 10 * piece_bytes);
    line.feed(header);
    for (std::size_t piece = 1; piece < 10; ++piece) {
        line.feed(std::string(piece_bytes, 'x'));
        EXPECT_EQ(budget.used(), header.size() + piece * piece_bytes);
        EXPECT_EQ(line.channel.held.size(), 0U);
    }
    line.feed(std::string(piece_bytes, 'x'));
    EXPECT_EQ(budget.used(), 0U);
    EXPECT_THAT(line.channel.take(), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(GatheredBody, InChunksIsKeptWithoutTheirLines) {
    const std::string header = with_chunks("POST /a");
    line.feed(header);
    std::string chunk = "1000;";
    chunk.append(500, 'e').append("\r\n").append(piece_bytes, 'x').append("\r\n");
    for (std::size_t count = 1; count <= 9; ++count) {
        line.feed(chunk);
        EXPECT_EQ(budget.used(), header.size() + count * piece_bytes);
        EXPECT_EQ(line.channel.held.size(), 0U);
    }
    line.feed("0\r\n\r\n");
    EXPECT_THAT(line.channel.take(), EndsWith(std::string(9 * piece_bytes, 'x')));
    EXPECT_EQ(budget.used(), 0U);
}

TEST_F(GatheredBody, OfAClientThatIsRefusedIsNeverKept) {
    std::vector<std::unique_ptr<Line>> lines;
    std::size_t kept = 0;
    for (int count = 0; count < 150; ++count) {
        const bool is_chunked = count % 2 == 0;
        Line& one = *lines.emplace_back(std::make_unique<Line>(porter, limits));
        one.feed(is_chunked ? with_chunks("POST /no") : with_length("POST /no", 200'000));
        for (int piece = 0; piece < 20 && !one.channel.closed; ++piece) {
            one.feed(is_chunked ? "5\r\nhello\r\n" : std::string(piece_bytes, 'x'));
        }
        EXPECT_EQ(one.channel.closed, is_chunked) << "a short body can be skipped";
        EXPECT_EQ(one.channel.take(), answer("401 Unauthorized", "no", is_chunked));
        kept += one.channel.held.size();
    }
    EXPECT_EQ(kept + budget.used(), 0U);
}

TEST_F(GatheredBody, ThatIsSkippedHidesNoRequestAndIsNone) {
    const std::string inner = with_length("POST /inner", 0);
    const std::string requests = with_length("POST /no", inner.size()) + inner +
                                 with_length("GET /any", inner.size()) + inner +
                                 with_length("POST /a", 2) + "hi";
    const std::string expected =
        answer("401 Unauthorized", "no") + answer("200 OK", "/any ") + answer("200 OK", "/a hi");
    // Only if the body is cut: whole requests are the handler's.
    const std::size_t first = with_length("POST /no", inner.size()).size();
    for (std::size_t cut = 0; cut < inner.size(); ++cut) {
        line.feed(requests.substr(0, first + cut));
        const std::size_t second = first + inner.size() + with_length("GET /any", 99).size();
        line.feed(requests.substr(first + cut, second - first - cut));
        line.feed(requests.substr(second));
        EXPECT_EQ(line.channel.take(), expected) << "cut at " << cut;
        EXPECT_TRUE(line.protocol.idle());
    }
}

TEST_F(GatheredBody, ThatMeansNothingAndIsLongEndsTheConnectionWithItsAnswer) {
    line.feed(with_chunks("GET /any/late") + "5\r\nhello\r\n");
    for (int count = 0; count < 100; ++count) line.feed("5\r\nhello\r\n");
    EXPECT_EQ(budget.used() + line.channel.held.size(), 0U);
    line.feed("0\r\n\r\n" + with_length("POST /a", 0));
    EXPECT_EQ(line.channel.take(), "");
    porter.late.send(200, "", "late");
    EXPECT_EQ(line.channel.take(), answer("200 OK", "late", true));
    EXPECT_TRUE(line.channel.closed);
}

TEST_F(GatheredBody, BeyondTheBudgetIsRefusedAndTheOthersGoOn) {
    std::vector<std::unique_ptr<Line>> lines;
    for (int count = 0; count < 3; ++count) {
        lines.push_back(std::make_unique<Line>(porter, limits));
        lines.back()->feed(with_length("POST /a", 40'000) + std::string(39'000, 'x'));
    }
    EXPECT_THAT(lines[2]->channel.take(),
                ::testing::AllOf(StartsWith("HTTP/1.1 503 Service Unavailable\r\n"),
                                 HasSubstr("the server has no room for this body")));
    EXPECT_TRUE(lines[2]->channel.closed);
    for (int count = 0; count < 2; ++count) {
        lines[static_cast<std::size_t>(count)]->feed(std::string(1'000, 'x'));
        EXPECT_THAT(lines[static_cast<std::size_t>(count)]->channel.take(),
                    StartsWith("HTTP/1.1 200 OK"));
    }
    EXPECT_EQ(budget.used(), 0U);
}

TEST_F(GatheredBody, IsGivenBackWhenItsClientGoes) {
    {
        Line gone(porter, limits);
        gone.feed(with_length("POST /a", 10) + "hello");
        EXPECT_GT(budget.used(), 0U);
        gone.protocol.on_closed();
    }
    EXPECT_EQ(budget.used(), 0U);
    line.feed(with_length("POST /a", 10) + "hello");
    line.protocol.on_end_of_input();
    line.protocol.on_end_of_data();
    EXPECT_TRUE(line.protocol.idle());
    EXPECT_EQ(budget.used(), 0U);
}

// It has to be whole in the time of a request, however many bytes it has had.
TEST_F(GatheredBody, ThatTricklesIsRefused) {
    line.feed(with_length("POST /a", 100'000));
    for (int second = 0; second < 10; ++second) {
        line.channel.time += std::chrono::seconds(1);
        line.feed(std::string(piece_bytes, 'x'));
        EXPECT_EQ(line.channel.take(), "");
    }
    line.channel.time += std::chrono::seconds(1);
    line.feed("x");
    EXPECT_THAT(line.channel.take(), StartsWith("HTTP/1.1 408 "));
    EXPECT_TRUE(line.channel.closed);
    Line silent(porter, limits);
    silent.feed(with_length("POST /a", 100) + "x");
    EXPECT_TRUE(silent.protocol.awaits_input());
    silent.protocol.on_read_timeout();
    EXPECT_THAT(silent.channel.take(), StartsWith("HTTP/1.1 408 "));
    EXPECT_EQ(budget.used(), 0U);
}

TEST_F(GatheredBody, IsAskedForOnlyIfItIsWanted) {
    const std::string expects = " HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    line.feed("POST /a" + expects);
    EXPECT_EQ(line.channel.take(), "HTTP/1.1 100 Continue\r\n\r\n");
    line.feed("hi");
    EXPECT_EQ(line.channel.take(), answer("200 OK", "/a hi"));
    line.feed("POST /no" + expects);
    EXPECT_EQ(line.channel.take(), answer("401 Unauthorized", "no", true));
    EXPECT_TRUE(line.channel.closed) << "nobody knows whether the client sends the body";
}

}  // namespace
}  // namespace holdfast::net
