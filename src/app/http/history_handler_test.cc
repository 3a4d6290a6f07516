#include "app/http/history_handler.h"

#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "app/host.h"
#include "base/crypto.h"
#include "base/test_happens.h"
#include "net/loop/test_client.h"
#include "net/loop/test_server.h"
#include "rights/token_file.h"
#include "store/tables/test_leases.h"

namespace holdfast::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HistoryQueryText, IsReadWithAllItsParameters) {
    const auto query = read_history_query(
        "scope=range:7:0-9&prefix=a&owner=ann%20b&since=1970-01-01T00:00:05Z&until=6000&after=9&"
        "limit=7");
    ASSERT_TRUE(query);
    EXPECT_EQ(query->kind, core::ScopeKind::range);
    EXPECT_EQ(query->inode, 7U);
    EXPECT_EQ(query->range.end, 9U);
    EXPECT_EQ(query->prefix, "a");
    EXPECT_EQ(query->owner, "ann b");
    EXPECT_EQ(query->since, service::WallTime{std::chrono::seconds{5}});
    EXPECT_EQ(query->until, service::WallTime{std::chrono::seconds{6}});
    EXPECT_EQ(query->after, 9U);
    EXPECT_EQ(query->limit, 7U);
    EXPECT_EQ(read_history_query("")->limit, 100U);
}

TEST(HistoryQueryText, IsRefusedWithASentence) {
    const auto fault = [](const char* text) { return read_history_query(text).error().message; };
    EXPECT_EQ(fault("since=yesterday"),
              "since must be a time such as 2026-01-15T10:30:00Z, or milliseconds since 1970");
    EXPECT_THAT(fault("until=-5"), HasSubstr("until must be a time"));
    EXPECT_THAT(fault("scope=range:x"), HasSubstr("scope must be the text of a lock"));
    EXPECT_EQ(fault("limit=0"), "limit must be in [1, 1000]");
    EXPECT_EQ(fault("limit=1001"), "limit must be in [1, 1000]");
    EXPECT_EQ(fault("after=x"), "after must be the `next` of an earlier page");
}

TEST(HistoryText, HasEverythingThatIsKnown) {
    const service::HistoryPage page{
        .holds = {{.number = 5,
                   .fence = 42,
                   .name = "deploy",
                   .owner = "ann",
                   .door = core::Door{1},
                   .waited = std::chrono::milliseconds{1500},
                   .acquired_at = service::WallTime{std::chrono::seconds{1}},
                   .ended_at = service::WallTime{std::chrono::milliseconds{2500}},
                   .ending = service::Ending::forced,
                   .metadata = "why",
                   .granted_by = "ci",
                   .ended_by = "http@192.0.2.7"}},
        .next = 5,
        .kept_since = service::WallTime{}};
    const std::string text = history_text(page, 77);
    EXPECT_THAT(text, HasSubstr(R"("fencing_token":42,"scope":{"kind":"named","name":"deploy"},)"
                                R"("holder":"ann","door":)"));
    EXPECT_THAT(text,
                HasSubstr(R"("mode":"exclusive","waited_ms":1500,)"
                          R"("acquired_at":"1970-01-01T00:00:01.000Z",)"
                          R"("ended_at":"1970-01-01T00:00:02.500Z","ended":"forced",)"
                          R"("metadata":"why","granted_by":"ci","ended_by":"http@192.0.2.7"}],)"
                          R"("next":"5","position":77,)"
                          R"("kept_since":"1970-01-01T00:00:00.000Z"})"));
}

class HistoryOfThreads : public ::testing::TestWithParam<std::size_t> {
  protected:
    ~HistoryOfThreads() override { stop(); }

    void start(ServeOptions options) {
        options.http_address = "127.0.0.1:0";
        options.data_folder = folder_ / "data";
        options.threads = GetParam();
        host_ = Host::start(options, clock_).value();
        thread_ = std::thread([this] { host_->run(); });
    }
    void stop() {
        if (!host_) return;
        host_->shut_down();
        thread_.join();
        host_.reset();
    }
    net::TestResponse ask(std::string_view line, std::string_view token = "t") {
        net::TestClient client(host_->endpoint("http"));
        client.send(std::string(line) + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
                    std::string(token) + "\r\n\r\n");
        return client.response();
    }
    void hold(const std::string& job, const std::string& client, std::string_view token = "t") {
        const std::string target = "/lock?job=" + job + "&client=" + client;
        ASSERT_EQ(ask("POST " + target, token).status, 200);
        ASSERT_EQ(ask("DELETE " + target, token).status, 200);
    }

    static std::string secret_of(const std::string& name) { return "the-secret-of-" + name; }
    // A file of tokens: `name right:pattern`, with the secrets that secret_of() says.
    std::string write_tokens(const std::vector<std::string>& lines) {
        std::string path = folder_ / "tokens";
        std::ofstream file(path);
        for (const std::string& line : lines) {
            const std::string name = line.substr(0, line.find(' '));
            file << line << ' ' << rights::to_text(base::sha256(secret_of(name))) << '\n';
        }
        return path;
    }

    store::testing::TemporaryFolder folder_;
    service::SystemClock clock_;
    std::unique_ptr<Host> host_;
    std::thread thread_;
};
INSTANTIATE_TEST_SUITE_P(Threads, HistoryOfThreads, ::testing::Values(1, 3));

TEST_P(HistoryOfThreads, ShowsAHoldAsSoonAsItsEndIsAcknowledged) {
    start({});
    for (int round = 0; round < 20; ++round) {
        const std::string job = "job" + std::to_string(round);
        hold(job, "ann");
        EXPECT_THAT(ask("GET /v1/history?scope=" + job).body,
                    AllOf(HasSubstr(R"("holder":"ann")"), HasSubstr(R"("ended":"released")")));
    }
    EXPECT_THAT(ask("GET /metrics").body, HasSubstr("holdfast_history_rows 20\n"));
    stop();
    start({});
    EXPECT_THAT(ask("GET /v1/history?scope=job7").body, HasSubstr(R"("holder":"ann")"));
}

TEST_P(HistoryOfThreads, IsKeptInMemoryToo) {
    start({.is_in_memory = true});
    hold("a", "ann");
    EXPECT_THAT(ask("GET /v1/history").body, HasSubstr(R"("holder":"ann")"));
}

TEST_P(HistoryOfThreads, NamesTheTokensThatHaveAskedForTheGrantAndTheEnd) {
    start({.tokens_file = write_tokens({"ci lock *", "ops admin *", "looker read open/*"})});
    ASSERT_EQ(ask("POST /lock?job=open/a&client=ann", secret_of("ci")).status, 200);
    ASSERT_EQ(ask("POST /lock?job=hidden&client=ann", secret_of("ci")).status, 200);
    ASSERT_EQ(ask("DELETE /v1/locks/open%2Fa", secret_of("ops")).status, 200);
    ASSERT_EQ(ask("DELETE /v1/locks/hidden", secret_of("ops")).status, 200);
    const std::string all = ask("GET /v1/history", secret_of("ops")).body;
    EXPECT_THAT(all, HasSubstr(R"("name":"open/a"},"holder":"ann","door":"homelab")"));
    EXPECT_THAT(all, HasSubstr(R"("ended":"forced","granted_by":"ci","ended_by":"ops")"));
    const std::string some = ask("GET /v1/history", secret_of("looker")).body;
    EXPECT_THAT(some, HasSubstr(R"("granted_by":"ci","ended_by":"ops")"));
    EXPECT_THAT(some, Not(HasSubstr("hidden"))) << "nor who has held it";
    for (const char* name : {"ci", "ops"}) {
        EXPECT_THAT(all, Not(HasSubstr(secret_of(name)))) << "a name is no secret";
    }
}

TEST_P(HistoryOfThreads, NamesTheDoorAndTheAddressWithoutATokenAndNobodyForAnExpiry) {
    start({});
    hold("a", "ann");
    EXPECT_THAT(ask("GET /v1/history?scope=a").body,
                HasSubstr(R"("granted_by":"http@127.0.0.1","ended_by":"http@127.0.0.1"})"));
    ASSERT_EQ(ask("POST /lock?job=b&client=ann&ttl=1ms").status, 200);
    std::string body;
    const bool is_over = base::happens([&] {
        body = ask("GET /v1/history?scope=b").body;
        return body.find("expired") != std::string::npos;
    });
    EXPECT_TRUE(is_over);
    EXPECT_THAT(body, HasSubstr(R"("ended":"expired","granted_by":"http@127.0.0.1"})"));
}

TEST_P(HistoryOfThreads, SaysThatItIsOff) {
    start({.history = {}});
    const auto answer = ask("GET /v1/history");
    EXPECT_EQ(answer.status, 404);
    EXPECT_THAT(answer.body, HasSubstr(R"({"error":"HistoryOff","message":")"));
}

TEST_P(HistoryOfThreads, RefusesAWrongTime) {
    start({});
    const auto answer = ask("GET /v1/history?since=never");
    EXPECT_EQ(answer.status, 400);
    EXPECT_THAT(answer.body, HasSubstr(R"({"error":"BadRequest","message":"since must be a time)"));
}

}  // namespace
}  // namespace holdfast::app
