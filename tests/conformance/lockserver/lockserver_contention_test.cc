// Eighty clients and one lock, in real time: what the protocol promises holds when leases run out
// under their holders, whatever the machine's speed. Nothing here is asserted of how long something
// takes; only of what can have happened, by the careful clocks of the clients.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "live_host.h"
#include "lock_client.h"

namespace holdfast::conformance {
namespace {

constexpr int client_count = 80;
constexpr auto run_time = 1500ms;

// What the lock protects: accepts a write only with a token that is not older than the newest.
class FencedResource {
  public:
    // Whether it was accepted. One whose lease is surely valid, while others cannot write, must be.
    bool write(const HeldLease& lease) {
        const std::lock_guard guard(mutex_);
        const bool is_accepted = lease.token >= newest_;
        if (now() < lease.valid_until) {
            EXPECT_TRUE(is_accepted)
                << "a valid holder with " << lease.token << " came after " << newest_;
        }
        if (is_accepted) newest_ = lease.token;
        return is_accepted;
    }
    [[nodiscard]] std::uint64_t newest() const {
        const std::lock_guard guard(mutex_);
        return newest_;
    }

  private:
    mutable std::mutex mutex_;
    std::uint64_t newest_ = 0;
};

// When somebody surely held the lock.
struct Hold {
    TimePoint from, to;
    std::uint64_t token;
};

// What all clients of a run have seen.
class Witness {
  public:
    // A token that was seen before a request was sent is older than what the request is granted.
    [[nodiscard]] std::uint64_t newest_token() const { return newest_token_; }
    void see(const HeldLease& lease, std::uint64_t newest_before) {
        EXPECT_GT(lease.token, newest_before);
        std::uint64_t seen = newest_token_;
        while (seen < lease.token && !newest_token_.compare_exchange_weak(seen, lease.token)) {
        }
    }

    void add(const HeldLease& lease, TimePoint given_back) {
        const TimePoint to = std::min(lease.valid_until, given_back);
        const std::lock_guard guard(mutex_);
        ++grants_;
        if (lease.received < to) holds_.push_back({lease.received, to, lease.token});
    }

    // Nobody held the lock while another did, and tokens grew from one to the next.
    void expect_one_at_a_time() {
        const std::lock_guard guard(mutex_);
        std::sort(holds_.begin(), holds_.end(),
                  [](const Hold& a, const Hold& b) { return a.token < b.token; });
        for (std::size_t i = 1; i < holds_.size(); ++i) {
            EXPECT_LT(holds_[i - 1].token, holds_[i].token);
            EXPECT_LE(holds_[i - 1].to, holds_[i].from)
                << "tokens " << holds_[i - 1].token << " and " << holds_[i].token;
        }
        EXPECT_GT(holds_.size(), 1U);
        EXPECT_GE(grants_, holds_.size());
    }

  private:
    std::atomic<std::uint64_t> newest_token_ = 0;
    std::mutex mutex_;
    std::vector<Hold> holds_;
    std::size_t grants_ = 0;
};

struct Setup {
    std::size_t threads;
    bool is_durable;
};

class LockserverContention : public ::testing::TestWithParam<Setup> {
  protected:
    // Lets every client do its part until the time is over.
    template <class Part>
    void run(Part part) {
        std::vector<std::thread> clients;
        clients.reserve(client_count);
        for (int number = 0; number < client_count; ++number) {
            clients.emplace_back([this, part, number] {
                LockClient client(host_.endpoint(), "w" + std::to_string(number));
                part(client, number);
            });
        }
        for (std::thread& client : clients) client.join();
    }
    [[nodiscard]] bool is_over() const {
        const bool has_seen_enough = stale_writes_refused_ >= stale_writes_wanted_;
        return now() > end_ + (has_seen_enough ? 0s : 20s);
    }

    // Holds for a moment, writes, gives back.
    void work(LockClient& client, const HeldLease& lease) {
        resource_.write(lease);
        const TimePoint given_back = now();
        const bool is_released = client.release(lease);
        EXPECT_TRUE(is_released || now() >= lease.valid_until);
        witness_.add(lease, given_back);
    }

    // Sleeps past the end of the lease, until somebody else has written; then tries everything that
    // a stale client could.
    void oversleep(LockClient& client, HeldLease lease, std::chrono::milliseconds ttl) {
        std::this_thread::sleep_until(lease.received + ttl);
        while (resource_.newest() <= lease.token && !is_over()) {
            std::this_thread::sleep_for(1ms);
        }
        witness_.add(lease, lease.valid_until);
        EXPECT_FALSE(client.renew(lease, 60s));
        EXPECT_FALSE(client.release(lease));
        if (resource_.newest() <= lease.token) return;
        EXPECT_FALSE(resource_.write(lease)) << "a stale write was accepted";
        ++stale_writes_refused_;
    }

    const TimePoint end_ = now() + run_time;
    LiveHost host_{GetParam().threads, GetParam().is_durable};
    FencedResource resource_;
    Witness witness_;
    std::atomic<int> stale_writes_refused_ = 0;
    int stale_writes_wanted_ = 0;  // a slow machine is given time for so many
};

INSTANTIATE_TEST_SUITE_P(Hosts, LockserverContention,
                         ::testing::Values(Setup{1, false}, Setup{3, false}, Setup{1, true},
                                           Setup{3, true}),
                         [](const auto& setup) {
                             return std::string(setup.param.is_durable ? "Durable" : "InMemory") +
                                    "With" + std::to_string(setup.param.threads);
                         });

TEST_P(LockserverContention, NoStaleClientHarmsTheNewOwner) {
    stale_writes_wanted_ = 1;
    run([this](LockClient& client, int number) {
        std::minstd_rand random(static_cast<unsigned>(number) + 1);
        // The first one always oversleeps, others now and then.
        bool must_oversleep = number == 0;
        while (!is_over()) {
            const bool will_oversleep = must_oversleep || random() % 100 < 3;
            const auto ttl = will_oversleep ? 20ms : 2000ms;
            const auto wait = random() % 2 == 0 ? 0ms : 500ms;
            const std::uint64_t newest_before = witness_.newest_token();
            const auto lease = client.acquire(ttl, must_oversleep ? 9000ms : wait);
            if (!lease) {
                std::this_thread::sleep_for(std::chrono::milliseconds{random() % 20});
                continue;
            }
            witness_.see(*lease, newest_before);
            if (will_oversleep) {
                oversleep(client, *lease, ttl);
                must_oversleep = false;
            } else {
                work(client, *lease);
            }
        }
    });
    witness_.expect_one_at_a_time();
    EXPECT_GE(stale_writes_refused_, stale_writes_wanted_);
}

// A crashed holder never comes back; the lock does.
TEST_P(LockserverContention, ThereIsProgressWhenEveryHolderCrashes) {
    std::atomic<int> grants = 0;
    run([&, this](LockClient& client, int) {
        const std::uint64_t newest_before = witness_.newest_token();
        const auto lease = client.acquire(5ms, 9000ms);
        if (!lease) return;
        witness_.see(*lease, newest_before);
        witness_.add(*lease, lease->valid_until);
        ++grants;
    });
    EXPECT_EQ(grants, client_count);
}

TEST_P(LockserverContention, AHeartbeatHoldsTheLock) {
    constexpr auto ttl = 500ms;
    std::atomic<bool> is_held = false;
    run([&, this](LockClient& client, int number) {
        if (number > 0) {  // knocks at the door
            while (!is_held && !is_over()) std::this_thread::sleep_for(1ms);
            while (!is_over()) {
                const std::uint64_t newest_before = witness_.newest_token();
                if (const auto lease = client.acquire(ttl, 0ms)) {
                    witness_.see(*lease, newest_before);
                    work(client, *lease);
                }
                std::this_thread::sleep_for(std::chrono::milliseconds{number % 20});
            }
            return;
        }
        auto lease = client.acquire(ttl, 0ms);
        ASSERT_TRUE(lease);
        is_held = true;
        bool was_late = false;
        while (!is_over() && !was_late) {
            std::this_thread::sleep_for(ttl / 10);
            const TimePoint valid_until = lease->valid_until;
            const bool is_renewed = client.renew(*lease, ttl);
            // A machine that stood still for half a second loses the lock, and rightly so.
            was_late = !is_renewed && now() >= valid_until;
            EXPECT_TRUE(is_renewed || was_late);
        }
        witness_.see(*lease, 0);
        if (was_late) return;
        // Had anybody else been granted the lock meanwhile, its token would be newer.
        const std::uint64_t newest = witness_.newest_token();
        EXPECT_TRUE(newest == lease->token || now() >= lease->valid_until);
        work(client, *lease);
    });
}

}  // namespace
}  // namespace holdfast::conformance
