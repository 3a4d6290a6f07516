#pragma once

// HomelabHost: a whole server on a free port, whose clock the test moves.

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

class HomelabHost {
  public:
    // Its clock starts at 2024-01-15T10:30:00Z.
    explicit HomelabHost(std::size_t threads, const dialects::homelab::HomelabOptions& options = {})
        : host_(app::Host::start({.http_address = "127.0.0.1:0",
                                  .is_in_memory = true,
                                  .threads = threads,
                                  .homelab = options},
                                 clock_)
                    .value()),
          thread_([this] { host_->run(); }) {}
    ~HomelabHost() {
        host_->shut_down();
        thread_.join();
    }
    HomelabHost(const HomelabHost&) = delete;
    HomelabHost& operator=(const HomelabHost&) = delete;

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

}  // namespace holdfast::conformance
