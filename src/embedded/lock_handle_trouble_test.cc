// Handles when the world fails: a store that breaks or does not answer, a wall clock that is wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "embedded/test_gated_store.h"
#include "embedded/test_manager.h"
#include "store/tables/test_leases.h"

namespace holdfast::embedded {
namespace {

using namespace testing;
using store::testing::TemporaryFolder;
using ::testing::HasSubstr;
using Gate = GatedStore::Gate;

// A manager on a file, behind a gate.
struct GatedManager {
    explicit GatedManager(const std::string& path) {
        auto opened = store::SqliteStore::open(path, clock);
        CHECK(opened.has_value());
        auto gated = std::make_unique<GatedStore>(std::move(*opened));
        gate = gated.get();
        auto started = Engine::start({}, clock, std::move(gated));
        CHECK(started.has_value());
        engine = *started;
        manager = std::make_unique<LockManager>(Engine::make_manager(engine));
    }

    void advance(core::Duration step) {
        clock.advance(step);
        engine->wake();
    }

    service::ManualClock clock{test_epoch};
    GatedStore* gate = nullptr;
    std::shared_ptr<Engine> engine;
    std::unique_ptr<LockManager> manager;
};

TEST(LockHandleTrouble, ReleasedTooLateIsLostThoughNobodyHasNoticed) {
    const TemporaryFolder folder;
    GatedManager gated(folder / "locks.db");
    int losses = 0;
    auto handle = gated.manager->hold(job(), forever,
                                      {.on_lost = [&](const GuardLost& /*loss*/) { ++losses; }});
    ASSERT_TRUE(handle);
    gated.clock.advance(29s);  // as if everything had stood still
    EXPECT_EQ(to_note(handle->release()), "not guaranteed");
    EXPECT_EQ(losses, 1);
}

TEST(LockHandleTrouble, SaysInTimeThatAStoreThatBrokeKeepsItFromRenewing) {
    const TemporaryFolder folder;
    GatedManager gated(folder / "locks.db");
    std::promise<GuardLost> told;
    auto handle = gated.manager->hold(
        job(), forever, {.on_lost = [&](const GuardLost& loss) { told.set_value(loss); }});
    ASSERT_TRUE(handle);
    gated.gate->set(Gate::broken);
    EXPECT_EQ(to_note(gated.manager->try_acquire(ask_for(LockScope::Inode{1}))), "store failure");
    for (int second = 0; second < 24; ++second) gated.advance(1s);
    EXPECT_TRUE(handle->is_guaranteed());
    gated.advance(1s);
    EXPECT_FALSE(handle->is_guaranteed());
    const GuardLost loss = told.get_future().get();
    EXPECT_EQ(to_note(loss.error), "not guaranteed");
    EXPECT_THAT(to_text(loss.error), HasSubstr("the disk is gone")) << "says why";
}

TEST(LockHandleTrouble, GetsOverAStoreThatBrokeForAWhile) {
    const TemporaryFolder folder;
    GatedManager gated(folder / "locks.db");
    auto handle = gated.manager->hold(job(), forever);
    ASSERT_TRUE(handle);
    gated.gate->set(Gate::broken);
    EXPECT_EQ(to_note(gated.manager->try_acquire(ask_for(LockScope::Inode{1}))), "store failure");
    for (int second = 0; second < 15; ++second) gated.advance(1s);
    gated.gate->set(Gate::open);
    // The first renewal after the store was read again is written down, by the store's own thread.
    while (handle->lease().expires_at < test_epoch + 40s) {
        if (handle->time_left() > 5s) gated.advance(100ms);
        gated.engine->wake();
        ASSERT_TRUE(handle->is_guaranteed());
    }
    EXPECT_EQ(to_note(gated.manager->try_acquire(job("b"))), "held by a");
}

// A lock that was taken before the manager was started. Its first renewal is written down.
Lease take_before(const std::string& path) {
    const GatedManager before(path);
    const auto lock = before.manager->try_acquire(job());
    CHECK(lock.has_value());
    return *lock;
}

TEST(LockHandleTrouble, SaysInTimeThatARenewalGetsNoAnswerAndStaysLost) {
    const TemporaryFolder folder;
    const Lease before = take_before(folder / "locks.db");
    GatedManager gated(folder / "locks.db");
    const auto lock = gated.manager->get_by_token(before.token);
    ASSERT_TRUE(lock) << "it survives";
    std::promise<GuardLost> told;
    auto handle = gated.manager->start_heartbeat(
        *lock, {.on_lost = [&](const GuardLost& loss) { told.set_value(loss); }});
    ASSERT_TRUE(handle);
    gated.gate->set(Gate::stuck);
    gated.advance(10s);
    gated.advance(14s);
    EXPECT_TRUE(handle->is_guaranteed());
    gated.advance(1s);
    EXPECT_EQ(to_note(told.get_future().get().error), "not guaranteed");
    gated.gate->set(Gate::open);
    const auto found = gated.manager->get_by_token(before.token);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->expires_at, test_epoch + 40s) << "it was confirmed in the end";
    EXPECT_FALSE(handle->is_guaranteed()) << "which comes too late";
}

TEST(LockHandleTrouble, CountsFromBeforeARenewalWasSent) {
    const TemporaryFolder folder;
    const Lease before = take_before(folder / "locks.db");
    GatedManager gated(folder / "locks.db");
    const auto lock = gated.manager->get_by_token(before.token);
    ASSERT_TRUE(lock);
    const auto handle = gated.manager->start_heartbeat(*lock);
    ASSERT_TRUE(handle);
    gated.gate->set(Gate::stuck);
    gated.advance(10s);  // it is sent,
    gated.advance(4s);
    gated.gate->set(Gate::open);  // and answered
    while (handle->lease().expires_at == test_epoch + 30s) std::this_thread::yield();
    EXPECT_EQ(handle->time_left(), 10s + 25s - 14s);
}

TEST(LockHandleTrouble, AWaitForAStoreThatDoesNotAnswerCanBeCancelled) {
    const TemporaryFolder folder;
    GatedManager gated(folder / "locks.db");
    gated.gate->set(Gate::stuck);
    std::stop_source stop;
    auto waiting = std::async(std::launch::async, [&] {
        return gated.manager->acquire(job("a"), forever, stop.get_token());
    });
    while (gated.engine->counts().leases == 0) std::this_thread::yield();
    stop.request_stop();
    EXPECT_EQ(to_note(waiting.get()), "cancelled");
    gated.gate->set(Gate::open);
    EXPECT_EQ(to_note(gated.manager->acquire(job("b"), forever)), "ok") << "it was given back";
}

// The wall clock as somebody sets it, beside a monotonic one.
class SettableClock final : public service::Clock {
  public:
    [[nodiscard]] core::Time now() const override { return monotonic_.now(); }
    [[nodiscard]] service::WallTime wall(core::Time time) const override {
        return monotonic_.wall(time) + offset_.load();
    }
    void advance(core::Duration step) { monotonic_.advance(step); }
    void set_ahead(core::Duration offset) { offset_ = offset; }

  private:
    service::ManualClock monotonic_{test_epoch};
    std::atomic<core::Duration> offset_{core::Duration::zero()};
};

// A server at 100 s, a holder whose clock shows 105 s, and a lease of 30 s, which the holder would
// believe in five seconds too long or too short, if it believed a wall clock.
TEST(LockHandleTrouble, AWallClockThatIsFiveSecondsWrongChangesNothing) {
    for (const core::Duration skew : {core::Duration{5s}, core::Duration{-5s}}) {
        SettableClock clock;
        auto started = Engine::start({}, clock, std::make_unique<store::MemoryStore>());
        ASSERT_TRUE(started);
        Engine& engine = **started;
        LockManager manager = Engine::make_manager(*started);
        clock.advance(100s);
        auto handle = manager.hold(job("a"), forever);
        ASSERT_TRUE(handle);
        clock.set_ahead(skew);
        EXPECT_EQ(handle->time_left(), 25s);
        clock.advance(25s);
        EXPECT_FALSE(handle->is_guaranteed()) << "at 125 s, whatever a clock on the wall shows";
        clock.advance(5s - 1us);
        engine.wake();
        EXPECT_EQ(to_note(manager.try_acquire(job("b"))), "held by a") << "nobody before 130 s";
        clock.advance(1us);
        engine.wake();
        const auto next = manager.try_acquire(job("b"));
        ASSERT_TRUE(next);
        EXPECT_EQ(to_note(manager.check(handle->lease().token, next->scope)), "expired");
        EXPECT_GT(next->fencing_token, handle->fencing_token());
    }
}

}  // namespace
}  // namespace holdfast::embedded
