#include "cluster/records/records.h"

#include <gtest/gtest.h>

#include "cluster/guarded_commit.h"
#include "cluster/housekeeping.h"

namespace holdfast::cluster {
namespace {

using namespace std::chrono_literals;

TEST(Records, ComeBackAsTheyWere) {
    const Leader leader{.name = "a", .peer = "h:1", .epoch = 3, .since = service::WallTime{5s}};
    EXPECT_EQ(to_text(leader),
              R"({"node":"a","peer":"h:1","epoch":3,"since":"1970-01-01T00:00:05.000Z"})");
    EXPECT_EQ(parse_leader(to_text(leader)).value(), leader);
    const Node node{.name = "a", .peer = "h:1", .version = "2", .started = service::WallTime{5s}};
    EXPECT_EQ(to_text(node),
              R"({"name":"a","peer":"h:1","version":"2","started":"1970-01-01T00:00:05.000Z"})");
    EXPECT_EQ(parse_node(to_text(node)).value(), node);
    const Counter counter{.number = 17, .fence = 1768473000000000};
    EXPECT_EQ(to_text(counter), "17 1768473000000000");
    EXPECT_EQ(parse_counter(to_text(counter)).value(), counter);
}

TEST(Records, ThatAreDamagedAreRefused) {
    for (const char* text :
         {"", "17", "17 ", " 5", "017 5", "17 5 ", "17 9007199254740992", "a b"}) {
        EXPECT_FALSE(parse_counter(text)) << text;
    }
    for (const char* text : {"", "{}", "[]", R"({"node":1})"}) {
        EXPECT_FALSE(parse_leader(text)) << text;
        EXPECT_FALSE(parse_node(text)) << text;
    }
    EXPECT_FALSE(parse_epoch("1.5"));
    EXPECT_EQ(parse_epoch("5").value(), 5U);
}

// What judge() says, in the words of the table in guarded_commit.h.
TEST(GuardedCommit, IsJudgedByWhatEtcdHas) {
    const Keys keys("h");
    const Term term{.elected_at = 50, .counter = {.number = 4, .fence = 9}};
    const GuardedStep step = plan_first_commit(keys, term, {.name = "a", .epoch = 2}, 7);
    EXPECT_EQ(to_text(step.after), "5 9");
    const auto refused = [](etcd::Revision created, const std::string& counter) {
        return etcd::TransactionAnswer{
            .ranges = {{.found = {{.create_revision = created}}}, {.found = {{.value = counter}}}}};
    };
    const auto failed = [](etcd::Failure::Kind kind) {
        return tl::unexpected(etcd::Failure{.kind = kind, .message = "no"});
    };
    std::string why;
    const auto verdict = [&](const etcd::Answer<etcd::TransactionAnswer>& answer) {
        return judge(step, 50, answer, why);
    };
    EXPECT_EQ(verdict(etcd::TransactionAnswer{.is_true = true}), Verdict::done);
    EXPECT_EQ(verdict(refused(50, "5 9")), Verdict::done) << "it was done before";
    EXPECT_EQ(verdict(refused(50, "6 9")), Verdict::deposed);
    EXPECT_EQ(verdict(refused(50, "4 9")), Verdict::deposed);
    EXPECT_EQ(verdict(refused(51, "5 9")), Verdict::deposed) << "by another leader";
    EXPECT_EQ(verdict(etcd::TransactionAnswer{.ranges = {{}, {}}}), Verdict::deposed);
    EXPECT_EQ(verdict(failed(etcd::Failure::Kind::unknown)), Verdict::again);
    EXPECT_EQ(verdict(failed(etcd::Failure::Kind::not_done)), Verdict::again);
    EXPECT_EQ(verdict(failed(etcd::Failure::Kind::no_space)), Verdict::full);
    EXPECT_EQ(verdict(failed(etcd::Failure::Kind::no_lease)), Verdict::deposed);
    EXPECT_EQ(verdict(failed(etcd::Failure::Kind::rejected)), Verdict::rejected);
    EXPECT_EQ(why, "no");

    const auto checked = [&](const etcd::Answer<etcd::TransactionAnswer>& answer) {
        return judge_check(step, 50, answer, why);
    };
    EXPECT_EQ(checked(etcd::TransactionAnswer{.is_true = true}), Verdict::full);
    EXPECT_EQ(checked(refused(50, "5 9")), Verdict::done) << "although etcd was full";
    EXPECT_EQ(checked(refused(50, "6 9")), Verdict::deposed);
    EXPECT_EQ(checked(refused(51, "5 9")), Verdict::deposed);
    EXPECT_EQ(checked(failed(etcd::Failure::Kind::unknown)), Verdict::again);
    EXPECT_EQ(checked(failed(etcd::Failure::Kind::rejected)), Verdict::deposed);
}

TEST(History, KeepsAMinuteAndTwoHundredTransactions) {
    History history;
    core::Time now{1h};
    for (int second = 0; second < 59; ++second, now += 1s) {
        for (int count = 0; count < 10; ++count) history.add(now, 100 + second * 10 + count);
        EXPECT_EQ(history.take_due(now), std::nullopt);
    }
    now += 1s;
    history.add(now, 1000);
    EXPECT_EQ(history.take_due(now), 100) << "what there was sixty seconds ago";
    now += 30s;
    EXPECT_EQ(history.take_due(now), std::nullopt) << "too few transactions";
    for (int count = 0; count < 200; ++count) history.add(now, 2000);
    EXPECT_EQ(history.take_due(now), 400);
}

TEST(GrowthRefusal, ComesAt85PercentOrWithTheAlarm) {
    EtcdPicture etcd{.database_bytes = 84, .quota_bytes = 100};
    EXPECT_EQ(growth_refusal(etcd), "");
    etcd.database_bytes = 85;
    EXPECT_NE(growth_refusal(etcd), "");
    etcd.database_bytes = 0;
    etcd.alarms = {"memberID:1 alarm:NOSPACE"};
    EXPECT_NE(growth_refusal(etcd), "");
}

TEST(VersionWarning, IsForVersionsBefore35) {
    EXPECT_NE(version_warning("3.4.23"), "");
    EXPECT_EQ(version_warning("3.5.28"), "");
    EXPECT_EQ(version_warning("3.6.9"), "");
    EXPECT_EQ(version_warning("4.0"), "");
    EXPECT_EQ(version_warning("?"), "");
}

}  // namespace
}  // namespace holdfast::cluster
