#include "net/http/http_answer.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::net {
namespace {

using Outcome = HttpAnswerParser::Outcome;

struct Read {
    Outcome outcome = Outcome::need_more;
    HttpAnswer answer;
    bool keeps_connection = false;
    std::size_t unread = 0;
};

// Offers the text in pieces of so many bytes, and keeps what is not taken.
Read read(std::string_view text, std::size_t piece_bytes, HttpAnswerParser::Options options = {}) {
    HttpAnswerParser parser(std::move(options));
    Read result;
    std::string input;
    while (!text.empty() && result.outcome == Outcome::need_more) {
        input.append(text.substr(0, piece_bytes));
        text.remove_prefix(std::min(piece_bytes, text.size()));
        std::string_view rest = input;
        result.outcome = parser.parse(rest);
        input.erase(0, input.size() - rest.size());
    }
    if (result.outcome == Outcome::need_more && parser.end()) result.outcome = Outcome::complete;
    result.answer = parser.answer();
    result.keeps_connection = parser.has_header() && parser.keeps_connection();
    result.unread = input.size() + text.size();
    return result;
}

constexpr std::string_view with_length =
    "HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\ncontent-length: 11\r\n\r\nhello "
    "there";
constexpr std::string_view chunked =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n1;x=y\r\nt\r\n4\r\nhere"
    "\r\n0\r\n\r\n";
constexpr std::string_view to_the_end = "HTTP/1.1 200 OK\r\nServer: x\r\n\r\nhello there";
constexpr std::string_view closing =
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 11\r\n\r\nhello there";

TEST(HttpAnswerParser, ReadsAnswersHoweverTheyAreCut) {
    for (const std::string_view text : {with_length, chunked, to_the_end, closing}) {
        for (std::size_t piece = 1; piece <= text.size(); ++piece) {
            const Read result = read(text, piece);
            ASSERT_EQ(result.outcome, Outcome::complete) << piece << " of " << text;
            ASSERT_EQ(result.answer.body, "hello there") << piece << " of " << text;
            ASSERT_EQ(result.unread, 0U);
        }
    }
}

TEST(HttpAnswerParser, KnowsStatusHeadersAndWhetherTheConnectionGoesOn) {
    const Read result = read(with_length, 1000);
    EXPECT_EQ(result.answer.status, 409);
    EXPECT_EQ(result.answer.header("content-type"), "application/json");
    EXPECT_EQ(result.answer.header("nothing"), std::nullopt);
    EXPECT_TRUE(result.keeps_connection);
    EXPECT_TRUE(read(chunked, 1000).keeps_connection);
    EXPECT_FALSE(read(to_the_end, 1000).keeps_connection);
    EXPECT_FALSE(read(closing, 1000).keeps_connection);
}

TEST(HttpAnswerParser, LeavesWhatFollows) {
    const Read result = read(std::string(with_length) + "HTTP", 1000);
    EXPECT_EQ(result.outcome, Outcome::complete);
    EXPECT_EQ(result.unread, 4U);
}

TEST(HttpAnswerParser, IsNotCompleteWhenCutShort) {
    for (const std::string_view text : {with_length, chunked, closing}) {
        for (std::size_t cut = 0; cut < text.size(); ++cut) {
            ASSERT_NE(read(text.substr(0, cut), 7).outcome, Outcome::complete)
                << text.substr(0, cut);
        }
    }
}

TEST(HttpAnswerParser, GivesPiecesAsTheyCome) {
    std::string got;
    HttpAnswerParser parser(
        {.on_body = [&](std::string_view piece) { got.append(piece).append("|"); }});
    std::string_view input = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab";
    EXPECT_EQ(parser.parse(input), Outcome::need_more);
    EXPECT_TRUE(input.empty());
    EXPECT_EQ(got, "ab|");
    input = "cd\r\n";  // the end of a chunk alone is not kept back
    EXPECT_EQ(parser.parse(input), Outcome::need_more);
    EXPECT_EQ(got, "ab|cd|");
    EXPECT_EQ(parser.answer().body, "");
}

TEST(HttpAnswerParser, ExpectsNoBodyWhereThereIsNone) {
    EXPECT_EQ(
        read(with_length.substr(0, with_length.find("hello")), 9, {.is_to_head = true}).outcome,
        Outcome::complete);
    EXPECT_EQ(read("HTTP/1.1 204 No Content\r\n\r\n", 9).outcome, Outcome::complete);
    EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 9).outcome, Outcome::complete);
}

TEST(HttpAnswerParser, RefusesNonsense) {
    EXPECT_EQ(read("SSH-2.0-OpenSSH_9.2\r\n\r\n", 100).outcome, Outcome::refused);
    EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", 100).outcome, Outcome::refused);
    EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", 100).outcome,
              Outcome::refused);
    EXPECT_EQ(read("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x'), 1000).outcome,
              Outcome::refused);
}

TEST(HttpAnswerParser, RefusesMoreThanItWasAllowed) {
    for (const std::string_view text : {with_length, chunked, to_the_end}) {
        EXPECT_EQ(read(text, 5, {.body_bytes_max = 10}).outcome, Outcome::refused) << text;
        EXPECT_EQ(read(text, 5, {.body_bytes_max = 11}).outcome, Outcome::complete) << text;
    }
}

}  // namespace
}  // namespace holdfast::net
