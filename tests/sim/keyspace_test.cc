// What the simulated etcd stores follows the rules of etcd.

#include "sim/etcd/keyspace.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "sim/etcd/test_requests.h"

namespace holdfast::sim {
namespace {

using etcd::Compare;
using etcd::Failure;
using etcd::Operation;
using etcd::Transaction;

Compare has_value(std::string key, std::string value) {
    return {.target = Compare::Target::value, .key = std::move(key), .value = std::move(value)};
}

class KeyspaceTest : public ::testing::Test {
  public:
    etcd::TransactionAnswer transact(const Transaction& transaction) {
        auto answer = keyspace.transact(transaction, has_lease);
        EXPECT_TRUE(answer);
        return answer.value_or(etcd::TransactionAnswer{});
    }
    Failure::Kind refusal(const Transaction& transaction) {
        const auto answer = keyspace.transact(transaction, has_lease);
        EXPECT_FALSE(answer);
        return answer ? Failure::Kind::unknown : answer.error().kind;
    }
    std::string value_at(const std::string& key, etcd::Revision revision) {
        const auto answer = keyspace.range({.key = key, .revision = revision}, keyspace.revision());
        if (!answer) return "failed";
        return answer->found.empty() ? "none" : answer->found.front().value;
    }

    Keyspace keyspace;
    Keyspace::HasLease has_lease = [](etcd::LeaseId id) { return id == 7; };
};

TEST_F(KeyspaceTest, CountsARevisionPerTransactionThatChangesSomething) {
    EXPECT_EQ(keyspace.revision(), 1);
    EXPECT_EQ(transact({.then = {Operation::put("a", "1"), Operation::put("b", "1")}}).revision, 2);
    EXPECT_EQ(transact({.then = {Operation::remove("c")}}).revision, 2);
    EXPECT_EQ(transact({.then = {Operation::range("a")}}).revision, 2);
    EXPECT_EQ(transact({.then = {Operation::remove("a")}}).revision, 3);
}

TEST_F(KeyspaceTest, ReadsWhatWasThereAtARevision) {
    transact(put("a", "1"));
    transact(put("a", "2"));
    transact({.then = {Operation::remove("a")}});
    EXPECT_EQ(value_at("a", 1), "none");
    EXPECT_EQ(value_at("a", 2), "1");
    EXPECT_EQ(value_at("a", 3), "2");
    EXPECT_EQ(value_at("a", 4), "none");
    EXPECT_EQ(value_at("a", 0), "none");
    const auto future = keyspace.range({.key = "a", .revision = 5}, 4);
    ASSERT_FALSE(future);
    EXPECT_EQ(future.error().kind, Failure::Kind::not_done);
}

TEST_F(KeyspaceTest, KeepsTheCreationAndCountsTheVersions) {
    transact(put("a", "1"));
    transact(put("a", "2", 7));
    const auto entry = keyspace.range({.key = "a"}, 3)->found.front();
    EXPECT_EQ(entry.create_revision, 2);
    EXPECT_EQ(entry.mod_revision, 3);
    EXPECT_EQ(entry.version, 2);
    EXPECT_EQ(entry.lease, 7);
    transact({.then = {Operation::remove("a")}});
    transact(put("a", "3"));
    EXPECT_EQ(keyspace.range({.key = "a"}, 5)->found.front().create_revision, 5);
}

TEST_F(KeyspaceTest, GivesRangesWithLimitAndCount) {
    for (const char* key : {"p/1", "p/2", "p/3", "q"}) transact(put(key, "v"));
    const std::string end = etcd::end_of_prefix("p/");
    const auto all = keyspace.range({.key = "p/", .range_end = end}, 5);
    EXPECT_EQ(all->found.size(), 3U);
    EXPECT_FALSE(all->has_more);
    const auto some = keyspace.range({.key = "p/", .range_end = end, .limit = 2}, 5);
    EXPECT_EQ(some->found.size(), 2U);
    EXPECT_TRUE(some->has_more);
    EXPECT_EQ(some->count, 3);
    EXPECT_TRUE(
        keyspace.range({.key = "p/", .range_end = end, .is_count_only = true}, 5)->found.empty());
}

TEST_F(KeyspaceTest, ComparesAsEtcdDoes) {
    transact(put("a", "5"));
    const auto holds = [this](Compare condition) {
        return transact({.conditions = {std::move(condition)}}).is_true;
    };
    EXPECT_TRUE(holds(is_absent("b")));
    EXPECT_FALSE(holds(is_absent("a")));
    EXPECT_TRUE(holds(has_value("a", "5")));
    EXPECT_FALSE(holds(has_value("a", "6")));
    // A key that is not there has no value: it is not even unequal to one.
    Compare unequal = has_value("b", "6");
    unequal.result = Compare::Result::not_equal;
    EXPECT_FALSE(holds(unequal));
    EXPECT_TRUE(holds({.target = Compare::Target::mod_revision,
                       .result = Compare::Result::less,
                       .key = "a",
                       .number = 3}));
}

TEST_F(KeyspaceTest, LooksAtAllConditionsBeforeItDoesAnything) {
    Transaction inner{.conditions = {is_absent("a")}, .then = {Operation::put("b", "new")}};
    const auto answer =
        transact({.then = {Operation::put("a", "1"), Operation::transaction(std::move(inner)),
                           Operation::range("a")}});
    EXPECT_EQ(value_at("b", 0), "new");
    ASSERT_EQ(answer.ranges.size(), 1U);
    EXPECT_EQ(answer.ranges[0].found.front().value, "1");
    EXPECT_EQ(answer.revision, 2);
}

TEST_F(KeyspaceTest, TakesFourThousandPutsInNestedTransactions) {
    const auto nested = [](int branches, int steps) {
        Transaction outer;
        for (int branch = 0; branch < branches; ++branch) {
            Transaction inner;
            for (int step = 0; step < steps; ++step) {
                inner.then.push_back(
                    Operation::put(std::to_string(branch) + "/" + std::to_string(step), "v"));
            }
            outer.then.push_back(Operation::transaction(std::move(inner)));
        }
        return outer;
    };
    EXPECT_TRUE(transact(nested(64, 64)).is_true);
    EXPECT_EQ(refusal(nested(1, 129)), Failure::Kind::rejected);
    EXPECT_EQ(refusal(nested(129, 1)), Failure::Kind::rejected);
}

TEST_F(KeyspaceTest, RefusesAKeyThatIsChangedTwice) {
    EXPECT_EQ(refusal({.then = {Operation::put("a", "1"), Operation::put("a", "2")}}),
              Failure::Kind::rejected);
    EXPECT_EQ(refusal({.then = {Operation::put("a", "1"), Operation::remove("a")}}),
              Failure::Kind::rejected);
    EXPECT_EQ(refusal({.then = {Operation::put("a", "1"), Operation::transaction(put("a", "2"))}}),
              Failure::Kind::rejected);
    EXPECT_TRUE(
        transact({.then = {Operation::put("a", "1")}, .otherwise = {Operation::put("a", "2")}})
            .is_true);
    EXPECT_EQ(refusal(put("a", std::string(2U << 20U, 'x'))), Failure::Kind::rejected);
}

TEST_F(KeyspaceTest, RefusesALeaseThatDoesNotExistAndDoesNothing) {
    EXPECT_EQ(refusal({.then = {Operation::put("a", "1"), Operation::put("b", "1", 8)}}),
              Failure::Kind::no_lease);
    EXPECT_EQ(value_at("a", 0), "none");
    EXPECT_EQ(keyspace.revision(), 1);
}

TEST_F(KeyspaceTest, ForgetsWhatIsCompacted) {
    transact(put("a", "1"));
    transact(put("a", "2"));
    transact({.then = {Operation::remove("a"), Operation::put("b", "1")}});
    EXPECT_EQ(*keyspace.compact(3), 4);
    const auto old = keyspace.range({.key = "a", .revision = 2}, 4);
    ASSERT_FALSE(old);
    EXPECT_EQ(old.error().kind, Failure::Kind::compacted);
    EXPECT_EQ(value_at("a", 3), "2");
    EXPECT_EQ(value_at("a", 4), "none");
    EXPECT_FALSE(keyspace.compact(3));
    EXPECT_FALSE(keyspace.compact(9));
    EXPECT_TRUE(keyspace.compact(4));
    EXPECT_EQ(value_at("b", 4), "1");
}

TEST_F(KeyspaceTest, TellsOfChangesInOrder) {
    transact(put("a", "1"));
    transact(put("b", "1"));
    transact({.then = {Operation::remove("a")}});
    const auto events = keyspace.changes({.first = 2, .last = 4}, "a", "");
    ASSERT_EQ(events.size(), 2U);
    EXPECT_FALSE(events[0].is_removal);
    EXPECT_EQ(events[0].entry.value, "1");
    EXPECT_TRUE(events[1].is_removal);
    EXPECT_EQ(events[1].entry.mod_revision, 4);
    EXPECT_EQ(keyspace.changes({.first = 2, .last = 4}, "a", "c").size(), 3U);
}

}  // namespace
}  // namespace holdfast::sim
