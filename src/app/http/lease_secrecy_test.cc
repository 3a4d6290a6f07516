// Secrets with which a lease can be ended are shown only to its holder and to admins, wherever
// leases are shown.

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

class LeaseSecrecy : public ::testing::TestWithParam<std::size_t> {
  protected:
    LeaseSecrecy() {
        std::ofstream(folder_ / "auth") << "s3cret\n";
        std::ofstream(folder_ / "admin") << "adm1n\n";
    }
    ~LeaseSecrecy() override {
        if (!host_) return;
        host_->shut_down();
        thread_.join();
    }

    struct Files {
        bool has_auth = false, has_admin = false;
    };
    void start(const Files& files) {
        host_ = Host::start({.http_address = "127.0.0.1:0",
                             .auth_token_file = files.has_auth ? folder_ / "auth" : "",
                             .admin_token_file = files.has_admin ? folder_ / "admin" : "",
                             .is_in_memory = true,
                             .threads = GetParam()},
                            clock_)
                    .value();
        thread_ = std::thread([this] { host_->run(); });
    }

    // The body of the answer to a client with this token, or without one.
    std::string ask(const std::string& line, const std::string& token,
                    const std::string& body = "") {
        net::TestClient client(host_->endpoint("http"));
        client.send(request(line, token, body));
        const auto response = client.response();
        EXPECT_EQ(response.status, 200) << line << ": " << response.body;
        return response.body;
    }
    static std::string request(const std::string& line, const std::string& token,
                               const std::string& body = "") {
        const std::string authorization =
            token.empty() ? "" : "Authorization: Bearer " + token + "\r\n";
        return line + " HTTP/1.1\r\nHost: localhost\r\n" + authorization +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }

    // Acquires a lock at each door that gives out a secret, and stores the secrets.
    void take_locks(const std::string& token) {
        begin_events();
        lease_id_ =
            text_in(ask("POST /v1/locks/x/acquire", token, R"({"owner_id":"w1","ttl_ms":600000})"),
                    "lease_id");
        const std::string permit =
            R"({"owner_id":"w1","ttl_ms":600000,"limit":2,"request_id":"a-request"})";
        permit_id_ = text_in(ask("POST /v1/locks/pool/acquire", token, permit), "lease_id");
        lease_token_ = text_in(ask("POST /v1/leases", token,
                                   R"({"scope":"named:y","holder":"w1","duration_ms":600000})"),
                               "token");
    }
    static std::string text_in(const std::string& body, const std::string& field) {
        const std::string key = "\"" + field + "\":\"";
        const std::size_t begin = body.find(key) + key.size();
        return body.substr(begin, body.find('"', begin) - begin);
    }

    static std::vector<std::string> looks() {
        return {"GET /v1/locks/x",
                "GET /v1/locks/x/",
                "GET /v1/locks/x?queue=true",
                "GET /v1/locks/pool?kind=semaphore",
                "GET /v1/locks/y",
                "GET /v1/locks",
                "GET /v1/locks?prefix=x&limit=1",
                "GET /v1/leases",
                "GET /v1/leases?holder=w1",
                "GET /v1/sessions",
                "GET /v1/status",
                "GET /metrics",
                "GET /lock?job=x"};
    }

    // The server remembers events from the first reader on. This is the first one.
    void begin_events() {
        net::TestClient client(host_->endpoint("http"));
        client.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
        for (std::string text; !text.ends_with("\r\n\r\n");) {
            const std::string byte = client.read(1);
            if (byte.empty()) break;
            text += byte;
        }
    }

    // The events up to that of the last lock that was acquired.
    std::string read_events() {
        net::TestClient client(host_->endpoint("http"));
        client.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1\r\n\r\n");
        std::string text;
        const auto has_all = [&text] {
            return text.find("\"lock_name\":\"y\"") != std::string::npos && text.ends_with("\n\n");
        };
        while (!has_all()) {
            const std::string byte = client.read(1);
            if (byte.empty()) break;
            text += byte;
        }
        return text;
    }

    store::testing::TemporaryFolder folder_;
    service::SystemClock clock_;
    std::unique_ptr<Host> host_;
    std::thread thread_;
    std::string lease_id_, permit_id_, lease_token_;
};
INSTANTIATE_TEST_SUITE_P(Threads, LeaseSecrecy, ::testing::Values(1, 3));

TEST_P(LeaseSecrecy, IsKeptFromEverybodyButAdminsWhereThereAreTokens) {
    start({.has_auth = true, .has_admin = true});
    take_locks("s3cret");
    for (const std::string& line : looks()) {
        const std::string body = ask(line, "s3cret");
        for (const std::string& secret : {lease_id_, permit_id_, lease_token_}) {
            EXPECT_THAT(body, Not(HasSubstr(secret))) << line;
        }
        EXPECT_THAT(body, Not(HasSubstr("lease_id"))) << line;
        EXPECT_THAT(body, Not(HasSubstr("a-request"))) << line << ": it stands for its lease";
    }
    EXPECT_THAT(ask("GET /v1/locks/x", "s3cret"), HasSubstr("\"owner_id\":\"w1\""));
    EXPECT_THAT(ask("GET /v1/locks/x", "adm1n"), HasSubstr(lease_id_));
    EXPECT_THAT(ask("GET /v1/locks/pool", "adm1n"), HasSubstr(permit_id_));
    EXPECT_THAT(ask("GET /v1/locks", "adm1n"), HasSubstr(lease_id_));
    EXPECT_THAT(ask("GET /v1/locks/y", "adm1n"), Not(HasSubstr("lease_id"))) << "another door's";
}

TEST_P(LeaseSecrecy, IsKeptWhereOnlyAdminsHaveAToken) {
    start({.has_admin = true});
    take_locks("");
    EXPECT_THAT(ask("GET /v1/locks/x", ""), Not(HasSubstr("lease_id")));
    EXPECT_THAT(ask("GET /v1/locks", ""), Not(HasSubstr("lease_id")));
    EXPECT_THAT(ask("GET /v1/locks/x", "adm1n"), HasSubstr(lease_id_));
}

TEST_P(LeaseSecrecy, IsKeptFromAllWhereThereIsNoAdmin) {
    start({.has_auth = true});
    take_locks("s3cret");
    EXPECT_THAT(ask("GET /v1/locks/x", "s3cret"), Not(HasSubstr("lease_id")));
    EXPECT_THAT(ask("GET /v1/locks", "s3cret"), Not(HasSubstr("lease_id")));
}

TEST_P(LeaseSecrecy, IsNoneWhereThereAreNoTokens) {
    start({});
    take_locks("");
    EXPECT_THAT(ask("GET /v1/locks/x", ""), HasSubstr(lease_id_));
    EXPECT_THAT(ask("GET /v1/locks", ""), HasSubstr(permit_id_));
    EXPECT_THAT(ask("GET /v1/leases", ""), Not(HasSubstr(lease_token_)))
        << "there it was never shown";
}

TEST_P(LeaseSecrecy, IsKeptInTheFeedOfEvents) {
    start({});
    take_locks("");
    const std::string events = read_events();
    EXPECT_THAT(events, HasSubstr("\"lock_name\":\"x\""));
    for (const std::string& secret : {lease_id_, permit_id_, lease_token_}) {
        EXPECT_THAT(events, Not(HasSubstr(secret)));
    }
    EXPECT_THAT(events, Not(HasSubstr("a-request")));
}

}  // namespace
}  // namespace holdfast::app
