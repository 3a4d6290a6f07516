#include "app/host.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include "base/log/log.h"
#include "net/loop/test_client.h"
#include "net/tls/test_certificate.h"

namespace holdfast::app {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

// A host on a free port, run by a thread until it is shut down.
class RunningHost {
  public:
    explicit RunningHost(std::size_t threads, std::chrono::milliseconds shutdown_timeout = 10s)
        : host_(Host::start({.http_address = "127.0.0.1:0",
                             .is_in_memory = true,
                             .threads = threads,
                             .shutdown_timeout = shutdown_timeout},
                            clock_)
                    .value()),
          thread_([this] { host_->run(); }) {}
    ~RunningHost() { shut_down(); }

    void shut_down() {
        host_->shut_down();
        join();
    }
    void join() {
        if (thread_.joinable()) thread_.join();
    }
    Host& operator*() { return *host_; }
    Host* operator->() { return host_.get(); }

  private:
    service::SystemClock clock_;
    std::unique_ptr<Host> host_;
    std::thread thread_;
};

class HostWithThreads : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, HostWithThreads, ::testing::Values(1, 2, 5));

TEST_P(HostWithThreads, ServesAndShutsDownWithIdleConnections) {
    RunningHost host(GetParam());
    std::vector<net::TestClient> clients;
    for (int i = 0; i < 7; ++i) {
        clients.emplace_back(host->endpoint("http"));
        clients.back().send("GET /lock HTTP/1.1\r\nHost: localhost\r\n\r\n");
        EXPECT_EQ(clients.back().response().status, 200);
    }
    host.shut_down();
    for (auto& client : clients) EXPECT_EQ(client.read_to_end(), "");
}

TEST_P(HostWithThreads, AnswersWhatIsInFlightWhenItShutsDown) {
    RunningHost host(GetParam());
    auto client = std::make_unique<net::TestClient>(host->endpoint("http"));
    client->send("GET /lock HTTP/1.1\r\nHost: localhost\r\n\r\nGET /lock HTT");
    EXPECT_EQ(client->response().status, 200);
    host->wake();  // what arrived together was read together: the second request has begun
    host->shut_down();
    host->shut_down();  // asking twice is asking once
    client->send("P/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(client->response().status, 200);
    EXPECT_EQ(client->read_to_end(), "");
    client.reset();  // a server lingers until its peer has closed too
    host.join();
}

TEST_P(HostWithThreads, DoesNotWaitForEverForARequest) {
    RunningHost host(GetParam(), 50ms);
    net::TestClient client(host->endpoint("http"));
    client.send("GET /lock HTTP/1.1\r\nHost: localhost\r\n\r\nGET /lock HTT");
    EXPECT_EQ(client.response().status, 200);
    host.shut_down();
    EXPECT_EQ(client.read_to_end(), "");
}

TEST_P(HostWithThreads, MayGoWithoutHavingRun) {
    service::SystemClock clock;
    const auto host = Host::start(
        {.http_address = "127.0.0.1:0", .is_in_memory = true, .threads = GetParam()}, clock);
    ASSERT_TRUE(host);
    EXPECT_NE((*host)->endpoint("http").port(), 0);
}

TEST_P(HostWithThreads, AnswersOnlyToItsNames) {
    RunningHost host(GetParam());
    const auto ask = [&host](const std::string& headers) {
        net::TestClient client(host->endpoint("http"));
        client.send("GET /lock HTTP/1.1\r\n" + headers + "\r\n");
        return client.response();
    };
    EXPECT_EQ(ask("Host: " + net::to_text(host->endpoint("http")) + "\r\n").status, 200);
    const auto refused = ask("Host: evil.example\r\n");
    EXPECT_EQ(refused.status, 421);
    EXPECT_THAT(refused.body, HasSubstr("--host-name"));
    EXPECT_EQ(ask("").status, 400);
    EXPECT_EQ(ask("Host: localhost\r\nHost: localhost\r\n").status, 400);
}

TEST(Host, AnswersToTheNamesItIsGiven) {
    service::SystemClock clock;
    const auto host = Host::start({.http_address = "127.0.0.1:0",
                                   .host_names = {"locks.example.org"},
                                   .is_in_memory = true},
                                  clock)
                          .value();
    std::thread thread([&] { host->run(); });
    net::TestClient client(host->endpoint("http"));
    client.send("GET /lock HTTP/1.1\r\nHost: locks.example.org:8080\r\n\r\n");
    EXPECT_EQ(client.response().status, 200);
    host->shut_down();
    thread.join();
}

TEST(Host, AnswersToTheNameOfItsMachineInALocalNetwork) {
    service::SystemClock clock;
    const auto host =
        Host::start(
            {.http_address = "127.0.0.1:0", .status_address = "127.0.0.1:0", .is_in_memory = true},
            clock)
            .value();
    std::thread thread([&] { host->run(); });
    std::array<char, 256> own{};
    ASSERT_EQ(::gethostname(own.data(), own.size() - 1), 0);
    const std::string name(own.data());
    for (const char* listener : {"http", "status"}) {
        const auto ask_as = [&](const std::string& domain) {
            net::TestClient client(host->endpoint(listener));
            client.send("GET /readyz HTTP/1.1\r\nHost: " + name.substr(0, name.find('.')) + domain +
                        "\r\n\r\n");
            return client.response().status;
        };
        for (const char* domain :
             {"", ".local", ".local:8080", ".LOCAL.", ".lan", ".home.arpa", ".internal:80"}) {
            EXPECT_EQ(ask_as(domain), 200) << listener << domain;
        }
        EXPECT_EQ(ask_as(".local.evil.example"), 421) << listener;
    }
    host->shut_down();
    thread.join();
}

TEST(Host, LetsALeaseEndByItself) {
    RunningHost host(1);
    net::TestClient client(host->endpoint("http"));
    client.send("POST /lock?client=laptop1&ttl=1ms HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(client.response().status, 200);
    std::string body;
    do {
        client.send("GET /lock HTTP/1.1\r\nHost: localhost\r\n\r\n");
        body = client.response().body;
    } while (body.find("\"is_expired\":false") != std::string::npos);
    EXPECT_THAT(body, HasSubstr("\"is_expired\":true"));
}

TEST(Host, SaysWhichAddressIsTaken) {
    RunningHost host(1);
    const std::string address = net::to_text(host->endpoint("http"));
    service::SystemClock clock;
    const auto second = Host::start({.http_address = address, .is_in_memory = true}, clock);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, HasSubstr(address));
}

TEST(Host, ServesEveryDoorOnAUnixSocket) {
    const std::string folder = ::testing::TempDir() + "doors" + std::to_string(::getpid());
    std::filesystem::create_directories(folder);
    ServeOptions options;
    options.is_in_memory = true;
    options.files.root = folder + "/root";
    options.auth_token = "secret";
    for (const Door& door : all_doors()) {
        options.*door.address = "unix:" + folder + "/" + door.name;
    }
    service::SystemClock clock;
    auto started = Host::start(options, clock);
    ASSERT_TRUE(started) << started.error().message;
    Host& host = **started;
    EXPECT_EQ(host.describe_listeners().size(), all_doors().size());
    EXPECT_EQ(host.describe_listeners().front(), "http unix:" + folder + "/http");
    std::thread thread([&] { host.run(); });
    for (const char* door : {"http", "files"}) {
        net::TestClient client(host.endpoint(door));
        client.send("GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n");
        EXPECT_EQ(client.response().status, 401) << door;
    }
    net::TestClient lines(host.endpoint("dflockd"));
    lines.send("auth\n_\nsecret\n");
    EXPECT_EQ(lines.read(3), "ok\n");
    host.shut_down();
    thread.join();
    started->reset();
    EXPECT_FALSE(std::filesystem::exists(folder + "/http"));
    std::filesystem::remove_all(folder);
}

TEST(Host, RefusesWhatMustNotRun) {
    service::SystemClock clock;
    EXPECT_FALSE(Host::start({.http_address = "0.0.0.0:0"}, clock));
    EXPECT_FALSE(Host::start({.http_address = "nowhere"}, clock));
}

// ---- Too many connections ----

// What each door says to a connection that is one too many.
TEST(HostThatIsFull, RefusesInTheWayOfEachDoor) {
    const std::string root = ::testing::TempDir() + "host_test_full_files";
    service::SystemClock clock;
    ServeOptions options;
    for (const Door& door : all_doors()) options.*door.address = "127.0.0.1:0";
    options.is_in_memory = true;
    options.files.root = root;
    options.auth_token = "secret";
    options.connections_max = 1;
    auto host = Host::start(options, clock).value();
    std::thread thread([&] { host->run(); });
    std::map<std::string, std::string> told;
    for (const Door& door : all_doors()) {
        const net::TestClient only(host->endpoint(door.name));
        net::TestClient further(host->endpoint(door.name));
        told[door.name] = further.read_to_end();
    }
    EXPECT_EQ(told["dflockd"], "");
    EXPECT_EQ(told["redis"], "-ERR max number of clients reached\r\n");
    for (const char* name : {"http", "files", "status"}) {
        EXPECT_THAT(told[name], ::testing::StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
        EXPECT_THAT(told[name], HasSubstr("\r\nConnection: close\r\n"));
        EXPECT_THAT(told[name], HasSubstr("oo many connections\",\"message\":\""));
        EXPECT_THAT(told[name], HasSubstr("--connections-max allows (1)"));
    }
    host->shut_down();
    thread.join();
    host.reset();
    std::filesystem::remove_all(root);
}

// All `refused=N` of a log together.
int count_refused(const std::string& log) {
    constexpr std::string_view name = " refused=";
    int sum = 0;
    for (auto at = log.find(name); at != log.npos; at = log.find(name, at + 1)) {
        sum += std::stoi(log.substr(at + name.size()));
    }
    return sum;
}

TEST(HostThatIsFull, CountsEveryRefusalInItsWarnings) {
    base::set_up_log(base::LogFormat::text, base::LogLevel::warning);
    ::testing::internal::CaptureStderr();
    service::SystemClock clock;
    auto host =
        Host::start({.http_address = "127.0.0.1:0", .is_in_memory = true, .connections_max = 1},
                    clock)
            .value();
    std::thread thread([&] { host->run(); });
    {
        const net::TestClient only(host->endpoint("http"));
        for (int i = 0; i < 3; ++i) net::TestClient(host->endpoint("http")).read_to_end();
    }
    host->shut_down();
    thread.join();
    host.reset();
    EXPECT_TRUE(base::flush_log());
    const std::string log = ::testing::internal::GetCapturedStderr();
    base::set_up_log(base::LogFormat::text, base::LogLevel::off);
    EXPECT_THAT(log, HasSubstr("connections were refused: too many are open door=http limit=1 "
                               "option=--connections-max refused=1\n"));
    EXPECT_EQ(count_refused(log), 3) << log;
}

TEST(HostThatIsFull, ClosesATlsConnectionWithoutAHandshake) {
    const net::TestCertificate certificate;
    service::SystemClock clock;
    auto host = Host::start({.http_address = "127.0.0.1:0",
                             .tls = certificate.files(),
                             .is_in_memory = true,
                             .connections_max = 1},
                            clock)
                    .value();
    std::thread thread([&] { host->run(); });
    {
        const net::TestClient only(host->endpoint("http"));
        net::TestClient further(host->endpoint("http"));
        EXPECT_EQ(further.read_to_end(), "");
    }
    host->shut_down();
    thread.join();
}

}  // namespace
}  // namespace holdfast::app
