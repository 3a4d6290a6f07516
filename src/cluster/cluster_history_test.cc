#include "cluster/cluster_history.h"

#include <gmock/gmock.h>

#include <set>

#include "cluster/test_cluster.h"

namespace holdfast::cluster::testing {
namespace {

using service::Ending;
using service::Hold;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Hold full() {
    return {.number = 7,
            .fence = 42,
            .kind = core::ScopeKind::range,
            .name = std::string("\xFF\0x", 3),
            .inode = UINT64_MAX,
            .range = {.start = 5, .end = 9},
            .owner = "ann \"q\"",
            .door = core::Door{3},
            .mode = core::Mode::shared,
            .waited = 1500ms,
            .acquired_at = service::WallTime{5s},
            .ended_at = service::WallTime{-7us},
            .ending = Ending::restart,
            .metadata = "{}",
            .members = core::set_to_text(std::vector<core::SetMember>{
                {.scope = core::Scope::of_range(UINT64_MAX, {5, 9}), .mode = core::Mode::shared},
                {.scope = core::Scope::named("job")}}),
            .granted_by = "ci",
            .ended_by = "http@192.0.2.7"};
}

TEST(HoldRecord, IsReadBackAsItWas) {
    const Hold usual{.number = 8, .fence = 43, .name = "job", .owner = "w"};
    EXPECT_EQ(parse_holds(7, to_text({full(), usual})).value(), (std::vector{full(), usual}));
}

// So nodes of an older version read what a newer one has written, without what they do not know.
TEST(HoldRecord, IsReadAlsoWithFieldsThatAreNotKnown) {
    const Hold usual{.number = 7, .fence = 43, .name = "job", .owner = "w"};
    std::string text = to_text({usual});
    text.insert(text.find("\"fence\""), R"("granted_in":"the future",)");
    EXPECT_EQ(parse_holds(7, text).value(), std::vector{usual});
}

TEST(HoldRecord, IsRefusedIfItIsDamaged) {
    const std::string text = to_text({full()});
    for (const char* damaged : {"", "[]", "{}", R"({"holds":[]})", R"({"holds":[{}]})"}) {
        EXPECT_FALSE(parse_holds(1, damaged)) << damaged;
    }
    EXPECT_FALSE(parse_holds(1, to_text({{.fence = 1, .owner = "w", .members = "no set"}})));
    EXPECT_FALSE(parse_holds(1, text.substr(0, text.size() - 1)));
}

struct ClusterHistoryTest : ::testing::Test, TestCluster {
    static ClusterOptions with_history(std::size_t rows_max = 1'000) {
        ClusterOptions options;
        options.history = {.age_max = 24h, .rows_max = rows_max};
        return options;
    }
    static std::vector<std::string> owners(TestNode& node) {
        std::vector<std::string> owners;
        node.store->read_history({.limit = 1'000}, [&owners](auto page) {
            for (const Hold& hold : page.value().holds) owners.push_back(hold.owner);
        });
        return owners;
    }
    std::vector<std::string> values() { return etcd.keys("/holdfast/history/"); }
    void hold(TestNode& node, const std::string& owner) {
        ASSERT_EQ(ask(node, take(owner)), "granted " + owner);
        ASSERT_EQ(ask(node, give_back(owner)), "released");
    }
};

TEST_F(ClusterHistoryTest, IsInEtcdWithTheEndOfTheLease) {
    TestNode& a = add("a", with_history());
    settle();
    hold(a, "ann");
    EXPECT_EQ(values().size(), 1U);
    hold(a, "bob");
    EXPECT_EQ(values().size(), 2U);
    EXPECT_THAT(owners(a), ElementsAre("bob", "ann"));
    EXPECT_EQ(a.store->figures().history_rows, 2U);
}

TEST_F(ClusterHistoryTest, IsKnownToTheNextLeader) {
    TestNode& a = add("a", with_history());
    settle();
    hold(a, "ann");
    TestNode& b = add("b", with_history());
    settle();
    bool has_resigned = false;
    a.store->resign([&has_resigned](auto) { has_resigned = true; });
    advance(10s);
    ASSERT_TRUE(has_resigned);
    ASSERT_TRUE(b.store->view().picture()->is_leading());
    EXPECT_THAT(owners(b), ElementsAre("ann"));
    hold(b, "bob");
    EXPECT_THAT(owners(b), ElementsAre("bob", "ann"));
    EXPECT_EQ(values().size(), 2U);
}

TEST_F(ClusterHistoryTest, SaysHowLongSomebodyWaitedUnderAnotherLeader) {
    TestNode& a = add("a", with_history());
    settle();
    ask(a, take("ann"));
    ASSERT_EQ(a.ask(wait_for("bob"), "bob "), "later");
    advance(2s);
    ASSERT_EQ(ask(a, give_back("ann")), "released");
    settle();
    TestNode& b = add("b", with_history());
    settle();
    a.store->resign([](auto) {});
    advance(3s);
    ASSERT_TRUE(b.store->view().picture()->is_leading());
    ASSERT_EQ(ask(b, give_back("bob")), "released");
    b.store->read_history({.limit = 1}, [](auto page) {
        ASSERT_EQ(page.value().holds.size(), 1U);
        EXPECT_EQ(page.value().holds[0].owner, "bob");
        EXPECT_EQ(page.value().holds[0].waited, 2s);
    });
}

TEST_F(ClusterHistoryTest, SaysWhoHasAskedUnderAnotherLeader) {
    TestNode& a = add("a", with_history());
    settle();
    a.by = "ci";
    ask(a, take("ann"));
    TestNode& b = add("b", with_history());
    settle();
    a.store->resign([](auto) {});
    advance(3s);
    ASSERT_TRUE(b.store->view().picture()->is_leading());
    b.by = "ops";
    ASSERT_EQ(ask(b, give_back("ann")), "released");
    b.store->read_history({.limit = 1}, [](auto page) {
        ASSERT_EQ(page.value().holds.size(), 1U);
        EXPECT_EQ(page.value().holds[0].granted_by, "ci");
        EXPECT_EQ(page.value().holds[0].ended_by, "ops");
    });
}

TEST_F(ClusterHistoryTest, HasSoManyRowsInEtcd) {
    TestNode& a = add("a", with_history(3));
    settle();
    for (int count = 0; count < 20; ++count) hold(a, "w" + std::to_string(count));
    EXPECT_THAT(owners(a), ElementsAre("w19", "w18", "w17"));
    EXPECT_LE(values().size(), 5U);
}

// While nothing is committed, too. The newest value stays: the next leader counts on from there.
TEST_F(ClusterHistoryTest, RemovesWhatIsTooOldFromAQuietCluster) {
    ClusterOptions options;
    options.history = {.age_max = 2min, .rows_max = 1'000};
    TestNode& a = add("a", options);
    settle();
    for (int count = 0; count < 5; ++count) hold(a, "w" + std::to_string(count));
    ASSERT_EQ(values().size(), 5U);
    advance(4min);
    EXPECT_EQ(values().size(), 1U);
    EXPECT_THAT(owners(a), IsEmpty());
}

TEST_F(ClusterHistoryTest, IsDroppedIfEtcdRejectsItAndTheLockIsReleased) {
    TestNode& a = add("a", with_history());
    settle();
    hold(a, "ann");
    a.api.rejected_prefix = "/holdfast/history/";
    hold(a, "bob");
    a.api.rejected_prefix.clear();
    hold(a, "cid");
    advance(6s);
    EXPECT_THAT(owners(a), ElementsAre("cid", "ann"));
    EXPECT_EQ(values().size(), 2U);
    EXPECT_EQ(a.store->view().picture()->history_dropped, 1U);
    EXPECT_EQ(a.service->role(), Role::serving);
}

TEST_F(ClusterHistoryTest, CountsWhatIsDroppedWhileEtcdIsNearlyFull) {
    TestNode& a = add("a", with_history());
    settle();
    ASSERT_EQ(ask(a, take("ann")), "granted ann");
    a.api.status_answer.errors = {"NOSPACE"};
    advance(6s);
    ASSERT_EQ(ask(a, give_back("ann")), "released");
    advance(6s);
    EXPECT_THAT(values(), IsEmpty());
    EXPECT_EQ(a.store->view().picture()->history_dropped, 1U);
}

constexpr service::WallTime noon{1'000'000s};

// The history alone, on an etcd that does what it is told.
class HistoryInEtcd {
  public:
    explicit HistoryInEtcd(const service::HistoryLimits& limits) : history(limits, keys) {}

    // A commit in which so many leases end, each on a lock with this name.
    void end(std::size_t count, const std::string& name = "job") {
        service::Commit commit;
        for (std::size_t index = 0; index < count; ++index) {
            core::Event end{.kind = core::EventKind::released};
            end.lease.scope = core::Scope::named(name);
            end.lease.token.fence = core::Fence{++last_fence_};
            commit.changes.add(end);
        }
        service::CommitEffect effect;
        effect.compute(commit);
        std::set<std::string> keys_changed;  // etcd rejects a transaction that has a key twice
        for (const etcd::Operation& operation : history.plan(effect, noon, true)) {
            EXPECT_TRUE(keys_changed.insert(operation.key).second) << operation.key;
            if (operation.kind == etcd::Operation::Kind::put) {
                EXPECT_TRUE(values.emplace(operation.key, operation.value).second);
            } else {
                values.erase(operation.key);
                removed.push_back(operation.key);
            }
        }
        history.on_committed(noon);
    }
    [[nodiscard]] std::size_t bytes() const {
        std::size_t bytes = 0;
        for (const auto& [key, value] : values) bytes += value.size();
        return bytes;
    }

    const Keys keys{"/holdfast/"};
    ClusterHistory history;
    std::map<std::string, std::string> values;
    std::vector<std::string> removed;

  private:
    std::uint64_t last_fence_ = 1'000;
};

// The clock of the leader was ahead for a while.
TEST(ClusterHistory, RemovesWhatIsTooOldBehindARowFromTheFuture) {
    HistoryInEtcd etcd({.age_max = 24h, .rows_max = 1'000});
    const auto entry = [&](std::uint64_t number, service::WallTime ended_at) {
        const Hold hold{.fence = number, .name = "job", .owner = "w", .ended_at = ended_at};
        return etcd::KeyValue{.key = etcd.keys.history(number), .value = to_text({hold})};
    };
    std::vector<etcd::KeyValue> entries{entry(1, noon + 24h * 365)};
    for (std::uint64_t number = 2; number <= 200; ++number) {
        entries.push_back(entry(number, noon - 48h));
    }
    etcd.history.begin(entries, {}, noon);
    EXPECT_EQ(etcd.history.size(), 1U);
    for (int commit = 0; commit < 30; ++commit) etcd.end(1);
    ASSERT_EQ(etcd.removed.size(), 199U);
    EXPECT_EQ(etcd.removed.front(), etcd.keys.history(2));
    EXPECT_EQ(etcd.removed.back(), etcd.keys.history(200));
    EXPECT_EQ(etcd.history.size(), 31U);
}

TEST(ClusterHistory, DoesNotGrowUnderAnyLoad) {
    HistoryInEtcd etcd({.age_max = 24h, .rows_max = 1'000});
    for (int commit = 0; commit < 50; ++commit) etcd.end(4'000);
    EXPECT_EQ(etcd.history.size(), 1'000U);
    EXPECT_LE(etcd.values.size(), 100U);
}

// What takes one byte in memory may take six in etcd.
TEST(ClusterHistory, CountsTheBytesThatEtcdHas) {
    HistoryInEtcd etcd({.age_max = 24h, .rows_max = 10'000, .bytes_max = 1 << 20});
    for (int commit = 0; commit < 100; ++commit) etcd.end(1, std::string(4'000, '\x01'));
    EXPECT_LE(etcd.bytes(), (1U << 20U) + 25'000U);
    EXPECT_GE(etcd.bytes(), 900'000U);
    EXPECT_EQ(etcd.history.size(), etcd.values.size());
}

TEST(ClusterHistory, ALargeValueTakesThePlaceOfManySmallOnes) {
    HistoryInEtcd etcd({.age_max = 24h, .rows_max = 10'000, .bytes_max = 1 << 19});
    for (int commit = 0; commit < 400; ++commit) etcd.end(1, std::string(1'000, 'x'));
    etcd.end(1, std::string(60'000, '\x01'));
    EXPECT_LE(etcd.bytes(), (1U << 19U) + 2'000U);
    EXPECT_GE(etcd.bytes(), 500'000U);
}

TEST(ClusterHistory, WritesValuesThatEtcdTakes) {
    HistoryInEtcd etcd({.age_max = 24h, .rows_max = 10'000});
    etcd.end(80, std::string(4'000, '\x01'));
    EXPECT_EQ(etcd.history.size(), 80U);
    for (const auto& [key, value] : etcd.values) EXPECT_LE(value.size(), 300'000U) << key;
}

// A commit with many ends is packed into nested transactions.
TEST(ClusterHistory, IsLeftOutOfEveryPartOfATransaction) {
    const Keys keys("/holdfast/");
    etcd::Transaction nested;
    nested.then = {etcd::Operation::remove(keys.lease(1)),
                   etcd::Operation::put(keys.history(5), "holds")};
    auto transaction = std::make_shared<etcd::Transaction>();
    transaction->then = {etcd::Operation::transaction(std::move(nested)),
                         etcd::Operation::remove(keys.history(1)),
                         etcd::Operation::put(keys.counter(), "2")};
    std::vector<std::string> left_out;
    const GuardedStep rest = without_history(
        {.transaction = transaction, .has_raised = true, .history = keys.histories()}, left_out);
    EXPECT_THAT(left_out, ElementsAre(keys.history(5), keys.history(1)));
    const auto& then = rest.transaction->then;
    ASSERT_EQ(then.size(), 2U);
    EXPECT_EQ(then[0].nested->then.size(), 1U);
    EXPECT_EQ(then[1].key, keys.counter());
    EXPECT_TRUE(rest.has_raised);
    EXPECT_EQ(rest.history, "");
}

// A newer version may have written it.
TEST(ClusterHistory, DoesNotUseTheNumbersOfAValueThatItCannotRead) {
    for (const char* damaged :
         {R"({"holds":[{"ended":"abducted"}]})", R"({"holds":[{}, {}]})", "{", ""}) {
        HistoryInEtcd etcd({.age_max = 24h, .rows_max = 1'000});
        const std::string key = etcd.keys.history(7);
        etcd.values.emplace(key, damaged);
        etcd.history.begin({{.key = key, .value = damaged}}, {}, noon);
        for (int commit = 0; commit < 3; ++commit) etcd.end(1);
        EXPECT_EQ(etcd.history.size(), 3U) << damaged;
        EXPECT_EQ(etcd.values.size(), 3U) << damaged;
        EXPECT_THAT(etcd.removed, ElementsAre(key)) << damaged;
    }
}

// All values are too many and too old at once: there is more than one reason to remove each of them.
TEST(ClusterHistory, RemovesNoValueTwice) {
    HistoryInEtcd etcd({.age_max = 24h, .rows_max = 1'000, .bytes_max = 100});
    std::vector<etcd::KeyValue> entries;
    for (std::uint64_t number = 1; number <= 300; ++number) {
        const Hold old{.fence = number, .name = "job", .owner = "w", .ended_at = noon - 48h};
        entries.push_back({.key = etcd.keys.history(number),
                           .value = number % 3 == 0 ? "damaged" : to_text({old})});
        etcd.values.emplace(entries.back().key, entries.back().value);
    }
    etcd.history.begin(entries, {}, noon);
    for (int commit = 0; commit < 60; ++commit) etcd.end(1);
    EXPECT_EQ(std::set(etcd.removed.begin(), etcd.removed.end()).size(), etcd.removed.size());
    EXPECT_LE(etcd.values.size(), 2U);
}

TEST_F(ClusterHistoryTest, IsNotWrittenIfItIsOff) {
    TestNode& a = lead();
    hold(a, "ann");
    EXPECT_FALSE(a.store->keeps_history());
    EXPECT_THAT(values(), IsEmpty());
}

}  // namespace
}  // namespace holdfast::cluster::testing
