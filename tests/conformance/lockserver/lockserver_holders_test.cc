// Listings of locks with very many holders: no answer is large, and none leaves a holder out for
// good.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "../test_host.h"
#include "base/json/json_value.h"

namespace holdfast::conformance {
namespace {

constexpr std::size_t page_max = 1'000;
constexpr std::size_t permit_count = 2 * page_max + 100;

class LockserverHolders : public ::testing::Test {
  protected:
    LockserverHolders() {
        post("/v1/locks/a/acquire", R"({"owner_id":"w","ttl_ms":600000})");
        for (std::size_t i = 0; i < permit_count; ++i) {
            post("/v1/locks/pool/acquire", R"({"owner_id":"w","ttl_ms":600000,"limit":10000})");
        }
        post("/v1/leases", R"({"scope":{"kind":"path","path":"/p"},"holder":"w"})");
    }

    void post(const std::string& target, const std::string& body) {
        client_.send(http("POST " + target, body));
        const net::TestResponse response = client_.response();
        ASSERT_EQ(response.status, 200) << response.body;
    }

    base::JsonValue get(const std::string& target) {
        client_.send(http("GET " + target));
        const net::TestResponse response = client_.response();
        EXPECT_EQ(response.status, 200) << response.body;
        EXPECT_LT(response.body.size(), page_max * 400) << target;
        return base::JsonValue::parse(response.body).value();
    }

    // The holders of one answer; each was not seen before.
    void see_holders(const base::JsonValue& lock) {
        EXPECT_LE(lock["holders"].items().size(), page_max);
        for (const base::JsonValue& holder : lock["holders"].items()) {
            EXPECT_TRUE(seen_.insert(*holder["fencing_token"].natural()).second);
        }
    }

    // Follows the pages of the semaphore's holders from the first one on.
    void see_all_holders(const base::JsonValue& first) {
        see_holders(first);
        EXPECT_EQ(first["holder_count"].natural(), permit_count);
        for (std::string next(first["holders_next"].text()); !next.empty();) {
            const auto page = get("/v1/locks/pool?kind=semaphore&holders_after=" + next);
            EXPECT_TRUE(page["held"].is_true());
            EXPECT_TRUE(page["owner_id"].is_null()) << "the oldest is on the first page";
            see_holders(page);
            next = page["holders_next"].text();
        }
        EXPECT_EQ(seen_.size(), permit_count);
    }

    TestHost host_{1};
    net::TestClient client_ = host_.connect();
    std::set<std::uint64_t> seen_;
};

TEST_F(LockserverHolders, OfOneLockShowsAPageOfItsHolders) {
    const auto listed = get("/v1/locks?limit=1&prefix=pool");
    ASSERT_EQ(listed["locks"].items().size(), 1U);
    EXPECT_EQ(listed["locks"][0]["holders"].items().size(), page_max);
    see_all_holders(listed["locks"][0]);
}

TEST_F(LockserverHolders, LooksAtOneLockPageByPage) {
    const auto lock = get("/v1/locks/pool");
    EXPECT_EQ(lock["owner_id"].text(), "w");
    EXPECT_EQ(lock["limit"].number(), 10'000);
    see_all_holders(lock);
    const auto beyond = get("/v1/locks/pool?holders_after=9007199254740991");
    EXPECT_TRUE(beyond["held"].is_true());
    EXPECT_TRUE(beyond["holders"].is_array() && beyond["holders"].items().empty());
}

TEST_F(LockserverHolders, EndsAPageBeforeALockWithTooManyHolders) {
    std::vector<std::string> pages;
    std::string target = "/v1/locks?limit=1000";
    while (!target.empty()) {
        const auto page = get(target);
        std::string names;
        for (const base::JsonValue& lock : page["locks"].items()) {
            names.append(names.empty() ? "" : " ").append(lock["lock_name"].text());
        }
        pages.push_back(names);
        const std::string next(page["next"].text());
        target = next.empty() ? "" : "/v1/locks?limit=1000&after=" + next;
    }
    EXPECT_EQ(pages, (std::vector<std::string>{"a", "pool", "/p"}));
}

}  // namespace
}  // namespace holdfast::conformance
