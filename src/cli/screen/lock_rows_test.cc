#include "cli/screen/lock_rows.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

base::JsonValue json(const char* text) {
    return base::JsonValue::parse(text).value();
}

TEST(LockRows, ReadsAListedLock) {
    const LockRow lock = read_listed_lock(
        json(R"({"lock_name":"p","kind":"semaphore","held":true,"waiters":2,"limit":3,"holders":[)"
             R"({"owner_id":"a","fencing_token":5,"lease_expiry_ms":9,"mode":"shared",)"
             R"("door":"scoped","acquired_ms":1,"ttl_ms":8},{"owner_id":"b"}]})"));
    EXPECT_EQ(lock.name, "p");
    EXPECT_EQ(lock.waiter_count, 2U);
    EXPECT_EQ(kind_text(lock), "semaphore 2/3");
    ASSERT_EQ(lock.holders.size(), 2U);
    EXPECT_EQ(lock.holders[0].fencing_token, 5U);
    EXPECT_EQ(lock.holders[0].mode, "shared");
    EXPECT_EQ(lock.holders[0].expires_ms, 9);
    EXPECT_EQ(lock.holders[1].mode, "exclusive");
}

TEST(LockRows, ALoneHolderIsShownInAnotherWay) {
    const LockRow lock = read_shown_lock(
        json(R"({"lock_name":"x","held":true,"owner_id":"w1","fencing_token":5,)"
             R"("lease_expiry_ms":9,"metadata":"m","queue_length":7,"queue":[{"place":1,)"
             R"("owner_id":"w2","mode":"exclusive","waiting_since_ms":3,"waits_for":"w1"}]})"));
    ASSERT_EQ(lock.holders.size(), 1U);
    EXPECT_EQ(lock.holders[0].owner, "w1");
    EXPECT_EQ(lock.holders[0].metadata, "m");
    EXPECT_EQ(lock.waiter_count, 7U);
    ASSERT_EQ(lock.waiters.size(), 1U);
    EXPECT_EQ(lock.waiters[0].waits_for, "w1");
    EXPECT_EQ(lock.waiters[0].until_ms, 0);
    EXPECT_EQ(kind_text(lock), "named");
}

TEST(LockRows, AddsTheHoldersThatWereLeftOut) {
    LockRow lock = read_listed_lock(
        json(R"({"lock_name":"a b","kind":"semaphore","held":true,"waiters":0,"limit":9,)"
             R"("holder_count":5,"holders":[{"owner_id":"a"},{"owner_id":"b"}],)"
             R"("holders_next":"12"})"));
    EXPECT_EQ(kind_text(lock), "semaphore 5/9");
    EXPECT_EQ(lock.holders_left_out, 3U);
    std::vector<std::string> targets;
    const auto all = add_other_holders(lock, [&](const std::string& target) {
        targets.push_back(target);
        return targets.size() == 1
                   ? json(R"({"held":true,"holder_count":5,"holders":[{"owner_id":"c"},)"
                          R"({"owner_id":"d"}],"holders_next":"14"})")
                   : json(R"({"held":true,"holders":[{"owner_id":"e"}]})");
    });
    ASSERT_TRUE(all);
    EXPECT_EQ(targets,
              (std::vector<std::string>{"/v1/locks/a%20b?kind=semaphore&holders_after=12",
                                        "/v1/locks/a%20b?kind=semaphore&holders_after=14"}));
    ASSERT_EQ(lock.holders.size(), 5U);
    EXPECT_EQ(lock.holders[4].owner, "e");
    EXPECT_EQ(kind_text(lock), "semaphore 5/9");
}

TEST(LockRows, SayWhyHoldersCouldNotBeAdded) {
    LockRow lock{.name = "x", .holders_next = "7"};
    const auto all = add_other_holders(lock, [](const std::string&) -> Asked<base::JsonValue> {
        return tl::unexpected(Failure{.exit_code = 69, .message = "gone"});
    });
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().message, "gone");
}

TEST(LockRows, KnowANameByItsBytesIfItIsNotUtf8) {
    const LockRow lock = read_listed_lock(
        json(R"({"lock_name":"\ufffdbad","name_bytes":"%FFbad","kind":"path","holders":[]})"));
    EXPECT_EQ(lock.name,
              "\xff"
              "bad");
    EXPECT_EQ(lock_target(lock.name, lock.kind), "/v1/locks/%FFbad?kind=path");
}

TEST(LockRows, DoNotAskForEverForAPageThatLeadsToItself) {
    LockRow lock{.name = "x", .holders_next = "7"};
    int asked = 0;
    const auto all = add_other_holders(lock, [&](const std::string&) -> Asked<base::JsonValue> {
        EXPECT_LT(++asked, 3);
        return json(R"({"held":true,"holders":[],"holders_next":"7"})");
    });
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().message, "the server's listing does not go on after 7");
    EXPECT_EQ(next_page(json("17"), "16").value(), "17");
    EXPECT_EQ(next_page(json("null"), "").value(), "");
}

TEST(LockRows, OfNothingAreEmpty) {
    EXPECT_TRUE(read_shown_lock(json(R"({"lock_name":"x","held":false})")).holders.empty());
    EXPECT_TRUE(read_listed_lock(json("[]")).holders.empty());
    EXPECT_EQ(number_of(json("\"text\"")), 0);
}

}  // namespace
}  // namespace holdfast::cli
