// Listings page by page: the holders of a lock, and live leases in the order of their grants.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/lock_table.h"
#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace testing;

// Acquires so many permits of a semaphore.
std::vector<Token> take_permits(LockTable& table, std::uint32_t count) {
    std::vector<Token> tokens;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::string owner = "w" + std::to_string(i);
        AcquireRequest request = ask(Scope::semaphore("pool"), owner);
        request.limit = 100;
        tokens.push_back(table.acquire(at(0s), request).lease.token);
    }
    return tokens;
}

std::vector<std::uint64_t> numbers(const LockView& lock) {
    std::vector<std::uint64_t> seen;
    for (const LeaseView& holder : lock.holders) seen.push_back(as_number(holder.token.fence));
    return seen;
}

TEST(LockTable, ShowsHoldersPageByPage) {
    LockTable table;
    const std::vector<Token> tokens = take_permits(table, 5);
    const Scope pool = Scope::semaphore("pool");
    using Numbers = std::vector<std::uint64_t>;
    EXPECT_EQ(numbers(*table.inspect(pool, 0, {.limit = 2})), (Numbers{1, 2}));
    EXPECT_EQ(table.inspect(pool, 0, {.limit = 2})->holder_count, 5U);
    EXPECT_EQ(numbers(*table.inspect(pool, 0, {.after = fence(2), .limit = 2})), (Numbers{3, 4}));
    EXPECT_EQ(numbers(*table.inspect(pool, 0, {.after = fence(4), .limit = 2})), (Numbers{5}));
    EXPECT_EQ(numbers(*table.inspect(pool, 0, {.after = fence(5), .limit = 2})), (Numbers{}));
    // The last holder of the page before has ended meanwhile.
    table.release(at(1s), {.token = tokens[1]});
    EXPECT_EQ(numbers(*table.inspect(pool, 0, {.after = fence(2), .limit = 2})), (Numbers{3, 4}));
    // A number that is not of this lock.
    table.acquire(at(1s), ask("other", "x"));
    EXPECT_EQ(numbers(*table.inspect(pool, 0, {.after = fence(6)})), (Numbers{}));
}

class OnlyA final : public ScopeFilter {
  public:
    [[nodiscard]] bool includes(const Scope& scope) const override {
        return scope.name.starts_with('a') || scope.inode == 7;
    }
};

TEST(LockTable, ListsOnlyWhatTheFilterIncludesOnFullPages) {
    LockTable table;
    for (const char* name : {"a1", "b1", "a2", "b2", "a3"}) table.acquire(at(0s), ask(name, "w"));
    table.acquire(at(0s), ask(Scope::of_range(7, {0, 5}), "w"));
    table.acquire(at(0s), ask(Scope::of_inode(8), "w"));
    const auto filter = std::make_shared<const OnlyA>();
    std::string locks, leases;
    for (const LockView& lock : table.list({.limit = 3, .filter = filter})) {
        locks += to_text(lock.scope) + " ";
    }
    EXPECT_EQ(locks, "a1 a2 a3 ") << "three that may be seen, though others come between";
    EXPECT_EQ(table.list({.filter = filter}).size(), 4U);
    for (const LeaseView& lease : table.list_leases({.filter = filter})) {
        leases += to_text(lease.scope) + " ";
    }
    EXPECT_EQ(leases, "a1 a2 a3 range:7:0-5 ");
}

TEST(LockTable, ShowsHoldersInTheOrderOfTheirGrants) {
    LockTable table;
    AcquireRequest request = ask(Scope::semaphore("pool"), "a");
    request.limit = 9;
    request.grace = 10s;
    table.acquire(at(0s), request);
    table.acquire(at(1s), ask(Scope::named("between"), "x"));
    request.owner.name = "b";
    table.acquire(at(2s), request);
    request.owner.name = "a";
    table.acquire(at(31s), request);  // reclaims its lease
    const auto lock = table.inspect(Scope::semaphore("pool"));
    EXPECT_EQ(numbers(*lock), (std::vector<std::uint64_t>{3, 4}));
    table.check_invariants();
}

TEST(LockTable, ShowsRestoredHoldersInTheOrderOfTheirGrants) {
    LockTable table;
    for (const std::uint64_t number : {7U, 3U, 9U, 5U, 1U}) {
        ASSERT_TRUE(table.restore(at(0s), remembered(shared(ask("doc", "x")), number)));
        table.check_invariants();
    }
    EXPECT_EQ(numbers(*table.inspect(Scope::named("doc"))),
              (std::vector<std::uint64_t>{1, 3, 5, 7, 9}));
}

TEST(LockTable, ListsNotMoreHoldersThanAskedFor) {
    LockTable table;
    table.acquire(at(0s), ask("a", "x"));
    table.acquire(at(0s), ask("b", "x"));
    take_permits(table, 5);
    table.acquire(at(0s), ask(Scope::path("/p"), "x"));

    auto page = table.list({.holders_max = 4});
    EXPECT_EQ(names(page), (Texts{"a", "b", "semaphore:pool"}));
    EXPECT_EQ(page[1].holders.size(), 1U);
    EXPECT_TRUE(page[2].holders.empty()) << "begins the next page";
    EXPECT_EQ(page[2].holder_count, 5U);

    page = table.list({.after = Scope::named("b"), .holders_max = 4});
    EXPECT_EQ(names(page), (Texts{"semaphore:pool", "path:/p"}));
    EXPECT_EQ(page[0].holders.size(), 4U) << "the first of a page is always shown";
    EXPECT_TRUE(page[1].holders.empty());

    page = table.list({.holders_per_lock_max = 1});
    ASSERT_EQ(page.size(), 4U);
    EXPECT_EQ(page[2].holders.size(), 1U);
    EXPECT_EQ(page[2].holder_count, 5U);
}

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
              (Texts{"job a", "range:9:5-9 b", "path:/web a", "range:9:0-5 a", "inode:10 b",
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
              (Texts{"job a", "path:/web a", "inode:10 b", "semaphore:job c"}));
}

}  // namespace
}  // namespace holdfast::core
