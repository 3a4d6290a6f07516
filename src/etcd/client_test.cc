// The client against one real etcd that is in good health.

#include "etcd/client.h"

#include <gtest/gtest.h>

#include "etcd/test_calls.h"
#include "etcd/test_etcd.h"

namespace holdfast::etcd {
namespace {

using Kind = Failure::Kind;
using std::chrono::milliseconds;
using std::chrono::seconds;

class ClientTest : public testing::Test {
  protected:
    // One etcd for all tests of the suite. Each has keys of its own.
    static void SetUpTestSuite() {
        if (TestEtcd::is_installed()) shared_etcd = new TestEtcd();
    }
    static void TearDownTestSuite() { delete std::exchange(shared_etcd, nullptr); }

    void SetUp() override {
        HOLDFAST_NEEDS_ETCD();
        calls_ = std::make_unique<TestCalls>(shared_etcd->settings());
        prefix_ = std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "/";
    }

    std::string key(const std::string& name) { return prefix_ + name; }

    static inline TestEtcd* shared_etcd = nullptr;
    std::unique_ptr<TestCalls> calls_;
    std::string prefix_;
};

TEST_F(ClientTest, PutsAndReads) {
    const std::string bytes("\0\xff value", 8);
    const auto put = calls_->put(key("a"), bytes);
    ASSERT_TRUE(put) << put.error().message;
    EXPECT_TRUE(put->is_true);
    const auto read = calls_->range({.key = key("a")});
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->found.size(), 1U);
    EXPECT_EQ(read->found[0].key, key("a"));
    EXPECT_EQ(read->found[0].value, bytes);
    EXPECT_EQ(read->found[0].create_revision, put->revision);
    EXPECT_EQ(read->found[0].mod_revision, put->revision);
    EXPECT_EQ(read->found[0].version, 1);
    EXPECT_EQ(read->found[0].lease, 0);
    EXPECT_EQ(read->count, 1);
    EXPECT_FALSE(read->has_more);
    EXPECT_GE(read->revision, put->revision);
}

TEST_F(ClientTest, ReadsRangesWithLimitsAndAtARevision) {
    for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(calls_->put(key(name), name));
    const auto before = calls_->put(key("d"), "old");
    ASSERT_TRUE(before);
    ASSERT_TRUE(calls_->put(key("d"), "new"));
    RangeRequest all{.key = prefix_, .range_end = end_of_prefix(prefix_), .limit = 2};
    const auto two = calls_->range(all);
    ASSERT_TRUE(two);
    EXPECT_EQ(two->found.size(), 2U);
    EXPECT_TRUE(two->has_more);
    EXPECT_EQ(two->count, 4);
    const auto past = calls_->range({.key = key("d"), .revision = before->revision});
    ASSERT_TRUE(past);
    ASSERT_EQ(past->found.size(), 1U);
    EXPECT_EQ(past->found[0].value, "old");
    all.is_count_only = true;
    const auto count = calls_->range(all);
    ASSERT_TRUE(count);
    EXPECT_TRUE(count->found.empty());
    EXPECT_EQ(count->count, 4);
}

TEST_F(ClientTest, DoesATransactionOnlyIfItsConditionsAreTrue) {
    using Target = Compare::Target;
    using Result = Compare::Result;
    const auto put = calls_->put(key("a"), "1");
    ASSERT_TRUE(put);
    const auto is_true = [&](Compare compare) {
        compare.key = compare.key.empty() ? key("a") : compare.key;
        const auto answer = calls_->transact(
            {.conditions = {compare},
             .then = {Operation::range(key("a"))},
             .otherwise = {Operation::range(key("none")), Operation::range(key("a"))}});
        EXPECT_TRUE(answer) << answer.error().message;
        if (!answer) return false;
        EXPECT_EQ(answer->ranges.size(), answer->is_true ? 1U : 2U);
        EXPECT_EQ(answer->ranges.back().found.at(0).value, "1");
        return answer->is_true;
    };
    const Revision made = put->revision;
    EXPECT_TRUE(is_true({.target = Target::version, .number = 1}));
    EXPECT_FALSE(is_true({.target = Target::version, .number = 0}));
    EXPECT_TRUE(is_true({.target = Target::version, .key = key("none"), .number = 0}));
    EXPECT_TRUE(is_true({.target = Target::create_revision, .number = made}));
    EXPECT_TRUE(is_true({.target = Target::create_revision, .key = key("none"), .number = 0}));
    EXPECT_FALSE(is_true({.target = Target::create_revision, .number = 0}));
    EXPECT_TRUE(
        is_true({.target = Target::mod_revision, .result = Result::less, .number = made + 1}));
    EXPECT_TRUE(is_true({.target = Target::mod_revision, .result = Result::greater, .number = -1}));
    EXPECT_TRUE(is_true({.target = Target::value, .value = "1"}));
    EXPECT_TRUE(is_true({.target = Target::value, .result = Result::not_equal, .value = ""}));
    EXPECT_FALSE(is_true({.target = Target::value, .key = key("none"), .value = ""}));
    EXPECT_TRUE(is_true({.target = Target::lease, .number = 0}));
}

TEST_F(ClientTest, DoesThousandsOfChangesInNestedTransactions) {
    constexpr int groups = 64;
    Transaction outer{
        .conditions = {{.target = Compare::Target::create_revision, .key = key("0/0")}}};
    for (int i = 0; i < groups; ++i) {
        Transaction inner;
        for (int j = 0; j < groups; ++j) {
            inner.then.push_back(
                Operation::put(key(fmt::format("{}/{}", i, j)), std::string(200, 'x')));
        }
        outer.then.push_back(Operation::transaction(std::move(inner)));
    }
    // etcd allows 128 operations, those of the outer and of an inner transaction together.
    Transaction too_many = outer;
    too_many.then.push_back(Operation::range(key("none")));
    const auto refused = calls_->transact(too_many);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, Kind::rejected);
    const auto answer = calls_->transact(outer);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_TRUE(answer->is_true);
    EXPECT_TRUE(answer->ranges.empty());
    const auto read = calls_->range({.key = prefix_, .range_end = end_of_prefix(prefix_)});
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->found.size(), 4096U);
    for (const KeyValue& one : read->found) EXPECT_EQ(one.mod_revision, answer->revision);
    const auto again = calls_->transact(outer);
    ASSERT_TRUE(again);
    EXPECT_FALSE(again->is_true);
    const auto removed = calls_->transact({.then = {{.kind = Operation::Kind::remove,
                                                     .key = prefix_,
                                                     .range_end = end_of_prefix(prefix_)}}});
    ASSERT_TRUE(removed);
    EXPECT_EQ(calls_->range({.key = prefix_, .range_end = end_of_prefix(prefix_)})->count, 0);
}

TEST_F(ClientTest, SaysWhatEtcdWillNeverDo) {
    const auto twice =
        calls_->transact({.then = {Operation::put(key("a"), "1"), Operation::put(key("a"), "2")}});
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().kind, Kind::rejected);
    EXPECT_NE(twice.error().message.find("duplicate key"), std::string::npos);
    EXPECT_NE(twice.error().message.find(shared_etcd->member(0).to_text()), std::string::npos);
    const auto too_large = calls_->put(key("a"), std::string(3 << 20, 'x'));
    ASSERT_FALSE(too_large);
    EXPECT_EQ(too_large.error().kind, Kind::rejected) << too_large.error().message;
    EXPECT_TRUE(calls_->put(key("a"), std::string(1'300'000, 'x')));
    const auto future = calls_->range({.key = key("a"), .revision = 1'000'000'000});
    ASSERT_FALSE(future);
    EXPECT_EQ(future.error().kind, Kind::not_done) << future.error().message;
}

TEST_F(ClientTest, GrantsRenewsAndRevokesLeases) {
    const auto granted = calls_->grant(seconds(60));
    ASSERT_TRUE(granted) << granted.error().message;
    EXPECT_NE(granted->id, 0);
    EXPECT_EQ(granted->ttl_seconds, 60);
    ASSERT_TRUE(calls_->put(key("a"), "1", granted->id));
    EXPECT_EQ(calls_->range({.key = key("a")})->found.at(0).lease, granted->id);
    const auto renewed = calls_->keep_alive(granted->id);
    ASSERT_TRUE(renewed) << renewed.error().message;
    EXPECT_EQ(renewed->id, granted->id);
    EXPECT_EQ(renewed->ttl_seconds, 60);
    const auto revoked = calls_->revoke(granted->id);
    ASSERT_TRUE(revoked) << revoked.error().message;
    EXPECT_EQ(revoked->id, granted->id);
    EXPECT_TRUE(calls_->range({.key = key("a")})->found.empty());
    const auto gone = calls_->keep_alive(granted->id);
    ASSERT_TRUE(gone) << gone.error().message;
    EXPECT_EQ(gone->ttl_seconds, 0);
    const auto again = calls_->revoke(granted->id);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind, Kind::no_lease);
    const auto without = calls_->put(key("a"), "1", granted->id);
    ASSERT_FALSE(without);
    EXPECT_EQ(without.error().kind, Kind::no_lease);
}

TEST_F(ClientTest, LosesALeaseThatIsNotRenewed) {
    const auto granted = calls_->grant(seconds(1), 4711);
    ASSERT_TRUE(granted) << granted.error().message;
    EXPECT_EQ(granted->id, 4711);
    ASSERT_TRUE(calls_->put(key("a"), "1", granted->id));
    std::vector<WatchEvent> seen;
    calls_->client().watch(
        key("a"), "", 0,
        [&](Revision, const std::vector<WatchEvent>& events) {
            seen.insert(seen.end(), events.begin(), events.end());
        },
        [](const Failure& failure) { ADD_FAILURE() << failure.message; });
    ASSERT_TRUE(calls_->run_until([&] { return !seen.empty(); }));
    EXPECT_TRUE(seen[0].is_removal);
    EXPECT_EQ(seen[0].entry.key, key("a"));
}

TEST_F(ClientTest, SaysThatARevisionWasCompacted) {
    const auto first = calls_->put(key("a"), "1");
    const auto second = calls_->put(key("a"), "2");
    ASSERT_TRUE(first && second);
    const auto compacted = calls_->compact(second->revision);
    ASSERT_TRUE(compacted) << compacted.error().message;
    EXPECT_GE(*compacted, second->revision);
    const auto read = calls_->range({.key = key("a"), .revision = first->revision});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, Kind::compacted);
    std::optional<Failure> end;
    calls_->client().watch(
        key("a"), "", first->revision, [](Revision, const auto&) { ADD_FAILURE(); },
        [&](Failure failure) { end = std::move(failure); });
    ASSERT_TRUE(calls_->run_until([&] { return end.has_value(); }));
    EXPECT_EQ(end->kind, Kind::compacted) << end->message;
    // The connection is in good health.
    EXPECT_TRUE(calls_->status());
}

TEST_F(ClientTest, TellsOfEveryChangeFromARevisionOn) {
    const auto first = calls_->put(key("a"), "1");
    ASSERT_TRUE(first);
    std::vector<std::string> seen;
    const auto watch = calls_->client().watch(
        prefix_, end_of_prefix(prefix_), first->revision,
        [&](Revision revision, const std::vector<WatchEvent>& events) {
            EXPECT_GE(revision, first->revision);
            for (const WatchEvent& one : events) {
                seen.push_back((one.is_removal ? "-" : "+") + one.entry.value);
            }
        },
        [](const Failure& failure) { ADD_FAILURE() << failure.message; });
    EXPECT_NE(watch, 0U);
    ASSERT_TRUE(calls_->put(key("b"), "2"));
    ASSERT_TRUE(calls_->transact({.then = {Operation::remove(key("a"))}}));
    ASSERT_TRUE(calls_->run_until([&] { return seen.size() == 3; }));
    EXPECT_EQ(seen, (std::vector<std::string>{"+1", "+2", "-"}));
    calls_->client().cancel(watch);
    calls_->client().cancel(watch);
    ASSERT_TRUE(calls_->put(key("b"), "3"));
    calls_->run_for(milliseconds(50));
    EXPECT_EQ(seen.size(), 3U);
}

TEST_F(ClientTest, BearsAWatchThatIsCancelledByItsOwnEvents) {
    const auto first = calls_->put(key("a"), "x");
    ASSERT_TRUE(first);
    int count = 0;
    Api::WatchId watch = 0;
    watch = calls_->client().watch(
        key("a"), "", first->revision,
        [&](Revision, const auto&) {
            ++count;
            calls_->client().cancel(watch);
        },
        [](const Failure&) { ADD_FAILURE(); });
    for (int i = 0; i < 5; ++i) (void)calls_->put(key("a"), "x");
    ASSERT_TRUE(calls_->run_until([&] { return count > 0; }));
    calls_->run_for(milliseconds(50));
    EXPECT_EQ(count, 1);
}

TEST_F(ClientTest, CarriesManyCallsAtOnce) {
    int answered = 0;
    for (int i = 0; i < 500; ++i) {
        calls_->client().transact(
            std::make_shared<const Transaction>(Transaction{
                .then = {Operation::put(key(std::to_string(i)), std::string(2000, 'y'))}}),
            TestCalls::patience, [&](const auto& answer) {
                EXPECT_TRUE(answer) << answer.error().message;
                ++answered;
            });
    }
    ASSERT_TRUE(calls_->run_until([&] { return answered == 500; }));
    const auto all = calls_->range({.key = prefix_, .range_end = end_of_prefix(prefix_)});
    ASSERT_TRUE(all);
    EXPECT_EQ(all->found.size(), 500U);
}

TEST_F(ClientTest, TellsTheStatusOfTheMember) {
    const auto status = calls_->status();
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_TRUE(status->version.starts_with("3.")) << status->version;
    EXPECT_GT(status->database_bytes, 0);
    EXPECT_GT(status->database_bytes_in_use, 0);
    EXPECT_NE(status->leader, 0U);
    EXPECT_EQ(status->leader, status->member);
    EXPECT_TRUE(status->errors.empty());
}

TEST_F(ClientTest, IsSilentAfterItsDestruction) {
    const auto fail = [](const auto&...) { ADD_FAILURE(); };
    calls_->client().status(TestCalls::patience, fail);
    calls_->client().watch(key("a"), "", 1, fail, fail);
    calls_->destroy_client();
    calls_->run_for(milliseconds(50));
}

TEST_F(ClientTest, MayBeDestroyedByACallback) {
    bool is_called = false;
    for (int i = 0; i < 3; ++i) {
        calls_->client().status(TestCalls::patience, [&](const auto&) {
            EXPECT_FALSE(std::exchange(is_called, true));
            calls_->destroy_client();
        });
    }
    ASSERT_TRUE(calls_->run_until([&] { return is_called; }));
    calls_->run_for(milliseconds(50));
}

}  // namespace
}  // namespace holdfast::etcd
