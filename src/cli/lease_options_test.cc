#include "cli/lease_options.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "cli/run/supervisor.h"
#include "cli/server.h"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// The request that the words mean; nothing if they are not valid.
std::optional<LeaseOptions> parse(std::vector<std::string> words) {
    const options::Program program;
    LeaseOptions options;
    declare_lease_options(program.root(), options);
    if (program.parse(std::move(words))) return std::nullopt;
    return options;
}

TEST(LeaseOptions, AreReadFromTheCommandLine) {
    const auto options = parse({"nightly", "--ttl", "1m30s", "--wait", "10s", "--shared", "--owner",
                                "w1", "--metadata", "photos"});
    ASSERT_TRUE(options);
    const auto request = to_request(*options);
    ASSERT_TRUE(request);
    EXPECT_EQ(request->scope, LockScope(LockScope::Named{"nightly"}));
    EXPECT_EQ(request->ttl, 90s);
    EXPECT_EQ(request->mode, LockMode::shared);
    EXPECT_EQ(request->holder, "w1");
    EXPECT_EQ(request->metadata, "photos");
    EXPECT_EQ(wait_of(*options), 10s);
}

TEST(LeaseOptions, WaitWithoutAnEndUnlessToldOtherwise) {
    EXPECT_GT(wait_of(*parse({"x"})), 24h * 365);
    EXPECT_EQ(wait_of(*parse({"x", "--try"})), 0s);
    EXPECT_EQ(wait_of(*parse({"x", "--wait", "0"})), 0s);
}

TEST(LeaseOptions, AScopeStandsForAName) {
    const auto request = to_request(*parse({"range:7:0-4096"}));
    ASSERT_TRUE(request);
    EXPECT_EQ(request->scope.to_text(), "range:7:0-4096");
}

TEST(LeaseOptions, SeveralNamesAreOneRequest) {
    const auto options = parse({"a", "--shared", "path:/x", "--on-deadlock", "wait"});
    ASSERT_TRUE(options);
    EXPECT_EQ(options->title(), "a path:/x");
    const auto request = to_request(*options);
    ASSERT_TRUE(request);
    ASSERT_EQ(request->scopes.size(), 2U);
    EXPECT_EQ(request->scopes[0].scope.to_text(), "a");
    EXPECT_EQ(request->scopes[1].scope.to_text(), "path:/x");
    EXPECT_EQ(request->scopes[1].mode, LockMode::shared);
    EXPECT_EQ(request->on_deadlock, OnDeadlock::tell);
    const auto limited = to_request(*parse({"a", "semaphore:s", "--limit", "3"}));
    ASSERT_TRUE(limited);
    EXPECT_EQ(limited->scopes[0].limit, 1U);
    EXPECT_EQ(limited->scopes[1].limit, 3U);
    EXPECT_EQ(limited->on_deadlock, OnDeadlock::refuse);
    EXPECT_FALSE(parse({"x", "--on-deadlock", "hope"}));
}

TEST(LeaseOptions, TheOwnerWaitsUnlessARunAroundItDoes) {
    EXPECT_EQ(to_request(*parse({"x", "--owner", "w1"}))->waiter, "w1");
    ::setenv("HOLDFAST_WAITER", "outer", 1);
    const auto nested = parse({"x", "--owner", "w1"});
    ::unsetenv("HOLDFAST_WAITER");
    EXPECT_EQ(to_request(*nested)->waiter, "outer");
}

TEST(LeaseOptions, FaultsAreNamed) {
    struct Row {
        std::vector<std::string> words;
        std::string named;
    };
    for (const Row& row :
         {Row{{}, "the name of the lock is missing"}, Row{{"inode:x"}, "inode:x"},
          Row{{"inode:7", "--limit", "2"}, "--limit"}, Row{{"a", "inode:x"}, "inode:x"},
          Row{{"a", "b", "--limit", "2"}, "--limit needs a semaphore:NAME"},
          Row{{"x", "--shared", "--limit", "2"}, "--shared"},
          Row{{"semaphore:x", "--shared"}, "--shared"}, Row{{"x", "--ttl", "0"}, "--ttl"}}) {
        const auto request = to_request(*parse(row.words));
        ASSERT_FALSE(request) << row.named;
        EXPECT_EQ(request.error().exit_code, exit_usage);
        EXPECT_THAT(request.error().message, HasSubstr(row.named));
    }
    EXPECT_FALSE(parse({"x", "--ttl", "5"}));
    EXPECT_FALSE(parse({"x", "--wait", "-1s"}));
    EXPECT_FALSE(parse({"x", "--wait", "1s", "--try"}));
    EXPECT_FALSE(parse({"x", "--limit", "0"}));
}

TEST(LeaseOptions, ServersAreSeparatedByCommas) {
    const auto client = to_client_options(*parse({"x", "--server", "http://a,,https://b:1"}));
    EXPECT_THAT(client.servers, ::testing::ElementsAre("http://a", "https://b:1"));
}

TEST(LeaseOptions, AShortWaitForALockIsAShortWaitForTheServer) {
    EXPECT_EQ(to_client_options(*parse({"x"})).retry_for, 10s);
    EXPECT_EQ(to_client_options(*parse({"x", "--wait", "3s"})).retry_for, 3s);
    EXPECT_EQ(to_client_options(*parse({"x", "--try"})).retry_for, 1s);
}

TEST(Supervisor, TheCommandIsDeadBeforeTheLeaseIsOver) {
    for (const auto ttl : {1s, 30s, 3600s}) {
        const Lease lease{
            .scope = LockScope::Named{"x"}, .ttl = ttl, .lasts_until = BootTime{} + 10000s};
        const CommandLimits limits = limits_of(lease, 1h);
        EXPECT_LT(limits.stop_at, limits.kill_at);
        EXPECT_LT(limits.kill_at, lease.lasts_until);
        EXPECT_EQ(limits.kill_at - limits.stop_at, lease.lasts_until - limits.kill_at);
        EXPECT_EQ(limits_of(lease, 10ms).kill_at, limits.stop_at + 10ms);
    }
}

}  // namespace
}  // namespace holdfast::cli
