#include "cli/lock_json.h"

#include <gmock/gmock.h>

namespace holdfast::cli {
namespace {

TEST(LockJson, HasTheNamesOfTheLeases) {
    LockRow lock{.name = "7", .kind = "inode", .waiter_count = 1};
    lock.holders.push_back({.owner = "w1",
                            .door = "scoped",
                            .scope = "range:7:0-9",
                            .metadata = "m",
                            .fencing_token = 34,
                            .expires_ms = 1'705'314'630'123,
                            .ttl_ms = 30'000,
                            .acquired_ms = 1'705'314'600'123});
    lock.waiters.push_back({.owner = "w2",
                            .door = "scoped",
                            .scope = "inode:7",
                            .waits_for = "w1",
                            .since_ms = 1'705'314'601'000});
    const std::string holder =
        R"({"scope":"inode:7","kind":"inode","held":true,"holders":[{"holder":"w1",)"
        R"("scope":"range:7:0-9","mode":"exclusive","fencing_token":34,)"
        R"("acquired_at":"2024-01-15T10:30:00.123Z","expires_at":"2024-01-15T10:30:30.123Z",)"
        R"("ttl_ms":30000,"door":"scoped","metadata":"m"}],"queue_length":1)";
    EXPECT_EQ(lock_json(lock, "inode:7", false), holder + "}");
    EXPECT_EQ(lock_json(lock, "inode:7", true),
              holder + R"(,"waiters":[{"waiter":"w2","scope":"inode:7","mode":"exclusive",)"
                       R"("waits_for":"w1","waiting_since":"2024-01-15T10:30:01.000Z",)"
                       R"("door":"scoped"}]})");
    EXPECT_EQ(lock_json({.name = "s", .kind = "semaphore", .limit = 3}, "semaphore:s", false),
              R"({"scope":"semaphore:s","kind":"semaphore","limit":3,"held":false,"holders":[],)"
              R"("queue_length":0})");
}

TEST(LockJson, TellsOfEventsWithTheSameNames) {
    const LockEvent granted{
        .id = 5,
        .kind = "granted",
        .data = R"({"at_ms":1705314600123,"lock_name":"x","kind":"named","mode":"shared",)"
                R"("owner_id":"w1","fencing_token":34,"lease_expiry_ms":1705314630123,)"
                R"("waited_ms":1500,"news":[1]})"};
    EXPECT_EQ(event_json(granted),
              R"({"id":5,"event":"granted","scope":"x","at":"2024-01-15T10:30:00.123Z",)"
              R"("kind":"named","mode":"shared","holder":"w1","fencing_token":34,)"
              R"("expires_at":"2024-01-15T10:30:30.123Z","waited_ms":1500,"news":[1]})");
    EXPECT_EQ(event_json({.kind = "gap", .data = "{}"}), R"({"id":null,"event":"gap"})");
}

}  // namespace
}  // namespace holdfast::cli
