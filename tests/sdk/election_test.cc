// Elections: one leader at a time, and everybody knows who.

#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <vector>

#include "test_server.h"

namespace holdfast::sdk::testing {
namespace {

// What an observer was told so far.
class Observer {
  public:
    Observer(const TestServer& server, const std::string& election)
        : client_(server.connect()), thread_([this, election](const std::stop_token& stop) {
              const auto done = client_.observe(
                  election,
                  [this](const std::optional<Leader>& leader) {
                      const std::lock_guard guard(mutex_);
                      told_.push_back(leader ? leader->candidate + "@" + leader->value : "nobody");
                  },
                  stop);
              EXPECT_TRUE(done) << to_note(done);
          }) {}

    [[nodiscard]] std::vector<std::string> told() const {
        const std::lock_guard guard(mutex_);
        return told_;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> told_;
    Client client_;
    std::jthread thread_;
};

using Told = std::vector<std::string>;

TEST(Election, HasOneLeaderAtATimeAndTellsWhoThatIs) {
    TestServer server;
    Client client = server.connect();
    const Observer observer(server, "boss");
    ASSERT_TRUE(eventually([&] { return observer.told() == Told{"nobody"}; }));

    auto first = client.campaign({.election = "boss", .candidate = "a", .value = "10.0.0.1"});
    ASSERT_TRUE(first) << to_note(first);
    ASSERT_TRUE(eventually([&] { return observer.told() == Told{"nobody", "a@10.0.0.1"}; }));
    const Observer late(server, "boss");
    EXPECT_TRUE(eventually([&] { return late.told() == Told{"a@10.0.0.1"}; }));

    auto campaigning = std::async(std::launch::async, [&] {
        return client.campaign({.election = "boss", .candidate = "b", .value = "10.0.0.2"});
    });
    ASSERT_TRUE(eventually([&] { return look(client, "boss")["queue_length"].number() == 1; }));
    const std::uint64_t token = first->fencing_token();
    EXPECT_TRUE(first->release());
    auto second = campaigning.get();
    ASSERT_TRUE(second);
    EXPECT_GT(second->fencing_token(), token);
    EXPECT_TRUE(eventually([&] {
        return observer.told() == Told{"nobody", "a@10.0.0.1", "nobody", "b@10.0.0.2"};
    }));
    EXPECT_TRUE(second->release());
    EXPECT_TRUE(eventually([&] { return late.told().back() == "nobody"; }));
}

TEST(Election, IsLeftByACandidateThatIsStopped) {
    TestServer server;
    Client client = server.connect();
    auto leader = client.campaign({.election = "boss", .candidate = "a"});
    ASSERT_TRUE(leader);
    std::stop_source stop;
    auto campaigning = std::async(std::launch::async, [&] {
        return client.campaign({.election = "boss", .candidate = "b"}, {}, stop.get_token());
    });
    ASSERT_TRUE(eventually([&] { return look(client, "boss")["queue_length"].number() == 1; }));
    stop.request_stop();
    EXPECT_TRUE(failed_with<LockCancelled>(campaigning.get()));
    EXPECT_TRUE(eventually([&] { return look(client, "boss")["queue_length"].number() == 0; }));
}

}  // namespace
}  // namespace holdfast::sdk::testing
