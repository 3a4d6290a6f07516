#include "net/client/url.h"

#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

using std::string_literals::operator""s;

TEST(PercentDecoding, ReplacesEscapesAndKeepsTheRest) {
    EXPECT_EQ("plain", percent_decode("plain").value());
    EXPECT_EQ("a b/c", percent_decode("a%20b%2fc").value());
    EXPECT_EQ("%", percent_decode("%25").value());
    EXPECT_EQ("\xff\0"s, percent_decode("%FF%00").value());
    EXPECT_EQ("", percent_decode("").value());
}

TEST(PercentDecoding, LeavesAPlusInAPathAndMakesItASpaceInAForm) {
    EXPECT_EQ("a+b", percent_decode("a+b").value());
    EXPECT_EQ("a b", form_decode("a+b").value());
    EXPECT_EQ("a+b", form_decode("a%2Bb").value());
}

TEST(PercentDecoding, RefusesAnEscapeWithoutTwoDigits) {
    for (const auto* text : {"%", "a%", "%2", "%g0", "%0g", "%%20", "a%2"}) {
        EXPECT_FALSE(percent_decode(text)) << text;
    }
}

TEST(QueryParameter, IsFoundByItsDecodedNameAndDecoded) {
    EXPECT_EQ("x y", query_parameter("client=x+y&ttl=5", "client").value());
    EXPECT_EQ("5", query_parameter("client=x+y&ttl=5", "ttl").value());
    EXPECT_EQ("1", query_parameter("%63lient=1", "client").value());
    EXPECT_EQ("a=b", query_parameter("k=a=b", "k").value());
}

TEST(QueryParameter, IsTheFirstOfItsName) {
    EXPECT_EQ("1", query_parameter("a=1&a=2", "a").value());
}

TEST(QueryParameter, IsEmptyWithoutAValueAndAbsentWithoutAName) {
    EXPECT_EQ("", query_parameter("a&b=1", "a").value());
    EXPECT_EQ("", query_parameter("a=", "a").value());
    EXPECT_EQ(std::nullopt, query_parameter("ab=1&b=a", "a").value());
    EXPECT_EQ(std::nullopt, query_parameter("", "a").value());
    EXPECT_EQ(std::nullopt, query_parameter("&&", "a").value());
}

TEST(QueryParameter, ReportsAMalformedEscapeInItsValueButNotInAnothers) {
    EXPECT_FALSE(query_parameter("a=%2", "a"));
    EXPECT_EQ("1", query_parameter("b=%2&a=1", "a").value());
}

TEST(PercentEncode, IsUndoneByDecoding) {
    EXPECT_EQ(percent_encode("aZ09-._~"), "aZ09-._~");
    EXPECT_EQ(percent_encode("a/b c?&=+%"), "a%2Fb%20c%3F%26%3D%2B%25");
    EXPECT_EQ(percent_encode_path("/a b/c%2F?+@"), "/a%20b/c%252F%3F+@");
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
    EXPECT_EQ(percent_decode(percent_encode(all)).value(), all);
    EXPECT_EQ(form_decode(percent_encode(all)).value(), all);
}

TEST(HostOf, LeavesOutThePort) {
    EXPECT_EQ(host_of("box:8081"), "box");
    EXPECT_EQ(host_of("box"), "box");
    EXPECT_EQ(host_of("[::1]:8081"), "[::1]");
    EXPECT_EQ(host_of("[::1]"), "[::1]");
    EXPECT_EQ(host_of(""), "");
}

}  // namespace
}  // namespace holdfast::net
