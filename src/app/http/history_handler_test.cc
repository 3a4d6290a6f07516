#include "app/http/history_handler.h"

#include <gmock/gmock.h>

#include <fstream>
#include <thread>

#include "app/host.h"
#include "net/loop/test_client.h"
#include "net/loop/test_server.h"
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
                   .metadata = "why"}},
        .next = 5,
        .kept_since = service::WallTime{}};
    const std::string text = history_text(page, 77);
    EXPECT_THAT(text, HasSubstr(R"("fencing_token":42,"scope":{"kind":"named","name":"deploy"},)"
                                R"("holder":"ann","door":)"));
    EXPECT_THAT(text, HasSubstr(R"("mode":"exclusive","waited_ms":1500,)"
                                R"("acquired_at":"1970-01-01T00:00:01.000Z",)"
                                R"("ended_at":"1970-01-01T00:00:02.500Z","ended":"forced",)"
                                R"("metadata":"why"}],"next":"5","position":77,)"
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
