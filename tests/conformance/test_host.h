#pragma once

// TestHost: a whole server on a free port, whose clock the test moves.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "app/host.h"
#include "net/test_client.h"
#include "service/clock.h"

namespace holdfast::conformance {

using namespace std::chrono_literals;

class TestHost {
  public:
    // Keeps nothing. Its clock starts at 2024-01-15T10:30:00Z.
    explicit TestHost(std::size_t threads, const dialects::homelab::HomelabOptions& homelab = {})
        : host_(app::Host::start({.http_address = "127.0.0.1:0",
                                  .is_in_memory = true,
                                  .threads = threads,
                                  .homelab = homelab},
                                 clock_)
                    .value()),
          thread_([this] { host_->run(); }) {}
    ~TestHost() {
        host_->shut_down();
        thread_.join();
    }
    TestHost(const TestHost&) = delete;
    TestHost& operator=(const TestHost&) = delete;

    void advance(core::Duration step) {
        clock_.advance(step);
        host_->wake();
    }

    // Gives the server's loop a chance to read what was sent so far.
    void pause() { host_->wake(); }

    [[nodiscard]] net::TestClient connect() { return net::TestClient(host_->http_endpoint()); }

  private:
    service::ManualClock clock_{
        service::WallTime{std::chrono::sys_days{std::chrono::January / 15 / 2024} + 10h + 30min}};
    std::unique_ptr<app::Host> host_;
    std::thread thread_;
};

// The bytes of `POST /lock?client=x`.
inline std::string http(std::string_view line) {
    return std::string(line) + " HTTP/1.1\r\nHost: localhost:8080\r\n\r\n";
}

// The bytes of a request with a body; an empty one is none.
inline std::string http(std::string_view line, std::string_view body) {
    if (body.empty()) return http(line);
    return std::string(line) +
           " HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + std::string(body);
}

}  // namespace holdfast::conformance
