#include "cli/screen/lock_board.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

base::JsonValue json(const std::string& text) {
    return base::JsonValue::parse(text).value();
}

// An event of the lock x: granted and renewed leases have a number, waits an owner.
base::JsonValue event(const std::string& owner, int number, int queue_length,
                      const std::string& more = "") {
    return json(R"({"at_ms":1000,"lock_name":"x","kind":"named","mode":"exclusive","owner_id":")" +
                owner + R"(","door":"scoped","fencing_token":)" + std::to_string(number) +
                R"(,"lease_expiry_ms":31000,"queue_length":)" + std::to_string(queue_length) +
                more + "}");
}

const LockRow* find(const LockBoard& board, const std::string& name,
                    const std::string& kind = "named") {
    const auto lock = board.locks().find({kind, name});
    return lock == board.locks().end() ? nullptr : &lock->second;
}

TEST(LockBoard, FollowsALockThroughItsLife) {
    LockBoard board;
    board.apply("granted", event("w1", 1, 0));
    board.apply("queued", event("w2", 0, 1));
    board.apply("queued", event("w3", 0, 2));
    const LockRow* lock = find(board, "x");
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock->holders.at(0).owner, "w1");
    EXPECT_EQ(lock->waiters.at(0).waits_for, "w1");
    EXPECT_EQ(lock->waiters.at(1).waits_for, "w2");
    EXPECT_EQ(board.held(), 1U);
    EXPECT_EQ(board.waiting(), 2U);

    board.apply("released", event("w1", 1, 2));
    board.apply("granted", event("w2", 2, 1, R"(,"waited_ms":5)"));
    lock = find(board, "x");
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock->holders.size(), 1U);
    EXPECT_EQ(lock->holders.at(0).owner, "w2");
    EXPECT_EQ(lock->waiters.size(), 1U);
    EXPECT_EQ(lock->waiters.at(0).waits_for, "w2");

    board.apply("wait_cancelled", event("w3", 0, 0));
    board.apply("expired", event("w2", 2, 0));
    EXPECT_FALSE(find(board, "x"));
}

TEST(LockBoard, EventsThatAreOlderThanTheListingDoNoHarm) {
    LockBoard board;
    board.replace({read_listed_lock(
        json(R"({"lock_name":"x","kind":"named","waiters":0,"holders":[{"owner_id":"w2",)"
             R"("fencing_token":2,"lease_expiry_ms":31000,"ttl_ms":30000,"door":"scoped"}]})"))});
    for (int time = 0; time < 2; ++time) {
        board.apply("granted", event("w1", 1, 0));
        board.apply("released", event("w1", 1, 0));
        board.apply("granted", event("w2", 2, 0));
        const LockRow* const lock = find(board, "x");
        ASSERT_TRUE(lock);
        ASSERT_EQ(lock->holders.size(), 1U);
        EXPECT_EQ(lock->holders[0].owner, "w2");
    }
}

TEST(LockBoard, ARenewalMovesTheEnd) {
    LockBoard board;
    board.apply("granted", event("w1", 1, 0));
    board.apply("renewed", json(R"({"at_ms":9000,"lock_name":"x","kind":"named","owner_id":"w1",)"
                                R"("fencing_token":1,"lease_expiry_ms":69000,"queue_length":0})"));
    const LockRow* const lock = find(board, "x");
    ASSERT_TRUE(lock);
    EXPECT_EQ(lock->holders.at(0).expires_ms, 69000);
    EXPECT_EQ(lock->holders.at(0).ttl_ms, 60000);
    EXPECT_EQ(lock->holders.at(0).acquired_ms, 1000);
}

TEST(LockBoard, KeepsWhatIsInGraceUntilThatIsOver) {
    LockBoard board;
    board.apply("granted", event("w1", 1, 0));
    board.apply("expired", event("w1", 1, 0, R"(,"grace_until_ms":36000)"));
    ASSERT_TRUE(find(board, "x"));
    EXPECT_EQ(find(board, "x")->holders.at(0).grace_until_ms, 36000);
    board.apply("grace_ended", event("w1", 1, 0));
    EXPECT_FALSE(find(board, "x"));
}

TEST(LockBoard, TheRangesOfAFileAreOneThing) {
    LockBoard board;
    for (int number = 1; number <= 2; ++number) {
        board.apply("granted", json(R"({"at_ms":1,"lock_name":"7","kind":"range","owner_id":"w",)"
                                    R"("scope":"range:7:0-1","fencing_token":)" +
                                    std::to_string(number) + R"(,"queue_length":0})"));
    }
    ASSERT_TRUE(find(board, "7", "inode"));
    EXPECT_EQ(find(board, "7", "inode")->holders.size(), 2U);
}

// Two locks and one lease: `x` first, as in the event.
TEST(LockBoard, FollowsALeaseOnSeveralLocks) {
    LockBoard board;
    const std::string set = R"(,"scopes":["x","path:/p","range:7:0-9"])";
    board.apply("granted", event("w1", 1, 0, set));
    ASSERT_TRUE(find(board, "x"));
    ASSERT_TRUE(find(board, "/p", "path"));
    ASSERT_TRUE(find(board, "7", "inode"));
    EXPECT_EQ(find(board, "/p", "path")->holders.at(0).owner, "w1");
    EXPECT_EQ(find(board, "7", "inode")->holders.at(0).scope, "range:7:0-9");
    EXPECT_EQ(find(board, "x")->holders.at(0).scopes.size(), 3U);

    const std::string other = R"(,"scopes":["x","path:/p"])";
    board.apply("queued", event("w2", 0, 1, other));
    EXPECT_EQ(find(board, "/p", "path")->waiters.at(0).waits_for, "w1");
    EXPECT_EQ(find(board, "/p", "path")->waiter_count, 1U);
    EXPECT_EQ(find(board, "7", "inode")->waiter_count, 0U);

    board.apply("released", event("w1", 1, 1, set));
    EXPECT_FALSE(find(board, "7", "inode"));
    ASSERT_TRUE(find(board, "/p", "path"));
    board.apply("granted", event("w2", 2, 0, other + R"(,"waited_ms":5)"));
    EXPECT_EQ(find(board, "/p", "path")->holders.at(0).owner, "w2");
    EXPECT_EQ(find(board, "/p", "path")->waiter_count, 0U);
    board.apply("expired", event("w2", 2, 0, other));
    EXPECT_TRUE(board.locks().empty());
}

TEST(LockBoard, OtherEventsAreOfNoLock) {
    LockBoard board;
    board.apply("session_opened", json(R"({"at_ms":1,"owner_id":"w","session":3})"));
    board.apply("fence_refused", json(R"({"at_ms":1,"resource":"bucket","highest":3})"));
    board.apply("gap", json("{}"));
    board.apply("deadlock", json(R"({"at_ms":1,"cycle":[]})"));
    EXPECT_TRUE(board.locks().empty());
}

}  // namespace
}  // namespace holdfast::cli
