// The simulated etcd does what etcd does, and no more.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/etcd/simulated_api.h"
#include "sim/etcd/simulated_etcd.h"
#include "sim/etcd/test_requests.h"

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using etcd::Compare;
using etcd::Failure;
using etcd::Operation;
using etcd::Transaction;

// One node and its etcd.
class SimulatedEtcdTest : public ::testing::Test {
  public:
    static constexpr auto timeout = std::chrono::microseconds{1s};

    SimulatedEtcdTest() : etcd(world, faults), api(make_api()) {}

    std::unique_ptr<SimulatedApi> make_api() {
        return std::make_unique<SimulatedApi>(
            SimulatedApi::Parts{.world = world,
                                .etcd = etcd,
                                .faults = faults,
                                .line = line,
                                .in_turn = [](const std::function<void()>& task) { task(); }});
    }
    void run(core::Duration length) {
        const Moment end = world.now() + length;
        while (world.step(end)) {
        }
        world.at(end, [] {});
        world.step(end);
    }
    template <class T, class Ask>
    etcd::Answer<T> get(const Ask& ask, core::Duration patience = 5s) {
        auto answer = std::make_shared<std::optional<etcd::Answer<T>>>();
        ask([answer](etcd::Answer<T> given) { *answer = std::move(given); });
        const Moment end = world.now() + patience;
        while (!*answer && world.step(end)) {
        }
        if (*answer) return **answer;
        ADD_FAILURE() << "no answer at all";
        return tl::unexpected(Failure{});
    }
    etcd::Answer<etcd::TransactionAnswer> transact(const Transaction& transaction) {
        return get<etcd::TransactionAnswer>([&](auto done) {
            api->transact(std::make_shared<const Transaction>(transaction), timeout, done);
        });
    }
    etcd::LeaseId grant(std::chrono::seconds ttl) {
        const auto answer =
            get<etcd::LeaseAnswer>([&](auto done) { api->grant(0, ttl, timeout, done); });
        return answer ? answer->id : 0;
    }
    etcd::Answer<etcd::LeaseAnswer> keep_alive(etcd::LeaseId id) {
        return get<etcd::LeaseAnswer>([&](auto done) { api->keep_alive(id, timeout, done); });
    }
    etcd::Answer<etcd::RangeAnswer> range(std::string key, etcd::Revision revision = 0) {
        return get<etcd::RangeAnswer>([&](auto done) {
            api->range({.key = std::move(key), .revision = revision}, timeout, done);
        });
    }
    void cut_all_but(std::size_t member) {
        line.is_cut.fill(true);
        line.is_cut[member] = false;
    }

    World world{1, 100};
    EtcdFaults faults;
    EtcdLine line;
    SimulatedEtcd etcd;
    std::unique_ptr<SimulatedApi> api;
};

TEST_F(SimulatedEtcdTest, AnswersLaterAndOnce) {
    int answers = 0;
    api->status(timeout, [&](const auto& answer) {
        ++answers;
        EXPECT_TRUE(answer);
    });
    EXPECT_EQ(answers, 0);
    run(10s);
    EXPECT_EQ(answers, 1);
}

TEST_F(SimulatedEtcdTest, EndsALeaseAfterItsTtlAndRemovesItsKeys) {
    const etcd::LeaseId lease = grant(3s);
    ASSERT_TRUE(transact(put("leader", "me", lease)));
    run(2s);
    EXPECT_EQ(keep_alive(lease)->ttl_seconds, 3);
    run(2900ms);
    EXPECT_EQ(range("leader")->count, 1);
    run(1s);
    EXPECT_EQ(range("leader")->count, 0);
    EXPECT_EQ(keep_alive(lease)->ttl_seconds, 0);
    EXPECT_EQ(transact(put("leader", "me", lease)).error().kind, Failure::Kind::no_lease);
}

TEST_F(SimulatedEtcdTest, GivesShortLeasesTwoSeconds) {
    const auto answer =
        get<etcd::LeaseAnswer>([&](auto done) { api->grant(5, 1s, timeout, done); });
    EXPECT_EQ(answer->ttl_seconds, 2);
    EXPECT_EQ(answer->id, 5);
    const auto again = get<etcd::LeaseAnswer>([&](auto done) { api->grant(5, 1s, timeout, done); });
    EXPECT_FALSE(again);
}

TEST_F(SimulatedEtcdTest, RevokesALeaseAtOnce) {
    const etcd::LeaseId lease = grant(30s);
    ASSERT_TRUE(transact(put("leader", "me", lease)));
    const auto revoke = [&](auto done) { api->revoke(lease, timeout, done); };
    EXPECT_TRUE(get<etcd::LeaseAnswer>(revoke));
    EXPECT_EQ(range("leader")->count, 0);
    EXPECT_EQ(get<etcd::LeaseAnswer>(revoke).error().kind, Failure::Kind::no_lease);
}

TEST_F(SimulatedEtcdTest, GivesLeasesTheirWholeTimeWhenItsLeaderChanges) {
    const etcd::LeaseId lease = grant(10s);
    run(9s);
    etcd.lose_leader(5s);
    EXPECT_EQ(keep_alive(lease).error().kind, Failure::Kind::unknown);
    run(13s);
    EXPECT_TRUE(etcd.has_lease(lease));
    run(5s);
    EXPECT_FALSE(etcd.has_lease(lease));
}

TEST_F(SimulatedEtcdTest, MayEndALeaseMuchLaterButNeverEarlier) {
    faults.lease_lateness_max = 60s;
    std::vector<core::Duration> ends;
    for (int index = 0; index < 40; ++index) {
        const Moment before = world.now();
        const etcd::LeaseId lease = grant(2s);
        while (etcd.has_lease(lease)) run(100ms);
        ends.push_back(world.now() - before);
    }
    EXPECT_GE(*std::ranges::min_element(ends), 2s);
    EXPECT_GT(*std::ranges::max_element(ends), 10s);
}

TEST_F(SimulatedEtcdTest, GoesOnWithTwoMembersAndStopsWithOne) {
    etcd.stop_member(0);
    run(3s);
    cut_all_but(1);
    api = make_api();
    // The way to the one member that can be reached is found by trying.
    for (int attempt = 0; attempt < 3 && !transact(put("a", "1")); ++attempt) {
    }
    EXPECT_EQ(range("a")->count, 1);
    etcd.cut_member(2);
    EXPECT_EQ(transact(put("a", "2")).error().kind, Failure::Kind::unknown);
    etcd.heal();
    run(5s);
    EXPECT_TRUE(etcd.has_leader());
}

TEST_F(SimulatedEtcdTest, DoesWhatItWasAskedForAfterTheSenderHasGivenUp) {
    int done = 0;
    for (int index = 0; index < 20; ++index) {
        const std::string key = "k" + std::to_string(index);
        etcd.lose_leader(2s);
        EXPECT_EQ(transact(put(key, "v")).error().kind, Failure::Kind::unknown);
        EXPECT_EQ(etcd.keyspace().range({.key = key}, etcd.keyspace().revision())->count, 0);
        run(10s);
        if (range(key)->count == 1) ++done;
    }
    EXPECT_GT(done, 0);
    EXPECT_LT(done, 20);
}

TEST_F(SimulatedEtcdTest, DoesWhatADeadNodeHasSent) {
    api->transact(std::make_shared<const Transaction>(put("a", "1")), timeout,
                  [](const auto&) { FAIL() << "the node is dead"; });
    api.reset();
    run(1s);
    api = make_api();
    EXPECT_EQ(range("a")->count, 1);
}

TEST_F(SimulatedEtcdTest, LosesQuestionsAndAnswers) {
    faults.loss = 0.3;
    int unknown = 0;
    for (int index = 0; index < 50; ++index) {
        if (!transact(put("k" + std::to_string(index), "v"))) ++unknown;
    }
    run(10s);
    EXPECT_GT(unknown, 10);
    // Of some only the answer was lost.
    const std::int64_t done =
        etcd.keyspace()
            .range({.key = "k", .range_end = etcd::end_of_prefix("k")}, etcd.keyspace().revision())
            ->count;
    EXPECT_GT(done, 50 - unknown);
    EXPECT_LT(done, 50);
}

TEST_F(SimulatedEtcdTest, DoesARequestTwiceUnlessItWasRefused) {
    faults.repetition = 1;
    faults.late_max = 1s;
    etcd.set_full(true);
    run(1s);  // its alarm is on
    EXPECT_FALSE(transact(put("b", "1")));
    etcd.set_full(false);
    ASSERT_TRUE(transact(put("a", "1")));
    run(10s);
    EXPECT_EQ(range("a")->found.front().version, 2);
    EXPECT_EQ(range("b")->count, 0);
}

TEST_F(SimulatedEtcdTest, NeverAnswersWithLessThanTheRevisionThatWasAskedFor) {
    faults.has_stale_reads = true;
    int stale = 0, refused = 0;
    for (int index = 0; index < 60; ++index) {
        const std::size_t member = world.random().below(3);
        etcd.hold_member(member);
        const std::string value = std::to_string(index);
        // The member that applies nothing does not answer.
        if (const auto written = transact(put("a", value))) {
            cut_all_but(member);
            for (int attempt = 0; attempt < 3; ++attempt) {
                const auto newest = range("a");
                if (newest && newest->revision < written->revision) ++stale;
                const auto at = range("a", written->revision);
                if (at) {
                    EXPECT_EQ(at->found.front().value, value);
                } else if (at.error().message == "required revision is a future revision") {
                    ++refused;
                }
            }
            line.is_cut.fill(false);
        }
        etcd.free_member(member);
    }
    EXPECT_GT(stale, 0);
    EXPECT_GT(refused, 0);
    const auto future = range("a", etcd.keyspace().revision() + 1);
    EXPECT_EQ(future.error().kind, Failure::Kind::not_done);
}

TEST_F(SimulatedEtcdTest, TakesOnlyRemovalsWhenItIsFull) {
    const etcd::LeaseId lease = grant(5s);
    ASSERT_TRUE(transact(put("a", "1")));
    etcd.set_full(true);
    run(1s);
    EXPECT_EQ(transact(put("a", "2")).error().kind, Failure::Kind::no_space);
    EXPECT_EQ(range("a")->found.front().value, "1");
    EXPECT_EQ(transact({.conditions = {is_absent("b")},
                        .then = {Operation::remove("a")},
                        .otherwise = {Operation::put("c", "1")}})
                  .error()
                  .kind,
              Failure::Kind::no_space);
    EXPECT_TRUE(transact({.then = {Operation::remove("a")}}));
    EXPECT_EQ(keep_alive(lease)->ttl_seconds, 5);
    EXPECT_FALSE(get<etcd::LeaseAnswer>([&](auto done) { api->grant(0, 5s, timeout, done); }));
    EXPECT_EQ(
        get<etcd::StatusAnswer>([&](auto done) { api->status(timeout, done); })->errors.size(), 1U);
}

TEST_F(SimulatedEtcdTest, MayDoWhatItRefusesUntilItsAlarmIsOn) {
    int done = 0, not_done = 0;
    for (int attempt = 0; attempt < 200; ++attempt) {
        const std::string value = std::to_string(attempt);
        etcd.set_full(true);
        EXPECT_EQ(transact(put("a", value)).error().kind, Failure::Kind::no_space);
        const auto found = range("a")->found;
        const bool is_done = !found.empty() && found.front().value == value;
        ++(is_done ? done : not_done);
        etcd.set_full(false);
    }
    EXPECT_GT(done, 0);
    EXPECT_GT(not_done, 0);
}

TEST_F(SimulatedEtcdTest, TellsAWatchOfWhatHasChanged) {
    std::vector<std::string> seen;
    const auto begin = [&](etcd::Revision start) {
        return api->watch(
            "a", "", start,
            [&](etcd::Revision, const std::vector<etcd::WatchEvent>& events) {
                for (const etcd::WatchEvent& event : events) {
                    seen.push_back(event.is_removal ? "removed" : event.entry.value);
                }
            },
            [&](const Failure& failure) {
                seen.push_back(failure.kind == Failure::Kind::compacted ? "compacted" : "end");
            });
    };
    ASSERT_TRUE(transact(put("a", "1")));
    const etcd::Api::WatchId watch = begin(2);
    ASSERT_TRUE(transact(put("b", "1")));
    ASSERT_TRUE(transact({.then = {Operation::remove("a")}}));
    run(1s);
    EXPECT_EQ(seen, (std::vector<std::string>{"1", "removed"}));
    api->cancel(watch);
    ASSERT_TRUE(transact(put("a", "2")));
    run(1s);
    EXPECT_EQ(seen.size(), 2U);

    ASSERT_TRUE(get<etcd::Revision>([&](auto done) { api->compact(4, timeout, done); }));
    begin(3);
    run(1s);
    EXPECT_EQ(seen.back(), "compacted");
    begin(0);
    run(1s);
    for (std::size_t member = 0; member < 3; ++member) etcd.stop_member(member);
    run(1s);
    EXPECT_EQ(seen.back(), "end");
}

}  // namespace
}  // namespace holdfast::sim
