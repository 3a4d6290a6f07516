#include "sdk/fences.h"

#include <gtest/gtest.h>

#include "sdk/http/test_json_peer.h"

namespace holdfast::sdk {
namespace {

struct TestFences {
    explicit TestFences(PeerAnswer answer)
        : peer([answer](const SeenRequest&, int) { return answer; }) {}

    JsonPeer peer;
    std::unique_ptr<Exchange> exchange = *Exchange::open(peer.options());
};

TEST(Fences, AreShownANumber) {
    TestFences test({.body = R"({"resource":"a/b","fencing_token":34,"highest":34})"});
    EXPECT_EQ(*pass_fence(*test.exchange, "a/b", 34), 34U);
    const auto seen = test.peer.seen();
    EXPECT_EQ(seen[0].line, "POST /v1/fence/a%2Fb");
    EXPECT_EQ(seen[0].body["fencing_token"].natural(), 34U);
}

TEST(Fences, RefuseASmallerNumber) {
    TestFences test({.status = 409,
                     .body = R"({"error":"StaleFence","message":"no","resource":"bucket",)"
                             R"("fencing_token":33,"highest":34})"});
    const auto refused = pass_fence(*test.exchange, "bucket", 33);
    ASSERT_FALSE(refused);
    const auto* const stale = std::get_if<StaleFence>(&refused.error());
    ASSERT_TRUE(stale);
    EXPECT_EQ(stale->resource, "bucket");
    EXPECT_EQ(stale->fencing_token, 33U);
    EXPECT_EQ(stale->highest, 34U);
}

TEST(Fences, AreReadAndMayBeUnknown) {
    TestFences known({.body = R"({"resource":"bucket","highest":34})"});
    EXPECT_EQ(*get_fence(*known.exchange, "bucket"), 34U);
    TestFences unknown({.status = 404, .body = R"({"error":"FenceNotFound","message":"no"})"});
    EXPECT_EQ(*get_fence(*unknown.exchange, "bucket"), std::nullopt);
}

TEST(Fences, SayWhatMakesNoSense) {
    TestFences test({.body = "[]"});
    EXPECT_EQ(to_text(pass_fence(*test.exchange, "x", 1).error()), "the answer makes no sense");
    EXPECT_EQ(to_text(get_fence(*test.exchange, "x").error()), "the answer makes no sense");
    EXPECT_EQ(to_text(check(*test.exchange, "t", LockScope::Inode{7}, LockMode::shared).error()),
              "the answer makes no sense");
}

TEST(Fences, CheckWhatATokenIsGoodFor) {
    const LockScope inode = LockScope::Inode{7};
    TestFences shared({.body =
                           R"({"token":"t","fencing_token":7,"scope":{"kind":"inode","inode":7},)"
                           R"("holder":"w","mode":"shared","duration_ms":5})"});
    EXPECT_TRUE(check(*shared.exchange, "t", inode, LockMode::shared));
    EXPECT_EQ(to_text(check(*shared.exchange, "t", inode, LockMode::exclusive).error()),
              "a lock on shared inode:7 is not enough for inode:7");
    TestFences mismatch({.status = 409,
                         .body = R"({"error":"LockScopeMismatch","message":"no",)"
                                 R"("scope":{"kind":"range","inode":7,"start":0,"end":5}})"});
    EXPECT_EQ(to_text(check(*mismatch.exchange, "t", inode, LockMode::exclusive).error()),
              "a lock on range:7:0-5 is not enough for inode:7");
    TestFences over({.status = 410, .body = R"({"error":"LockExpired","message":"over"})"});
    EXPECT_EQ(to_text(check(*over.exchange, "t", inode, LockMode::exclusive).error()),
              "the lock is over");
}

}  // namespace
}  // namespace holdfast::sdk
