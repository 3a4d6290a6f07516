#pragma once

// What the tests of the client share: a server in this process, and short ways to ask it.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "app/host.h"
#include "base/json/json_value.h"
#include "holdfast/client.h"
#include "service/ports/clock.h"

namespace holdfast::sdk::testing {

using namespace std::chrono_literals;

// Longer than any machine needs; a wait that takes as long has failed.
inline constexpr auto patience = 60s;

class TestServer {
  public:
    // Keeps nothing, on a free port.
    explicit TestServer(app::ServeOptions options = {}) {
        options.http_address = "127.0.0.1:0";
        options.is_in_memory = true;
        host_ = app::Host::start(options, clock_).value();
        is_tls_ = !options.tls.certificate_file.empty();
        thread_ = std::thread([this] { host_->run(); });
    }
    ~TestServer() {
        host_->shut_down();
        thread_.join();
    }
    TestServer(const TestServer&) = delete;
    TestServer& operator=(const TestServer&) = delete;

    [[nodiscard]] std::string url() const {
        return (is_tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") +
               std::to_string(host_->endpoint("http").port());
    }
    [[nodiscard]] ClientOptions options() const {
        return {.servers = {url()}, .timeout = patience, .retry_for = patience};
    }
    [[nodiscard]] Client connect() const { return *Client::open(options()); }

  private:
    service::SystemClock clock_;
    std::unique_ptr<app::Host> host_;
    bool is_tls_ = false;
    std::thread thread_;
};

inline LeaseRequest named(std::string name, std::string holder = "a",
                          std::chrono::milliseconds ttl = 60s) {
    return {.scope = LockScope::Named{std::move(name)}, .holder = std::move(holder), .ttl = ttl};
}

// What the server shows of a lock, with its queue.
inline base::JsonValue look(Client& client, const std::string& name) {
    const auto answer = client.ask({.target = "/v1/locks/" + name + "?queue=true"});
    EXPECT_TRUE(answer);
    return answer ? base::JsonValue::parse(answer->body).value() : base::JsonValue();
}

// Waits until it is so.
template <class Condition>
[[nodiscard]] bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(5ms);
    }
    return true;
}

// `ok`, or why not.
template <class T>
std::string to_note(const LockResult<T>& result) {
    return result ? "ok" : to_text(result.error());
}

template <class Reason, class T>
bool failed_with(const LockResult<T>& result) {
    return !result && std::holds_alternative<Reason>(result.error());
}

}  // namespace holdfast::sdk::testing
