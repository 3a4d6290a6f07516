// holdfast/holdfast.h: one story, with the locks inside the program and with those of a server.

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>

#include "holdfast/holdfast.h"
#include "test_server.h"

namespace holdfast::sdk::testing {
namespace {

struct End {
    void operator()(holdfast_locks* locks) const { holdfast_close(locks); }
    void operator()(holdfast_lease* lease) const { holdfast_lease_free(lease); }
    void operator()(holdfast_guard* guard) const { holdfast_guard_free(guard); }
    void operator()(holdfast_stop* stop) const { holdfast_stop_free(stop); }
};
using LeasePointer = std::unique_ptr<holdfast_lease, End>;
using GuardPointer = std::unique_ptr<holdfast_guard, End>;

class CInterface : public ::testing::TestWithParam<bool> {
  protected:
    CInterface() {
        holdfast_locks* locks = nullptr;
        if (GetParam()) {
            server_.emplace();
            const std::string url = server_->url();
            const holdfast_server place{.servers = url.c_str()};
            EXPECT_EQ(holdfast_connect(&place, &locks, &why_), HOLDFAST_OK) << why_.message;
        } else {
            EXPECT_EQ(holdfast_open(nullptr, &locks, &why_), HOLDFAST_OK) << why_.message;
        }
        locks_.reset(locks);
    }

    LeasePointer take(const holdfast_request& request, holdfast_code expected = HOLDFAST_OK) {
        auto* lease = reinterpret_cast<holdfast_lease*>(this);  // must be overwritten
        EXPECT_EQ(holdfast_try_acquire(locks(), &request, &lease, &why_), expected) << why_.message;
        EXPECT_EQ(lease != nullptr, expected == HOLDFAST_OK);
        return LeasePointer(lease);
    }
    [[nodiscard]] holdfast_locks* locks() const { return locks_.get(); }

    std::optional<TestServer> server_;
    std::unique_ptr<holdfast_locks, End> locks_;
    holdfast_error why_{};
};
INSTANTIATE_TEST_SUITE_P(Inside, CInterface, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(OfAServer, CInterface, ::testing::Values(true));

TEST_P(CInterface, TakesRenewsChecksAndGivesBack) {
    const LeasePointer lease =
        take({.scope = "range:7:0-10", .holder = "a", .ttl_ms = 60'000, .metadata = "nightly"});
    ASSERT_TRUE(lease);
    const std::string token = holdfast_lease_token(lease.get());
    EXPECT_EQ(token.size(), 32U);
    EXPECT_STREQ(holdfast_lease_scope(lease.get()), "range:7:0-10");
    EXPECT_STREQ(holdfast_lease_holder(lease.get()), "a");
    EXPECT_STREQ(holdfast_lease_metadata(lease.get()), "nightly");
    EXPECT_EQ(holdfast_lease_mode(lease.get()), HOLDFAST_EXCLUSIVE);
    EXPECT_EQ(holdfast_lease_ttl_ms(lease.get()), 60'000);
    EXPECT_GT(holdfast_lease_time_guaranteed_ms(lease.get()), 30'000);
    EXPECT_EQ(
        holdfast_lease_expires_at_ms(lease.get()) - holdfast_lease_acquired_at_ms(lease.get()),
        60'000);

    holdfast_lease* renewed = nullptr;
    ASSERT_EQ(holdfast_renew(locks(), token.c_str(), 120'000, &renewed, &why_), HOLDFAST_OK);
    EXPECT_EQ(holdfast_lease_ttl_ms(renewed), 120'000);
    EXPECT_EQ(holdfast_lease_fencing_token(renewed), holdfast_lease_fencing_token(lease.get()));
    holdfast_lease_free(renewed);
    holdfast_lease* found = nullptr;
    ASSERT_EQ(holdfast_get_by_token(locks(), token.c_str(), &found, nullptr), HOLDFAST_OK);
    EXPECT_EQ(holdfast_lease_ttl_ms(found), 120'000);
    holdfast_lease_free(found);

    const auto check = [&](const char* scope) {
        return holdfast_check(locks(), token.c_str(), scope, HOLDFAST_EXCLUSIVE, nullptr, &why_);
    };
    EXPECT_EQ(check("range:7:2-4"), HOLDFAST_OK);
    EXPECT_STREQ(why_.message, "") << "nothing is left of an earlier error";
    EXPECT_EQ(check("inode:7"), HOLDFAST_SCOPE_MISMATCH);
    EXPECT_STREQ(why_.message, "a lock on range:7:0-10 is not enough for inode:7");
    EXPECT_EQ(check("inode:x"), HOLDFAST_INVALID_REQUEST);
    EXPECT_STREQ(why_.message, "'inode:x' is no scope");
    ASSERT_EQ(holdfast_release(locks(), token.c_str(), &why_), HOLDFAST_OK);
    EXPECT_EQ(check("range:7:2-4"), HOLDFAST_EXPIRED);
    EXPECT_EQ(holdfast_release(locks(), token.c_str(), nullptr), HOLDFAST_EXPIRED);
    EXPECT_EQ(holdfast_release(locks(), "nonsense", nullptr), HOLDFAST_NOT_FOUND);
}

TEST_P(CInterface, SaysWhoHoldsItAndCutsTextsBetweenCharacters) {
    std::string holder;
    while (holder.size() < 300)
        holder += "\u00e9";  // two bytes each: the 255th byte is inside of one
    const LeasePointer lease = take({.scope = "x", .holder = holder.c_str(), .ttl_ms = 60'000});
    ASSERT_TRUE(lease);
    EXPECT_STREQ(holdfast_lease_holder(lease.get()), holder.c_str());
    EXPECT_FALSE(take({.scope = "x", .holder = "b"}, HOLDFAST_HELD));
    EXPECT_EQ(why_.code, HOLDFAST_HELD);
    EXPECT_EQ(std::string(why_.holder), holder.substr(0, 254));
    EXPECT_EQ(why_.expires_at_ms, holdfast_lease_expires_at_ms(lease.get()));
    EXPECT_TRUE(std::string(why_.message).starts_with("x is held by "));
    EXPECT_FALSE(take({}, HOLDFAST_INVALID_REQUEST)) << "no scope";
}

TEST_P(CInterface, LetsAsManyInAsASemaphoreHasPermits) {
    const holdfast_request permit{.scope = "printers", .limit = 2};
    const LeasePointer one = take(permit);
    const LeasePointer other = take(permit);
    EXPECT_STREQ(holdfast_lease_scope(one.get()), "semaphore:printers");
    EXPECT_FALSE(take(permit, HOLDFAST_HELD));
    const holdfast_request reader{.scope = "path:/x", .mode = HOLDFAST_SHARED};
    EXPECT_EQ(holdfast_lease_mode(take(reader).get()), HOLDFAST_SHARED);
}

TEST_P(CInterface, EndsAWaitThatIsStopped) {
    const LeasePointer lease = take({.scope = "x", .holder = "a"});
    const std::unique_ptr<holdfast_stop, End> stop(holdfast_stop_new());
    auto waiting = std::async(std::launch::async, [&] {
        const holdfast_request request{.scope = "x", .holder = "b"};
        holdfast_lease* none = nullptr;
        return holdfast_acquire(locks(), &request, INT64_MAX, stop.get(), &none, nullptr);
    });
    holdfast_stop_request(stop.get());
    EXPECT_EQ(waiting.get(), HOLDFAST_CANCELLED);
}

TEST_P(CInterface, KeepsAGuardAndTellsOfItsLoss) {
    struct Lost {
        std::promise<std::string> promise;
        static void tell(void* context, const holdfast_error* why) {
            static_cast<Lost*>(context)->promise.set_value(why->message);
        }
    } lost;
    const holdfast_request request{.scope = "x", .holder = "a", .ttl_ms = 60'000};
    const holdfast_heartbeat heartbeat{.every_ms = 50, .on_lost = Lost::tell, .context = &lost};
    holdfast_guard* made = nullptr;
    ASSERT_EQ(holdfast_hold(locks(), &request, 0, &heartbeat, nullptr, &made, &why_), HOLDFAST_OK)
        << why_.message;
    const GuardPointer guard(made);
    EXPECT_TRUE(holdfast_guard_is_guaranteed(guard.get()));
    EXPECT_GT(holdfast_guard_time_left_ms(guard.get()), 30'000);
    holdfast_lease* seen = nullptr;
    ASSERT_EQ(holdfast_guard_lease(guard.get(), &seen, nullptr), HOLDFAST_OK);
    const LeasePointer lease(seen);
    EXPECT_EQ(holdfast_guard_fencing_token(guard.get()), holdfast_lease_fencing_token(seen));
    ASSERT_EQ(holdfast_release(locks(), holdfast_lease_token(seen), &why_), HOLDFAST_OK);
    auto told = lost.promise.get_future();
    ASSERT_EQ(told.wait_for(patience), std::future_status::ready);
    EXPECT_EQ(told.get(), "the lock is over");
    EXPECT_FALSE(holdfast_guard_is_guaranteed(guard.get()));
    EXPECT_EQ(holdfast_guard_release(guard.get(), nullptr), HOLDFAST_EXPIRED);
}

TEST_P(CInterface, RefusesAnOldFencingToken) {
    ASSERT_EQ(holdfast_pass_fence(locks(), "bucket", 34, &why_), HOLDFAST_OK);
    EXPECT_EQ(holdfast_pass_fence(locks(), "bucket", 33, &why_), HOLDFAST_STALE_FENCE);
    EXPECT_EQ(why_.highest, 34U);
}

TEST(CInterfaceAlone, SaysWhyThereAreNoLocks) {
    holdfast_error why;
    holdfast_locks* locks = nullptr;
    EXPECT_EQ(holdfast_open("/dev/null/locks.db", &locks, &why), HOLDFAST_STORE_FAILURE);
    EXPECT_EQ(locks, nullptr);
    EXPECT_STRNE(why.message, "");
    const holdfast_server nonsense{.servers = "ftp://x"};
    EXPECT_EQ(holdfast_connect(&nonsense, &locks, &why), HOLDFAST_INVALID_REQUEST);
    EXPECT_EQ(locks, nullptr);
    holdfast_close(nullptr);
    holdfast_lease_free(nullptr);
    holdfast_guard_free(nullptr);
    holdfast_stop_free(nullptr);
}

}  // namespace
}  // namespace holdfast::sdk::testing
