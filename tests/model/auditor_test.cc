// The auditor must notice what it is there to notice: stories that break one invariant each.

#include "model/auditor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace holdfast::model {
namespace {

using namespace core;
using std::chrono::milliseconds;
using testing::HasSubstr;

Time at(int ms) {
    return Time{milliseconds{ms}};
}

// Tells the auditor a story of events and keeps its first complaint.
class AuditorTest : public testing::Test {
  protected:
    struct Told {
        EventKind kind = EventKind::granted;
        int ms = 0;
        Scope scope = Scope::named("a");
        std::uint64_t fence = 0;
        std::uint64_t waiter = 0;
        Mode mode = Mode::exclusive;
        int expires_ms = 100;
        int grace_until_ms = 100;
        std::string_view owner = "ann";
        std::size_t queue_length = 0;
        std::uint32_t limit = 1;
    };

    void tell(const Told& told) {
        Event event{.kind = told.kind, .at = at(told.ms)};
        event.lease.scope = told.scope;
        event.lease.owner = {Door{0}, told.owner};
        event.lease.mode = told.mode;
        event.lease.token.fence = Fence{told.fence};
        event.lease.expires_at = at(told.expires_ms);
        event.lease.grace_until = at(told.grace_until_ms);
        event.waiter.serial = told.waiter;
        event.queue_length = told.queue_length;
        event.limit = told.limit;
        const auto complaint = auditor_.see(event);
        if (complaint && complaint_.empty()) complaint_ = *complaint;
    }

    Auditor auditor_;
    std::string complaint_;
};

TEST_F(AuditorTest, AcceptsAnOrderlyHandOff) {
    tell({.kind = EventKind::granted, .fence = 1});
    tell({.kind = EventKind::queued, .waiter = 9, .queue_length = 1});
    tell({.kind = EventKind::expired, .ms = 100, .fence = 1, .queue_length = 1});
    tell({.kind = EventKind::granted, .ms = 100, .fence = 2, .waiter = 9, .expires_ms = 200});
    EXPECT_EQ(complaint_, "");
    EXPECT_EQ(auditor_.holds(), 1u);
    EXPECT_EQ(auditor_.waits(), 0u);
}

TEST_F(AuditorTest, NoticesTwoHoldersOfOneName) {
    tell({.kind = EventKind::granted, .fence = 1});
    tell({.kind = EventKind::granted, .fence = 2});
    EXPECT_THAT(complaint_, HasSubstr("it is held"));
}

TEST_F(AuditorTest, NoticesAReaderBesideAWriterOfAnOverlappingRange) {
    tell({.kind = EventKind::granted, .scope = Scope::of_range(1, {0, 11}), .fence = 1});
    tell({.kind = EventKind::granted,
          .scope = Scope::of_range(1, {10, 20}),
          .fence = 2,
          .mode = Mode::shared});
    EXPECT_THAT(complaint_, HasSubstr("it is held"));
}

TEST_F(AuditorTest, AcceptsNeighbouringRanges) {
    tell({.kind = EventKind::granted, .scope = Scope::of_range(1, {0, 10}), .fence = 1});
    tell({.kind = EventKind::granted, .scope = Scope::of_range(1, {10, 20}), .fence = 2});
    EXPECT_EQ(complaint_, "");
}

TEST_F(AuditorTest, NoticesOnePermitTooMany) {
    const Scope scope = Scope::semaphore("a");
    for (std::uint64_t fence = 1; fence <= 3; ++fence) {
        EXPECT_EQ(complaint_, "");
        tell({.kind = EventKind::granted, .scope = scope, .fence = fence, .limit = 2});
    }
    EXPECT_THAT(complaint_, HasSubstr("no permit is left"));
}

TEST_F(AuditorTest, NoticesAFencingNumberUsedTwice) {
    tell({.kind = EventKind::granted, .fence = 1});
    tell({.kind = EventKind::granted, .scope = Scope::named("b"), .fence = 1});
    EXPECT_THAT(complaint_, HasSubstr("does not grow"));
}

TEST_F(AuditorTest, NoticesAGrantToAWaiterThatTimedOut) {
    tell({.kind = EventKind::granted, .fence = 1});
    tell({.kind = EventKind::queued, .waiter = 9, .queue_length = 1});
    tell({.kind = EventKind::wait_timed_out, .ms = 5, .waiter = 9});
    tell({.kind = EventKind::released, .ms = 6, .fence = 1});
    tell({.kind = EventKind::granted, .ms = 6, .fence = 2, .waiter = 9});
    EXPECT_THAT(complaint_, HasSubstr("gone is granted"));
}

TEST_F(AuditorTest, NoticesAGrantOutOfTurn) {
    tell({.kind = EventKind::granted, .fence = 1});
    tell({.kind = EventKind::queued, .waiter = 8, .queue_length = 1});
    tell({.kind = EventKind::queued, .waiter = 9, .queue_length = 2});
    tell({.kind = EventKind::released, .fence = 1, .queue_length = 2});
    tell({.kind = EventKind::granted, .fence = 2, .waiter = 9, .queue_length = 1});
    EXPECT_THAT(complaint_, HasSubstr("somebody else's turn"));
}

TEST_F(AuditorTest, NoticesATryThatPassesTheQueue) {
    tell({.kind = EventKind::granted, .fence = 1, .mode = Mode::shared});
    tell({.kind = EventKind::queued, .waiter = 8, .queue_length = 1});
    tell({.kind = EventKind::granted, .fence = 2, .mode = Mode::shared, .queue_length = 1});
    EXPECT_THAT(complaint_, HasSubstr("somebody else's turn"));
}

TEST_F(AuditorTest, LetsOnlyTheLastOwnerPassTheQueueAfterItsGrace) {
    for (const std::string_view owner : {"ann", "bob"}) {
        auditor_ = {};
        complaint_.clear();
        tell({.kind = EventKind::granted, .fence = 1, .grace_until_ms = 200});
        tell({.kind = EventKind::queued, .waiter = 8, .queue_length = 1});
        tell({.kind = EventKind::expired, .ms = 100, .fence = 1, .queue_length = 1});
        tell({.kind = EventKind::grace_ended, .ms = 150, .fence = 1, .queue_length = 1});
        tell({.kind = EventKind::granted,
              .ms = 150,
              .fence = 2,
              .expires_ms = 300,
              .owner = owner,
              .queue_length = 1});
        EXPECT_EQ(complaint_.empty(), owner == "ann") << complaint_;
    }
}

TEST_F(AuditorTest, NoticesAnExpiryBeforeItsTime) {
    tell({.kind = EventKind::granted, .fence = 1});
    tell({.kind = EventKind::expired, .ms = 99, .fence = 1});
    EXPECT_THAT(complaint_, HasSubstr("too early"));
}

TEST_F(AuditorTest, NoticesAnExpiryThatDoesNotHappen) {
    tell({.kind = EventKind::granted, .fence = 1});
    EXPECT_FALSE(auditor_.find_overdue(at(99)));
    EXPECT_TRUE(auditor_.find_overdue(at(100)));
}

TEST_F(AuditorTest, NoticesARenewalAfterTheEnd) {
    tell({.kind = EventKind::granted, .fence = 1, .grace_until_ms = 200});
    tell({.kind = EventKind::expired, .ms = 100, .fence = 1});
    tell({.kind = EventKind::renewed, .ms = 100, .fence = 1, .expires_ms = 200});
    EXPECT_THAT(complaint_, HasSubstr("has ended is renewed"));
}

TEST_F(AuditorTest, NoticesAQueueThatIsNotAsLongAsItSays) {
    tell({.kind = EventKind::granted, .fence = 1});
    tell({.kind = EventKind::queued, .waiter = 8, .queue_length = 2});
    EXPECT_THAT(complaint_, HasSubstr("not as long"));
}

}  // namespace
}  // namespace holdfast::model
