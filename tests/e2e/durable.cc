#include "durable.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string_view>

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

namespace {

// The body of a whole answer; none while something is missing.
std::optional<std::string_view> body_of(std::string_view answer) {
    const auto end = answer.find("\r\n\r\n");
    const auto length = answer.find("Content-Length: ");
    if (end == answer.npos || length > end) return std::nullopt;
    std::size_t bytes = 0;
    std::from_chars(answer.data() + length + 16, answer.data() + end, bytes);
    const std::string_view body = answer.substr(end + 4);
    if (body.size() < bytes) return std::nullopt;
    return body;
}

}  // namespace

Heard try_ask(const ServerProcess& process, const std::string& line, const std::string& body) {
    const net::Endpoint server = net::parse_endpoint(process.address).value();
    const int descriptor =
        ::socket(server.socket_address().protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    const std::string request =
        line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    std::string answer(4096, '\0');
    std::size_t size = 0;
    if (::connect(descriptor, server.socket_address().data(),
                  static_cast<socklen_t>(server.socket_address().size())) == 0 &&
        ::send(descriptor, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
        ssize_t count = 0;
        while (size < answer.size() &&
               (count = ::recv(descriptor, &answer[size], answer.size() - size, 0)) > 0) {
            size += static_cast<std::size_t>(count);
        }
    }
    ::close(descriptor);
    answer.resize(size);
    if (!body_of(answer)) return {};  // anything less was not heard
    return {.status = std::stoi(answer.substr(9, 3)), .text = answer};
}

std::int64_t try_take(const ServerProcess& server, const std::string& lock) {
    const Heard heard = try_ask(server, "POST /v1/locks/" + lock + "/acquire",
                                R"({"owner_id":"w","ttl_ms":600000})");
    const std::string key = "\"fencing_token\":";
    const auto at = heard.text.find(key);
    std::int64_t token = 0;
    if (heard.status != 200 || at == std::string::npos) return 0;
    const char* const text = heard.text.data();
    std::from_chars(text + at + key.size(), text + heard.text.size(), token);
    return token;
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

Crowd::Crowd(const ServerProcess& server, int round, Habit habit) : server_(server), habit_(habit) {
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
    for (int number = 0; number < locks_max && !is_over_; ++number) {
        const std::string job =
            "r" + std::to_string(round) + "c" + std::to_string(id) + "n" + std::to_string(number);
        const std::string query = "client=me&ttl=10m&job=" + job;
        const Heard heard = try_ask(server_, "POST /lock?" + query);
        if (heard.status == 200) {
            ++grants_;
            if (habit_ == Habit::keep || number % 2 == 0) {
                memory.held.push_back(job);
                continue;
            }
            if (try_ask(server_, "DELETE /lock?" + query).status == 200) memory.free.push_back(job);
            if (const auto token = try_take(server_, "t" + job)) memory.tokens.push_back(token);
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

template <class Value>
std::vector<Value> Crowd::all(std::vector<Value> Client::*which) const {
    std::vector<Value> values;
    for (const Client& memory : memories_) {
        values.insert(values.end(), (memory.*which).begin(), (memory.*which).end());
    }
    return values;
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
    return all(&Client::refusals);
}
std::vector<std::int64_t> Crowd::tokens() const {
    return all(&Client::tokens);
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
