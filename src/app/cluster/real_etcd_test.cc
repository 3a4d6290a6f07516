// The store of a cluster on a real etcd.

#include <gmock/gmock.h>

#include <set>

#include "app/cluster/loop_timers.h"
#include "app/cluster/transfer.h"
#include "app/loop_executor.h"
#include "base/crypto.h"
#include "cluster/cluster_store.h"
#include "etcd/test_etcd.h"
#include "store/sqlite_store.h"
#include "store/tables/test_leases.h"

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using core::EventKind;
using store::LeaseRow;
namespace lab = store::testing;

LeaseRow lease(std::uint64_t fence) {
    return {.fence = fence,
            .secret = 99,
            .name = "job " + std::to_string(fence),
            .owner = "laptop1",
            .ttl = 30s};
}

// A node without a server.
class RealNode {
  public:
    RealNode(net::EventLoop& loop, const etcd::TestEtcd& etcd, const std::string& name)
        : client_(etcd::Client::open(loop, etcd.settings()).value()),
          timers_(loop, clock_),
          store({.prefix = "test", .node = name, .peer = name + ":1", .version = "1"},
                {.etcd = *client_,
                 .timers = timers_,
                 .clock = clock_,
                 .random = base::RandomBits()}) {}

  private:
    const service::BoottimeClock clock_;
    std::unique_ptr<etcd::Client> client_;
    LoopTimers timers_;

  public:
    cluster::ClusterStore store;
};

class RealEtcd : public ::testing::Test {
  protected:
    // Runs the loop until the store has recovered, and returns the numbers of the leases.
    std::set<std::uint64_t> recover(service::Store& store) {
        std::set<std::uint64_t> fences;
        store.recover(
            [&](const core::RestoreRequest& found) {
                fences.insert(core::as_number(found.token.fence));
                return true;
            },
            [&](const service::StoreResult<service::Recovered>& result) {
                EXPECT_TRUE(result) << result.error().message;
                if (result) next_fence_ = result->next_fence;
                loop_.stop();
            });
        loop_.run();
        return fences;
    }
    void commit(service::Store& store, const service::Commit& commit) {
        store.commit(commit, [&](const service::StoreResult<void>& result) {
            EXPECT_TRUE(result) << result.error().message;
            loop_.stop();
        });
        loop_.run();
    }
    void stop(cluster::ClusterStore& store) {
        store.stop([&] { loop_.stop(); });
        loop_.run();
    }

    net::EventLoop loop_;
    std::uint64_t next_fence_ = 0;
};

TEST_F(RealEtcd, TakesACommitThatIsLargerThanOneTransaction) {
    HOLDFAST_NEEDS_ETCD();
    const etcd::TestEtcd etcd;
    constexpr std::uint64_t count = 4'500;
    {
        RealNode node(loop_, etcd, "a");
        EXPECT_TRUE(recover(node.store).empty());
        service::Commit granted;
        for (std::uint64_t fence = 1; fence <= count; ++fence) {
            granted.changes.add(lab::event_of(EventKind::granted, lease(fence)));
        }
        commit(node.store, granted);
        service::Commit released;
        released.changes.add(lab::event_of(EventKind::released, lease(7)));
        commit(node.store, released);
        stop(node.store);
    }
    RealNode next(loop_, etcd, "b");
    const auto found = recover(next.store);
    EXPECT_EQ(found.size(), count - 1);
    EXPECT_FALSE(found.contains(7));
    EXPECT_EQ(next_fence_, count + 1);
    EXPECT_EQ(next.store.view().picture()->leader.epoch, 2U);
    stop(next.store);
}

TEST_F(RealEtcd, HasTheLocksOfAServerAndGivesThemBack) {
    HOLDFAST_NEEDS_ETCD();
    const etcd::TestEtcd etcd;
    const lab::TemporaryFolder folder;
    const service::BoottimeClock clock;
    LoopExecutor executor(loop_);
    const auto move = [&](service::Store& from, service::Store& to) {
        transfer(from, to, clock, executor, [&](const base::Result<Transferred>& done) {
            EXPECT_TRUE(done) << done.error().message;
            loop_.stop();
        });
        loop_.run();
    };
    const auto file = lab::open_store(folder / "first.db");
    lab::recover(*file);
    ASSERT_TRUE(lab::commit(*file, lab::changes_of({lab::event_of(EventKind::granted, lease(5)),
                                                    lab::event_of(EventKind::granted, lease(8))})));
    {
        RealNode node(loop_, etcd, "migration");
        move(*file, node.store);
        stop(node.store);
    }
    {
        RealNode node(loop_, etcd, "migration");
        const auto back = lab::open_store(folder / "second.db");
        move(node.store, *back);
        stop(node.store);
    }
    const auto back = lab::open_store(folder / "second.db");
    lab::Found found = lab::recover(*back);
    for (auto& [fence, row] : found.leases) row.acquired_at = {};  // by another clock
    EXPECT_EQ(found.leases, (lab::Leases{{5, lease(5)}, {8, lease(8)}}));
    EXPECT_EQ(found.next_fence, 9U);
}

}  // namespace
}  // namespace holdfast::app
