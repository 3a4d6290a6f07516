// What machines that watch over the server see.

#include <gmock/gmock.h>

#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class Status : public ::testing::TestWithParam<const char*> {
  protected:
    ServerProcess server_{{"--http", "127.0.0.1:0", "--threads", GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Threads, Status, ::testing::Values("1", "3"));

TEST_P(Status, IsHealthyAndReady) {
    EXPECT_EQ(server_.ask("GET /healthz").body, "{\"status\":\"ok\"}\n");
    EXPECT_EQ(server_.ask("GET /readyz").body, "{\"status\":\"ready\"}\n");
    EXPECT_EQ(server_.ask("POST /metrics").status, 405);
}

TEST_P(Status, CountsWhatHappens) {
    for (const char* request : {"POST /lock?client=a", "POST /lock?client=b", "POST /lock?client=a",
                                "POST /lock?client=a&job=other", "DELETE /lock?client=a"}) {
        static_cast<void>(server_.ask(request));
    }
    EXPECT_THAT(
        server_.ask("GET /metrics").body,
        AllOf(HasSubstr("lock_acquire_total{result=\"success\"} 2\n"),
              HasSubstr("lock_acquire_total{result=\"fail\"} 1\n"),
              HasSubstr("lock_renew_total{result=\"success\"} 1\n"),
              HasSubstr("lock_release_total{result=\"success\"} 1\n"), HasSubstr("locks_held 1\n"),
              HasSubstr("\nholdfast_connections{listener=\"dflockd\"} 0\n"),
              HasSubstr("holdfast_connections_accepted_total{listener=\"http\"} 6\n")));
}

// On whatever loop their connection is, and without a path or a method that a client has made up.
TEST_P(Status, CountsRequestsByRoute) {
    for (const char* request : {"GET /v1/locks/a", "GET /v1/locks/b", "GET /v1/locks/b%2Fc",
                                "DELETE /v1/locks/a", "GET /made-up", "BREW /v1/locks/a"}) {
        static_cast<void>(server_.ask(request));
    }
    const std::string text = server_.ask("GET /metrics").body;
    const auto of = [](const std::string& route, const std::string& method) {
        return R"({listener="http",route=")" + route + R"(",method=")" + method + "\"";
    };
    EXPECT_THAT(
        text,
        AllOf(HasSubstr("http_requests_total" + of("/v1/locks/{lock}", "GET") +
                        ",status=\"200\"} 3\n"),
              HasSubstr("http_requests_total" + of("/v1/locks/{lock}", "DELETE") +
                        ",status=\"200\"} 1\n"),
              HasSubstr("http_requests_total" + of("other", "other") + ",status=\"404\"} 1\n"),
              HasSubstr("http_requests_total" + of("other", "other") + ",status=\"405\"} 1\n"),
              HasSubstr("http_request_duration_seconds_count" + of("/v1/locks/{lock}", "GET") +
                        "} 3\n")));
    EXPECT_THAT(text, AllOf(Not(HasSubstr("made-up")), Not(HasSubstr("BREW"))));
    EXPECT_THAT(text, ContainsRegex("\nprocess_resident_memory_bytes [1-9]"));
}

// Of one name only, which is LockServer's: its clients' dashboards read it.
TEST_P(Status, PromtoolHasNothingToSayOfOurMetrics) {
    static_cast<void>(server_.ask("POST /lock?client=a"));
    const Finished checked = run({.words = {"sh", "-c",
                                            "curl -sS http://" + server_.address +
                                                "/metrics | promtool check metrics 2>&1"}});
    EXPECT_EQ(checked.output,
              "lock_op_latency_ms metric names should not contain abbreviated units\n");
}

}  // namespace
}  // namespace holdfast::e2e
