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
          "lock_op_latency_ms_bucket{op=\"acquire\",le=\"1\"} 0\n",
          "lock_op_latency_ms_bucket{op=\"acquire\",le=\"2\"} 1\n",
          "lock_op_latency_ms_bucket{op=\"acquire\",le=\"2048\"} 1\n",
          "lock_op_latency_ms_bucket{op=\"acquire\",le=\"+Inf\"} 2\n",
          "lock_op_latency_ms_count{op=\"acquire\"} 2\n",
          "lock_op_latency_ms_count{op=\"release\"} 0\n", "lock_expired_total 4\n",
          "holdfast_deadlocks_total 8\n", "locks_held 9\n", "# TYPE lock_op_latency_ms histogram\n",
          "holdfast_ready 1\n", "holdfast_build_info{version=\"1.2.3\"} 1\n"}) {
        EXPECT_THAT(text, HasSubstr(line));
    }
}

TEST(MetricsText, CountsDenialsByTokenAndRight) {
    const service::ServiceFigures service;
    const auto text_with = [&](const rights::Tokens& tokens) {
        const auto table = std::make_shared<const rights::TokenTable>(tokens, nullptr);
        for (const auto& token : table->tokens()) token->count_denial(rights::Right::admin);
        return metrics_text({.service = service,
                             .store = {},
                             .listeners = {},
                             .version = "1.2.3",
                             .tokens = table});
    };
    EXPECT_THAT(text_with({.auth = "user"}),
                AllOf(HasSubstr("holdfast_denials_total{token=\"auth\",right=\"admin\"} 1\n"),
                      HasSubstr("holdfast_denials_total{token=\"auth\",right=\"lock\"} 0\n")));
    EXPECT_THAT(text_with({}), Not(HasSubstr("holdfast_denials_total")));
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
