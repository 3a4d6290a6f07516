#include "values/lease_request.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace holdfast::values {
namespace {

std::string note_of(const LeaseRequest& request) {
    const auto fault = find_fault(request);
    return fault ? to_text(*fault) : "ok";
}

TEST(LeaseRequest, OfANameWithALimitIsForASemaphore) {
    EXPECT_EQ(scope_of({.scope = LockScope::Named{"x"}}), LockScope(LockScope::Named{"x"}));
    EXPECT_EQ(scope_of({.scope = LockScope::Named{"x"}, .limit = 2}),
              LockScope(LockScope::Semaphore{"x"}));
    EXPECT_EQ(scope_of({.scope = LockScope::Semaphore{"x"}}), LockScope(LockScope::Semaphore{"x"}));
    EXPECT_EQ(scope_of({.scope = LockScope::Inode{7}}), LockScope(LockScope::Inode{7}));
}

TEST(LeaseRequest, ThatMakesNoSenseIsAnsweredInASentence) {
    using std::chrono::milliseconds;
    EXPECT_EQ(note_of({.scope = LockScope::Named{"x"}}), "ok");
    EXPECT_EQ(note_of({.scope = LockScope::Named{"x"}, .limit = 3}), "ok");
    EXPECT_EQ(note_of({.scope = LockScope::Semaphore{"x"}, .limit = 1}), "ok");
    EXPECT_EQ(note_of({.scope = LockScope::Named{"x"}, .limit = 0}),
              "a limit of 0 would let nobody in");
    EXPECT_EQ(note_of({.scope = LockScope::Inode{7}, .limit = 2}),
              "only a name can be a semaphore: inode:7");
    EXPECT_EQ(note_of({.scope = LockScope::Named{"x"}, .ttl = milliseconds{0}}),
              "a lease must last for a millisecond at least");
}

TEST(LeaseRequest, HasAnOwnerOfThisProcessIfNobodyNamesOne) {
    EXPECT_NE(make_owner().find("-" + std::to_string(::getpid()) + "-"), std::string::npos);
    EXPECT_NE(make_owner(), make_owner());
}

}  // namespace
}  // namespace holdfast::values
