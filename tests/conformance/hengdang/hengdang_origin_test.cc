// The file door and the pages of other origins that talk to it from a browser.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "files_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string drive = "Origin: https://drive.example.org";
const std::string evil = "Origin: https://evil.example";

class HengdangOrigin : public ::testing::Test {
  protected:
    // A request that only a cookie logs in.
    net::TestResponse ask_by_cookie(const std::string& line, std::vector<std::string> headers) {
        headers.push_back("Cookie: hengdang_session=" + a_.id);
        FilesClient client(host_);
        return client.ask({.line = line, .headers = std::move(headers)});
    }
    net::TestResponse ask(const std::string& line, std::vector<std::string> headers) {
        return FilesClient(host_).ask({.line = line, .headers = std::move(headers)});
    }

    FilesHost host_{1, [](app::ServeOptions& options) {
                        options.is_in_memory = true;
                        options.files.urls = {"https://files.example.org"};
                        options.files.origins = {"https://drive.example.org"};
                    }};
    FilesClient a_ = FilesClient::logged_in(host_);
};

TEST_F(HengdangOrigin, IsAskedForBeforeARequest) {
    const auto allowed =
        ask("OPTIONS /x", {drive, "Access-Control-Request-Method: PUT",
                           "Access-Control-Request-Headers: authorization,x-mine"});
    EXPECT_EQ(allowed.status, 204);
    EXPECT_EQ(header_of(allowed, "Access-Control-Allow-Origin"), "https://drive.example.org");
    EXPECT_EQ(header_of(allowed, "Access-Control-Allow-Credentials"), "true");
    EXPECT_THAT(header_of(allowed, "Access-Control-Allow-Methods"), HasSubstr("PUT"));
    EXPECT_EQ(header_of(allowed, "Access-Control-Allow-Headers"), "authorization,x-mine");
    EXPECT_EQ(header_of(allowed, "Vary"), "Origin");
    const auto refused = ask("OPTIONS /x", {evil, "Access-Control-Request-Method: PUT"});
    EXPECT_EQ(refused.status, 403);
    EXPECT_THAT(refused.body, HasSubstr("--files-origin"));
    EXPECT_THAT(refused.header, Not(HasSubstr("Access-Control")));
}

TEST_F(HengdangOrigin, IsNamedInEveryAnswerToAnAllowedPage) {
    const std::string bearer = "Authorization: Bearer " + a_.id;
    for (const char* line : {"PUT /x", "GET /x", "HEAD /x", "GET /nothing", "GET /", "POST /d/",
                             "GET /x?lock=acquire", "GET /../x", "GET /auth/session", "BREW /x"}) {
        const auto answer = ask(line, {drive, bearer});
        EXPECT_EQ(header_of(answer, "Access-Control-Allow-Origin"), "https://drive.example.org")
            << line;
        EXPECT_THAT(ask(line, {evil, bearer}).header, Not(HasSubstr("Access-Control"))) << line;
        EXPECT_EQ(header_of(ask(line, {bearer}), "Vary"), "Origin") << line;
    }
    FilesClient watcher(host_);
    watcher.send({.line = "GET /events/stream", .headers = {drive, bearer}});
    EXPECT_THAT(watcher.connection().read(250),
                HasSubstr("Access-Control-Allow-Origin: https://d"));
}

TEST_F(HengdangOrigin, OfTheDashboardIsAllowedByItself) {
    const std::string port = std::to_string(host_.locks_port());
    const auto answer = ask("GET /", {"Origin: http://files:" + port});
    EXPECT_EQ(answer.status, 401);
    EXPECT_EQ(header_of(answer, "Access-Control-Allow-Origin"), "http://files:" + port);
    EXPECT_THAT(ask("GET /", {"Origin: http://elsewhere:" + port}).header,
                Not(HasSubstr("Access-Control")));
}

// A picture, a form or a script on a foreign page, whose requests the browser sends with the cookie.
TEST_F(HengdangOrigin, OfAForeignPageChangesNothing) {
    EXPECT_EQ(a_.put("/x", "hi").status, 201);
    EXPECT_EQ(a_.get("/x?lock=acquire").status, 200);
    const std::vector<std::vector<std::string>> pages{{},
                                                      {evil},
                                                      {"Origin: null"},
                                                      {"Sec-Fetch-Site: cross-site"},
                                                      {"Sec-Fetch-Site: same-site"},
                                                      {"Sec-Fetch-Site: none"}};
    for (const auto& page : pages) {
        for (const char* line :
             {"GET /x?lock=release", "GET /x?lock=refresh", "GET /y?lock=acquire", "PUT /x",
              "DELETE /x", "POST /d/", "DELETE /auth/session", "DELETE /auth/sessions/x"}) {
            const auto answer = ask_by_cookie(line, page);
            EXPECT_EQ(answer.status, 403) << line;
            EXPECT_EQ(field_of(answer.body, "error"), "Origin not allowed") << line;
        }
        EXPECT_EQ(ask_by_cookie("GET /x?lock=status", page).status, 200);
    }
    EXPECT_THAT(a_.get("/x?lock=status").body, HasSubstr(R"("ownedByThisSession":true)"));
    EXPECT_EQ(ask_by_cookie("GET /x?lock=refresh", {drive}).status, 200);
    EXPECT_EQ(ask_by_cookie("GET /x?lock=refresh", {"Sec-Fetch-Site: same-origin"}).status, 200);
    EXPECT_EQ(ask_by_cookie("GET /x?lock=release", {"Origin: http://files"}).status, 200)
        << "a page of the door itself";
}

TEST_F(HengdangOrigin, OfAnAppOnAnotherSiteGetsACookieThatTravels) {
    const auto log_in = [&](std::vector<std::string> headers) {
        headers.push_back("Authorization: Bearer " + std::string(files_secret));
        return header_of(ask("POST /auth/session", std::move(headers)), "Set-Cookie");
    };
    EXPECT_THAT(log_in({drive}), HasSubstr("; SameSite=None; Max-Age=604800; Secure; Partitioned"));
    EXPECT_THAT(log_in({}), HasSubstr("; SameSite=Strict; Max-Age=604800"));
    EXPECT_THAT(log_in({}), Not(HasSubstr("Partitioned")));
    const auto logged_out = ask_by_cookie("DELETE /auth/session", {drive});
    EXPECT_THAT(header_of(logged_out, "Set-Cookie"), HasSubstr("Max-Age=0; Secure; Partitioned"))
        << "otherwise the browser keeps the old one";
    const auto event =
        files::testing::to_json(host_.owner().sign_login(host_.login_url(), host_.now_s()));
    const auto foreign =
        FilesClient(host_).ask({.line = "POST /auth/session", .body = event, .headers = {evil}});
    EXPECT_EQ(foreign.status, 403);
    const auto named =
        FilesClient(host_).ask({.line = "POST /auth/session", .body = event, .headers = {drive}});
    EXPECT_EQ(named.status, 201);
}

// Without TLS a browser would refuse such a cookie.
TEST(HengdangOriginWithoutTls, GetsACookieOfItsOwnSiteOnly) {
    FilesHost host(1, [](app::ServeOptions& options) {
        options.is_in_memory = true;
        options.files.origins = {"https://drive.example.org"};
    });
    const auto answer = FilesClient(host).ask(
        {.line = "POST /auth/session",
         .headers = {drive, "Authorization: Bearer " + std::string(files_secret)}});
    EXPECT_THAT(header_of(answer, "Set-Cookie"), HasSubstr("SameSite=Strict"));
}

}  // namespace
}  // namespace holdfast::conformance
