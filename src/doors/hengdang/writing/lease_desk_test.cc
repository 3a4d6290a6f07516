#include "doors/hengdang/writing/lease_desk.h"

#include <gtest/gtest.h>

#include <thread>

#include "service/doors.h"
#include "service/test_service.h"

namespace holdfast::doors::hengdang {
namespace {

using namespace std::chrono_literals;

// A service whose thread is the test's: questions are asked on another one.
class LeaseDeskTest : public ::testing::Test {
  protected:
    // The status of the objection that `question` ends with; 0 if there is none.
    template <class Question>
    int ask_desk(Question question) {
        LeaseDesk::Objection objection;
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

    core::Token take(const core::Scope& scope, core::Duration ttl, const char* owner = "s") {
        const core::AcquireRequest request{
            .scope = scope, .owner = {.door = service::hengdang_door, .name = owner}, .ttl = ttl};
        core::Token token;
        ask(parts_.service, request,
            [&](const service::Response& response) { token = response.outcome.lease.token; });
        settle();
        EXPECT_NE(token, core::Token{});
        return token;
    }
    void settle() {
        parts_.executor.settle();
        while (parts_.store.is_committing()) {
            parts_.store.finish();
            parts_.executor.settle();
        }
    }

    service::testing::TestService parts_{service::testing::Durability::full};
    LockTimes times_;
    WriteHolds holds_;
    LeaseDesk desk_{{.port = parts_.service,
                     .executor = parts_.executor,
                     .clock = parts_.clock,
                     .times = times_,
                     .holds = holds_}};
};

TEST_F(LeaseDeskTest, KeepsALeaseForAtLeastAMinute) {
    const core::Token token = take(core::Scope::path("/x"), 5s);
    EXPECT_EQ(ask_desk([&] { return desk_.keep({.token = token, .path = "/x"}); }), 0);
    parts_.advance(59s);
    settle();
    EXPECT_EQ(parts_.service.counts().leases, 1U);
    parts_.advance(1s);
    settle();
    EXPECT_EQ(parts_.service.counts().leases, 0U);
    EXPECT_EQ(ask_desk([&] { return desk_.keep({.token = token, .path = "/x"}); }), 423);
}

TEST_F(LeaseDeskTest, SaysWhoHasALockThatWasLost) {
    const core::Token token = take(core::Scope::path("/x"), 5s);
    parts_.advance(5s);
    settle();
    take(core::Scope::path("/x"), 5s, "other");
    LeaseDesk::Objection objection;
    EXPECT_EQ(ask_desk([&] {
                  objection = desk_.keep({.token = token, .path = "/x"});
                  return objection;
              }),
              423);
    EXPECT_NE(objection->body.find(R"("lockedBy":"other")"), std::string::npos);
}

TEST_F(LeaseDeskTest, HoldsUpALeaseThatIsAboutToEnd) {
    const core::Token token = take(core::Scope::of_range(7, {.start = 0, .end = 10}), 1s);
    const LeaseDesk::Shown shown{
        .token = token, .path = "/x", .inode_number = 7, .range = {.start = 2, .end = 4}};
    EXPECT_EQ(ask_desk([&] { return desk_.check(shown); }), 0);
    parts_.advance(4s);
    settle();
    EXPECT_EQ(parts_.service.counts().leases, 1U);
    parts_.advance(1s);
    settle();
    EXPECT_EQ(ask_desk([&] { return desk_.check(shown); }), 410);
}

// A lease of bytes of the inode 7, which is at /x, shown by the session `s`.
class LeaseDeskBytesTest : public LeaseDeskTest {
  protected:
    int check() {
        return ask_desk([&] { return desk_.check(shown_); });
    }
    int borrow() {
        return ask_desk([&] { return desk_.borrow(shown_); });
    }

    const WriteHolds::Key key_{.session = "s", .path = "/x"};
    const LeaseDesk::Shown shown_{
        .token = take(core::Scope::of_range(7, {.start = 0, .end = 10}), 1h, "tool"),
        .session_name = "s",
        .path = "/x",
        .inode_number = 7,
        .range = {.start = 2, .end = 4}};
};

TEST_F(LeaseDeskBytesTest, CountsForLessThanTheLockOnThePath) {
    EXPECT_EQ(check(), 0);
    take(core::Scope::path("/x"), 5s, "other");
    EXPECT_EQ(check(), 423);
    holds_.enter(key_);
    EXPECT_EQ(borrow(), 423);
    EXPECT_FALSE(holds_.leave(key_, false));
    parts_.advance(5s);
    settle();
    EXPECT_EQ(check(), 0);
    take(core::Scope::path("/x"), 5s, "s");
    EXPECT_EQ(check(), 0) << "the session's own";
}

TEST_F(LeaseDeskBytesTest, BorrowsTheLockOnThePathForACommit) {
    holds_.enter(key_);
    EXPECT_EQ(borrow(), 0);
    EXPECT_EQ(borrow(), 0) << "asked again";
    EXPECT_EQ(parts_.service.counts().leases, 2U);
    LeaseDesk::Shown of_other = shown_;
    of_other.session_name = "other";
    EXPECT_EQ(ask_desk([&] { return desk_.check(of_other); }), 0) << "it may be free in time";
    holds_.enter({.session = "other", .path = "/x"});
    EXPECT_EQ(ask_desk([&] { return desk_.borrow(of_other); }), 423);
    bool is_left = false;
    desk_.leave(key_, false, [&] { is_left = true; });
    settle();
    EXPECT_TRUE(is_left);
    EXPECT_EQ(ask_desk([&] { return desk_.borrow(of_other); }), 0);
}

TEST_F(LeaseDeskBytesTest, BorrowsNothingUnderALeaseOfThePathItself) {
    LeaseDesk::Shown of_path = shown_;
    of_path.token = take(core::Scope::path("/x"), 1h, "tool");
    EXPECT_EQ(ask_desk([&] { return desk_.check(of_path); }), 0);
    holds_.enter(key_);
    EXPECT_EQ(ask_desk([&] { return desk_.borrow(of_path); }), 0);
    EXPECT_EQ(check(), 0) << "whose holder has the lease of the bytes, too";
    EXPECT_EQ(borrow(), 0);
    EXPECT_FALSE(holds_.leave(key_, false));
    EXPECT_EQ(parts_.service.counts().leases, 2U);
}

// A lock that one write of the session gives back must not be taken from under the next one.
TEST_F(LeaseDeskTest, KeepsALockForAWriteThatEntersBeforeItIsGivenBack) {
    const WriteHolds::Key key{.session = "s", .path = "/x"};
    holds_.enter(key);
    holds_.take(key, take(core::Scope::path("/x"), 5s), true);
    desk_.leave(key, true, [] {});
    holds_.enter(key);
    settle();
    EXPECT_EQ(parts_.service.counts().leases, 1U);
    desk_.leave(key, true, [] {});
    settle();
    EXPECT_EQ(parts_.service.counts().leases, 0U);
}

TEST_F(LeaseDeskTest, GivesBackAllOfOneSession) {
    take(core::Scope::path("/x"), 5s);
    take(core::Scope::path("/y"), 5s);
    take(core::Scope::path("/z"), 5s, "other");
    take(core::Scope::named("/x"), 5s);
    EXPECT_EQ(ask_desk([&]() -> LeaseDesk::Objection {
                  desk_.release_all("s");
                  return {};
              }),
              0);
    EXPECT_EQ(parts_.service.counts().leases, 2U);
}

TEST_F(LeaseDeskTest, TellsOfAStoreThatFails) {
    const core::Token token = take(core::Scope::path("/x"), 5s);
    take(core::Scope::path("/y"), 5s);
    ask(parts_.service, core::ReleaseRequest{.token = token}, [](const service::Response&) {});
    parts_.executor.settle();
    parts_.store.fail("disk full");
    EXPECT_EQ(ask_desk([&] { return desk_.keep({.token = token, .path = "/x"}); }), 503);
}

TEST_F(LeaseDeskTest, SendsHomeWhoWaitsWhenItCloses) {
    LeaseDesk::Objection objection;
    std::thread asker([&] { objection = desk_.keep({.path = "/x"}); });
    desk_.close();  // before or after the question: it is never answered
    asker.join();
    ASSERT_TRUE(objection);
    EXPECT_EQ(objection->status, 503);
    EXPECT_EQ(desk_.keep({.path = "/x"})->status, 503);
}

}  // namespace
}  // namespace holdfast::doors::hengdang
