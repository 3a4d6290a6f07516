#include "doors/hengdang/http/own_urls.h"

#include <gmock/gmock.h>

namespace holdfast::doors::hengdang {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::vector<std::string> urls_of(const std::vector<std::string>& named, const char* endpoint,
                                 bool has_tls = false) {
    const net::Endpoint at = net::parse_endpoint(endpoint).value();
    return OwnUrls({.named = named, .endpoint = at, .has_tls = has_tls}).of("/p");
}

TEST(OwnUrls, OnLoopbackAreTheUsualNamesOfThisMachine) {
    EXPECT_THAT(urls_of({}, "127.0.0.1:8081"),
                UnorderedElementsAre("http://127.0.0.1:8081/p", "http://localhost:8081/p",
                                     "http://[::1]:8081/p"));
    EXPECT_THAT(urls_of({}, "[::1]:8081", true),
                UnorderedElementsAre("https://127.0.0.1:8081/p", "https://localhost:8081/p",
                                     "https://[::1]:8081/p"));
    EXPECT_THAT(urls_of({}, "127.0.0.2:8081"),
                UnorderedElementsAre("http://127.0.0.2:8081/p", "http://127.0.0.1:8081/p",
                                     "http://localhost:8081/p", "http://[::1]:8081/p"));
}

TEST(OwnUrls, ElsewhereAreTheAddressItselfAndWhatTheOperatorNames) {
    EXPECT_THAT(urls_of({}, "192.0.2.7:8081"), ElementsAre("http://192.0.2.7:8081/p"));
    EXPECT_THAT(urls_of({"https://a.example", "https://b.example:8443/files"}, "192.0.2.7:8081"),
                UnorderedElementsAre("https://a.example/p", "https://a.example:443/p",
                                     "https://b.example:8443/files/p", "http://192.0.2.7:8081/p"));
    EXPECT_THAT(urls_of({"https://a.example:8443"}, "0.0.0.0:8081"),
                ElementsAre("https://a.example:8443/p"));
    EXPECT_THAT(urls_of({}, "0.0.0.0:8081"), ElementsAre());
    EXPECT_THAT(urls_of({}, "[::]:8081"), ElementsAre());
}

TEST(OwnUrls, ThatAnOperatorNamesHaveOneSpelling) {
    EXPECT_EQ(read_own_url("https://Files.Example.org:443/"), "https://files.example.org");
    EXPECT_EQ(read_own_url("http://[2001:DB8::1]:80"), "http://[2001:db8::1]");
    EXPECT_EQ(read_own_url("http://x:81/Files/"), "http://x:81/Files");
    for (const char* text : {"files.example.org", "ftp://x", "https://", "https://x/?a", "", "x"}) {
        const auto url = read_own_url(text);
        ASSERT_FALSE(url) << text;
        EXPECT_THAT(url.error().message, HasSubstr(text));
    }
}

}  // namespace
}  // namespace holdfast::doors::hengdang
