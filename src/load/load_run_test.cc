#include "load/load_run.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "load/lock_client.h"
#include "load/test_servers.h"

namespace holdfast::load {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void ignore(const LoadCounts&) {}

// Few clients, each of which holds what it was given until the end.
LoadOptions patient_clients(const std::string& url, Door door = Door::lockserver) {
    return {.door = door,
            .url = url,
            .clients = 3,
            .duration = 1s,
            .ttl = 60s,
            .hold = 60s,
            .jitter = 0ms,
            .fail_rate = 0};
}

std::string grant_json(int number) {
    return R"({"acquired":true,"lock_name":"hotlock","owner_id":"w","lease_id":"id","fencing_token":)" +
           std::to_string(number) + R"(,"lease_expiry_ms":1})";
}

// Grants every request under the next number.
JsonServer::Answer generous_server(int step) {
    return [number = 1'000'000'000, step](const net::HttpRequest& request) mutable {
        if (request.path.ends_with("/acquire")) {
            number += step;
            return std::pair(200, grant_json(number));
        }
        return std::pair(200, std::string(R"({"released":true})"));
    };
}

TEST(LoadRun, CatchesAServerThatHasTwoHolders) {
    JsonServer server(generous_server(1));
    const LoadResult result = run_load(patient_clients(server.url()), ignore).value();
    EXPECT_GE(result.counts.acquire_success, 2U);
    EXPECT_GE(result.fault_count, 1U);
    EXPECT_THAT(result.faults, Each(HasSubstr("still held it")));
    EXPECT_EQ(result.counts.errors, 0U);
}

TEST(LoadRun, CatchesTwoHoldersWhereThereAreNoNumbers) {
    JsonServer server([](const net::HttpRequest&) {
        return std::pair(200, std::string(R"({"message":"acquired"})"));
    });
    const LoadResult result =
        run_load(patient_clients(server.url(), Door::homelab), ignore).value();
    EXPECT_GE(result.fault_count, 1U);
    EXPECT_THAT(result.faults, Each(HasSubstr("still held it")));
}

TEST(LoadRun, CatchesNumbersThatDoNotGrow) {
    JsonServer server(generous_server(-1));
    LoadOptions options = patient_clients(server.url());
    options.clients = 1;
    options.hold = 1ms;
    const LoadResult result = run_load(options, ignore).value();
    EXPECT_GE(result.counts.acquire_success, 2U);
    EXPECT_EQ(result.fault_count, result.counts.acquire_success - 1);
    EXPECT_THAT(result.faults, Each(HasSubstr("had been seen")));
}

TEST(LoadRun, FailsWhereNobodyIs) {
    EXPECT_THAT(run_load(patient_clients("http://127.0.0.1:1"), ignore).error().message,
                HasSubstr("127.0.0.1:1"));
    EXPECT_THAT(run_load(patient_clients("nonsense"), ignore).error().message, Not(IsEmpty()));
    JsonServer server([](const net::HttpRequest&) {
        return std::pair(401, std::string(R"({"error":"a token is needed"})"));
    });
    EXPECT_THAT(run_load(patient_clients(server.url()), ignore).error().message,
                HasSubstr("401: a token is needed"));
}

TEST(LoadRun, CountsErrorsAndRemembersTheFirst) {
    JsonServer server([](const net::HttpRequest& request) {
        return request.method == "GET" ? std::pair(200, std::string("{}"))
                                       : std::pair(503, std::string(R"({"error":"full"})"));
    });
    const LoadResult result = run_load(patient_clients(server.url()), ignore).value();
    EXPECT_GE(result.counts.errors, 1U);
    EXPECT_EQ(result.first_error, "the server answered 503: full");
    EXPECT_EQ(result.acquire_latency.count(), 0U);
}

TEST(LockserverClient, AsksAsTheProtocolHasIt) {
    const std::string token_file =
        ::testing::TempDir() + "holdfast_load_token_" + std::to_string(::getpid());
    std::ofstream(token_file) << "secret\n";
    std::vector<std::string> asked;
    JsonServer server([&](const net::HttpRequest& request) {
        asked.push_back(std::string(request.target) + " " + std::string(request.body) + " " +
                        std::string(request.header("Authorization").value_or("")));
        const bool is_release = request.path.ends_with("/release");
        if (is_release) return std::pair(200, std::string(R"({"released":false})"));
        return asked.size() == 1 ? std::pair(409, std::string(R"({"recommended_retry_ms":42})"))
                                 : std::pair(200, grant_json(7));
    });
    const LoadOptions options{
        .url = server.url() + ",http://127.0.0.1:1", .token_file = token_file, .ttl = 800ms};
    const auto client = open_client(options, "w").value();
    const auto refused = client->acquire("a/b").value();
    EXPECT_EQ(std::get<Refusal>(refused).retry_after, 42ms);
    const Grant grant = std::get<Grant>(client->acquire("a/b").value());
    EXPECT_EQ(grant.fencing_number, 7U);
    EXPECT_EQ(grant.lease, "id");
    EXPECT_FALSE(client->release("a/b", grant).value());
    EXPECT_THAT(asked,
                ::testing::ElementsAre(
                    R"(/v1/locks/a%2Fb/acquire {"owner_id":"w","ttl_ms":800} Bearer secret)",
                    R"(/v1/locks/a%2Fb/acquire {"owner_id":"w","ttl_ms":800} Bearer secret)",
                    R"(/v1/locks/a%2Fb/release {"owner_id":"w","lease_id":"id","fencing_token":7} )"
                    "Bearer secret"));
    ::unlink(token_file.c_str());
    EXPECT_THAT(open_client(options, "w").error().message, HasSubstr(token_file));
}

}  // namespace
}  // namespace holdfast::load
