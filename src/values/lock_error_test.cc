#include "holdfast/lock_error.h"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

TEST(LockError, IsASentence) {
    const std::chrono::system_clock::time_point noon =
        std::chrono::sys_days{std::chrono::January / 15 / 2024} + std::chrono::hours{12};
    const LockScope range = LockScope::ByteRange{.inode = 7, .start = 0, .end = 10};
    EXPECT_EQ(to_text(LockHeld{.scope = range, .holder = "w", .expires_at = noon}),
              "range:7:0-10 is held by w until 2024-01-15T12:00:00.000Z");
    EXPECT_EQ(to_text(LockNotFound{}), "there is no such lock");
    EXPECT_EQ(to_text(LockExpired{}), "the lock is over");
    EXPECT_EQ(to_text(LockScopeMismatch{
                  .held = range, .held_mode = LockMode::shared, .wanted = LockScope::Inode{7}}),
              "a lock on shared range:7:0-10 is not enough for inode:7");
    EXPECT_EQ(to_text(LockNotGuaranteed{}),
              "the lock may be over: no renewal was confirmed in time");
    EXPECT_EQ(to_text(LockNotGuaranteed{"disk full"}),
              "the lock may be over: no renewal was confirmed in time (disk full)");
    EXPECT_EQ(to_text(LockCancelled{}), "the request was cancelled");
    EXPECT_EQ(to_text(LockStoreFailure{.message = "disk full"}), "disk full");
    EXPECT_EQ(to_text(LockHeld{.scope = range}), range.to_text() + " was not granted in time");
    EXPECT_EQ(to_text(ServerUnavailable{.message = "no answer"}), "no answer");
    EXPECT_EQ(to_text(NotPermitted{.message = "no token"}), "no token");
    EXPECT_EQ(to_text(StaleFence{.resource = "bucket", .fencing_token = 3, .highest = 4}),
              "bucket was used under fencing token 4, which is larger than 3");
}

DeadlockMember waits(std::string holder, const char* scope, std::string held_by,
                     std::uint64_t fencing_token) {
    return {.holder = std::move(holder),
            .waits_for = LockScope::Named{scope},
            .held_by = std::move(held_by),
            .fencing_token = fencing_token};
}

TEST(LockError, OfADeadlockSaysWhoWaitsForWhom) {
    const auto ann = waits("ann", "b", "bob", 7);
    const auto bob = waits("bob", "a", "ann", 6);
    EXPECT_EQ(to_text({ann, bob}), "ann waits for bob, who holds b and waits for ann");
    EXPECT_EQ(
        to_text({ann, waits("bob", "c", "cid", 0), waits("cid", "a", "ann", 6)}),
        "ann waits for bob, who holds b and waits for cid, who is before it in the queue of c "
        "and waits for ann");
    EXPECT_EQ(to_text({waits("ann", "a", "ann", 6)}), "ann waits for ann, who holds a");
    EXPECT_EQ(to_text(LockDeadlock{.scope = LockScope::Named{"b"}, .cycle = {ann, bob}}),
              "waiting for b would never end: ann waits for bob, who holds b and waits for ann");
}

TEST(LockError, OfADeadlockDoesNotSayWhatIsHidden) {
    const DeadlockMember hidden{.is_hidden = true};
    const auto ann = waits("ann", "b", "bob", 7);
    EXPECT_EQ(to_text({ann, hidden}), "ann waits for bob, who holds b and waits for ann");
    EXPECT_EQ(to_text({hidden, ann}), "bob waits for ann, who waits for bob");
    EXPECT_EQ(to_text({ann, hidden, hidden}),
              "ann waits for bob, who holds b and waits for somebody, who waits for ann");
    EXPECT_EQ(to_text({hidden, hidden}), "somebody waits for somebody, who waits for somebody");
    EXPECT_NE(to_text(std::vector<DeadlockMember>{}), "");
}

}  // namespace
}  // namespace holdfast
