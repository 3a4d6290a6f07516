// What machines that watch over the server see.

#include <gmock/gmock.h>

#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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
