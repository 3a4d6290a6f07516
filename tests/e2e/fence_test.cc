// Fences and scoped leases of the real program, killed and started again on the same folder.

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "durable.h"

namespace holdfast::e2e {
namespace {

using ::testing::HasSubstr;

Heard raise(const ServerProcess& server, const std::string& resource, std::int64_t number) {
    return try_ask(server, "POST /v1/fence/" + resource,
                   R"({"fencing_token":)" + std::to_string(number) + "}");
}

std::string token_of(const Heard& heard) {
    return heard.text.substr(heard.text.find("\"token\":\"") + 9, 32);
}

TEST(DurableFence, IsThereAfterAKill) {
    const DataFolder folder;
    {
        ServerProcess server(flags_for(folder.path()));
        EXPECT_EQ(raise(server, "bucket", 33).status, 200);
        EXPECT_EQ(raise(server, "bucket", 34).status, 200);
        EXPECT_EQ(raise(server, "gone", 99).status, 200);
        EXPECT_EQ(try_ask(server, "DELETE /v1/fence/gone").status, 200);
        kill_at_once(server);
    }
    const ServerProcess again(flags_for(folder.path()));
    const Heard refused = raise(again, "bucket", 33);
    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.text, HasSubstr("\"highest\":34"));
    EXPECT_EQ(raise(again, "bucket", 34).status, 200);
    EXPECT_EQ(try_ask(again, "GET /v1/fence/gone").status, 404);
    EXPECT_EQ(raise(again, "gone", 1).status, 200);
}

TEST(DurableFence, ATokenIsAsGoodAfterAKillAsItWasBefore) {
    const DataFolder folder;
    std::string held, ended;
    {
        ServerProcess server(flags_for(folder.path()));
        held =
            token_of(try_ask(server, "POST /v1/leases",
                             R"({"scope":"range:7:0-4096","holder":"w1","duration_ms":600000})"));
        ended =
            token_of(try_ask(server, "POST /v1/leases", R"({"scope":"inode:8","holder":"w1"})"));
        EXPECT_EQ(try_ask(server, "DELETE /v1/leases/" + ended).status, 200);
        kill_at_once(server);
    }
    const ServerProcess again(flags_for(folder.path()));
    const auto check = [&](const std::string& token, const std::string& scope) {
        return try_ask(again, "POST /v1/fence/check",
                       R"({"token":")" + token + R"(","scope":")" + scope + R"("})")
            .status;
    };
    EXPECT_EQ(check(held, "range:7:0-512"), 200);
    EXPECT_EQ(check(held, "inode:7"), 409);
    EXPECT_EQ(check(ended, "inode:8"), 410) << "what was given out and is over stays so";
    const Heard refused =
        try_ask(again, "POST /v1/leases", R"({"scope":"range:7:4095-5000","holder":"w2"})");
    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.text, HasSubstr("range:7:0-4096 is held by w1"));
    EXPECT_EQ(
        try_ask(again, "POST /v1/leases", R"({"scope":"range:7:4096-5000","holder":"w2"})").status,
        200);
    EXPECT_EQ(try_ask(again, "DELETE /v1/leases/" + held).status, 200);
}

// Whoever was told that a number is safe may have written under it.
TEST(DurableFence, NoAcceptedNumberIsForgottenWhenTheServerIsKilledUnderLoad) {
    const DataFolder folder;
    constexpr std::size_t clients = 4;
    std::array<std::int64_t, clients> accepted{};  // by each, at its own resource
    std::atomic<std::int64_t> shared_highest = 0;  // by all, at one
    ServerProcess server(flags_for(folder.path()));
    std::atomic<int> answers = 0;
    std::vector<std::thread> threads;
    for (std::size_t id = 0; id < clients; ++id) {
        threads.emplace_back([&, id] {
            for (std::int64_t number = 1;; ++number) {
                if (raise(server, "own" + std::to_string(id), number).status != 200) return;
                accepted[id] = number;
                const Heard heard = raise(server, "shared", number);
                if (heard.status == 0) return;
                std::int64_t seen = shared_highest;
                while (heard.status == 200 && seen < number &&
                       !shared_highest.compare_exchange_weak(seen, number)) {
                }
                ++answers;
            }
        });
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (answers < 200 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    kill_at_once(server);
    for (std::thread& thread : threads) thread.join();

    const ServerProcess again(flags_for(folder.path()));
    for (std::size_t id = 0; id < clients; ++id) {
        ASSERT_GT(accepted[id], 1);
        EXPECT_EQ(raise(again, "own" + std::to_string(id), accepted[id] - 1).status, 409) << id;
    }
    EXPECT_EQ(raise(again, "shared", shared_highest - 1).status, 409);
}

TEST(DurableFence, TheLimitIsNamed) {
    const ServerProcess server({"--http", "127.0.0.1:0", "--fences-max", "1"});
    EXPECT_EQ(raise(server, "a", 1).status, 200);
    const Heard refused = raise(server, "b", 1);
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.text, HasSubstr("\"error\":\"LimitReached\""));
    EXPECT_EQ(raise(server, "a", 2).status, 200);
}

}  // namespace
}  // namespace holdfast::e2e
