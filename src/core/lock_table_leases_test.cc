// Leases as listings show them: those that live, in the order of their grants.

#include <gtest/gtest.h>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

Texts scopes(const std::vector<LeaseView>& leases) {
    Texts texts;
    for (const LeaseView& lease : leases) {
        texts.push_back(to_text(lease.scope) + " " + std::string(lease.owner.name));
    }
    return texts;
}

struct LeaseList : ::testing::Test {
    LeaseList() {
        table.acquire(at(0s), ask("job", "a"));
        table.acquire(at(0s), ask(Scope::of_range(9, {5, 9}), "b"));
        table.acquire(at(0s), ask(Scope::path("/web"), "a"));
        table.acquire(at(0s), ask(Scope::of_range(9, {0, 5}), "a"));
        table.acquire(at(0s), ask(Scope::of_inode(10), "b"));
        table.acquire(at(0s), ask(Scope::semaphore("job"), "c"));
    }
    LockTable table{{.first_fence = 1}};
};

TEST_F(LeaseList, IsInTheOrderOfGrants) {
    EXPECT_EQ(scopes(table.list_leases({})),
              (Texts{"named:job a", "range:9:5-9 b", "path:/web a", "range:9:0-5 a", "inode:10 b",
                     "semaphore:job c"}));
}

TEST_F(LeaseList, IsThatOfAKindAHolderOrALock) {
    EXPECT_EQ(scopes(table.list_leases({.kind = ScopeKind::range})),
              (Texts{"range:9:5-9 b", "range:9:0-5 a"}));
    EXPECT_EQ(scopes(table.list_leases({.holder = "b"})), (Texts{"range:9:5-9 b", "inode:10 b"}));
    EXPECT_EQ(scopes(table.list_leases({.on = Scope::of_inode(9)})),
              (Texts{"range:9:5-9 b", "range:9:0-5 a"}));
    EXPECT_EQ(scopes(table.list_leases({.on = Scope::of_range(9, {4, 5})})),
              (Texts{"range:9:0-5 a"}));
    EXPECT_EQ(scopes(table.list_leases({.on = Scope::path("/web")})), (Texts{"path:/web a"}));
    EXPECT_EQ(scopes(table.list_leases(
                  {.kind = ScopeKind::range, .on = Scope::of_inode(9), .holder = "a"})),
              (Texts{"range:9:0-5 a"}));
    EXPECT_EQ(scopes(table.list_leases({.on = Scope::path("/")})), Texts{});
    EXPECT_EQ(scopes(table.list_leases({.holder = "nobody"})), Texts{});
}

TEST_F(LeaseList, ComesPageByPage) {
    const Texts all = scopes(table.list_leases({}));
    for (const std::size_t limit : {1U, 2U, 4U, 5U, 6U, 7U}) {
        Texts pages;
        LeaseQuery query{.limit = limit};
        for (auto page = table.list_leases(query); !page.empty(); page = table.list_leases(query)) {
            EXPECT_LE(page.size(), limit);
            for (const std::string& text : scopes(page)) pages.push_back(text);
            query.after = page.back().token.fence;
        }
        EXPECT_EQ(pages, all) << limit;
    }
    EXPECT_TRUE(table.list_leases({.limit = 0}).empty());
}

TEST_F(LeaseList, LeavesOutWhatIsOverOrKeptInGrace) {
    AcquireRequest short_one = ask("short", "d");
    short_one.ttl = 1s;
    short_one.grace = 10s;
    table.acquire(at(0s), short_one);
    EXPECT_EQ(table.list_leases({.holder = "d"}).size(), 1U);
    table.advance(at(1s));
    EXPECT_TRUE(table.list_leases({.holder = "d"}).empty());
    EXPECT_EQ(table.force_release(at(1s), Scope::of_inode(9)), 2U);
    EXPECT_EQ(scopes(table.list_leases({})),
              (Texts{"named:job a", "path:/web a", "inode:10 b", "semaphore:job c"}));
}

}  // namespace
}  // namespace holdfast::core
