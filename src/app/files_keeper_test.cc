#include "app/files_keeper.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <thread>

#include "files/tree/test_tree.h"
#include "service/doors.h"
#include "service/test_service.h"

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const std::string in_use = "another server uses the files' root";

doors::hengdang::HengdangOptions options_with(const std::string& root) {
    doors::hengdang::HengdangOptions options;
    options.root = root;
    return options;
}

// A node with one loop, which is the loop of the test.
struct Node {
    Node(const std::string& root, net::EventLoop& loop, service::testing::TestService& service)
        : keeper({.options = options_with(root),
                  .door = {.clock = service.clock,
                           .port = service.service,
                           .executor = service.executor,
                           .tokens = tokens,
                           .origins = origins},
                  .loop = loop,
                  .servers = {{.loop = &loop,
                               .open = [this](const auto& door) { served = door; },
                               .close =
                                   [this](const std::string& why) {
                                       served.reset();
                                       refusal = why;
                                   }}}}) {}
    void close() {
        served.reset();
        keeper.close();
    }

    const rights::TokenSource tokens{{}};
    const doors::hengdang::Origins origins{std::vector<std::string>{}};
    FilesKeeper::DoorPointer served;  // what the loop has
    std::string refusal;              // the last one
    FilesKeeper keeper;
};

class FilesKeeperTest : public ::testing::Test {
  protected:
    // As a server ends: what was posted to the loop goes before the keepers.
    ~FilesKeeperTest() override {
        first_.close();
        second_.close();
        loop_.reset();
    }

    // Runs the loop until it is so, or until it should have been so for long.
    template <class Condition>
    [[nodiscard]] bool run_until(Condition is_so) {
        const auto end = std::chrono::steady_clock::now() + 20s;
        while (!is_so() && std::chrono::steady_clock::now() < end) {
            loop_->post([this] { loop_->stop(); });
            loop_->run();
            std::this_thread::sleep_for(1ms);
        }
        return is_so();
    }
    [[nodiscard]] bool opens(Node& node) {
        return run_until([&] { return node.served != nullptr; });
    }
    [[nodiscard]] bool finds_root_in_use(Node& node) {
        return run_until([&] { return node.refusal.find(in_use) != std::string::npos; });
    }
    // A lock on a file, by a session.
    void lock_file(const char* session) {
        const core::AcquireRequest request{
            .scope = core::Scope::path("/a"),
            .owner = {.door = service::hengdang_door, .name = session},
            .ttl = 1h};
        ASSERT_THAT(service_.ask(request), HasSubstr("granted"));
    }

    const files::testing::TemporaryFolder folder_;
    const std::string root_ = folder_ / "root";
    service::testing::TestService service_{service::testing::Durability::none};
    std::unique_ptr<net::EventLoop> loop_ = std::make_unique<net::EventLoop>();
    Node first_{root_, *loop_, service_}, second_{root_, *loop_, service_};
};

TEST_F(FilesKeeperTest, OpensTheFilesOfAServerThatStandsAloneAtOnce) {
    ASSERT_TRUE(first_.keeper.open_now());
    EXPECT_EQ(first_.served, first_.keeper.door());
    const auto opened = second_.keeper.open_now();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().message, in_use);
}

TEST_F(FilesKeeperTest, OpensTheFilesWhenItLeadsAndClosesThemWhenItLeadsNoMore) {
    for (int times = 0; times < 3; ++times) {
        first_.keeper.lead();
        ASSERT_TRUE(opens(first_)) << first_.refusal;
        first_.keeper.stop_leading();
        ASSERT_TRUE(run_until([&] { return first_.served == nullptr; }));
        EXPECT_EQ(first_.keeper.door(), nullptr);
        EXPECT_THAT(first_.refusal, HasSubstr("does not lead"));
    }
}

TEST_F(FilesKeeperTest, WaitsUntilTheLeaderBeforeItIsDone) {
    first_.keeper.lead();
    ASSERT_TRUE(opens(first_));
    second_.keeper.lead();
    ASSERT_TRUE(finds_root_in_use(second_)) << second_.refusal;
    first_.keeper.stop_leading();
    EXPECT_TRUE(opens(second_)) << second_.refusal;
}

TEST_F(FilesKeeperTest, KeepsTheRootUntilTheLastRequestIsDone) {
    first_.keeper.lead();
    ASSERT_TRUE(opens(first_));
    auto request = first_.served;
    first_.keeper.stop_leading();
    ASSERT_TRUE(run_until([&] { return first_.served == nullptr; }));
    second_.keeper.lead();
    ASSERT_TRUE(finds_root_in_use(second_)) << second_.refusal;
    request.reset();
    EXPECT_TRUE(opens(second_)) << second_.refusal;
}

TEST_F(FilesKeeperTest, DropsADoorThatWasOpenedTooLate) {
    first_.keeper.lead();
    first_.keeper.stop_leading();
    second_.keeper.lead();
    ASSERT_TRUE(opens(second_)) << second_.refusal;
    EXPECT_EQ(first_.served, nullptr);
}

TEST_F(FilesKeeperTest, ReleasesTheLocksOfSessionsThatHaveEnded) {
    lock_file("long gone");
    first_.keeper.lead();
    ASSERT_TRUE(opens(first_)) << first_.refusal;
    EXPECT_EQ(service_.service.counts().leases, 0U);
}

TEST_F(FilesKeeperTest, LeavesTheLocksOfSessionsThatGoOn) {
    first_.keeper.lead();
    ASSERT_TRUE(opens(first_));
    const auto session =
        first_.served->sessions().create({.owner = "owner"}, first_.served->wall_now());
    ASSERT_TRUE(session);
    lock_file(session->session.name.c_str());
    first_.keeper.stop_leading();
    second_.keeper.lead();
    ASSERT_TRUE(opens(second_)) << second_.refusal;
    EXPECT_EQ(service_.service.counts().leases, 1U);
    EXPECT_TRUE(second_.served->sessions().find(session->id, second_.served->wall_now()));
}

}  // namespace
}  // namespace holdfast::app
