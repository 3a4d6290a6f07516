#include "app/http/metrics_text.h"

#include <gmock/gmock.h>

namespace holdfast::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MetricsText, HasLockServersMetricsByTheirNames) {
    service::ServiceFigures service;
    service.acquire.success = 3;
    service.acquire.fail = 2;
    service.acquire.busy = 1;
    service.renew.success = 5;
    service.release.fail = 7;
    service.acquire.latency_ms.add(0.04);
    service.acquire.latency_ms.add(1.5);
    service.acquire.latency_ms.add(5'000);
    service.expired = 4;
    service.deadlocks = 8;
    service.table.leases = 9;
    const std::string text =
        metrics_text({.service = service, .store = {}, .listeners = {}, .version = "1.2.3"});
    for (const char* line :
         {"lock_acquire_total{result=\"success\"} 3\n", "lock_acquire_total{result=\"fail\"} 2\n",
          "lock_acquire_total{result=\"busy\"} 1\n", "lock_renew_total{result=\"success\"} 5\n",
          "lock_release_total{result=\"fail\"} 7\n", "lock_db_busy_total{op=\"acquire\"} 1\n",
          "lock_op_latency_ms_bucket{op=\"acquire\",le=\"0.05\"} 1\n",
          "lock_op_latency_ms_bucket{op=\"acquire\",le=\"1\"} 1\n",
          "lock_op_latency_ms_bucket{op=\"acquire\",le=\"2.5\"} 2\n",
          "lock_op_latency_ms_bucket{op=\"acquire\",le=\"2500\"} 2\n",
          "lock_op_latency_ms_bucket{op=\"acquire\",le=\"+Inf\"} 3\n",
          "lock_op_latency_ms_count{op=\"acquire\"} 3\n",
          "lock_op_latency_ms_count{op=\"release\"} 0\n", "lock_expired_total 4\n",
          "holdfast_deadlocks_total 8\n", "locks_held 9\n", "# TYPE lock_op_latency_ms histogram\n",
          "holdfast_ready 1\n", "holdfast_build_info{version=\"1.2.3\"} 1\n"}) {
        EXPECT_THAT(text, HasSubstr(line));
    }
}

TEST(MetricsText, CountsRequestsByRouteMethodAndStatus) {
    const service::ServiceFigures service;
    net::RequestCounts counts(
        std::vector<net::RouteName>{{"POST", "/v1/locks/{lock}/acquire"}, {"GET", "/lock"}});
    for (const int status : {200, 200, 409}) counts[1].add_status(status);
    counts[1].add_duration(std::chrono::microseconds(200));
    counts[0].add_status(404);
    std::vector<net::RequestFigures> routes;
    counts.add_to(routes);
    const std::string text = metrics_text({.service = service,
                                           .store = {},
                                           .listeners = {},
                                           .version = "1",
                                           .requests = {{.listener = "http", .routes = routes}}});
    const std::string acquire =
        "{listener=\"http\",route=\"/v1/locks/{lock}/acquire\",method=\"POST\"";
    for (const std::string& line :
         {"http_requests_total" + acquire + ",status=\"200\"} 2\n",
          "http_requests_total" + acquire + ",status=\"409\"} 1\n",
          "http_request_duration_seconds_bucket" + acquire + ",le=\"0.0001\"} 0\n",
          "http_request_duration_seconds_bucket" + acquire + ",le=\"0.00025\"} 1\n",
          "http_request_duration_seconds_sum" + acquire + "} 0.0002\n",
          std::string("http_requests_total{listener=\"http\",route=\"other\",method=\"other\","
                      "status=\"404\"} 1\n")}) {
        EXPECT_THAT(text, HasSubstr(line));
    }
    EXPECT_THAT(text, Not(HasSubstr("route=\"/lock\"")));
}

TEST(MetricsText, NamesTheProcessAsClientLibrariesDo) {
    const service::ServiceFigures service;
    const std::string text = metrics_text({.service = service,
                                           .store = {},
                                           .listeners = {},
                                           .version = "1",
                                           .process = ProcessFigures{.cpu_seconds = 1.5,
                                                                     .resident_bytes = 2,
                                                                     .virtual_bytes = 3,
                                                                     .open_descriptors = 4,
                                                                     .descriptors_max = 5,
                                                                     .start_seconds = 6.5}});
    for (const char* line :
         {"# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 1.5\n",
          "process_resident_memory_bytes 2\n", "process_virtual_memory_bytes 3\n",
          "process_open_fds 4\n", "process_max_fds 5\n",
          "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 6.5\n"}) {
        EXPECT_THAT(text, HasSubstr(line));
    }
}

TEST(MetricsText, CountsDenialsByTokenAndRight) {
    const service::ServiceFigures service;
    const auto text_with = [&](const rights::Tokens& tokens) {
        const auto table = std::make_shared<const rights::TokenTable>(tokens, nullptr);
        for (const auto& token : table->tokens()) token->count_denial(rights::Right::admin);
        table->wrong_secrets().add(rights::Door::redis, "192.0.2.7");
        return metrics_text({.service = service,
                             .store = {},
                             .listeners = {},
                             .version = "1.2.3",
                             .tokens = table});
    };
    EXPECT_THAT(text_with({.auth = "user"}),
                AllOf(HasSubstr("holdfast_denials_total{token=\"auth\",right=\"admin\"} 1\n"),
                      HasSubstr("holdfast_denials_total{token=\"auth\",right=\"lock\"} 0\n"),
                      HasSubstr("holdfast_wrong_secrets_total{door=\"redis\"} 1\n"),
                      HasSubstr("holdfast_wrong_secrets_total{door=\"http\"} 0\n")));
    EXPECT_THAT(text_with({}), AllOf(Not(HasSubstr("holdfast_denials_total")),
                                     Not(HasSubstr("holdfast_wrong_secrets_total"))));
}

TEST(MetricsText, CountsFencesAndTheirChecks) {
    service::ServiceFigures service;
    service.fences = 6;
    service.fence_checks = {.tokens_accepted = 1,
                            .tokens_mismatched = 2,
                            .tokens_expired = 3,
                            .tokens_unknown = 4,
                            .numbers_accepted = 5,
                            .numbers_stale = 6,
                            .numbers_refused = 7,
                            .failed = 8};
    const std::string text =
        metrics_text({.service = service, .store = {}, .listeners = {}, .version = "1"});
    for (const char* line :
         {"holdfast_fences 6\n",
          "holdfast_fence_checks_total{check=\"token\",result=\"accepted\"} 1\n",
          "holdfast_fence_checks_total{check=\"token\",result=\"mismatch\"} 2\n",
          "holdfast_fence_checks_total{check=\"token\",result=\"expired\"} 3\n",
          "holdfast_fence_checks_total{check=\"token\",result=\"unknown\"} 4\n",
          "holdfast_fence_checks_total{check=\"number\",result=\"accepted\"} 5\n",
          "holdfast_fence_checks_total{check=\"number\",result=\"stale\"} 6\n",
          "holdfast_fence_checks_total{check=\"number\",result=\"refused\"} 7\n",
          "holdfast_fence_checks_total{check=\"any\",result=\"failed\"} 8\n"}) {
        EXPECT_THAT(text, HasSubstr(line));
    }
}

TEST(MetricsText, TellsWhatTheStoreAndTheConnectionsDo) {
    service::ServiceFigures service;
    service.failure = "disk full";
    service::StoreFigures store{
        .commits = 10, .commit_failures = 3, .busy_failures = 1, .changes = 20, .disk_bytes = 4096};
    store.commit_seconds.add(0.003);
    store.batch_sizes.add(2);
    const std::string text = metrics_text(
        {.service = service,
         .store = store,
         .listeners = {{.name = "http", .counts = {.connections = 2, .accepted = 5, .refused = 1}}},
         .version = "1"});
    for (const char* line :
         {"holdfast_ready 0\n", "holdfast_store_commits_total 10\n",
          "holdfast_store_commit_failures_total{reason=\"busy\"} 1\n",
          "holdfast_store_commit_failures_total{reason=\"error\"} 2\n",
          "holdfast_store_commit_seconds_count 1\n", "holdfast_store_batch_changes_sum 2\n",
          "holdfast_store_size_bytes 4096\n", "holdfast_connections{listener=\"http\"} 2\n",
          "holdfast_connections_accepted_total{listener=\"http\"} 5\n",
          "holdfast_connections_refused_total{listener=\"http\"} 1\n"}) {
        EXPECT_THAT(text, HasSubstr(line));
    }
}

}  // namespace
}  // namespace holdfast::app
