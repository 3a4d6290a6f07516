#include "doors/hengdang/writing/blocking_locks.h"

#include <gtest/gtest.h>

#include <thread>

#include "service/doors.h"
#include "service/test_service.h"

namespace holdfast::doors::hengdang {
namespace {

using namespace std::chrono_literals;

// The service runs on the thread of the test; questions are asked on another thread.
class BlockingLocksTest : public ::testing::Test {
  protected:
    // The status of the objection that `question` ends with; 0 if there is none.
    template <class Question>
    int ask_locks(Question question) {
        BlockingLocks::Objection objection;
        std::atomic<bool> is_over = false;
        std::thread asker([&] {
            objection = question();
            is_over = true;
        });
        while (!is_over) {
            parts_.executor.settle();
            if (parts_.store.is_committing()) parts_.store.finish();
            std::this_thread::yield();
        }
        asker.join();
        return objection ? objection->status : 0;
    }

    core::Token acquire(const core::Scope& scope, core::Duration ttl, const char* owner = "s") {
        const core::AcquireRequest request{
            .scope = scope, .owner = {.door = service::hengdang_door, .name = owner}, .ttl = ttl};
        core::Token token;
        ask(parts_.service, request,
            [&](const service::Response& response) { token = response.outcome.lease.token; });
        run_all();
        EXPECT_NE(token, core::Token{});
        return token;
    }
    void run_all() {
        parts_.executor.settle();
        while (parts_.store.is_committing()) {
            parts_.store.finish();
            parts_.executor.settle();
        }
    }

    service::testing::TestService parts_{service::testing::Durability::full};
    LockTimes times_;
    WriteHolds holds_;
    BlockingLocks locks_{{.port = parts_.service,
                          .executor = parts_.executor,
                          .clock = parts_.clock,
                          .times = times_,
                          .holds = holds_}};
};

TEST_F(BlockingLocksTest, KeepsALeaseForAtLeastAMinute) {
    const core::Token token = acquire(core::Scope::path("/x"), 5s);
    EXPECT_EQ(ask_locks([&] { return locks_.keep({.token = token, .path = "/x"}); }), 0);
    parts_.advance(59s);
    run_all();
    EXPECT_EQ(parts_.service.counts().leases, 1U);
    parts_.advance(1s);
    run_all();
    EXPECT_EQ(parts_.service.counts().leases, 0U);
    EXPECT_EQ(ask_locks([&] { return locks_.keep({.token = token, .path = "/x"}); }), 423);
}

TEST_F(BlockingLocksTest, SaysWhoHasALockThatWasLost) {
    const core::Token token = acquire(core::Scope::path("/x"), 5s);
    parts_.advance(5s);
    run_all();
    acquire(core::Scope::path("/x"), 5s, "other");
    BlockingLocks::Objection objection;
    EXPECT_EQ(ask_locks([&] {
                  objection = locks_.keep({.token = token, .path = "/x"});
                  return objection;
              }),
              423);
    EXPECT_NE(objection->body.find(R"("lockedBy":"other")"), std::string::npos);
}

TEST_F(BlockingLocksTest, ExtendsALeaseThatIsAboutToEnd) {
    const core::Token token = acquire(core::Scope::of_range(7, {.start = 0, .end = 10}), 1s);
    const BlockingLocks::TokenClaim claim{
        .token = token, .path = "/x", .inode_number = 7, .range = {.start = 2, .end = 4}};
    EXPECT_EQ(ask_locks([&] { return locks_.check(claim); }), 0);
    parts_.advance(4s);
    run_all();
    EXPECT_EQ(parts_.service.counts().leases, 1U);
    parts_.advance(1s);
    run_all();
    EXPECT_EQ(ask_locks([&] { return locks_.check(claim); }), 410);
}

TEST_F(BlockingLocksTest, ARefusalNamesTheLeaseOfATokenOnlyToThoseWhoMayReadIt) {
    const core::Token hidden = acquire(core::Scope::path("/hidden/x"), 5s);
    const auto refusal_to = [&](const char* right) {
        const std::string_view words[] = {"lock", "path:/pub/*", "read", right};
        const auto client = std::make_shared<const rights::Token>(
            "ci", rights::Digest{}, rights::Grants::parse(words).value());
        BlockingLocks::Objection objection;
        EXPECT_EQ(ask_locks([&] {
                      objection =
                          locks_.check({.token = hidden, .client = client, .path = "/pub/a"});
                      return objection;
                  }),
                  409);
        return objection->body;
    };
    EXPECT_NE(refusal_to("path:/hidden/*").find("the lease is on path:/hidden/x"),
              std::string::npos);
    EXPECT_NE(refusal_to("path:/other").find("the lease is on something else"), std::string::npos);
    EXPECT_EQ(refusal_to("path:/other").find("hidden"), std::string::npos);
}

// A lease of bytes of the inode 7, which is at /x, shown by the session `s`.
class BlockingLocksBytesTest : public BlockingLocksTest {
  protected:
    int check() {
        return ask_locks([&] { return locks_.check(claim_); });
    }
    int borrow() {
        return ask_locks([&] { return locks_.borrow(claim_); });
    }

    const WriteHolds::Key key_{.session = "s", .path = "/x"};
    const BlockingLocks::TokenClaim claim_{
        .token = acquire(core::Scope::of_range(7, {.start = 0, .end = 10}), 1h, "tool"),
        .session_name = "s",
        .path = "/x",
        .inode_number = 7,
        .range = {.start = 2, .end = 4}};
};

TEST_F(BlockingLocksBytesTest, CountsForLessThanTheLockOnThePath) {
    EXPECT_EQ(check(), 0);
    acquire(core::Scope::path("/x"), 5s, "other");
    EXPECT_EQ(check(), 423);
    holds_.enter(key_);
    EXPECT_EQ(borrow(), 423);
    EXPECT_FALSE(holds_.leave(key_, false));
    parts_.advance(5s);
    run_all();
    EXPECT_EQ(check(), 0);
    acquire(core::Scope::path("/x"), 5s, "s");
    EXPECT_EQ(check(), 0) << "the session's own";
}

TEST_F(BlockingLocksBytesTest, BorrowsTheLockOnThePathForACommit) {
    holds_.enter(key_);
    EXPECT_EQ(borrow(), 0);
    EXPECT_EQ(borrow(), 0) << "asked again";
    EXPECT_EQ(parts_.service.counts().leases, 2U);
    BlockingLocks::TokenClaim of_other = claim_;
    of_other.session_name = "other";
    EXPECT_EQ(ask_locks([&] { return locks_.check(of_other); }), 0) << "it may be free in time";
    holds_.enter({.session = "other", .path = "/x"});
    EXPECT_EQ(ask_locks([&] { return locks_.borrow(of_other); }), 423);
    bool is_left = false;
    locks_.leave({.key = key_, .by = {}}, [&] { is_left = true; });
    run_all();
    EXPECT_TRUE(is_left);
    EXPECT_EQ(ask_locks([&] { return locks_.borrow(of_other); }), 0);
}

TEST_F(BlockingLocksBytesTest, BorrowsNothingUnderALeaseOfThePathItself) {
    BlockingLocks::TokenClaim of_path = claim_;
    of_path.token = acquire(core::Scope::path("/x"), 1h, "tool");
    EXPECT_EQ(ask_locks([&] { return locks_.check(of_path); }), 0);
    holds_.enter(key_);
    EXPECT_EQ(ask_locks([&] { return locks_.borrow(of_path); }), 0);
    EXPECT_EQ(check(), 0) << "whose holder has the lease of the bytes, too";
    EXPECT_EQ(borrow(), 0);
    EXPECT_FALSE(holds_.leave(key_, false));
    EXPECT_EQ(parts_.service.counts().leases, 2U);
}

// The first write gives the lock back while the second one relies on it: the lock must stay.
TEST_F(BlockingLocksTest, KeepsALockForAWriteThatEntersBeforeItIsGivenBack) {
    const WriteHolds::Key key{.session = "s", .path = "/x"};
    holds_.enter(key);
    holds_.set_lock(key, acquire(core::Scope::path("/x"), 5s), true);
    locks_.leave({.key = key, .has_written = true, .by = {}}, [] {});
    holds_.enter(key);
    run_all();
    EXPECT_EQ(parts_.service.counts().leases, 1U);
    locks_.leave({.key = key, .has_written = true, .by = {}}, [] {});
    run_all();
    EXPECT_EQ(parts_.service.counts().leases, 0U);
}

TEST_F(BlockingLocksTest, GivesBackAllOfOneSession) {
    acquire(core::Scope::path("/x"), 5s);
    acquire(core::Scope::path("/y"), 5s);
    acquire(core::Scope::path("/z"), 5s, "other");
    acquire(core::Scope::named("/x"), 5s);
    EXPECT_EQ(ask_locks([&]() -> BlockingLocks::Objection {
                  locks_.release_all("s", "ann");
                  return {};
              }),
              0);
    EXPECT_EQ(parts_.service.counts().leases, 2U);
}

TEST_F(BlockingLocksTest, TellsOfAStoreThatFails) {
    const core::Token token = acquire(core::Scope::path("/x"), 5s);
    acquire(core::Scope::path("/y"), 5s);
    ask(parts_.service, core::ReleaseRequest{.token = token}, [](const service::Response&) {});
    parts_.executor.settle();
    parts_.store.fail("disk full");
    EXPECT_EQ(ask_locks([&] { return locks_.keep({.token = token, .path = "/x"}); }), 503);
}

TEST_F(BlockingLocksTest, RefusesEveryQuestionWhenItCloses) {
    BlockingLocks::Objection objection;
    std::thread asker([&] { objection = locks_.keep({.path = "/x"}); });
    locks_.close();  // before or after the question: it is never answered
    asker.join();
    ASSERT_TRUE(objection);
    EXPECT_EQ(objection->status, 503);
    EXPECT_EQ(locks_.keep({.path = "/x"})->status, 503);
}

}  // namespace
}  // namespace holdfast::doors::hengdang
