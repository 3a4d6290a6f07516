#pragma once

// LiveHost: a whole server on a free port, in real time.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "app/host.h"
#include "service/ports/clock.h"

namespace holdfast::conformance {

class LiveHost {
  public:
    LiveHost(std::size_t threads, bool is_durable)
        : folder_(::testing::TempDir() + "holdfast_live_" + std::to_string(::getpid())),
          host_(app::Host::start({.http_address = "127.0.0.1:0",
                                  .data_folder = folder_,
                                  .is_in_memory = !is_durable,
                                  .threads = threads},
                                 clock_)
                    .value()),
          thread_([this] { host_->run(); }) {}
    ~LiveHost() {
        host_->shut_down();
        thread_.join();
        host_.reset();
        std::filesystem::remove_all(folder_);
    }
    LiveHost(const LiveHost&) = delete;
    LiveHost& operator=(const LiveHost&) = delete;

    [[nodiscard]] const net::Endpoint& endpoint() const { return host_->endpoint("http"); }

  private:
    const std::string folder_;
    service::SystemClock clock_;
    std::unique_ptr<app::Host> host_;
    std::thread thread_;
};

}  // namespace holdfast::conformance
