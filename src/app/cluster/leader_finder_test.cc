#include "app/cluster/leader_finder.h"

#include <gmock/gmock.h>

#include <functional>
#include <optional>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Addresses = LeaderFinder::Addresses;

net::Endpoint at(const std::string& text) {
    return net::parse_endpoint(text).value();
}

// The finder on a loop of its own, with a name server that says what the test wants.
class LeaderFinderTest : public ::testing::Test {
  protected:
    LeaderFinderTest() {
        finder_.emplace(LeaderFinder::Parts{
            .loop = loop_,
            .look_up = [this](const std::string& peer) { return look_up(peer); },
            .fails = [this] { return fails_; },
            .on_found =
                [this](const Addresses& found) {
                    found_.push_back(found);
                    fails_ = false;
                },
            .on_found_again = [this] { ++found_again_; },
            .interval = 1ms});
    }

    // Runs the loop until the condition is true.
    void run_until(const std::function<bool()>& condition) {
        const auto end = std::chrono::steady_clock::now() + 60s;
        while (!condition() && std::chrono::steady_clock::now() < end) {
            net::LoopTimer timer(loop_, [&] { loop_.stop(); });
            timer.call_at(net::EventLoop::Clock::now() + 1ms);
            loop_.run();
        }
        EXPECT_TRUE(condition());
    }

    void answer(const base::Result<Addresses>& answer) {
        const std::lock_guard guard(mutex_);
        answer_ = answer;
    }
    [[nodiscard]] std::size_t lookups() {
        const std::lock_guard guard(mutex_);
        return asked_.size();
    }

    net::EventLoop loop_;
    bool fails_ = false;
    std::vector<Addresses> found_;
    int found_again_ = 0;
    std::vector<std::string> asked_;  // under mutex_
    std::optional<LeaderFinder> finder_;

  private:
    base::Result<Addresses> look_up(const std::string& peer) {
        const std::lock_guard guard(mutex_);
        asked_.push_back(peer);
        return answer_;
    }

    std::mutex mutex_;
    base::Result<Addresses> answer_ = base::fail("no such name");  // under mutex_
};

TEST_F(LeaderFinderTest, LooksAgainUntilTheNameIsKnown) {
    finder_->find("node-a:7");
    run_until([&] { return lookups() >= 3; });
    EXPECT_THAT(finder_->trouble(),
                ::testing::AllOf(HasSubstr("node-a:7"), HasSubstr("no such name")));
    EXPECT_THAT(found_, IsEmpty());
    answer(Addresses{at("127.0.0.1:7"), at("[::1]:7")});
    run_until([&] { return !found_.empty(); });
    EXPECT_THAT(found_, ElementsAre(Addresses{at("127.0.0.1:7"), at("[::1]:7")}));
    EXPECT_EQ(finder_->trouble(), "");
}

TEST_F(LeaderFinderTest, LooksAgainWhileConnectionsFail) {
    answer(Addresses{at("127.0.0.1:7"), at("127.0.0.2:7")});
    finder_->find("node-a:7");
    run_until([&] { return found_.size() == 1; });
    fails_ = true;
    run_until([&] { return found_again_ >= 2; });
    answer(Addresses{at("127.0.0.2:7"), at("127.0.0.1:7")});
    run_until([&, seen = found_again_] { return found_again_ >= seen + 2; });
    EXPECT_EQ(found_.size(), 1U) << "only the order is another";
    answer(base::fail("no such name"));
    run_until([&, seen = lookups()] { return lookups() >= seen + 2; });
    EXPECT_EQ(finder_->trouble(), "") << "there still are the old ones";
    answer(Addresses{at("127.0.0.3:7")});
    run_until([&] { return found_.size() == 2; });
    EXPECT_THAT(found_.back(), ElementsAre(at("127.0.0.3:7")));
}

TEST_F(LeaderFinderTest, DoesNotAskWhileConnectionsArePassedOn) {
    answer(Addresses{at("127.0.0.1:7")});
    finder_->find("node-a:7");
    run_until([&] { return found_.size() == 1; });
    run_until([&, turns = 0]() mutable { return ++turns > 10; });
    EXPECT_EQ(lookups(), 1U);
}

TEST_F(LeaderFinderTest, ForgetsTheLeaderBefore) {
    finder_->find("node-a:7");
    run_until([&] { return !finder_->trouble().empty(); });
    answer(Addresses{at("127.0.0.1:8")});
    finder_->find("node-b:8");
    run_until([&] { return found_.size() == 1; });
    finder_->find("node-a:7");
    finder_->stop();
    EXPECT_EQ(finder_->trouble(), "");
    run_until([&, turns = 0]() mutable { return ++turns > 10; });
    EXPECT_EQ(found_.size(), 1U);
}

TEST(LookUpPeer, KnowsAddressesWithoutANameServer) {
    EXPECT_THAT(look_up_peer("127.0.0.1:70").value(), ElementsAre(at("127.0.0.1:70")));
    EXPECT_THAT(look_up_peer("[::1]:70").value(), ElementsAre(at("[::1]:70")));
    EXPECT_EQ(host_of_peer("[::1]:70"), "::1");
    EXPECT_EQ(host_of_peer("node-a:70"), "node-a");
}

}  // namespace
}  // namespace holdfast::app
