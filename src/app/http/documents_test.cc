#include "app/http/documents.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <string>

#include "app/http/test_router.h"
#include "net/loop/test_channel.h"

namespace holdfast::app {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class DashboardTest : public testing::Test {
  protected:
    std::string ask(const std::string& line, const std::string& header = "") {
        channel_.feed(protocol_, line + " HTTP/1.1\r\n" + header + "\r\n");
        return channel_.take();
    }

    FilesPlace files_;
    DocumentHandler documents_{[this] { return files_; }};
    TestRouter router_{DocumentHandler::routes(), documents_, net::Privilege::none};
    net::HttpLimits limits_;
    net::TestChannel channel_;
    net::HttpProtocol protocol_{channel_, router_, limits_};
};

TEST_F(DashboardTest, IsAPageThatMayRunOnlyItsOwnScripts) {
    EXPECT_THAT(ask("GET /"),
                AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                      HasSubstr("Content-Type: text/html; charset=utf-8\r\n"),
                      HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'; "),
                      HasSubstr("X-Content-Type-Options: nosniff\r\n"), HasSubstr("<title>"),
                      Not(HasSubstr("onclick")), Not(HasSubstr("style=")), Not(HasSubstr("//"))));
}

TEST_F(DashboardTest, MayTalkToTheFileDoor) {
    const auto policy = [&](const std::string& host) {
        return ask("GET /", "Host: " + host + "\r\n");
    };
    EXPECT_THAT(policy("box:8080"), HasSubstr("; connect-src 'self'; "));
    files_ = {.urls = {"https://files.example.org"}, .port = 8081};
    EXPECT_THAT(policy("box:8080"),
                HasSubstr("; connect-src 'self' https://files.example.org http://box:8081; "));
    EXPECT_THAT(policy("[::1]:8080"), HasSubstr(" http://[::1]:8081; "));
    EXPECT_THAT(policy("evil.example;script-src *"),
                HasSubstr("; connect-src 'self' https://files.example.org; "));
    files_ = {.has_tls = true, .port = 8081};
    EXPECT_THAT(policy("box"), HasSubstr("; connect-src 'self' https://box:8081; "));
}

TEST_F(DashboardTest, NamesTheTypesOfItsFiles) {
    EXPECT_THAT(ask("GET /ui/main.js"),
                HasSubstr("Content-Type: text/javascript; charset=utf-8\r\n"));
    EXPECT_THAT(ask("GET /ui/style.css"), HasSubstr("Content-Type: text/css; charset=utf-8\r\n"));
}

TEST_F(DashboardTest, SendsNothingToWhoHasItAlready) {
    const std::string first = ask("GET /ui/main.js");
    const std::size_t begin = first.find("ETag: ") + 6;
    const std::string tag = first.substr(begin, first.find("\r\n", begin) - begin);
    EXPECT_THAT(ask("GET /ui/main.js", "If-None-Match: " + tag + "\r\n"),
                AllOf(StartsWith("HTTP/1.1 304 "), EndsWith("\r\n\r\n")));
    EXPECT_THAT(ask("GET /ui/style.css", "If-None-Match: " + tag + "\r\n"),
                StartsWith("HTTP/1.1 200 "));
}

TEST_F(DashboardTest, HasNoOtherFilesAndTakesNoOtherMethods) {
    EXPECT_THAT(ask("GET /ui/"), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(ask("GET /ui/../main.js"), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(ask("POST /"), AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD")));
}

TEST(Openapi, IsTheFileByteByByte) {
    std::ifstream file(HOLDFAST_OPENAPI_FILE, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(openapi_json(), text);
    EXPECT_TRUE(openapi_json().ends_with("}\n"));
}

}  // namespace
}  // namespace holdfast::app
