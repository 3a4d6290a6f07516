// `systemctl restart`, as far as commands under `holdfast run` can tell: the server is asked to end
// while one command holds a lock and another one waits for it, and is started again at the same
// address.

#include <gmock/gmock.h>
#include <signal.h>

#include <optional>

#include "lab.h"

namespace holdfast::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RunRestart : public ::testing::TestWithParam<const char*> {
  protected:
    void start(const std::string& address) {
        // A stop that waited for those who wait would take an hour.
        server_.emplace(std::vector<std::string>{"--data", folder_.path(), "--http", address,
                                                 "--threads", GetParam(), "--shutdown-timeout",
                                                 "1h"});
    }
    void restart() {
        const std::string address = server_->address;
        server_->process.signal(SIGTERM);
        EXPECT_EQ(server_->process.wait(), 0);
        start(address);
    }

    const DataFolder folder_;
    std::optional<ServerProcess> server_;
};
INSTANTIATE_TEST_SUITE_P(Threads, RunRestart, ::testing::Values("1", "3"));

TEST_P(RunRestart, EndsNoLeaseAndNoWait) {
    start("127.0.0.1:0");
    const Sign sign;
    Process holder(run_command(server_->address, {"x", "--ttl", "30s"},
                               "echo ready $HOLDFAST_FENCE; " + sign.wait_line() + "; exit 8"));
    const std::string ready = holder.wait_for_output("ready");
    Process waiter(run_command(server_->address, {"x", "--ttl", "30s"}, "echo next; exit 9"));
    for (int round = 0; round < 3; ++round) {
        wait_until([&] { return has_waiter(*server_, "x"); });
        restart();
    }
    wait_until([&] { return has_waiter(*server_, "x"); });
    EXPECT_THAT(server_->ask("GET /v1/locks/x").body,
                HasSubstr("\"fencing_token\":" + ready.substr(6)))
        << "it is the lease of the first grant";
    sign.give();
    EXPECT_EQ(holder.wait(), 8) << holder.error();
    EXPECT_THAT(holder.error(), Not(HasSubstr("lost")));
    EXPECT_EQ(waiter.wait(), 9) << waiter.error();
    EXPECT_EQ(waiter.output(), "next\n");
    EXPECT_FALSE(is_held(*server_, "x"));
}

// The wait of `run` has no end, and nobody is told that it has one.
TEST_P(RunRestart, ShowsNoEndOfAWaitThatHasNone) {
    start("127.0.0.1:0");
    const Sign sign;
    Process holder(run_command(server_->address, {"x"}, "echo ready; " + sign.wait_line()));
    holder.wait_for_output("ready");
    Process waiter(run_command(server_->address, {"x"}, "echo next"));
    wait_until([&] { return has_waiter(*server_, "x"); });
    EXPECT_THAT(server_->ask("GET /v1/locks/x?queue=true").body, Not(HasSubstr("wait_until_ms")));
    const Finished shown = run_client(*server_, {"show", "x"});
    EXPECT_THAT(shown.output, Not(HasSubstr("9m5")));
    EXPECT_THAT(shown.output, HasSubstr("AT MOST"));
    sign.give();
    EXPECT_EQ(holder.wait(), 0);
    EXPECT_EQ(waiter.wait(), 0);
}

}  // namespace
}  // namespace holdfast::e2e
