#include "net/syntax/known_fields.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::net {
namespace {

// A connection that reads heads, one after the other.
struct HeadStream {
    HeadOutcome read(std::string_view text) {
        message.assign(text);
        message.shrink_to_fit();  // so that a sanitizer sees a read beyond its end
        head = RequestHead();
        return read_head(message, head, fault, &known);
    }
    [[nodiscard]] bool knows(std::string_view fields_text) {
        RequestHead any;
        return known.take(fields_text, any);
    }
    [[nodiscard]] std::string field(std::string_view name) const {
        return std::string(head.fields.find(message.data(), name).value_or("(none)"));
    }

    KnownFields known;
    std::string message;
    RequestHead head;
    const HttpFault* fault = nullptr;
};

const std::string same_fields =
    "Host: box\r\nContent-Length: 3\r\nConnection: close\r\nX: y\r\n\r\n";

// A connection that knows the fields.
HeadStream made_known() {
    HeadStream stream;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(stream.read("GET / HTTP/1.1\r\n" + same_fields), HeadOutcome::complete);
    }
    EXPECT_TRUE(stream.knows(same_fields));
    return stream;
}

TEST(KnownFields, AreRememberedFromTheSecondRequestOn) {
    HeadStream stream;
    EXPECT_FALSE(stream.knows(same_fields));
    EXPECT_EQ(stream.read("GET / HTTP/1.1\r\n" + same_fields), HeadOutcome::complete);
    EXPECT_FALSE(stream.knows(same_fields));
    EXPECT_EQ(stream.read("GET / HTTP/1.1\r\n" + same_fields), HeadOutcome::complete);
    EXPECT_TRUE(stream.knows(same_fields));
}

TEST(KnownFields, SayTheSameBehindAnyFirstLine) {
    HeadStream stream = made_known();
    for (const std::string line : {"DELETE /a/longer/target?than=before HTTP/1.1\r\n",
                                   "G / HTTP/1.1\r\n", "GET / HTTP/1.0\r\n"}) {
        ASSERT_EQ(stream.read(line + same_fields + "abc"), HeadOutcome::complete) << line;
        EXPECT_EQ(stream.message.substr(stream.head.bytes), "abc");
        EXPECT_EQ(stream.field("host"), "box");
        EXPECT_EQ(stream.field("X"), "y");
        EXPECT_EQ(stream.field("Y"), "(none)");
        EXPECT_EQ(stream.head.content_length, 3U);
        EXPECT_TRUE(stream.head.has_host);
        EXPECT_FALSE(stream.head.keeps_connection());
        EXPECT_EQ(stream.head.method.in(stream.message.data()), line.substr(0, line.find(' ')));
    }
}

TEST(KnownFields, NeedMoreUntilTheirLastByte) {
    HeadStream stream = made_known();
    const std::string whole = "GET /other HTTP/1.1\r\n" + same_fields;
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        EXPECT_EQ(stream.read(whole.substr(0, bytes)), HeadOutcome::need_more) << bytes;
    }
    EXPECT_EQ(stream.read(whole), HeadOutcome::complete);
}

TEST(KnownFields, AreReadIfOneByteDiffers) {
    for (std::size_t at = 0; at < same_fields.size(); ++at) {
        HeadStream stream = made_known();
        std::string other = same_fields;
        other[at] = static_cast<char>(other[at] ^ 1);
        HeadStream fresh;
        const std::string message = "GET / HTTP/1.1\r\n" + other;
        EXPECT_EQ(stream.read(message), fresh.read(message)) << at;
        EXPECT_EQ(stream.fault, fresh.fault) << at;
        EXPECT_EQ(stream.field("Host"), fresh.field("Host")) << at;
        EXPECT_EQ(stream.head.content_length, fresh.head.content_length) << at;
        EXPECT_EQ(stream.head.bytes, fresh.head.bytes) << at;
    }
}

TEST(KnownFields, DoNotCountBeforeMoreFields) {
    HeadStream stream = made_known();
    const std::string more = same_fields.substr(0, same_fields.size() - 2) + "Z: last\r\n\r\n";
    ASSERT_EQ(stream.read("GET / HTTP/1.1\r\n" + more), HeadOutcome::complete);
    EXPECT_EQ(stream.field("Z"), "last");
}

TEST(KnownFields, MayBeOfTwoKinds) {
    HeadStream stream = made_known();
    const std::string others = "Host: other\r\n\r\n";
    for (int i = 0; i < 4; ++i) {
        (void)stream.read("GET / HTTP/1.1\r\n" + others);
        EXPECT_EQ(stream.field("Host"), "other");
        EXPECT_EQ(stream.head.content_length, std::nullopt);
        (void)stream.read("GET / HTTP/1.1\r\n" + same_fields);
        EXPECT_EQ(stream.field("Host"), "box");
        EXPECT_EQ(stream.head.content_length, 3U);
    }
    EXPECT_TRUE(stream.knows(others));
    EXPECT_TRUE(stream.knows(same_fields));
}

TEST(KnownFields, AreReplacedAfterAWhile) {
    HeadStream stream = made_known();
    const std::string others = "Host: other\r\n\r\n", third = "Host: third\r\n\r\n";
    for (int i = 0; i < 3; ++i) (void)stream.read("GET / HTTP/1.1\r\n" + others);
    for (int i = 0; i < 7; ++i) (void)stream.read("GET / HTTP/1.1\r\n" + third);
    EXPECT_FALSE(stream.knows(third));
    EXPECT_TRUE(stream.knows(same_fields));
    EXPECT_TRUE(stream.knows(others));  // used last, so it stays
    (void)stream.read("GET / HTTP/1.1\r\n" + third);
    EXPECT_EQ(stream.field("Host"), "third");
    EXPECT_TRUE(stream.knows(third));
    EXPECT_TRUE(stream.knows(others));
    EXPECT_FALSE(stream.knows(same_fields));
}

// What HTTP/1.1 allows, HTTP/1.0 may not.
TEST(KnownFields, OfHttp11SayNothingOfHttp10) {
    HeadStream stream;
    const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(stream.read("PUT / HTTP/1.1\r\n" + chunked), HeadOutcome::complete);
    }
    EXPECT_EQ(stream.read("PUT / HTTP/1.0\r\n" + chunked), HeadOutcome::refused);
    EXPECT_EQ(stream.fault, &faults::chunked_1_0);
}

TEST(KnownFields, AreNotRememberedIfTheyAreLong) {
    HeadStream stream;
    const std::string many = "X: " + std::string(2000, 'x') + "\r\n\r\n";
    for (int i = 0; i < 20; ++i) (void)stream.read("GET / HTTP/1.1\r\n" + many);
    EXPECT_FALSE(stream.knows(many));
    EXPECT_EQ(stream.field("X").size(), 2000U);
}

}  // namespace
}  // namespace holdfast::net
