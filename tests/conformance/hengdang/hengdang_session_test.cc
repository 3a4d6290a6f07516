// Logging in and out.

#include <gmock/gmock.h>

#include <string>

#include "files_host.h"

namespace holdfast::conformance {
namespace {

using files::testing::to_json;
using ::testing::HasSubstr;
using ::testing::Not;

class HengdangSession : public ::testing::TestWithParam<std::size_t> {
  protected:
    // Sends an event to log in, to the server by the name its clients know it by, or by another
    // one.
    net::TestResponse log_in(const std::string& event) {
        const std::string url = host_.login_url();
        return log_in_at(url.substr(7, url.find('/', 7) - 7), event);
    }
    net::TestResponse log_in_at(const std::string& host, const std::string& event) {
        net::TestClient client = host_.connect();
        client.send("POST /auth/session HTTP/1.1\r\nHost: " + host +
                    "\r\nContent-Length: " + std::to_string(event.size()) + "\r\n\r\n" + event);
        return client.response();
    }
    [[nodiscard]] std::string signed_for(const std::string& url) const {
        return to_json(host_.owner().sign_login(url, host_.now_s()));
    }
    std::string signed_by(const files::testing::NostrSigner& signer, std::int64_t created_s) {
        return to_json(signer.sign_login(host_.login_url(), created_s));
    }
    void expect_refused(const std::string& event, int status, const char* error) {
        const auto response = log_in(event);
        EXPECT_EQ(response.status, status) << event;
        EXPECT_EQ(field_of(response.body, "error"), error) << event;
    }

    FilesHost host_{GetParam(), [](app::ServeOptions& options) {
                        options.files.urls = {"https://files.example.org"};
                    }};
};
INSTANTIATE_TEST_SUITE_P(Threads, HengdangSession, ::testing::Values(1, 3));

TEST_P(HengdangSession, BeginsWithASignedEvent) {
    const auto response = log_in(signed_by(host_.owner(), host_.now_s()));
    EXPECT_EQ(response.status, 201);
    FilesClient client(host_);
    client.id = field_of(response.body, "sessionId");
    EXPECT_EQ(client.id.size(), 64U);
    const std::int64_t expires_ms = files_start_ms + 7LL * 24 * 3600 * 1000;
    EXPECT_THAT(response.body, HasSubstr(R"("permissions":["read","write"],"expiresAt":)" +
                                         std::to_string(expires_ms)));
    EXPECT_EQ(
        header_of(response, "Set-Cookie"),
        "hengdang_session=" + client.id + "; Path=/; HttpOnly; SameSite=Strict; Max-Age=604800");
    EXPECT_EQ(client.put("/x", "hi").status, 201);
    EXPECT_THAT(client.get("/auth/session").body,
                HasSubstr(R"("owner":")" + host_.owner().public_key()));
}

TEST_P(HengdangSession, BeginsOnceWithAnEvent) {
    const std::string event = signed_by(host_.owner(), host_.now_s());
    EXPECT_EQ(log_in(event).status, 201);
    expect_refused(event, 400, "Invalid auth event");
    host_.restart();
    expect_refused(event, 400, "Invalid auth event");
}

// Whoever receives an event that was signed for another server must not be able to use it here,
// whatever name of the server the request bears.
TEST_P(HengdangSession, BeginsWithNoEventThatWasSignedForAnotherServer) {
    for (const std::string host : {"evil.example", "evil.example:80", "files.example.org.evil"}) {
        const auto response = log_in_at(host, signed_for("http://" + host + "/auth/session"));
        EXPECT_EQ(response.status, 400) << host;
        EXPECT_EQ(field_of(response.body, "error"), "Invalid auth event") << host;
        EXPECT_THAT(response.body, HasSubstr(host_.login_url())) << "it says what it would accept";
    }
    EXPECT_EQ(log_in(signed_for("http://files.example.org/auth/session")).status, 400)
        << "it is named with https";
    EXPECT_EQ(log_in(signed_for("http://localhost:" + host_.port() + "/auth")).status, 400);
}

TEST_P(HengdangSession, BeginsByEveryNameOfTheServer) {
    for (const std::string& base :
         {"http://localhost:" + host_.port(), "http://127.0.0.1:" + host_.port(),
          "http://[::1]:" + host_.port(), std::string("https://files.example.org"),
          std::string("https://files.example.org:443")}) {
        const auto response = log_in_at("anything", signed_for(base + "/auth/session"));
        EXPECT_EQ(response.status, 201) << base << response.body;
        host_.advance(1s);  // so that the next event is another one
    }
}

TEST_P(HengdangSession, BeginsWithAnEventOfThisMinute) {
    const std::int64_t now_s = host_.now_s();
    EXPECT_EQ(log_in(signed_by(host_.owner(), now_s - 60)).status, 201);
    EXPECT_EQ(log_in(signed_by(host_.owner(), now_s + 60)).status, 201);
    expect_refused(signed_by(host_.owner(), now_s - 61), 400, "Invalid auth event");
    expect_refused(signed_by(host_.owner(), now_s + 61), 400, "Invalid auth event");
    const std::string early = signed_by(host_.owner(), now_s + 59);
    EXPECT_EQ(log_in(early).status, 201);
    host_.advance(118s);
    expect_refused(early, 400, "Invalid auth event");
}

TEST_P(HengdangSession, BeginsWithNoOtherEvent) {
    const files::testing::NostrSigner& owner = host_.owner();
    const std::int64_t now_s = host_.now_s();
    expect_refused("nonsense", 400, "Invalid Nostr event");
    expect_refused("{}", 400, "Invalid Nostr event");
    expect_refused(to_json(owner.sign_login("http://elsewhere/auth/session", now_s)), 400,
                   "Invalid auth event");
    files::NostrEvent get = owner.sign_login(host_.login_url(), now_s);
    get.tags.back().back() = "GET";
    expect_refused(to_json(owner.sign(get)), 400, "Invalid auth event");
    files::NostrEvent forged = owner.sign_login(host_.login_url(), now_s);
    forged.signature[5] = forged.signature[5] == '0' ? '1' : '0';
    expect_refused(to_json(forged), 401, "Invalid signature");
    files::NostrEvent tampered = owner.sign_login(host_.login_url(), now_s);
    tampered.content = "changed";
    expect_refused(to_json(tampered), 401, "Invalid signature");
    files::NostrEvent unknown_scope = owner.sign_login(host_.login_url(), now_s);
    unknown_scope.tags.push_back({"scope", "admin"});
    expect_refused(to_json(owner.sign(unknown_scope)), 400, "Invalid auth event");
    expect_refused(signed_by(files::testing::NostrSigner(8), now_s), 403, "Unauthorized");
}

TEST_P(HengdangSession, BeginsWithTheSecretOfTheHouse) {
    FilesClient client(host_);
    const auto with = [&](const std::string& bearer) {
        return client
            .ask({.line = "POST /auth/session", .headers = {"Authorization: Bearer " + bearer}})
            .status;
    };
    EXPECT_EQ(with("wrong"), 401);
    EXPECT_EQ(with(std::string(files_secret)), 201);
    EXPECT_EQ(client.ask({.line = "POST /auth/session"}).status, 400);
}

TEST_P(HengdangSession, IsShownByCookieOrHeader) {
    const FilesClient known = FilesClient::logged_in(host_);
    FilesClient client(host_);
    for (const std::string& header :
         {"Authorization: Bearer " + known.id, "authorization: bearer " + known.id,
          "Cookie: hengdang_session=" + known.id,
          "Cookie: a=b; hengdang_session=" + known.id + "; c=d"}) {
        const auto response = client.ask({.line = "GET /auth/session", .headers = {header}});
        EXPECT_EQ(response.status, 200) << header;
        EXPECT_THAT(response.body, HasSubstr(known.name));
        const bool is_cookie = header.starts_with("Cookie");
        EXPECT_EQ(field_of(response.body, "sessionId"), is_cookie ? known.name : known.id);
    }
    EXPECT_EQ(client
                  .ask({.line = "GET /auth/session",
                        .headers = {"Authorization: Bearer " + known.name,
                                    "Cookie: hengdang_session=" + known.id}})
                  .status,
              200)
        << "the cookie counts where the header means nothing";
    EXPECT_EQ(client
                  .ask({.line = "GET /auth/session",
                        .headers = {"Cookie: xhengdang_session=" + known.id}})
                  .status,
              401);
}

TEST_P(HengdangSession, TellsWhenItWasUsedLast) {
    FilesClient a = FilesClient::logged_in(host_), b = FilesClient::logged_in(host_);
    host_.advance(5s);
    EXPECT_EQ(a.get("/").status, 200);
    const auto times = [](std::int64_t used_ms) {
        return R"("createdAt":)" + std::to_string(files_start_ms) + R"(,"lastUsed":)" +
               std::to_string(files_start_ms + used_ms);
    };
    host_.advance(5s);
    const std::string list = b.get("/auth/sessions").body;
    EXPECT_THAT(list, HasSubstr(times(5000)));
    EXPECT_THAT(list, HasSubstr(times(10000)));
}

// The scopes of the login decide what the session may do, also after a restart.
TEST_P(HengdangSession, MayDoWhatItsLoginAskedFor) {
    files::NostrEvent event = host_.owner().sign_login(host_.login_url(), host_.now_s());
    event.tags.push_back({"scope", "read"});
    const auto login = log_in(to_json(host_.owner().sign(event)));
    EXPECT_EQ(login.status, 201);
    EXPECT_THAT(login.body, HasSubstr(R"("permissions":["read"],)"));
    FilesClient writer = FilesClient::logged_in(host_);
    EXPECT_EQ(writer.put("/x", "hi").status, 201);
    for (const bool is_first_time : {true, false}) {
        if (!is_first_time) host_.restart();
        FilesClient reader(host_);
        reader.id = field_of(login.body, "sessionId");
        for (const char* line : {"GET /x", "HEAD /x", "GET /", "GET /x?lock=status",
                                 "GET /auth/session", "GET /auth/sessions"}) {
            EXPECT_EQ(reader.ask({.line = line}).status, 200) << line;
        }
        for (const char* line :
             {"PUT /x", "DELETE /x", "POST /d/", "DELETE /d/", "GET /x?lock=acquire",
              "GET /x?lock=refresh", "GET /x?lock=release", "DELETE /auth/sessions/nobody"}) {
            const auto refused = reader.ask({.line = line});
            EXPECT_EQ(refused.status, 403) << line;
            EXPECT_EQ(refused.body,
                      R"({"error":"Insufficient permissions","message":"Required permissions: )"
                      R"(write","userPermissions":["read"]})"
                      "\n")
                << line;
        }
        EXPECT_EQ(
            reader.ask({.line = "PATCH /x", .body = "X", .headers = {"Content-Range: bytes 0-0/*"}})
                .status,
            403);
        EXPECT_EQ(reader.get("/x").body, "hi");
        if (is_first_time) continue;
        EXPECT_EQ(reader.ask({.line = "DELETE /auth/session"}).status, 204);
    }
}

// The tag `app` of the login, also after a restart.
TEST_P(HengdangSession, TellsTheNameOfItsApp) {
    files::NostrEvent event = host_.owner().sign_login(host_.login_url(), host_.now_s());
    event.tags.push_back({"app", "Hengdang \"Notes\""});
    const auto login = log_in(to_json(host_.owner().sign(event)));
    EXPECT_EQ(login.status, 201);
    FilesClient other = FilesClient::logged_in(host_);
    host_.restart();
    FilesClient client(host_);
    client.id = field_of(login.body, "sessionId");
    const std::string named = R"("appName":"Hengdang \"Notes\"")";
    EXPECT_THAT(client.get("/auth/session").body, HasSubstr(named));
    EXPECT_THAT(client.get("/auth/sessions").body, HasSubstr(named));
    FilesClient again(host_);
    again.id = other.id;
    EXPECT_THAT(again.get("/auth/session").body, HasSubstr(R"("appName":"Unknown App")"));
}

TEST_P(HengdangSession, MayEndTwice) {
    FilesClient a = FilesClient::logged_in(host_);
    for (int time = 0; time < 2; ++time) {
        const auto answer = a.ask({.line = "DELETE /auth/session"});
        EXPECT_EQ(answer.status, 204);
        EXPECT_THAT(header_of(answer, "Set-Cookie"), HasSubstr("hengdang_session=; "));
    }
    EXPECT_EQ(FilesClient(host_).ask({.line = "DELETE /auth/session"}).status, 204)
        << "a browser whose cookie is gone";
    EXPECT_EQ(a.get("/auth/session").status, 401);
    EXPECT_EQ(a.ask({.line = "DELETE /auth/sessions/" + a.name}).status, 401);
}

TEST_P(HengdangSession, EndsWithEverythingItHas) {
    FilesClient a = FilesClient::logged_in(host_), b = FilesClient::logged_in(host_);
    EXPECT_EQ(a.get("/x?lock=acquire").status, 200);
    EXPECT_EQ(a.get("/y?lock=acquire").status, 200);
    EXPECT_EQ(b.get("/z?lock=acquire").status, 200);
    EXPECT_EQ(a.ask({.line = "DELETE /auth/session"}).status, 204);
    EXPECT_EQ(a.get("/auth/session").status, 401);
    EXPECT_EQ(b.put("/x", "hi").status, 201);
    EXPECT_EQ(b.put("/y", "hi").status, 201);
    EXPECT_THAT(b.get("/z?lock=status").body, HasSubstr(R"("ownedByThisSession":true)"));
}

TEST_P(HengdangSession, ExpiresWithEverythingItHas) {
    FilesClient a = FilesClient::logged_in(host_);
    host_.advance(24h * 7 - 10min);
    FilesClient b = FilesClient::logged_in(host_);
    EXPECT_EQ(a.get("/x?lock=acquire").status, 200);
    host_.advance(10min - 1ms);
    EXPECT_EQ(b.put("/x", "no").status, 423);
    host_.advance(1ms);
    EXPECT_EQ(a.get("/x").status, 401);
    EXPECT_THAT(b.get("/x?lock=status").body, HasSubstr(R"({"locked":false)"));
    EXPECT_EQ(b.put("/x", "hi").status, 201);
}

TEST_P(HengdangSession, IsListedAndEndedByName) {
    FilesClient a = FilesClient::logged_in(host_), b = FilesClient::logged_in(host_);
    EXPECT_EQ(a.get("/x?lock=acquire").status, 200);
    const std::string list = b.get("/auth/sessions").body;
    EXPECT_THAT(list, HasSubstr(R"("name":")" + a.name + R"(","owner":"token:auth#86bebd44")"));
    EXPECT_THAT(list, HasSubstr(R"("current":true)"));
    EXPECT_THAT(list, Not(HasSubstr(a.id)));
    EXPECT_EQ(b.ask({.line = "DELETE /auth/sessions/nobody"}).status, 404);
    EXPECT_EQ(b.ask({.line = "DELETE /auth/sessions/" + a.name}).status, 204);
    EXPECT_EQ(a.get("/x").status, 401);
    EXPECT_EQ(b.put("/x", "hi").status, 201);
    EXPECT_THAT(b.get("/auth/sessions").body, Not(HasSubstr(a.name)));
}

TEST_P(HengdangSession, IsCountedForPrometheus) {
    FilesClient a = FilesClient::logged_in(host_);
    EXPECT_EQ(a.put("/x", "hello").status, 201);
    EXPECT_EQ(a.get("/x").status, 200);
    net::TestClient client = host_.connect_to_locks();
    client.send(to_bytes({.line = "GET /metrics",
                          .headers = {"Authorization: Bearer " + std::string(files_secret)}}));
    const std::string page = client.response().body;
    for (const char* line :
         {R"(holdfast_files_requests_total{operation="put",status="201"} 1)",
          R"(holdfast_files_requests_total{operation="get",status="200"} 1)",
          "holdfast_files_received_bytes_total 5", "holdfast_files_sent_bytes_total 5",
          "holdfast_files_sessions 1", R"(holdfast_connections{listener="files"} 1)"}) {
        EXPECT_THAT(page, HasSubstr(line));
    }
}

}  // namespace
}  // namespace holdfast::conformance
