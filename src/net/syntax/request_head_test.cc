#include "net/syntax/request_head.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace holdfast::net {
namespace {

// What read_head() says about the text, in a copy of its own size, so that a sanitizer sees a read
// beyond its end.
struct HeadReading {
    explicit HeadReading(std::string_view text) : message(text) {
        message.shrink_to_fit();
        outcome = read_head(message, head, fault);
    }

    [[nodiscard]] std::string_view method() const { return head.method.in(message.data()); }
    [[nodiscard]] std::string_view target() const { return head.target.in(message.data()); }
    [[nodiscard]] std::string field(std::string_view name) const {
        return std::string(head.fields.find(message.data(), name).value_or("(none)"));
    }

    std::string message;
    RequestHead head;
    const HttpFault* fault = nullptr;
    HeadOutcome outcome;
};

std::string with(std::string_view fields) {
    return fmt::format("POST /a HTTP/1.1\r\n{}\r\n\r\n", fields);
}

TEST(RequestHead, HasItsPartsWhereTheyAre) {
    const HeadReading one(
        "BREW /pot%20a?x=\xc3\xbc HTTP/1.1\r\nHost:  box:80\t\r\nX-Empty:\r\nX-Tab: a\tb\r\n"
        "x-empty: second\r\n\r\nGET /next");
    ASSERT_EQ(one.outcome, HeadOutcome::complete);
    EXPECT_EQ(one.method(), "BREW");
    EXPECT_EQ(one.target(), "/pot%20a?x=\xc3\xbc");
    EXPECT_EQ(one.field("host"), "box:80");
    EXPECT_EQ(one.field("X-EMPTY"), "");
    EXPECT_EQ(one.field("x-tab"), "a\tb");
    EXPECT_EQ(one.field("x-other"), "(none)");
    EXPECT_EQ(one.message.substr(one.head.bytes), "GET /next");
    EXPECT_TRUE(one.head.has_host);
    EXPECT_EQ(one.head.content_length, std::nullopt);
    EXPECT_FALSE(one.head.is_chunked);
}

TEST(RequestHead, NeedsMoreUntilItsLastByte) {
    const std::string whole =
        "POST /lock?client=a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nX: y\r\n\r\n";
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        EXPECT_EQ(HeadReading(whole.substr(0, bytes)).outcome, HeadOutcome::need_more) << bytes;
    }
    EXPECT_EQ(HeadReading(whole).head.bytes, whole.size());
}

TEST(RequestHead, SaysHowTheBodyIsMarked) {
    EXPECT_EQ(HeadReading(with("Content-Length: 0")).head.content_length, 0U);
    EXPECT_EQ(HeadReading(with("content-LENGTH:007")).head.content_length, 7U);
    EXPECT_EQ(HeadReading(with("Content-Length: 18446744073709551615")).head.content_length,
              std::uint64_t{18446744073709551615U});
    EXPECT_TRUE(HeadReading(with("Transfer-Encoding: Chunked")).head.is_chunked);
    EXPECT_TRUE(HeadReading(with("Expect: 100-Continue")).head.expects_continue);
}

TEST(RequestHead, SaysWhetherTheConnectionGoesOn) {
    struct Row {
        std::string_view version, fields;
        bool keeps;
    };
    const Row rows[] = {
        {"1.1", "X: y", true},
        {"1.1", "Connection: close", false},
        {"1.1", "CONNECTION: Upgrade , CLOSE", false},
        {"1.1", "Proxy-Connection: close", false},
        {"1.1", "Connection: ,, keep-alive,", true},
        {"1.1", "Connection:", true},
        {"1.1", "Connection: closed", true},
        {"1.1", "X-Connection: close", true},
        {"1.1", "User-Agent: close", true},
        {"1.1", "Connection: keep-alive\r\nConnection: close", false},
        {"1.0", "X: y", false},
        {"1.0", "Connection: keep-alive", true},
        {"1.0", "Connection: Keep-Alive, x", true},
        {"1.0", "Connection: close, keep-alive", false},
    };
    for (const Row& row : rows) {
        const HeadReading one(fmt::format("GET / HTTP/{}\r\n{}\r\n\r\n", row.version, row.fields));
        ASSERT_EQ(one.outcome, HeadOutcome::complete) << row.fields;
        EXPECT_EQ(one.head.keeps_connection(), row.keeps) << row.version << " " << row.fields;
        EXPECT_EQ(one.head.is_http_1_0, row.version == "1.0");
    }
}

TEST(RequestHead, IsRefusedWhereTwoProgramsCouldReadItDifferently) {
    using std::string_view_literals::operator""sv;
    struct Row {
        std::string_view text;
        const HttpFault& fault;
    };
    const Row rows[] = {
        {" GET / HTTP/1.1\r\n\r\n", faults::malformed},
        {"GET  / HTTP/1.1\r\n\r\n", faults::malformed},
        {"GET\t/ HTTP/1.1\r\n\r\n", faults::malformed},
        {"GET /\tHTTP/1.1\r\n\r\n", faults::malformed},
        {"GET /\0 HTTP/1.1\r\n\r\n"sv, faults::malformed},
        {"GET /\x7f HTTP/1.1\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1 \r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\r\n\r\n", faults::malformed},
        {"GET / http/1.1\r\n\r\n", faults::malformed},
        {"GET / HTTP/11\r\n\r\n", faults::malformed},
        {"GET / X\r\n\r\n", faults::malformed},
        {"GET /\r\n\r\n", faults::malformed},
        {"G(T / HTTP/1.1\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.2\r\n\r\n", faults::not_http_1},
        {"GET / HTTP/2.0\r\n\r\n", faults::not_http_1},
        {"GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\nA: b\rC: d\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\nA: b\0\r\n\r\n"sv, faults::malformed},
        {"GET / HTTP/1.1\r\nA\0: b\r\n\r\n"sv, faults::malformed},
        {"GET / HTTP/1.1\r\nA : b\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\nA\t: b\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\n: b\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\nA\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\n A: b\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\n\rX\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\n\n\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", faults::folded},
        {"GET / HTTP/1.1\r\nA: b\r\n\tc\r\n\r\n", faults::folded},
        {"GET / HTTP/1.1\r\nContent-Length:\r\n 5\r\n\r\n", faults::folded},
        {"GET / HTTP/1.1\r\nA:\r\n b\r\n\r\n", faults::folded},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", faults::several_hosts},
        {"GET / HTTP/1.1\r\nConnection: a b\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\nConnection: \"close\"\r\n\r\n", faults::malformed},
        {"GET / HTTP/1.1\r\nExpect: wonders\r\n\r\n", faults::unknown_expectation},
    };
    for (const Row& row : rows) {
        const HeadReading one(row.text);
        ASSERT_EQ(one.outcome, HeadOutcome::refused) << row.text;
        EXPECT_EQ(one.fault, &row.fault) << row.text << one.fault->json;
    }
}

TEST(RequestHead, IsRefusedWhereTheEndOfItsBodyIsInDoubt) {
    struct Row {
        std::string_view fields;
        const HttpFault& fault;
    };
    const Row rows[] = {
        {"Content-Length:", faults::bad_length},
        {"Content-Length: +1", faults::bad_length},
        {"Content-Length: -1", faults::bad_length},
        {"Content-Length: 0x1", faults::bad_length},
        {"Content-Length: 1 2", faults::bad_length},
        {"Content-Length: 1,1", faults::bad_length},
        {"Content-Length: 1;", faults::bad_length},
        {"Content-Length: 18446744073709551616", faults::bad_length},
        {"Content-Length: 1\r\nContent-Length: 1", faults::bad_length},
        {"Content-Length: 1\r\ncontent-length: 2", faults::bad_length},
        {"Content-Length: 1\r\nTransfer-Encoding: chunked", faults::bad_length},
        {"Content-Length: 1\r\nTransfer-Encoding: gzip", faults::bad_length},
        {"Transfer-Encoding: chunked\r\nContent-Length: 1", faults::bad_length},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", faults::bad_length},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", faults::bad_length},
        {"Transfer-Encoding:", faults::unknown_coding},
        {"Transfer-Encoding: identity", faults::unknown_coding},
        {"Transfer-Encoding: gzip, chunked", faults::unknown_coding},
        {"Transfer-Encoding: chunked, chunked", faults::unknown_coding},
        {"Transfer-Encoding: chunked;a=b", faults::unknown_coding},
        {"Transfer-Encoding: \"chunked\"", faults::unknown_coding},
        {"Transfer-Encoding: xchunked", faults::unknown_coding},
    };
    for (const Row& row : rows) {
        const HeadReading one(with(row.fields));
        ASSERT_EQ(one.outcome, HeadOutcome::refused) << row.fields;
        EXPECT_EQ(one.fault, &row.fault) << row.fields << one.fault->json;
    }
    const HeadReading old("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");
    EXPECT_EQ(old.fault, &faults::chunked_1_0);
}

TEST(RequestHead, HasALimitedNumberOfFields) {
    std::string fields = "A: b";
    for (std::size_t i = 1; i < HttpFields::count_max; ++i) fields += "\r\nA: b";
    EXPECT_EQ(HeadReading(with(fields)).outcome, HeadOutcome::complete);
    const HeadReading one(with(fields + "\r\nA: b"));
    EXPECT_EQ(one.fault, &faults::header_too_big);
}

}  // namespace
}  // namespace holdfast::net
