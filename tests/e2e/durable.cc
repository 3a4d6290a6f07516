#include "durable.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>

namespace holdfast::e2e {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

DataFolder::DataFolder() : path_(std::filesystem::temp_directory_path() / "holdfast-XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
}

DataFolder::~DataFolder() {
    std::filesystem::remove_all(path_);
}

std::vector<std::string> flags_for(const std::string& folder) {
    return {"--http", "127.0.0.1:0", "--data", folder};
}

void kill_at_once(ServerProcess& server) {
    server.process.signal(SIGKILL);
    EXPECT_EQ(server.process.wait(), 128 + SIGKILL);
}

Heard try_ask(const ServerProcess& process, const std::string& line) {
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
    if (size < 12 || answer[size - 1] != '\n') return {};
    answer.resize(size);
    return {.status = std::stoi(answer.substr(9, 3)), .text = answer};
}

Heard ask_until_served(const ServerProcess& server, const std::string& line) {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    Heard heard;
    while (std::chrono::steady_clock::now() < deadline) {
        heard = try_ask(server, line);
        if (heard.status != 503) return heard;
        std::this_thread::sleep_for(20ms);
    }
    ADD_FAILURE() << "the server does not recover: " << heard.text;
    return heard;
}

Crowd::Crowd(const ServerProcess& server, int round, bool gives_back)
    : server_(server), gives_back_(gives_back) {
    for (std::size_t id = 0; id < clients; ++id) {
        threads_.emplace_back([this, round, id] { work(round, id); });
    }
}

Crowd::~Crowd() {
    is_over_ = true;
    finish();
}

void Crowd::work(int round, std::size_t id) {
    Client& memory = memories_[id];
    for (int number = 0; !is_over_; ++number) {
        const std::string job =
            "r" + std::to_string(round) + "c" + std::to_string(id) + "n" + std::to_string(number);
        const std::string query = "client=me&ttl=10m&job=" + job;
        const Heard heard = try_ask(server_, "POST /lock?" + query);
        if (heard.status == 200) {
            ++grants_;
            if (!gives_back_ || number % 2 == 0) {
                memory.held.push_back(job);
            } else if (try_ask(server_, "DELETE /lock?" + query).status == 200) {
                memory.free.push_back(job);
            }
            continue;
        }
        if (heard.status != 0) {
            memory.refused.push_back(job);
            memory.refusals.push_back(heard);
        }
        break;
    }
    --working_;
}

void Crowd::wait_for_grants(int count) const {
    while (grants_ < count && working_ > 0) std::this_thread::sleep_for(1ms);
}

void Crowd::finish() {
    for (std::thread& thread : threads_) {
        if (thread.joinable()) thread.join();
    }
}

std::vector<std::string> Crowd::all(std::vector<std::string> Client::*which) const {
    std::vector<std::string> jobs;
    for (const Client& memory : memories_) {
        jobs.insert(jobs.end(), (memory.*which).begin(), (memory.*which).end());
    }
    return jobs;
}

std::vector<std::string> Crowd::held() const {
    return all(&Client::held);
}
std::vector<std::string> Crowd::free() const {
    return all(&Client::free);
}
std::vector<std::string> Crowd::refused() const {
    return all(&Client::refused);
}

std::vector<Heard> Crowd::refusals() const {
    std::vector<Heard> heard;
    for (const Client& memory : memories_) {
        heard.insert(heard.end(), memory.refusals.begin(), memory.refusals.end());
    }
    return heard;
}

void expect_held(const ServerProcess& server, const std::vector<std::string>& jobs) {
    for (const std::string& job : jobs) {
        EXPECT_THAT(server.ask("GET /lock?job=" + job).body, HasSubstr("\"holder\":\"me\""));
    }
}

void expect_free(const ServerProcess& server, const std::vector<std::string>& jobs) {
    for (const std::string& job : jobs) {
        EXPECT_THAT(server.ask("GET /lock?job=" + job).body, HasSubstr("no lock held"));
    }
}

}  // namespace holdfast::e2e
