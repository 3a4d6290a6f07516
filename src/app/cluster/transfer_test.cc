#include "app/cluster/transfer.h"

#include <gmock/gmock.h>

#include <map>

#include "app/loop_executor.h"
#include "net/loop/event_loop.h"
#include "store/sqlite_store.h"
#include "store/tables/test_leases.h"

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using core::EventKind;
using store::LeaseRow;
using ::testing::HasSubstr;
namespace lab = store::testing;

class TransferTest : public ::testing::Test {
  protected:
    base::Result<Transferred> run(service::Store& from, service::Store& to) {
        net::EventLoop loop;
        LoopExecutor executor(loop);
        base::Result<Transferred> result = base::fail("not done");
        loop.post([&] {
            transfer(from, to, clock_, executor, [&](base::Result<Transferred> done) {
                result = std::move(done);
                loop.stop();
            });
        });
        loop.run();
        return result;
    }

    const service::SystemClock clock_{};
    const lab::TemporaryFolder folder_;
};

LeaseRow lease(std::uint64_t fence, std::string name) {
    return {.fence = fence, .secret = 99, .name = std::move(name), .owner = "laptop1", .ttl = 30s};
}

TEST_F(TransferTest, CopiesLeasesFencesAndTheNumbers) {
    const auto from = lab::open_store(folder_ / "from.db");
    lab::recover(*from);
    const LeaseRow held = lease(5, "held");
    LeaseRow kept = lease(6, "kept");
    kept.grace = 5s;
    kept.metadata = "nightly";
    kept.members = "2;x 4:kept,s 7:path:/x,";
    kept.value = "10.0.0.1";
    kept.revision = 3;
    kept.waiter = "thread 1";
    ASSERT_TRUE(lab::commit(*from, lab::changes_of({lab::event_of(EventKind::granted, held),
                                                    lab::event_of(EventKind::granted, kept),
                                                    lab::event_of(EventKind::expired, kept)})));
    {
        const auto to = lab::open_store(folder_ / "to.db");
        const auto done = run(*from, *to);
        ASSERT_TRUE(done) << done.error().message;
        EXPECT_EQ(done->leases, 2U);
        EXPECT_EQ(done->next_fence, 7U);
    }
    kept.state = core::LeaseState::grace;
    const auto to = lab::open_store(folder_ / "to.db");
    const lab::Found found = lab::recover(*to);
    EXPECT_EQ(found.leases, (lab::Leases{{5, held}, {6, kept}}));
    EXPECT_EQ(found.next_fence, 7U);
}

TEST_F(TransferTest, LeavesAFullDestinationAlone) {
    const auto from = lab::open_store(folder_ / "from.db");
    const auto to = lab::open_store(folder_ / "to.db");
    lab::recover(*to);
    ASSERT_TRUE(
        lab::commit(*to, lab::changes_of({lab::event_of(EventKind::granted, lease(1, "x"))})));
    const auto done = run(*from, *to);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("already"));
}

TEST_F(TransferTest, ManyLeasesGoInSeveralCommits) {
    const auto from = lab::open_store(folder_ / "from.db");
    lab::recover(*from);
    core::Changes changes;
    for (std::uint64_t fence = 1; fence <= 2'500; ++fence) {
        changes.add(lab::event_of(EventKind::granted, lease(fence, std::to_string(fence))));
    }
    ASSERT_TRUE(lab::commit(*from, std::move(changes)));
    const auto to = lab::open_store(folder_ / "to.db");
    const auto done = run(*from, *to);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->leases, 2'500U);
    EXPECT_EQ(to->figures().commits, 4U);
}

}  // namespace
}  // namespace holdfast::app
