#include "app/http/backup_handler.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <thread>

#include "app/host.h"
#include "app/http/test_router.h"
#include "net/loop/test_client.h"
#include "net/loop/test_server.h"
#include "store/backup.h"
#include "store/tables/test_leases.h"

namespace holdfast::app {
namespace {

using ::testing::HasSubstr;

class BackupOfThreads : public ::testing::TestWithParam<std::size_t> {
  protected:
    BackupOfThreads() {
        std::ofstream(folder_ / "auth") << "s3cret\n";
        std::ofstream(folder_ / "admin") << "adm1n\n";
    }
    ~BackupOfThreads() override { stop(); }

    void start(const std::string& data, bool is_in_memory = false) {
        host_ = Host::start({.http_address = "127.0.0.1:0",
                             .auth_token_file = folder_ / "auth",
                             .admin_token_file = folder_ / "admin",
                             .data_folder = data,
                             .is_in_memory = is_in_memory,
                             .threads = GetParam()},
                            clock_)
                    .value();
        thread_ = std::thread([this] { host_->run(); });
    }
    void stop() {
        if (!host_) return;
        host_->shut_down();
        thread_.join();
        host_.reset();
    }
    net::TestResponse ask(std::string_view line, std::string_view token = "adm1n") {
        net::TestClient client(host_->endpoint("http"));
        client.send(request(line, token));
        return client.response();
    }
    static std::string request(std::string_view line, std::string_view token = "adm1n") {
        return std::string(line) + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " +
               std::string(token) + "\r\n\r\n";
    }

    store::testing::TemporaryFolder folder_;
    service::SystemClock clock_;
    std::unique_ptr<Host> host_;
    std::thread thread_;
};
INSTANTIATE_TEST_SUITE_P(Threads, BackupOfThreads, ::testing::Values(1, 3));

TEST_P(BackupOfThreads, BringsTheLocksToAnotherServer) {
    start(folder_ / "first");
    net::TestClient client(host_->endpoint("http"));
    for (int lock = 0; lock < 1'000; ++lock) {  // so many that the copy is sent in pieces
        client.send(request("POST /lock?client=laptop1&ttl=1h&job=" + std::to_string(lock)));
    }
    for (int lock = 0; lock < 1'000; ++lock) ASSERT_EQ(client.response().status, 200);
    const auto backup = ask("GET /v1/backup");
    ASSERT_EQ(backup.status, 200) << backup.body;
    EXPECT_GT(backup.body.size(), 100'000U);
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "first")) {
        EXPECT_EQ(entry.path().filename().string().find("backup"), std::string::npos)
            << entry.path();
    }
    stop();

    std::ofstream(folder_ / "copy.db", std::ios::binary) << backup.body;
    const auto restored = store::restore(
        {.copy_path = folder_ / "copy.db", .database_path = folder_ / "second/holdfast.db"});
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(restored->leases, 1'000U);
    start(folder_ / "second");
    EXPECT_THAT(ask("GET /lock?job=999").body, HasSubstr(R"("holder":"laptop1")"));
}

TEST_P(BackupOfThreads, IsForTheAdminAlone) {
    start(folder_ / "data");
    EXPECT_EQ(ask("GET /v1/backup", "s3cret").status, 403);
    EXPECT_EQ(ask("GET /v1/backup", "wrong").status, 401);
    EXPECT_EQ(ask("DELETE /v1/backup").status, 405);
}

TEST_P(BackupOfThreads, NeedsSomethingOnDisk) {
    start(folder_ / "data", true);
    const auto refused = ask("GET /v1/backup");
    EXPECT_EQ(refused.status, 409);
    EXPECT_THAT(refused.body, HasSubstr("has no database"));
}

TEST(BackupSlots, AreFreeAgainWhenNobodyHasThem) {
    auto slots = std::make_unique<BackupSlots>();
    auto first = slots->take();
    const auto second = slots->take();
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(slots->take());
    auto copy = first;
    first.reset();
    EXPECT_FALSE(slots->take());
    copy.reset();
    EXPECT_TRUE(slots->take());
    slots.reset();  // before those who have one
}

TEST(BackupHandler, MakesFewAtATime) {
    const store::testing::TemporaryFolder folder;
    const std::string database = folder / "holdfast.db";
    store::testing::recover(*store::testing::open_store(database));
    const BackupSlots slots;
    net::HttpLimits limits;
    std::unique_ptr<BackupHandler> handler;
    std::unique_ptr<TestRouter> router;
    base::WorkPool disk(1);
    std::promise<void> disk_goes_on;
    disk.run([goes_on = disk_goes_on.get_future().share()] { goes_on.wait(); });
    net::TestServer server([&](net::Channel& channel, net::EventLoop& loop) {
        if (!handler) {
            handler = std::make_unique<BackupHandler>(BackupHandler::Parts{
                .loop = loop, .disk = disk, .slots = slots, .database_path = database});
            router = std::make_unique<TestRouter>(BackupHandler::routes(), *handler,
                                                  net::Privilege::administer);
        }
        return std::make_unique<net::HttpProtocol>(channel, *router, limits);
    });
    const auto ask = [&] {
        auto client = std::make_unique<net::TestClient>(server.server().endpoint());
        client->send("GET /v1/backup HTTP/1.1\r\nHost: localhost\r\n\r\n");
        return client;
    };
    std::vector<std::unique_ptr<net::TestClient>> clients;
    for (std::size_t index = 0; index < BackupSlots::count_max; ++index) clients.push_back(ask());
    ASSERT_TRUE(server.eventually([&] { return slots.take() == nullptr; }));
    const auto refused = ask()->response();
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.header, HasSubstr("\r\nRetry-After: "));
    EXPECT_THAT(refused.body, HasSubstr("other backups"));
    disk_goes_on.set_value();
    for (const auto& client : clients) EXPECT_EQ(client->response().status, 200);
    ASSERT_TRUE(server.eventually([&] { return slots.take() != nullptr; }));
    EXPECT_EQ(ask()->response().status, 200);
}

TEST_P(BackupOfThreads, SaysWhenTheDatabaseCannotBeRead) {
    start(folder_ / "data");
    std::filesystem::rename(folder_ / "data", folder_ / "elsewhere");
    const auto refused = ask("GET /v1/backup");
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.body, HasSubstr("cannot make"));
}

}  // namespace
}  // namespace holdfast::app
