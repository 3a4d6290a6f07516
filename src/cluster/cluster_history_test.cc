#include "cluster/cluster_history.h"

#include <gmock/gmock.h>

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

// The clock of the leader was ahead for a while.
TEST(ClusterHistory, RemovesWhatIsTooOldBehindARowFromTheFuture) {
    constexpr service::WallTime noon{1'000'000s};
    const Keys keys("/holdfast/");
    const auto entry = [&keys](std::uint64_t number, service::WallTime ended_at) {
        const Hold hold{.fence = number, .name = "job", .owner = "w", .ended_at = ended_at};
        return etcd::KeyValue{.key = keys.history(number), .value = to_text({hold})};
    };
    std::vector<etcd::KeyValue> entries{entry(1, noon + 24h * 365)};
    for (std::uint64_t number = 2; number <= 200; ++number) {
        entries.push_back(entry(number, noon - 48h));
    }
    ClusterHistory history({.age_max = 24h, .rows_max = 1'000}, keys);
    history.begin(entries, {}, noon);
    EXPECT_EQ(history.size(), 1U);
    std::vector<std::string> removed;
    for (std::uint64_t fence = 300; fence < 330; ++fence) {
        core::Event end{.kind = core::EventKind::released};
        end.lease.scope = core::Scope::named("job");
        end.lease.token.fence = core::Fence{fence};
        service::Commit commit;
        commit.changes.add(end);
        service::CommitEffect effect;
        effect.compute(commit);
        for (const etcd::Operation& operation : history.plan(effect, noon, true)) {
            if (operation.kind == etcd::Operation::Kind::remove) removed.push_back(operation.key);
        }
        history.on_committed(noon);
    }
    ASSERT_EQ(removed.size(), 199U);
    EXPECT_EQ(removed.front(), keys.history(2));
    EXPECT_EQ(removed.back(), keys.history(200));
    EXPECT_EQ(history.size(), 31U);
}

TEST_F(ClusterHistoryTest, IsNotWrittenIfItIsOff) {
    TestNode& a = lead();
    hold(a, "ann");
    EXPECT_FALSE(a.store->keeps_history());
    EXPECT_THAT(values(), IsEmpty());
}

}  // namespace
}  // namespace holdfast::cluster::testing
