#include "app/backup_handler.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "app/host.h"
#include "net/test_client.h"
#include "store/backup.h"
#include "store/test_leases.h"

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
        net::TestClient client(host_->http_endpoint());
        client.send(request(line, token));
        return client.response();
    }
    static std::string request(std::string_view line, std::string_view token = "adm1n") {
        return std::string(line) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
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
    net::TestClient client(host_->http_endpoint());
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
    EXPECT_THAT(refused.body, HasSubstr("keeps nothing on disk"));
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
