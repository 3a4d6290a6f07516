#include "net/sockets/endpoint.h"

#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

TEST(EndpointText, IsReadAndWrittenBack) {
    for (const auto* text : {"127.0.0.1:8080", "0.0.0.0:0", "[::1]:65535", "[::]:80",
                             "unix:/run/holdfast.sock", "unix:relative.sock"}) {
        const auto endpoint = parse_endpoint(text);
        ASSERT_TRUE(endpoint) << endpoint.error().message;
        EXPECT_EQ(text, to_text(*endpoint));
    }
}

TEST(EndpointText, MayNameLocalhost) {
    EXPECT_EQ("127.0.0.1:6388", to_text(parse_endpoint("localhost:6388").value()));
}

TEST(EndpointText, WithoutAnAddressIsEveryAddress) {
    EXPECT_EQ("0.0.0.0:8080", to_text(parse_endpoint(":8080").value()));
}

TEST(EndpointText, IsRefusedWithAReasonThatNamesIt) {
    for (const auto* text :
         {"", "8080", "127.0.0.1", "127.0.0.1:", ":", "127.0.0.1:65536", "127.0.0.1:-1",
          "127.0.0.1:8 ", "127.0.0.1:0x10", "::1:80", "[127.0.0.1]:80", "[::1:80", "::1]:80",
          "example.org:80", "1.2.3:80", "[]:80", "unix:"}) {
        const auto endpoint = parse_endpoint(text);
        ASSERT_FALSE(endpoint) << text;
        EXPECT_NE(std::string::npos, endpoint.error().message.find(text));
    }
}

TEST(EndpointText, OfAUnixSocketHasALimitedLength) {
    const std::string longest(98, 'x');
    EXPECT_TRUE(parse_endpoint("unix:" + longest));
    const auto longer = parse_endpoint("unix:" + longest + "x");
    ASSERT_FALSE(longer);
    EXPECT_NE(std::string::npos, longer.error().message.find("98 bytes"));
}

TEST(Endpoint, IsLocalIfOnlyThisMachineCanReachIt) {
    const auto is_local = [](const char* text) { return parse_endpoint(text)->is_local(); };
    EXPECT_TRUE(is_local("127.0.0.1:1"));
    EXPECT_TRUE(is_local("[::1]:1"));
    EXPECT_TRUE(is_local("unix:/run/holdfast.sock"));
    EXPECT_FALSE(is_local(":1"));
    EXPECT_FALSE(is_local("192.0.2.1:1"));
}

}  // namespace
}  // namespace holdfast::net
