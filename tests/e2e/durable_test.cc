// What survives: the real program, killed and started again on the same folder.

#include "durable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace holdfast::e2e {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Durable, AHeldLockIsHeldAfterAKill) {
    const DataFolder folder;
    {
        ServerProcess server(flags_for(folder.path()));
        EXPECT_EQ(server.ask("POST /lock?client=laptop1&ttl=10m").status, 200);
        EXPECT_EQ(server.ask("POST /lock?client=laptop1&job=gone&ttl=10m").status, 200);
        EXPECT_EQ(server.ask("DELETE /lock?client=laptop1&job=gone").status, 200);
        kill_at_once(server);
    }
    const ServerProcess again(flags_for(folder.path()));
    EXPECT_THAT(again.ask("GET /lock").body, HasSubstr("\"holder\":\"laptop1\""));
    EXPECT_EQ(again.ask("POST /lock?client=laptop2").status, 409);
    EXPECT_THAT(again.ask("GET /lock?job=gone").body, HasSubstr("no lock held"));
    EXPECT_THAT(again.ask("POST /lock?client=laptop1&ttl=10m").body, HasSubstr("renewed"));
}

TEST(Durable, TheHistoryHasWhatWasReleasedBeforeAKillAndNothingElse) {
    const DataFolder folder;
    for (int round = 0; round < 3; ++round) {
        ServerProcess server(flags_for(folder.path()));
        const std::string job = "/lock?client=ann&job=told" + std::to_string(round);
        EXPECT_EQ(server.ask("POST " + job + "&ttl=10m").status, 200);
        EXPECT_EQ(server.ask("DELETE " + job).status, 200);
        EXPECT_EQ(server.ask("POST /lock?client=ann&job=held&ttl=10m").status, 200);
        kill_at_once(server);
    }
    const ServerProcess again(flags_for(folder.path()));
    for (int round = 0; round < 3; ++round) {
        EXPECT_THAT(again.ask("GET /v1/history?scope=told" + std::to_string(round)).body,
                    AllOf(HasSubstr("\"holder\":\"ann\""), HasSubstr("\"ended\":\"released\"")));
    }
    EXPECT_THAT(again.ask("GET /v1/history?scope=held").body, HasSubstr("\"history\":[]"));
}

// One that nobody renews after the restart.
TEST(Durable, TheHistorySaysThatALeaseEndedByARestart) {
    const DataFolder folder;
    {
        ServerProcess server(flags_for(folder.path()));
        EXPECT_EQ(server.ask("POST /lock?client=ann&job=brief&ttl=300ms").status, 200);
        kill_at_once(server);
    }
    const ServerProcess again(flags_for(folder.path()));
    std::string body;
    for (int tries = 0; tries < 100 && body.find("ann") == std::string::npos; ++tries) {
        std::this_thread::sleep_for(50ms);
        body = again.ask("GET /v1/history?scope=brief").body;
    }
    EXPECT_THAT(body, HasSubstr("\"ended\":\"restart\""));
}

TEST(Durable, AFolderHasOneServer) {
    const DataFolder folder;
    const ServerProcess server(flags_for(folder.path()));
    const Finished second = run(serve_command(flags_for(folder.path())));
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_THAT(second.error, AllOf(HasSubstr("holdfast.db"), HasSubstr("in use")));
}

// A server that gave a lease its whole time at every start would keep it for ever here. (Where a
// start takes longer than the lease, this proves nothing, and does not fail.)
TEST(Durable, ALeaseOfTheDeadEndsThoughTheServerIsStartedOverAndOver) {
    const DataFolder folder;
    {
        ServerProcess server(flags_for(folder.path()));
        EXPECT_EQ(server.ask("POST /lock?client=laptop1&ttl=2s").status, 200);
        kill_at_once(server);
    }
    int starts = 0;
    for (bool is_held = true; is_held; ++starts) {
        ASSERT_LT(starts, 200) << "the lease never ends";
        ServerProcess server(flags_for(folder.path()));
        const std::string body = server.ask("GET /lock").body;
        is_held = body.find("\"is_expired\":false") != std::string::npos;
        std::this_thread::sleep_for(100ms);
        kill_at_once(server);
    }
    EXPECT_GT(starts, 1) << "it is not held after a restart at all";
}

// How often the server is killed: `make slow` has it done more often.
int rounds() {
    const char* text = std::getenv("HOLDFAST_ROUNDS");
    return text == nullptr ? 5 : std::atoi(text);
}

TEST(Durable, NothingAcknowledgedIsLostWhenTheServerIsKilledUnderLoad) {
    const DataFolder folder;
    std::int64_t last_token = 0;
    for (int round = 1; round <= rounds(); ++round) {
        ServerProcess server(flags_for(folder.path()));
        Crowd crowd(server, round, Habit::give_back);
        crowd.wait_for_grants(150 + 37 * (round % 5));
        kill_at_once(server);
        crowd.finish();

        const std::vector<std::int64_t> tokens = crowd.tokens();
        ASSERT_FALSE(tokens.empty());
        EXPECT_GT(std::ranges::min(tokens), last_token) << "as large as one given out before";
        last_token = std::ranges::max(tokens);

        const ServerProcess again(flags_for(folder.path()));
        expect_held(again, crowd.held());
        expect_free(again, crowd.free());
        EXPECT_GT(try_take(again, "again" + std::to_string(round)), last_token);
        ASSERT_FALSE(HasFailure()) << "in round " << round;
        std::printf(
            "round %d: %d acknowledged, %zu held and %zu free verified, "
            "largest of %zu tokens %lld\n",
            round, crowd.grants(), crowd.held().size(), crowd.free().size(), tokens.size(),
            static_cast<long long>(last_token));
    }
}

}  // namespace
}  // namespace holdfast::e2e
