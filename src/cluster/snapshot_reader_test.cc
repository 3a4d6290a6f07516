#include "cluster/snapshot_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/log/log.h"
#include "cluster/test_cluster.h"

namespace holdfast::cluster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct SnapshotReaderTest : ::testing::Test {
    SnapshotReaderTest() {
        etcd.put(keys.counter(), "7 100");
        etcd.put(keys.epoch(), "3");
    }

    void put_lease(std::uint64_t fence, std::size_t bytes = 0) {
        LeaseRecord record{.name = "job", .owner = "ann", .ttl = 30s};
        record.metadata.assign(bytes, 'x');
        etcd.put(keys.lease(fence), to_text(record));
    }
    void put_history(std::uint64_t first, std::size_t bytes) {
        etcd.put(keys.history(first), std::string(bytes, 'x'));
    }
    // Lets everything happen until the reading has ended, or `patience` is over.
    void read(core::Duration patience = 10s) {
        result.reset();
        reader.read(etcd.revision(), [this](auto snapshot) { result = std::move(snapshot); });
        for (core::Duration time{0}; !result && time < patience; time += 50ms) {
            timers.ring();
            api.deliver();
            clock.advance(50ms);
        }
    }
    [[nodiscard]] std::size_t bytes_of(const std::string& prefix) {
        std::size_t bytes = 0;
        for (const std::string& key : etcd.keys(prefix)) {
            bytes += key.size() + etcd.value(key).size();
        }
        return bytes;
    }

    service::ManualClock clock{service::testing::test_epoch};
    FakeEtcd etcd{clock};
    FakeApi api{etcd, clock};
    TestTimers timers{clock};
    TimerSlots slots{timers};
    Keys keys{"/holdfast"};
    SnapshotReader reader{api, slots, keys};
    std::optional<etcd::Answer<Snapshot>> result;
};

TEST_F(SnapshotReaderTest, ReadsEverythingInPages) {
    for (const std::uint64_t count : {0, 1, 99, 100, 101, 300, 501, 1200}) {
        while (etcd.keys(keys.prefix() + "lease/").size() < count) {
            const std::size_t next = etcd.keys(keys.prefix() + "lease/").size() + 1;
            put_lease(next);
            etcd.put(keys.fence(fmt::format("disk {}", next)), "5");
            put_history(next, 1);
        }
        read();
        ASSERT_TRUE(result && *result) << count;
        const Snapshot& snapshot = **result;
        ASSERT_EQ(snapshot.leases.size(), count);
        for (std::size_t index = 0; index < count; ++index) {
            ASSERT_EQ(core::as_number(snapshot.leases[index].token.fence), index + 1);
        }
        EXPECT_EQ(snapshot.fences.size(), count);
        ASSERT_EQ(snapshot.history.size(), count);
        EXPECT_TRUE(std::ranges::is_sorted(snapshot.history, {}, &etcd::KeyValue::key));
        EXPECT_EQ(snapshot.epoch, 3U);
        EXPECT_EQ(snapshot.counter, (Counter{.number = 7, .fence = 100}));
    }
}

// Large values make the next pages small: no answer is much larger than 4 MiB.
TEST_F(SnapshotReaderTest, MakesPagesOfLargeValuesSmall) {
    constexpr std::size_t megabyte = 1'000'000;
    for (std::uint64_t fence = 1; fence <= 120; ++fence) put_lease(fence, megabyte / 10);
    for (std::uint64_t first = 1; first <= 30; ++first) put_history(first, megabyte);
    read();
    ASSERT_TRUE(result && *result);
    EXPECT_EQ((**result).leases.size(), 120U);
    std::set<std::string> first = {keys.leases(0), keys.fences(0), keys.histories(), keys.counter(),
                                   keys.epoch()};
    for (const etcd::RangeRequest& request : api.ranges) {
        if (first.erase(request.key) == 1) {
            EXPECT_EQ(request.limit, 100) << request.key;
        } else {
            EXPECT_LE(request.limit, request.key < keys.leases(0) ? 4 : 42) << request.key;
        }
    }
}

TEST_F(SnapshotReaderTest, AsksForLessWhenAnAnswerIsTooLarge) {
    for (std::uint64_t fence = 1; fence <= 90; ++fence) put_lease(fence, 1000);
    for (std::uint64_t first = 1; first <= 90; ++first) put_history(first, 1000);
    for (int count = 0; count < 90; ++count) {
        etcd.put(keys.fence(fmt::format("{}{}", std::string(1000, 'r'), count)), "5");
    }
    api.answer_bytes_max = 2500;
    read(60s);
    ASSERT_TRUE(result && *result);
    EXPECT_EQ((**result).leases.size(), 90U);
    EXPECT_EQ((**result).history.size(), 90U);
    EXPECT_EQ((**result).fences.size(), 90U);
}

TEST_F(SnapshotReaderTest, AsksForLessWhenNoAnswerComesInTime) {
    for (std::uint64_t first = 1; first <= 90; ++first) put_history(first, 1000);
    api.fate = [this](const std::string& /*name*/) {
        return api.ranges.back().limit > 20 ? FakeApi::Fate::answer_lost : FakeApi::Fate::answered;
    };
    read(120s);
    ASSERT_TRUE(result && *result);
    EXPECT_EQ((**result).history.size(), 90U);
}

TEST_F(SnapshotReaderTest, RejectsASingleValueThatIsTooLarge) {
    put_lease(1);
    put_lease(2, 5000);
    api.answer_bytes_max = 2500;
    read();
    ASSERT_TRUE(result.has_value());
    ASSERT_FALSE(*result);
    EXPECT_EQ(result->error().kind, etcd::Failure::Kind::rejected);
    EXPECT_THAT(result->error().message,
                HasSubstr("the first value from the key '/holdfast/lease/01/0000000000000001"));
}

TEST_F(SnapshotReaderTest, LogsThatAPartCannotBeRead) {
    const auto log_of = [this](int failures) {
        api.fate = [this, failures](const std::string& /*name*/) {
            const auto asked =
                std::ranges::count(api.ranges, keys.counter(), &etcd::RangeRequest::key);
            return asked <= failures ? FakeApi::Fate::answer_lost : FakeApi::Fate::answered;
        };
        api.ranges.clear();
        ::testing::internal::CaptureStderr();
        base::set_up_log(base::LogFormat::text, base::LogLevel::warning);
        read(60s);
        base::flush_log();
        base::set_up_log(base::LogFormat::text, base::LogLevel::off);
        EXPECT_TRUE(result && *result);
        return ::testing::internal::GetCapturedStderr();
    };
    EXPECT_THAT(log_of(2), Not(HasSubstr("cannot be read")));
    EXPECT_THAT(log_of(3), HasSubstr("a part of what etcd has cannot be read; asking again "
                                     "from=/holdfast/counter keys=100 failures=3 "
                                     "why=\"no answer from etcd\""));
}

// What an older version has left is read, but not kept in memory: only the newest can be shown.
TEST_F(SnapshotReaderTest, KeepsTheNewestOfALargeHistory) {
    constexpr std::size_t megabyte = std::size_t{1} << 20U;
    for (std::uint64_t first = 1; first <= 40; ++first) put_history(first, megabyte);
    read();
    ASSERT_TRUE(result && *result);
    const std::vector<etcd::KeyValue>& history = (**result).history;
    ASSERT_EQ(history.size(), 40U);
    EXPECT_EQ(history[7].value.size(), 0U);
    EXPECT_EQ(history[7].key, keys.history(8));
    EXPECT_EQ(history[8].value.size(), megabyte);
}

}  // namespace
}  // namespace holdfast::cluster::testing
