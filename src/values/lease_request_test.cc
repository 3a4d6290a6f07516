#include "values/lease_request.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace holdfast::values {
namespace {

std::string note_of(const LeaseRequest& request) {
    const auto fault = find_fault(request);
    return fault ? to_text(*fault) : "ok";
}

// A lock from its text form.
LockSetMember on(std::string_view text) {
    return {.scope = LockScope::parse(text).value()};
}

LockScope scope_of(const LeaseRequest& request) {
    return members_of(request).front().scope;
}

TEST(LeaseRequest, OfANameWithALimitIsForASemaphore) {
    EXPECT_EQ(scope_of({.scope = LockScope::Named{"x"}}), LockScope(LockScope::Named{"x"}));
    EXPECT_EQ(scope_of({.scope = LockScope::Named{"x"}, .limit = 2}),
              LockScope(LockScope::Semaphore{"x"}));
    EXPECT_EQ(scope_of({.scope = LockScope::Semaphore{"x"}}), LockScope(LockScope::Semaphore{"x"}));
    EXPECT_EQ(scope_of({.scope = LockScope::Inode{7}}), LockScope(LockScope::Inode{7}));
}

TEST(LeaseRequest, IsForOneLockOrForSeveral) {
    EXPECT_EQ(members_of({.scope = LockScope::Path{"/x"}, .mode = LockMode::shared}),
              (std::vector<LockSetMember>{{LockScope::Path{"/x"}, LockMode::shared}}));
    const LeaseRequest several{.scopes = {{LockScope::Path{"/x"}, LockMode::shared},
                                          {.scope = LockScope::Named{"s"}, .limit = 3}}};
    EXPECT_EQ(members_of(several),
              (std::vector<LockSetMember>{{LockScope::Path{"/x"}, LockMode::shared},
                                          {.scope = LockScope::Semaphore{"s"}, .limit = 3}}));
    EXPECT_EQ(note_of(several), "ok");
}

TEST(LeaseRequest, ForSeveralLocksThatMakesNoSenseIsAnsweredInASentence) {
    const LockSetMember a = on("a"), b = on("b");
    LockSetMember limited = a;
    limited.limit = 2;
    EXPECT_EQ(note_of({.scope = LockScope::Named{"x"}, .scopes = {a, b}}),
              "of several locks, each has a scope, a mode and a limit of its own");
    EXPECT_EQ(note_of({.mode = LockMode::shared, .scopes = {a, b}}),
              "of several locks, each has a scope, a mode and a limit of its own");
    EXPECT_EQ(note_of({.scopes = {a, b, a}}), "a and a overlap: a lease is on each lock once");
    EXPECT_EQ(note_of({.scopes = {a, limited}}),
              "a and semaphore:a overlap: a lease is on each lock once");
    EXPECT_EQ(note_of({.scopes = {on("range:7:0-9"), on("inode:7")}}),
              "range:7:0-9 and inode:7 overlap: a lease is on each lock once");
    EXPECT_EQ(note_of({.scopes = {on("range:7:0-9"), on("range:7:9-12"), on("inode:8"),
                                  on("path:a"), a}}),
              "ok");
    LockSetMember inode = on("inode:7");
    inode.limit = 2;
    EXPECT_EQ(note_of({.scopes = {a, inode}}), "only a name can be a semaphore: inode:7");
    LeaseRequest many;
    for (int index = 0; index < 65; ++index) {
        many.scopes.push_back(on("inode:" + std::to_string(index)));
    }
    EXPECT_EQ(note_of(many), "a lease can be on 64 locks at most, not on 65");
    many.scopes.pop_back();
    EXPECT_EQ(note_of(many), "ok");
}

TEST(LeaseRequest, HasAWaiterOfThisThreadIfNobodyNamesOne) {
    const std::string here = waiter_of_this_thread();
    EXPECT_EQ(waiter_of_this_thread(), here);
    std::string there;
    std::thread([&there] { there = waiter_of_this_thread(); }).join();
    EXPECT_NE(here, there);
    EXPECT_NE(there, "");
}

TEST(Lease, CoversWhatOneOfItsLocksCovers) {
    const Lease several{
        .scope = LockScope::Inode{7},
        .scopes = {{LockScope::Inode{7}}, {LockScope::Path{"/x"}, LockMode::shared}}};
    EXPECT_TRUE(several.covers(LockScope::ByteRange{7, 0, 9}));
    EXPECT_TRUE(several.covers(LockScope::Path{"/x"}, LockMode::shared));
    EXPECT_FALSE(several.covers(LockScope::Path{"/x"}));
    EXPECT_FALSE(several.covers(LockScope::Named{"x"}));
    EXPECT_EQ(several.scopes_text(), "inode:7, path:/x");
    const Lease one{.scope = LockScope::Path{"/x"}, .mode = LockMode::shared};
    EXPECT_TRUE(one.covers(LockScope::Path{"/x"}, LockMode::shared));
    EXPECT_FALSE(one.covers(LockScope::Path{"/x"}));
    EXPECT_EQ(one.scopes_text(), "path:/x");
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
    EXPECT_NE(make_holder().find("-" + std::to_string(::getpid()) + "-"), std::string::npos);
    EXPECT_NE(make_holder(), make_holder());
}

}  // namespace
}  // namespace holdfast::values
