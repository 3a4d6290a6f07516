// As many connections as the machine lets, all waiting for one key, dying at random: none of them
// leaves a ghost behind.

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "dflockd_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::StartsWith;

// Both ends of a connection are in this process.
std::size_t connections_possible() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    constexpr std::size_t others = 200;
    const std::size_t descriptors = std::max<std::size_t>(limit.rlim_cur, 2 * others);
    return std::min<std::size_t>(10'000, (descriptors - others) / 2);
}

class DflockdCrowd : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, DflockdCrowd, ::testing::Values(1, 3));

TEST_P(DflockdCrowd, LeavesNoGhost) {
    app::ServeOptions options = options_of(Start::dflockd, GetParam());
    options.limits.waiters_per_lock_max = 100'000;
    DflockdHost host(options);
    DflockdClient holder = host.connect();
    const std::string token = holder.lock("k", "0 3600");
    const std::size_t count = connections_possible();
    std::vector<std::unique_ptr<DflockdClient>> crowd;
    for (std::size_t i = 0; i < count; ++i) {
        crowd.push_back(std::make_unique<DflockdClient>(host.endpoint()));
        crowd.back()->send(i % 2 == 0 ? "l\nk\n1000\n" : "e\nk\n\nw\nk\n1000\n");
    }
    ASSERT_TRUE(host.comes_to("1 locks " + std::to_string(count) + " waiters"));

    // All but three die, in any order: some hang up, some are reset, some while the lock is free.
    std::mt19937 random(20240115);
    std::shuffle(crowd.begin(), crowd.end(), random);
    constexpr std::size_t survivors = 3;
    while (crowd.size() > survivors) {
        if (crowd.size() == count / 2) {
            EXPECT_EQ(holder.ask("r|k|" + token), "ok");
        }
        if (random() % 2 == 0) crowd.back()->reset();
        crowd.pop_back();
    }
    ASSERT_TRUE(host.comes_to("1 locks " + std::to_string(survivors - 1) + " waiters"));
    for (std::size_t i = 0; i < survivors; ++i) host.advance(33s);  // nobody gives anything back
    for (const auto& client : crowd) {
        const std::string answer = client->hear();
        EXPECT_THAT(answer == "queued" ? client->hear() : answer, StartsWith("ok "));
    }
    EXPECT_TRUE(host.comes_to("0 locks 0 waiters"));
}

}  // namespace
}  // namespace holdfast::conformance
