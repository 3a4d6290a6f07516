#include "app/http/session_handler.h"

#include <gmock/gmock.h>

#include <fstream>
#include <memory>
#include <thread>

#include "app/host.h"
#include "net/loop/test_client.h"
#include "store/tables/test_leases.h"

namespace holdfast::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A server with all doors, whose secret is `s3cret` and whose admin's is `admin`.
class SessionsOfThreads : public ::testing::TestWithParam<std::size_t> {
  protected:
    SessionsOfThreads() {
        std::ofstream(folder_ / "auth") << "s3cret\n";
        std::ofstream(folder_ / "admin") << "admin\n";
        ServeOptions options{.http_address = "127.0.0.1:0",
                             .dflockd_address = "127.0.0.1:0",
                             .files_address = "127.0.0.1:0",
                             .auth_token_file = folder_ / "auth",
                             .admin_token_file = folder_ / "admin",
                             .is_in_memory = true,
                             .threads = GetParam()};
        options.files.root = folder_ / "files";
        host_ = Host::start(options, clock_).value();
        thread_ = std::thread([this] { host_->run(); });
    }
    ~SessionsOfThreads() override {
        host_->shut_down();
        thread_.join();
    }

    std::string ask(const net::Endpoint& door, std::string_view line, std::string_view token) {
        net::TestClient client(door);
        client.send(std::string(line) + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                    std::string(token) + "\r\nContent-Length: 0\r\n\r\n");
        const auto response = client.response();
        return std::to_string(response.status) + " " + response.body;
    }
    std::string ask(std::string_view line, std::string_view token = "s3cret") {
        return ask(host_->endpoint("http"), line, token);
    }
    // Of the first session that is listed.
    std::string first_id() {
        const std::string list = ask("GET /v1/sessions");
        const std::size_t start = list.find("\"id\":\"") + 6;
        return list.substr(start, list.find('"', start) - start);
    }
    // A dflockd client that holds `key`.
    net::TestClient holder(const std::string& key) {
        net::TestClient client(host_->endpoint("dflockd"));
        client.send("auth\n_\ns3cret\n");
        EXPECT_EQ(client.read(3), "ok\n");
        client.send("l\n" + key + "\n10\n");
        EXPECT_EQ(client.read(3), "ok ");
        return client;
    }

    store::testing::TemporaryFolder folder_;
    service::SystemClock clock_;
    std::unique_ptr<Host> host_;
    std::thread thread_;
};
INSTANTIATE_TEST_SUITE_P(Threads, SessionsOfThreads, ::testing::Values(1, 3));

TEST_P(SessionsOfThreads, AreThoseOfConnectionsAndLogIns) {
    EXPECT_THAT(ask("GET /v1/sessions"), HasSubstr("200 {\"sessions\":[],\"position\":"));
    const net::TestClient client = holder("a");
    EXPECT_THAT(ask(host_->endpoint("files"), "POST /auth/session", "s3cret"), HasSubstr("201"));
    const std::string list = ask("GET /v1/sessions");
    EXPECT_THAT(list, HasSubstr(R"("door":"dflockd","owner_id":"conn-1")"));
    EXPECT_THAT(list, HasSubstr(R"("leases":1,"waits":0})"));
    EXPECT_THAT(list, HasSubstr(R"("door":"hengdang")"));
    EXPECT_THAT(list, HasSubstr(R"("expires_at_ms":)"));
    EXPECT_THAT(list, Not(HasSubstr("s3cret")));
}

TEST_P(SessionsOfThreads, ComeInPages) {
    const net::TestClient a = holder("a"), b = holder("b"), c = holder("c");
    const std::string first = ask("GET /v1/sessions?limit=2");
    const std::size_t next = first.find("\"next\":\"");
    ASSERT_NE(next, std::string::npos) << first;
    const std::string after = first.substr(next + 8, first.find('"', next + 8) - next - 8);
    const std::string second = ask("GET /v1/sessions?limit=2&after=" + after);
    EXPECT_THAT(second, HasSubstr("dflockd"));
    EXPECT_THAT(second, Not(HasSubstr("next")));
}

TEST_P(SessionsOfThreads, EndWithAllTheyHold) {
    net::TestClient client = holder("a");
    const std::string path = "/v1/sessions/" + first_id();
    EXPECT_THAT(ask("DELETE " + path), HasSubstr("403 {\"error\":\"ending a session needs"));
    EXPECT_EQ(ask("DELETE " + path, "admin"), "200 {\"ended\":true}\n");
    EXPECT_THAT(ask("GET /v1/locks/a"), HasSubstr("200 {\"lock_name\":\"a\",\"held\":false,"));
    EXPECT_THAT(ask("DELETE " + path, "admin"), HasSubstr("404"));
}

TEST_P(SessionsOfThreads, OfTheFilesEndToo) {
    EXPECT_THAT(ask(host_->endpoint("files"), "POST /auth/session", "s3cret"), HasSubstr("201"));
    const std::string path = "/v1/sessions/" + first_id();
    EXPECT_EQ(ask("DELETE " + path, "admin"), "200 {\"ended\":true}\n");
    EXPECT_THAT(ask("GET /v1/sessions"), HasSubstr("200 {\"sessions\":[],"));
    EXPECT_THAT(ask("DELETE " + path, "admin"), HasSubstr("404"));
}

TEST_P(SessionsOfThreads, NameWhatIsWrongWithARequest) {
    EXPECT_EQ(ask("GET /v1/sessions?limit=0"), "400 {\"error\":\"limit must be in [1, 1000]\"}\n");
    EXPECT_EQ(ask("GET /v1/sessions?after=x"),
              "400 {\"error\":\"after must be the `next` of an earlier page\"}\n");
    EXPECT_THAT(ask("POST /v1/sessions"), HasSubstr("405"));
    EXPECT_THAT(ask("GET /v1/sessions/1-0"), HasSubstr("405"));
    EXPECT_THAT(ask("DELETE /v1/sessions/1-0", "admin"), HasSubstr("404"));
    EXPECT_THAT(ask("DELETE /v1/sessions/..", "admin"), HasSubstr("404"));
    EXPECT_THAT(ask("GET /v1/sessions", "wrong"), HasSubstr("401"));
}

}  // namespace
}  // namespace holdfast::app
