#include "net/http/http_message.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "net/loop/test_channel.h"

namespace holdfast::net {
namespace {

std::string text_of(const HttpResponse& response, const HttpTerms& terms) {
    TestChannel channel;
    append_response(channel.output(), response, terms);
    return channel.take();
}

TEST(HttpResponse, HasTypeLengthAndBody) {
    EXPECT_EQ("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nhi",
              text_of({200, "text/plain", "hi"}, {.keep_alive = true}));
}

TEST(HttpResponse, SaysWhatHappensToTheConnectionWhereThatIsNotImplied) {
    EXPECT_EQ("HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
              text_of({409, "", ""}, {.keep_alive = false}));
    EXPECT_EQ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n",
              text_of({200, "", ""}, {.keep_alive = true, .http_1_0 = true}));
}

TEST(HttpResponse, ToHeadDescribesTheBodyWithoutSendingIt) {
    EXPECT_EQ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
              text_of({200, "", "hi"}, {.keep_alive = true, .head = true}));
}

TEST(HttpResponse, WithoutContentHasNoLength) {
    EXPECT_EQ("HTTP/1.1 204 No Content\r\n\r\n", text_of({204, "", ""}, {.keep_alive = true}));
}

TEST(HttpResponse, CannotBeForgedByAHeaderValue) {
    const std::array headers{HttpHeader{"Location", "/a\r\nSet-Cookie: b"}};
    EXPECT_EQ("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /a  Set-Cookie: b\r\n\r\n",
              text_of({302, "", "", headers}, {.keep_alive = true}));
}

// The usual header is written by other code than a header with more lines.
TEST(HttpResponse, IsWrittenAlikeWhetherItIsUsualOrNot) {
    const auto nothing_more = std::make_shared<const std::string>();
    for (const int status : {200, 201, 404, 503}) {
        for (const bool is_to_head : {false, true}) {
            const HttpResponse response{status, "text/plain", "some text"};
            EXPECT_EQ(
                text_of(response, {.keep_alive = true, .head = is_to_head}),
                text_of(response,
                        {.keep_alive = true, .head = is_to_head, .more_headers = nothing_more}));
        }
    }
}

TEST(HttpResponse, CarriesTheDate) {
    std::string out;
    append_response(out, {200, "", ""}, {.keep_alive = true});
    EXPECT_NE(std::string::npos, out.find("\r\nDate: "));
    EXPECT_NE(std::string::npos, out.find(" GMT\r\n"));
}

}  // namespace
}  // namespace holdfast::net
