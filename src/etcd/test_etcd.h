#pragma once

// TestEtcd: real members of etcd on this machine, in a folder of their own and on free ports; for
// tests. They are gone when the test is, even if it crashes.
//
//     HOLDFAST_NEEDS_ETCD();                       // skips the test where there is no etcd
//     TestEtcd etcd({.members = 3});
//     auto client = Client::open(loop, etcd.settings());
//     etcd.kill(0); etcd.start(0);                 // with its data
//     etcd.stop(1); etcd.go_on(1);                 // SIGSTOP, SIGCONT

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "etcd/client.h"

namespace holdfast::etcd {

#define HOLDFAST_NEEDS_ETCD()                                                                    \
    do {                                                                                         \
        if (!::holdfast::etcd::TestEtcd::is_installed()) {                                       \
            GTEST_SKIP() << "SKIPPED: there is no etcd on this machine (etcd-server of Debian)"; \
        }                                                                                        \
    } while (false)

class TestEtcd {
  public:
    struct Options {
        std::size_t members = 1;
        // Of TLS. Members show the certificate, and want one of clients that `ca_file` has signed.
        net::TlsFiles certificate = {};
        std::string ca_file = {};
        std::vector<std::string> arguments = {};  // further ones
    };

    [[nodiscard]] static bool is_installed() {
        return ::access("/usr/bin/etcd", X_OK) == 0 || ::access("/usr/local/bin/etcd", X_OK) == 0;
    }

    TestEtcd() : TestEtcd(Options{}) {}
    explicit TestEtcd(Options options) : options_(std::move(options)) {
        std::string folder = ::testing::TempDir() + "holdfast_etcd_XXXXXX";
        EXPECT_NE(::mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        // Another program may have taken one of the ports meanwhile.
        for (int attempt = 0; attempt < 3 && !is_up_; ++attempt) start_all();
        EXPECT_TRUE(is_up_) << "etcd does not start:\n" << log(0);
    }
    ~TestEtcd() {
        for (std::size_t i = 0; i < members_.size(); ++i) kill(i);
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    TestEtcd(const TestEtcd&) = delete;
    TestEtcd& operator=(const TestEtcd&) = delete;

    [[nodiscard]] std::size_t size() const { return members_.size(); }
    [[nodiscard]] Member member(std::size_t index) const {
        return {.host = "127.0.0.1", .port = std::to_string(members_[index].client_port)};
    }
    [[nodiscard]] std::vector<Member> members() const {
        std::vector<Member> all;
        for (std::size_t i = 0; i < size(); ++i) all.push_back(member(i));
        return all;
    }
    // For Client::open(): all members, plain.
    [[nodiscard]] ClientSettings settings() const { return {.members = members()}; }
    // For --cluster.
    [[nodiscard]] std::string url(const std::string& prefix) const {
        std::string text;
        for (const Member& one : members()) text += (text.empty() ? "" : ",") + one.to_text();
        return "etcd://" + text + "/" + prefix;
    }

    // SIGKILL. Nothing happens if the member does not run.
    void kill(std::size_t index) {
        pid_t& pid = members_[index].pid;
        if (pid <= 0) return;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        pid = -1;
    }
    // After kill(), with the data that it has. Does not wait until it answers: see wait().
    void start(std::size_t index) { members_[index].pid = spawn(index); }
    // Returns when all threads of the member stand still: until then it may still answer.
    void stop(std::size_t index) const {
        ::kill(members_[index].pid, SIGSTOP);
        ::waitpid(members_[index].pid, nullptr, WUNTRACED);
    }
    void go_on(std::size_t index) const { ::kill(members_[index].pid, SIGCONT); }

    // Waits until the member is in good health: it answers and there is a leader.
    [[nodiscard]] bool wait(std::size_t index) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (std::chrono::steady_clock::now() < end) {
            if (is_healthy(members_[index].metrics_port)) return true;
            if (members_[index].pid > 0 && ::waitpid(members_[index].pid, nullptr, WNOHANG) != 0) {
                return false;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        return false;
    }

    [[nodiscard]] std::string log(std::size_t index) const {
        std::ifstream file(folder_ + "/" + std::to_string(index) + ".log");
        std::stringstream text;
        text << file.rdbuf();
        return text.str();
    }

  private:
    struct Process {
        int client_port = 0;
        int peer_port = 0;
        int metrics_port = 0;
        pid_t pid = -1;
    };

    void start_all() {
        for (std::size_t i = 0; i < members_.size(); ++i) kill(i);
        members_.assign(options_.members, Process());
        std::filesystem::remove_all(folder_ + "/data");
        for (Process& one : members_) {
            one.client_port = free_port();
            one.peer_port = free_port();
            one.metrics_port = free_port();
        }
        for (std::size_t i = 0; i < members_.size(); ++i) start(i);
        is_up_ = true;
        for (std::size_t i = 0; i < members_.size() && is_up_; ++i) is_up_ = wait(i);
    }

    [[nodiscard]] std::vector<std::string> arguments(std::size_t index) const {
        const Process& own = members_[index];
        const bool is_tls = !options_.certificate.certificate_file.empty();
        const auto url = [](int port) { return fmt::format("http://127.0.0.1:{}", port); };
        const auto client_url =
            fmt::format("{}://127.0.0.1:{}", is_tls ? "https" : "http", own.client_port);
        std::string cluster;
        for (std::size_t i = 0; i < members_.size(); ++i) {
            cluster += fmt::format("{}m{}={}", i == 0 ? "" : ",", i, url(members_[i].peer_port));
        }
        std::vector<std::string> all{"etcd",
                                     fmt::format("--name=m{}", index),
                                     fmt::format("--data-dir={}/data/m{}", folder_, index),
                                     "--listen-client-urls=" + client_url,
                                     "--advertise-client-urls=" + client_url,
                                     "--listen-peer-urls=" + url(own.peer_port),
                                     "--initial-advertise-peer-urls=" + url(own.peer_port),
                                     "--listen-metrics-urls=" + url(own.metrics_port),
                                     "--initial-cluster=" + cluster,
                                     "--initial-cluster-token=" + folder_};
        if (is_tls) {
            all.push_back("--cert-file=" + options_.certificate.certificate_file);
            all.push_back("--key-file=" + options_.certificate.key_file);
        }
        if (!options_.ca_file.empty()) {
            all.push_back("--trusted-ca-file=" + options_.ca_file);
            all.emplace_back("--client-cert-auth");
        }
        all.insert(all.end(), options_.arguments.begin(), options_.arguments.end());
        return all;
    }

    [[nodiscard]] pid_t spawn(std::size_t index) const {
        const std::vector<std::string> words = arguments(index);
        std::vector<char*> pointers;
        for (const std::string& one : words) pointers.push_back(const_cast<char*>(one.c_str()));
        pointers.push_back(nullptr);
        const std::string log_path = folder_ + "/" + std::to_string(index) + ".log";
        const pid_t parent = ::getpid();
        const pid_t pid = ::fork();
        if (pid != 0) return pid;
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        const int output = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(output, STDOUT_FILENO);
        ::dup2(output, STDERR_FILENO);
        ::execvp("etcd", pointers.data());
        ::_exit(127);
    }

    static sockaddr_in loopback(int port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
    }

    static int free_port() {
        const base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
        return ntohs(address.sin_port);
    }

    static bool is_healthy(int port) {
        const base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const timeval patience{.tv_sec = 5, .tv_usec = 0};
        ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        const sockaddr_in address = loopback(port);
        if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address)) {
            return false;
        }
        constexpr std::string_view request = "GET /health HTTP/1.0\r\n\r\n";
        (void)!::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL);
        std::string answer(4096, '\0');
        const ssize_t count = ::recv(socket.get(), answer.data(), answer.size(), MSG_WAITALL);
        answer.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
        return answer.find("\"health\":\"true\"") != std::string::npos;
    }

    const Options options_;
    std::string folder_;
    std::vector<Process> members_;
    bool is_up_ = false;
};

}  // namespace holdfast::etcd
