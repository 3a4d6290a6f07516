// The history of a store: each hold that has ended is there, after a crash, too, and nothing else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <set>

#include "base/test_happens.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"
#include "store/tables/test_leases.h"

namespace holdfast::store {
namespace {

using namespace testing;
using core::Event;
using core::EventKind;
using service::Ending;
using service::Hold;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr service::HistoryLimits a_week{.age_max = 24h * 7};

service::HistoryPage history_of(service::Store& store, service::HistoryQuery query = {}) {
    std::promise<service::StoreResult<service::HistoryPage>> page;
    store.read_history(std::move(query), [&page](auto read) { page.set_value(std::move(read)); });
    return page.get_future().get().value();
}

std::vector<std::uint64_t> fences_of(service::Store& store) {
    std::vector<std::uint64_t> fences;
    for (const Hold& hold : history_of(store, {.limit = 100'000}).holds) {
        fences.push_back(hold.fence);
    }
    return fences;
}

// A row that stays: events refer to its texts.
const LeaseRow& lasting(std::uint64_t fence) {
    static std::map<std::uint64_t, LeaseRow> rows;
    return rows.try_emplace(fence, lease(fence)).first->second;
}
Event granted(std::uint64_t fence) {
    return event_of(EventKind::granted, lasting(fence));
}
Event released(std::uint64_t fence) {
    return event_of(EventKind::released, lasting(fence));
}
Event after_a_wait(Event event) {
    event.waiter = {.serial = 1};
    event.at = core::Time{9s};
    event.waiting_since = core::Time{2s};
    return event;
}

Event by(std::string_view name, Event event) {
    event.by = name;
    return event;
}

class StoreHistory : public ::testing::Test {
  protected:
    void open(SqliteStoreOptions options = {.fold_after = 1h, .history = a_week}) {
        store_.reset();
        store_ = open_store(path_, std::move(options));
        recover(*store_);
    }
    void commit(std::initializer_list<Event> events) {
        ASSERT_TRUE(testing::commit(*store_, changes_of(events)));
    }
    void fold() { open(); }
    std::vector<std::uint64_t> fences_after_crash() {
        const auto store = open_store(copy_as_if_crashed(path_, folder_ / "crashed.db"),
                                      {.fold_after = 1h, .history = a_week});
        recover(*store);
        return fences_of(*store);
    }

    const TemporaryFolder folder_;
    const std::string path_ = folder_ / "holdfast.db";
    std::unique_ptr<SqliteStore> store_;
};

TEST_F(StoreHistory, HasAHoldThatBeganAndEndedBetweenTwoFolds) {
    open();
    commit({granted(1)});
    commit({released(1)});
    EXPECT_THAT(fences_after_crash(), ElementsAre(1));
    const auto holds = history_of(*store_).holds;
    ASSERT_EQ(holds.size(), 1U);
    EXPECT_EQ(holds[0].name, "job1");
    EXPECT_EQ(holds[0].owner, "w1");
    EXPECT_EQ(holds[0].ending, Ending::released);
    EXPECT_EQ(number_in(path_, "SELECT count(*) FROM locks"), 0);
    EXPECT_EQ(store_->figures().history_rows, 1U);
}

TEST_F(StoreHistory, HasAHoldWhoseLeaseWasARow) {
    open();
    commit({after_a_wait(granted(1))});
    fold();
    EXPECT_EQ(number_in(path_, "SELECT count(*) FROM waits"), 1);
    commit({released(1)});
    EXPECT_THAT(fences_after_crash(), ElementsAre(1));
    const auto holds = history_of(*store_).holds;
    ASSERT_EQ(holds.size(), 1U);
    EXPECT_EQ(holds[0].name, "job1");
    EXPECT_EQ(holds[0].waited, 7s);
    EXPECT_EQ(number_in(path_, "SELECT count(*) FROM waits"), 0);
}

TEST_F(StoreHistory, KnowsTheWaitOfALeaseWithNewTerms) {
    open();
    commit({after_a_wait(granted(1)), after_a_wait(granted(2)),
            event_of(EventKind::renewed, lease(2))});
    commit({event_of(EventKind::renewed, lease(1))});
    fold();
    commit({event_of(EventKind::renewed, lease(1))});
    commit({released(1), released(2)});
    const auto holds = history_of(*store_).holds;
    ASSERT_EQ(holds.size(), 2U);
    EXPECT_EQ(holds[0].waited, 7s);
    EXPECT_EQ(holds[1].waited, 7s);
}

TEST_F(StoreHistory, HasNothingOfALeaseThatBeganAndEndedInOneCommit) {
    open();
    commit({granted(1), released(1), granted(2)});
    EXPECT_THAT(fences_of(*store_), IsEmpty());
    EXPECT_THAT(fences_after_crash(), IsEmpty());
}

TEST_F(StoreHistory, HasAHoldInGraceOnceAndAtOnce) {
    open();
    LeaseRow row = lease(1);
    row.grace = 5s;
    row.expires_at = service::WallTime{30s};
    commit({event_of(EventKind::granted, row)});
    commit({event_of(EventKind::expired, row)});
    EXPECT_THAT(fences_after_crash(), ElementsAre(1));
    const auto holds = history_of(*store_).holds;
    ASSERT_EQ(holds.size(), 1U);
    EXPECT_EQ(holds[0].ending, Ending::expired);
    EXPECT_EQ(holds[0].ended_at, service::WallTime{30s});
    row.state = core::LeaseState::grace;
    commit({event_of(EventKind::grace_ended, row)});
    EXPECT_THAT(fences_of(*store_), ElementsAre(1));
    EXPECT_THAT(fences_after_crash(), ElementsAre(1));
}

TEST_F(StoreHistory, HasTheHoldOfALeaseThatWasTransientAtFirst) {
    open();
    commit({event_of(EventKind::renewed, lease(1))});
    commit({released(1)});
    EXPECT_THAT(fences_of(*store_), ElementsAre(1));
    EXPECT_EQ(history_of(*store_).holds[0].name, "job1");
}

TEST_F(StoreHistory, IsFoldedWhenManyHoldsHaveEnded) {
    open({.fold_after = 1h, .history = a_week, .journal_holds_max = 10});
    for (std::uint64_t fence = 1; fence <= 11; ++fence) {
        commit({granted(fence)});
        commit({released(fence)});
    }
    EXPECT_TRUE(
        base::happens([&] { return number_in(path_, "SELECT count(*) FROM history") >= 11; }));
}

TEST_F(StoreHistory, KeepsSoManyRows) {
    open({.fold_after = 1h, .history = {.age_max = 24h, .rows_max = 30}, .journal_holds_max = 7});
    for (std::uint64_t fence = 1; fence <= 100; ++fence) {
        commit({granted(fence)});
        commit({released(fence)});
    }
    const auto fences = fences_of(*store_);
    EXPECT_EQ(fences.size(), 30U);
    EXPECT_EQ(fences.front(), 100U);
    EXPECT_EQ(store_->figures().history_rows, 30U);
}

TEST_F(StoreHistory, LosesOldRowsWhileNothingHappens) {
    open();
    commit({granted(1)});
    commit({released(1)});
    store_.reset();
    open({.history = {.removes_old_rows = true}, .trim_every = 1ms});
    EXPECT_FALSE(store_->keeps_history());
    EXPECT_TRUE(
        base::happens([&] { return number_in(path_, "SELECT count(*) FROM history") == 0; }));
}

// Nobody knows then what the file has, so it is read again.
TEST_F(StoreHistory, IsWholeAgainAfterAFoldThatFailedAtItsEnd) {
    open();
    commit({granted(1)});
    commit({released(1)});
    {
        const FullDisk disk(0);
        std::promise<bool> is_read;
        store_->read_history({}, [&is_read](const auto& read) { is_read.set_value(!!read); });
        ASSERT_FALSE(is_read.get_future().get());
    }
    EXPECT_THAT(fences_of(*store_), ElementsAre(1)) << "without a commit in between";
    EXPECT_THAT(fences_after_crash(), ElementsAre(1));
    commit({granted(2)});
    commit({released(2)});
    EXPECT_THAT(fences_of(*store_), ElementsAre(2, 1));
}

TEST_F(StoreHistory, IsNotWrittenIfItIsOff) {
    open({.fold_after = 1h});
    EXPECT_FALSE(store_->keeps_history());
    commit({after_a_wait(granted(1))});
    commit({released(1)});
    store_.reset();
    EXPECT_EQ(number_in(path_, "SELECT count(*) FROM history"), 0);
}

TEST_F(StoreHistory, TellsTheWholeTruthOfRandomChanges) {
    RandomHistory changes(3);
    open({.journal_changes_max = 50, .fold_after = 1h, .history = a_week, .journal_holds_max = 20});
    std::set<std::uint64_t> known, ended;
    for (int round = 0; round < 100; ++round) {
        const core::Changes batch = changes.next_batch();
        std::set<std::uint64_t> before = known;
        for (const Event& event : batch) {
            const std::uint64_t fence = core::as_number(event.lease.token.fence);
            known.insert(fence);
            const bool has_grace = event.kind == EventKind::expired && event.grace > 0us;
            const bool has_ended =
                event.kind == EventKind::released || event.kind == EventKind::expired;
            // Of a lease that began and ended in this commit nobody was told.
            if (has_ended && (before.contains(fence) || has_grace)) ended.insert(fence);
            if (event.kind == EventKind::grace_ended && !before.contains(fence)) ended.erase(fence);
        }
        ASSERT_TRUE(testing::commit(*store_, batch));
    }
    const auto fences = fences_of(*store_);
    EXPECT_EQ(fences.size(), ended.size());
    EXPECT_EQ(std::set<std::uint64_t>(fences.begin(), fences.end()), ended);
    EXPECT_EQ(fences_after_crash(), fences);
}

// Whatever becomes of the lease meanwhile.
TEST_F(StoreHistory, SaysWhoHasAskedForTheGrantAndForTheEnd) {
    open();
    commit(
        {by("ci", granted(1)), by("http@192.0.2.7", granted(2)), granted(3), by("ci", granted(4))});
    // A renewal on other terms writes the whole lease again, and does not know who has asked for it.
    commit({event_of(EventKind::renewed, lasting(1))});
    commit({by("ops", released(1))});  // all of it in the journal
    store_.reset();                    // which is folded
    open();
    commit({event_of(EventKind::renewed, lasting(2))});
    commit({by("ops", released(2)), by("ops", released(3)), released(4)});
    const auto holds = history_of(*store_).holds;
    ASSERT_EQ(holds.size(), 4U);
    const auto names = [](const Hold& hold) { return hold.granted_by + '/' + hold.ended_by; };
    EXPECT_EQ(names(holds[3]), "ci/ops");
    EXPECT_EQ(names(holds[2]), "http@192.0.2.7/ops");
    EXPECT_EQ(names(holds[1]), "/ops");
    EXPECT_EQ(names(holds[0]), "ci/");
    EXPECT_THAT(fences_after_crash(), ElementsAre(4, 3, 2, 1));
}

// The id belongs to the token, also where nobody keeps a history.
TEST_F(StoreHistory, IsNotNeededForTheTokenOfARequestId) {
    for (const bool has_history : {true, false}) {
        const std::string path = folder_ / (has_history ? "with.db" : "without.db");
        const SqliteStoreOptions options{
            .fold_after = 1h,
            .history = has_history ? a_week : service::HistoryLimits{.age_max = 0h}};
        auto store = open_store(path, options);
        recover(*store);
        std::vector<LeaseRow> rows{lease(1), lease(2), lease(3)};
        rows[0].request_id = rows[1].request_id = "r1";
        ASSERT_TRUE(testing::commit(
            *store, changes_of({by("ci", event_of(EventKind::granted, rows[0])),
                                by("http@192.0.2.7", event_of(EventKind::granted, rows[1])),
                                by("ci", event_of(EventKind::granted, rows[2]))})));
        // A renewal on other terms does not know who has asked for the lease.
        ASSERT_TRUE(testing::commit(*store, changes_of({event_of(EventKind::renewed, rows[0])})));
        for (const char* when : {"from the journal", "from the table"}) {
            const auto read = open_store(copy_as_if_crashed(path, folder_ / "copy.db"), options);
            const Leases leases = recover(*read).leases;
            EXPECT_EQ(leases.at(1).granted_by, "ci") << when;
            EXPECT_EQ(leases.at(2).granted_by, has_history ? "http@192.0.2.7" : "") << when;
            EXPECT_EQ(leases.at(3).granted_by, has_history ? "ci" : "") << when;
            store.reset();  // which folds
            store = open_store(path, options);
            recover(*store);
        }
    }
}

TEST_F(StoreHistory, WritesNoNamesWhereThereAreNone) {
    open();
    commit({granted(1)});
    commit({released(1)});
    store_.reset();
    EXPECT_EQ(number_in(path_,
                        "SELECT count(*) FROM history WHERE granted_by = '' AND "
                        "ended_by = ''"),
              1);
}

TEST_F(StoreHistory, BeginsWithFilesOfEveryEarlierVersion) {
    for (std::uint32_t version = 1; version < schema_version(); ++version) {
        const std::string path = folder_ / ("v" + std::to_string(version) + ".db");
        make_old_file(path, version, {lease(5)});
        const auto store = open_store(path, {.history = a_week});
        EXPECT_EQ(recover(*store).leases.size(), 1U) << version;
        EXPECT_THAT(fences_of(*store), IsEmpty());
        ASSERT_TRUE(testing::commit(*store, changes_of({released(5)})));
        EXPECT_THAT(fences_of(*store), ElementsAre(5)) << version;
        EXPECT_EQ(history_of(*store).holds[0].granted_by, "") << "that version did not know";
    }
}

TEST(MemoryHistory, HasTheHoldsThatEndedLast) {
    MemoryStore store({.age_max = 24h}, &test_clock());
    ASSERT_TRUE(store.keeps_history());
    const auto commit = [&store](std::initializer_list<Event> events) {
        store.on_changes(changes_of(events));
    };
    commit({after_a_wait(by("ci", granted(1))), granted(2)});
    commit({released(2), by("ops", released(1))});
    const auto holds = history_of(store).holds;
    ASSERT_EQ(holds.size(), 2U);
    EXPECT_EQ(holds[0].fence, 1U);
    EXPECT_EQ(holds[0].waited, 7s);
    EXPECT_EQ(holds[0].granted_by, "ci");
    EXPECT_EQ(holds[0].ended_by, "ops");
    EXPECT_EQ(holds[1].waited, 0s);
    EXPECT_EQ(holds[1].granted_by + holds[1].ended_by, "");
    EXPECT_EQ(store.figures().history_rows, 2U);
    for (std::uint64_t fence = 3; fence <= MemoryStore::history_rows_max + 5; ++fence) {
        commit({granted(fence)});
        commit({released(fence)});
    }
    EXPECT_EQ(store.figures().history_rows, MemoryStore::history_rows_max);
}

TEST(MemoryHistory, IsOffUnlessItIsAskedFor) {
    EXPECT_FALSE(MemoryStore().keeps_history());
}

}  // namespace
}  // namespace holdfast::store
