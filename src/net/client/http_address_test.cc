#include "net/client/http_address.h"

#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

TEST(HttpAddress, ReadsWhatPeopleWrite) {
    const auto plain = HttpAddress::parse("http://127.0.0.1:8080").value();
    EXPECT_FALSE(plain.is_tls);
    EXPECT_EQ(plain.host, "127.0.0.1");
    EXPECT_EQ(plain.port, "8080");
    EXPECT_EQ(plain.prefix, "");
    EXPECT_EQ(plain.authority(), "127.0.0.1:8080");

    const auto tls = HttpAddress::parse("https://locks.example/holdfast/").value();
    EXPECT_TRUE(tls.is_tls);
    EXPECT_EQ(tls.host, "locks.example");
    EXPECT_EQ(tls.port, "443");
    EXPECT_EQ(tls.prefix, "/holdfast");
    EXPECT_EQ(tls.authority(), "locks.example");

    const auto v6 = HttpAddress::parse("http://[::1]:81/").value();
    EXPECT_EQ(v6.host, "::1");
    EXPECT_EQ(v6.port, "81");
    EXPECT_EQ(v6.prefix, "");
    EXPECT_EQ(v6.authority(), "[::1]:81");
    EXPECT_EQ(HttpAddress::parse("http://[::1]").value().port, "80");
}

TEST(HttpAddress, IsReadAgainAsItIsWritten) {
    for (const char* const url : {"http://localhost", "https://a:1/b/c", "http://[fe80::1]:9"}) {
        EXPECT_EQ(HttpAddress::parse(url).value().to_text(), url);
    }
}

TEST(HttpAddress, OfAServerNeedsNoScheme) {
    EXPECT_EQ(HttpAddress::parse_server("localhost:8080").value().to_text(),
              "http://localhost:8080");
}

TEST(HttpAddress, OfAServerMayBeAUnixSocket) {
    const auto address = HttpAddress::parse_server("unix:/run/holdfast.sock").value();
    EXPECT_TRUE(address.is_unix());
    EXPECT_FALSE(address.is_tls);
    EXPECT_EQ(address.socket_path, "/run/holdfast.sock");
    EXPECT_EQ(address.authority(), "localhost");
    EXPECT_EQ(address.prefix, "");
    EXPECT_EQ(address.to_text(), "unix:/run/holdfast.sock");
    EXPECT_FALSE(HttpAddress::parse_server("http://a:1/b").value().is_unix());
}

TEST(HttpAddress, OfAUnixSocketNamesTheFault) {
    const auto fault_of = [](const std::string& text) {
        const auto address = HttpAddress::parse_server(text);
        return address ? "none" : address.error().message;
    };
    EXPECT_EQ(fault_of("unix:"), "'unix:' has no path after unix:");
    EXPECT_NE(fault_of("unix:/" + std::string(108, 'p')).find("is longer than"), std::string::npos);
    EXPECT_EQ(fault_of("http://"), "'http://' names no host");
    EXPECT_FALSE(HttpAddress::parse("unix:/run/holdfast.sock"));
}

TEST(HttpAddress, NamesTheFault) {
    const auto fault_of = [](std::string_view url) {
        const auto address = HttpAddress::parse(url);
        return address ? "none" : address.error().message;
    };
    EXPECT_EQ(fault_of("localhost:8080"),
              "'localhost:8080' does not begin with http:// or https://");
    EXPECT_EQ(fault_of("http://"), "'http://' names no host");
    EXPECT_EQ(fault_of("http://:80"), "'http://:80' names no host");
    EXPECT_EQ(fault_of("http://[::1"), "'http://[::1' names no host");
    EXPECT_EQ(fault_of("http://[::1]x"), "'http://[::1]x' names no host");
    for (const char* const url : {"http://a:", "http://a:0", "http://a:65536", "http://a:x"}) {
        EXPECT_EQ(fault_of(url),
                  "'" + std::string(url) + "' has no port from 1 to 65535 after its colon");
    }
    EXPECT_EQ(fault_of("http://a/?b"), "'http://a/?b' is more than http://HOST:PORT/PATH");
    EXPECT_EQ(fault_of("http://me@a"), "'http://me@a' is more than http://HOST:PORT/PATH");
    EXPECT_EQ(fault_of("http://a\r\nX: y"),
              "'http://a\r\nX: y' has a space or a control character in it");
}

}  // namespace
}  // namespace holdfast::net
