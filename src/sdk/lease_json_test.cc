#include "sdk/lease_json.h"

#include <gtest/gtest.h>

namespace holdfast::sdk {
namespace {

base::JsonValue json(std::string_view text) {
    return base::JsonValue::parse(text).value();
}

TEST(LeaseJson, ReadsALease) {
    const auto lease = read_lease(json(
        R"({"token":"0006604efeeb32d670ecdeec23021d23","fencing_token":1794742260806358,)"
        R"("scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"shared",)"
        R"("acquired_at":"2024-01-15T10:30:00.000Z","expires_at":"2024-01-15T10:30:30.500Z",)"
        R"("ttl_ms":30500,"metadata":"m","value":"v","revision":3})"));
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->token, "0006604efeeb32d670ecdeec23021d23");
    EXPECT_EQ(lease->fencing_token, 1794742260806358U);
    EXPECT_EQ(lease->scope, LockScope(LockScope::ByteRange{.inode = 7, .start = 0, .end = 4096}));
    EXPECT_EQ(lease->holder, "w1");
    EXPECT_EQ(lease->mode, LockMode::shared);
    EXPECT_EQ(lease->ttl, std::chrono::milliseconds{30'500});
    EXPECT_EQ(lease->expires_at - lease->acquired_at, std::chrono::milliseconds{30'500});
    EXPECT_EQ(lease->metadata, "m");
    EXPECT_EQ(lease->value, "v");
    EXPECT_EQ(lease->revision, 3U);
    EXPECT_FALSE(lease->is_guaranteed()) << "nobody has said so";
    EXPECT_TRUE(lease->scopes.empty());
}

TEST(LeaseJson, ReadsALeaseOnSeveralLocks) {
    const auto lease = read_lease(
        json(R"({"token":"0006604efeeb32d670ecdeec23021d23","fencing_token":7,"ttl_ms":5,)"
             R"("scope":{"kind":"named","name":"a"},"holder":"w1","mode":"exclusive","scopes":[)"
             R"({"scope":{"kind":"named","name":"a"},"mode":"exclusive"},)"
             R"({"scope":{"kind":"path","path":"/x"},"mode":"shared"},)"
             R"({"scope":{"kind":"semaphore","name":"s"},"mode":"exclusive","limit":3}]})"));
    ASSERT_TRUE(lease);
    EXPECT_EQ(lease->scope, LockScope(LockScope::Named{"a"}));
    EXPECT_EQ(lease->scopes,
              (std::vector<LockSetMember>{{LockScope::Named{"a"}},
                                          {LockScope::Path{"/x"}, LockMode::shared},
                                          {.scope = LockScope::Semaphore{"s"}, .limit = 3}}));
}

TEST(LeaseJson, ReadsADeadlock) {
    const LockDeadlock deadlock = read_deadlock(json(
        R"({"error":"Deadlock","message":"m","scope":{"kind":"named","name":"b"},"cycle":[)"
        R"({"holder":"ann","waiter":"t1","door":"scoped","waits_for":{"kind":"named","name":"b"},)"
        R"("held_by":"bob","fencing_token":7},{"hidden":true}]})"));
    EXPECT_EQ(deadlock.scope, LockScope(LockScope::Named{"b"}));
    ASSERT_EQ(deadlock.cycle.size(), 2U);
    EXPECT_EQ(deadlock.cycle[0], (DeadlockMember{.holder = "ann",
                                                 .waiter = "t1",
                                                 .door = "scoped",
                                                 .waits_for = LockScope::Named{"b"},
                                                 .held_by = "bob",
                                                 .fencing_token = 7}));
    EXPECT_TRUE(deadlock.cycle[1].is_hidden);
}

TEST(LeaseJson, ReadsEveryKindOfScope) {
    EXPECT_EQ(read_scope(json(R"({"kind":"named","name":"x"})")), LockScope(LockScope::Named{"x"}));
    EXPECT_EQ(read_scope(json(R"({"kind":"semaphore","name":"x"})")),
              LockScope(LockScope::Semaphore{"x"}));
    EXPECT_EQ(read_scope(json(R"({"kind":"path","path":"/a"})")), LockScope(LockScope::Path{"/a"}));
    EXPECT_EQ(read_scope(json(R"({"kind":"inode","inode":18446744073709551615})")),
              LockScope(LockScope::Inode{UINT64_MAX}));
    EXPECT_EQ(read_scope(json(R"({"kind":"range","inode":7,"start":4096})")),
              LockScope(LockScope::ByteRange{.inode = 7, .start = 4096}));
    EXPECT_FALSE(read_scope(json(R"({"kind":"galaxy","inode":7})")));
    EXPECT_FALSE(read_scope(json(R"({"kind":"inode"})")));
    EXPECT_FALSE(read_scope({}));
}

TEST(LeaseJson, ReadsNoLeaseFromWhatIsNone) {
    EXPECT_FALSE(read_lease({}));
    EXPECT_FALSE(read_lease(json(R"({"error":"LockHeld"})")));
    EXPECT_FALSE(
        read_lease(json(R"({"fencing_token":1,"scope":{"kind":"inode","inode":7},"ttl_ms":5})")));
}

TEST(LeaseJson, WritesWhatIsAskedFor) {
    const LeaseRequest plain{.scope = LockScope::Named{"x"},
                             .holder = "w",
                             .waiter = "t",
                             .on_deadlock = OnDeadlock::tell};
    EXPECT_EQ(to_json({.request = plain, .request_id = "r", .wait = {}}),
              R"({"scope":"x","holder":"w","ttl_ms":30000,"request_id":"r","wait_ms":0,)"
              R"("waiter":"t"})");
    const LeaseRequest semaphore{.scope = LockScope::Named{"x"},
                                 .holder = "w",
                                 .ttl = std::chrono::milliseconds{5},
                                 .mode = LockMode::shared,
                                 .limit = 3,
                                 .metadata = "m",
                                 .waiter = "t"};
    EXPECT_EQ(
        to_json({.request = semaphore, .request_id = "r", .wait = std::chrono::milliseconds{7}}),
        R"({"scope":"semaphore:x","mode":"shared","limit":3,"holder":"w","ttl_ms":5,)"
        R"("request_id":"r","wait_ms":7,"metadata":"m","waiter":"t","on_deadlock":"refuse"})");
    const LeaseRequest several{.holder = "w",
                               .ttl = std::chrono::milliseconds{5},
                               .scopes = {{LockScope::Named{"a"}},
                                          {LockScope::Path{"/x"}, LockMode::shared},
                                          {.scope = LockScope::Named{"s"}, .limit = 3}},
                               .waiter = "t"};
    EXPECT_EQ(to_json({.request = several, .request_id = "r", .wait = {}}),
              R"({"scopes":[{"scope":"a"},{"scope":"path:/x","mode":"shared"},)"
              R"({"scope":"semaphore:s","limit":3}],"holder":"w","ttl_ms":5,"request_id":"r",)"
              R"("wait_ms":0,"waiter":"t","on_deadlock":"refuse"})");
}

TEST(LeaseJson, FindsWhatIsWrongWithARequest) {
    const auto fault_of = [](const LeaseRequest& request) {
        const auto fault = find_fault(request);
        return fault ? to_text(*fault) : "none";
    };
    EXPECT_EQ(fault_of({.scope = LockScope::Named{"x"}}), "none");
    EXPECT_EQ(fault_of({.scope = LockScope::Named{"x"}, .limit = 2}), "none");
    EXPECT_EQ(fault_of({.scope = LockScope::Named{"x"}, .limit = 0}),
              "a limit of 0 would let nobody in");
    EXPECT_EQ(fault_of({.scope = LockScope::Inode{7}, .limit = 2}),
              "only a name can be a semaphore: inode:7");
    EXPECT_EQ(fault_of({.scope = LockScope::Named{"x"}, .ttl = {}}),
              "a lease must last for a millisecond at least");
    EXPECT_EQ(fault_of({.scope = LockScope::Path{"/\xff"}}),
              "'path:/\xff' is not UTF-8, which the server speaks");
    EXPECT_EQ(fault_of({.scopes = {{LockScope::Named{"a"}}, {LockScope::Path{"/\xff"}}}}),
              "'path:/\xff' is not UTF-8, which the server speaks");
    EXPECT_EQ(fault_of({.scopes = {{LockScope::Named{"a"}}, {LockScope::Named{"a"}}}}),
              "a and a overlap: a lease is on each lock once");
}

}  // namespace
}  // namespace holdfast::sdk
