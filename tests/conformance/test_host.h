#pragma once

// TestHost: a whole server on a free port, whose clock the test moves.

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "app/host.h"
#include "net/loop/test_client.h"
#include "service/ports/clock.h"

namespace holdfast::conformance {

using namespace std::chrono_literals;

class TestHost {
  public:
    // Keeps nothing. Its clock starts at 2024-01-15T10:30:00Z.
    explicit TestHost(std::size_t threads, const doors::homelab::HomelabOptions& homelab = {})
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

    [[nodiscard]] net::TestClient connect() { return net::TestClient(host_->endpoint("http")); }

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

// The body of a snapshot without the number of its last event, which few tests are about.
inline std::string without_position(const std::string& body) {
    static const std::regex position(",\"position\":[0-9]{6,}");
    return std::regex_replace(body, position, "");
}

// A request, and what its answer must be.
struct Exchange {
    std::string request;
    int status;
    std::string part;  // of the body
};

// Cuts each request in two at every byte, each time on a connection of its own.
inline void expect_answers_wherever_cut(TestHost& host, std::span<const Exchange> exchanges) {
    for (const Exchange& exchange : exchanges) {
        for (std::size_t cut = 1; cut < exchange.request.size(); ++cut) {
            net::TestClient client = host.connect();
            client.send(exchange.request.substr(0, cut));
            host.pause();
            client.send(exchange.request.substr(cut));
            const net::TestResponse response = client.response();
            ASSERT_EQ(response.status, exchange.status) << exchange.request.substr(0, cut);
            ASSERT_THAT(response.body, ::testing::HasSubstr(exchange.part))
                << exchange.request.substr(0, cut);
        }
    }
}

// Ends the request before its end, at every byte.
inline void expect_no_success_when_cut_short(TestHost& host, const std::string& request) {
    for (std::size_t cut = 0; cut < request.size(); ++cut) {
        net::TestClient client = host.connect();
        client.send(request.substr(0, cut));
        client.finish_sending();
        ASSERT_EQ(client.read_to_end().find("HTTP/1.1 200"), std::string::npos) << cut;
    }
}

}  // namespace holdfast::conformance
