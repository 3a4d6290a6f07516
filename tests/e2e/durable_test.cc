// What survives: the real program, killed and started again on the same folder.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "server_process.h"

namespace holdfast::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A folder of the test's own, gone with it.
class DataFolder {
  public:
    DataFolder() {
        std::string pattern = std::filesystem::temp_directory_path() / "holdfast-XXXXXX";
        path_ = mkdtemp(pattern.data());
    }
    ~DataFolder() { std::filesystem::remove_all(path_); }
    DataFolder(const DataFolder&) = delete;
    DataFolder& operator=(const DataFolder&) = delete;

    [[nodiscard]] std::vector<std::string> flags() const {
        return {"--http", "127.0.0.1:0", "--data", path_};
    }

  private:
    std::string path_;
};

void kill_at_once(ServerProcess& server) {
    server.process.signal(SIGKILL);
    EXPECT_EQ(server.process.wait(), 128 + SIGKILL);
}

TEST(Durable, AHeldLockIsHeldAfterAKill) {
    const DataFolder folder;
    {
        ServerProcess server(folder.flags());
        EXPECT_EQ(server.ask("POST /lock?client=laptop1&ttl=10m").status, 200);
        EXPECT_EQ(server.ask("POST /lock?client=laptop1&job=gone&ttl=10m").status, 200);
        EXPECT_EQ(server.ask("DELETE /lock?client=laptop1&job=gone").status, 200);
        kill_at_once(server);
    }
    const ServerProcess again(folder.flags());
    EXPECT_THAT(again.ask("GET /lock").body, HasSubstr("\"holder\":\"laptop1\""));
    EXPECT_EQ(again.ask("POST /lock?client=laptop2").status, 409);
    EXPECT_THAT(again.ask("GET /lock?job=gone").body, HasSubstr("no lock held"));
    EXPECT_THAT(again.ask("POST /lock?client=laptop1&ttl=10m").body, HasSubstr("renewed"));
}

TEST(Durable, AFolderHasOneServer) {
    const DataFolder folder;
    const ServerProcess server(folder.flags());
    const Finished second = run(serve_command(folder.flags()));
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_THAT(second.error, AllOf(HasSubstr("holdfast.db"), HasSubstr("in use")));
}

// The status of the answer, or 0 when none came: the server may be gone.
int try_ask(const ServerProcess& process, const std::string& line) {
    const net::Endpoint server = net::parse_endpoint(process.address).value();
    const int descriptor = ::socket(server.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    const std::string request = line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    std::string answer(4096, '\0');
    std::size_t size = 0;
    if (::connect(descriptor, server.data(), static_cast<socklen_t>(server.size())) == 0 &&
        ::send(descriptor, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
        ssize_t count = 0;
        while (size < answer.size() &&
               (count = ::recv(descriptor, &answer[size], answer.size() - size, 0)) > 0) {
            size += static_cast<std::size_t>(count);
        }
    }
    ::close(descriptor);
    // Whole answers end in the body's newline; anything less was not heard.
    if (size < 12 || answer[size - 1] != '\n') return 0;
    return std::stoi(answer.substr(9, 3));
}

// Clients that take locks and give every other one back, until the server is killed under them; and
// what they were told.
struct Crowd {
    static constexpr std::size_t clients = 8;

    explicit Crowd(const ServerProcess& server, int round) {
        for (std::size_t id = 0; id < clients; ++id) {
            threads.emplace_back([this, &server, round, id] { work(server, round, id); });
        }
    }

    void work(const ServerProcess& server, int round, std::size_t id) {
        for (int number = 0; !is_over; ++number) {
            const std::string job = "r" + std::to_string(round) + "c" + std::to_string(id) + "n" +
                                    std::to_string(number);
            const std::string query = "client=me&ttl=10m&job=" + job;
            if (try_ask(server, "POST /lock?" + query) != 200) return;
            ++acknowledged;
            if (number % 2 == 0) {
                held[id].push_back(job);
            } else if (try_ask(server, "DELETE /lock?" + query) == 200) {
                free[id].push_back(job);
            }
        }
    }

    std::atomic<bool> is_over = false;
    std::atomic<int> acknowledged = 0;
    std::vector<std::string> held[clients], free[clients];
    std::vector<std::thread> threads;
};

TEST(Durable, NothingAcknowledgedIsLostWhenTheServerIsKilledUnderLoad) {
    const DataFolder folder;
    for (int round = 0; round < 5; ++round) {
        ServerProcess server(folder.flags());
        Crowd crowd(server, round);
        while (crowd.acknowledged < 200) std::this_thread::yield();
        kill_at_once(server);
        crowd.is_over = true;
        for (std::thread& thread : crowd.threads) thread.join();

        const ServerProcess again(folder.flags());
        for (std::size_t id = 0; id < Crowd::clients; ++id) {
            for (const std::string& job : crowd.held[id]) {
                ASSERT_THAT(again.ask("GET /lock?job=" + job).body, HasSubstr("\"holder\":\"me\""));
            }
            for (const std::string& job : crowd.free[id]) {
                ASSERT_THAT(again.ask("GET /lock?job=" + job).body, HasSubstr("no lock held"));
            }
        }
    }
}

}  // namespace
}  // namespace holdfast::e2e
