#include "etcd/probe.h"

#include <gtest/gtest.h>

#include "etcd/test_calls.h"
#include "etcd/test_etcd.h"

namespace holdfast::etcd {
namespace {

using Kind = Failure::Kind;

TEST(JudgeVersion, RefusesWhatIsTooOldOrNotEtcd) {
    for (const char* version : {"3.3.27", "2.3.8", "", "etcd", "3.5", "3.5.1.1", "3..1"}) {
        const auto judged = judge_version(version);
        ASSERT_FALSE(judged) << version;
        EXPECT_EQ(judged.error().kind, Kind::rejected);
        EXPECT_FALSE(judged.error().message.empty());
    }
}

TEST(JudgeVersion, WarnsOfWhatLacksFixes) {
    for (const char* version :
         {"3.4.0", "3.4.23", "3.5.0", "3.5.27", "3.6.0", "3.6.8", "3.6.0-rc.1"}) {
        const auto judged = judge_version(version);
        ASSERT_TRUE(judged) << version;
        EXPECT_EQ(judged->size(), 1U) << version;
    }
    for (const char* version : {"3.5.28", "3.5.100", "3.6.9", "3.7.0", "4.0.0"}) {
        const auto judged = judge_version(version);
        ASSERT_TRUE(judged) << version;
        EXPECT_TRUE(judged->empty()) << version;
    }
}

TEST(JudgeVersion, WarnsMoreOfWhatEndsLeasesThatLive) {
    const auto ends_leases = [](const char* version) {
        return judge_version(version)->front().find("can end the lease") != std::string::npos;
    };
    for (const char* version : {"3.4.0", "3.4.23", "3.4.32", "3.5.0", "3.5.12", "3.5.0-rc.1"}) {
        EXPECT_TRUE(ends_leases(version)) << version;
    }
    for (const char* version : {"3.4.33", "3.4.40", "3.5.13", "3.5.16", "3.6.0"}) {
        EXPECT_FALSE(ends_leases(version)) << version;
    }
}

TEST(Probe, AcceptsARealEtcdAndChangesNothing) {
    HOLDFAST_NEEDS_ETCD();
    const TestEtcd etcd;
    TestCalls calls(etcd.settings());
    const auto before = calls.range({.key = "x"});
    ASSERT_TRUE(before);
    const auto warnings = calls.wait<Warnings>(
        [&](auto done) { probe(calls.client(), "p", TestCalls::patience, std::move(done)); });
    ASSERT_TRUE(warnings) << warnings.error().message;
    EXPECT_EQ(*warnings, *judge_version(calls.status()->version));
    EXPECT_EQ(calls.range({.key = "x"})->revision, before->revision);
    ASSERT_TRUE(calls.put("p/probe", "somebody else's"));
    const auto refused = calls.wait<Warnings>(
        [&](auto done) { probe(calls.client(), "p/", TestCalls::patience, std::move(done)); });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Kind::rejected);
}

// An Api that gives the answers of the test.
class Imitation final : public Api {
  public:
    StatusAnswer status_answer{.version = "3.5.28"};
    Answer<TransactionAnswer> transaction_answer = TransactionAnswer{};

    void transact(std::shared_ptr<const Transaction>, Duration,
                  OnAnswer<TransactionAnswer> done) override {
        done(transaction_answer);
    }
    void status(Duration, OnAnswer<StatusAnswer> done) override { done(status_answer); }
    void range(RangeRequest, Duration, OnAnswer<RangeAnswer>) override {}
    void grant(LeaseId, std::chrono::seconds, Duration, OnAnswer<LeaseAnswer>) override {}
    void keep_alive(LeaseId, Duration, OnAnswer<LeaseAnswer>) override {}
    void revoke(LeaseId, Duration, OnAnswer<LeaseAnswer>) override {}
    void compact(Revision, Duration, OnAnswer<Revision>) override {}
    WatchId watch(std::string, std::string, Revision, OnEvents, OnEnd) override { return 0; }
    void cancel(WatchId) override {}
};

Answer<Warnings> probed(Imitation& api) {
    Answer<Warnings> result = tl::unexpected(Failure{.message = "not called"});
    probe(api, "p", std::chrono::seconds(1),
          [&](Answer<Warnings> answer) { result = std::move(answer); });
    return result;
}

TEST(Probe, RefusesImitationsWithAReason) {
    Imitation api;
    api.transaction_answer = tl::unexpected(Failure{.kind = Kind::rejected, .message = "no txn"});
    auto refused = probed(api);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Kind::rejected);
    EXPECT_NE(refused.error().message.find("nested transactions (no txn)"), std::string::npos);
    // It says that it has done it, but gives no answer to the range.
    api.transaction_answer = TransactionAnswer{.is_true = true};
    refused = probed(api);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Kind::rejected);
    api.transaction_answer = TransactionAnswer{.is_true = true, .ranges = {RangeAnswer()}};
    EXPECT_TRUE(probed(api));
}

TEST(Probe, TellsOfAlarmsAndOfPassingTrouble) {
    Imitation api;
    api.status_answer.errors = {"NOSPACE"};
    api.transaction_answer = TransactionAnswer{.is_true = true, .ranges = {RangeAnswer()}};
    EXPECT_EQ(*probed(api), (Warnings{"etcd has an alarm: NOSPACE"}));
    api.transaction_answer = tl::unexpected(Failure{.kind = Kind::unknown, .message = "later"});
    EXPECT_EQ(probed(api).error().kind, Kind::unknown);
}

}  // namespace
}  // namespace holdfast::etcd
