#pragma once

// DflockdClient: dflockd's protocol of three lines. A lease lasts whole seconds there.

#include <utility>

#include "load/line_connection.h"
#include "load/lock_client.h"

namespace holdfast::load {

class DflockdClient final : public LockClient {
  public:
    // Shows the token first, if it is not empty.
    DflockdClient(LineConnection line, std::string token, std::chrono::milliseconds ttl)
        : line_(std::move(line)),
          token_(std::move(token)),
          ttl_(std::chrono::ceil<std::chrono::seconds>(ttl)) {}

    base::Result<void> greet() override;
    base::Result<Acquisition> acquire(const std::string& lock) override;
    base::Result<bool> release(const std::string& lock, const Grant& grant) override;

  private:
    struct Request {
        std::string command;
        std::string key;
        std::string argument;
    };

    base::Result<std::string> ask(const Request& request);
    base::Result<void> connect();

    LineConnection line_;
    const std::string token_;
    const std::chrono::seconds ttl_;
};

}  // namespace holdfast::load
