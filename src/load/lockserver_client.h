#pragma once

// LockserverClient: /v1/locks, with leases and fencing numbers.

#include <utility>

#include "load/http_door.h"
#include "load/lock_client.h"

namespace holdfast::load {

class LockserverClient final : public LockClient {
  public:
    LockserverClient(HttpDoor door, std::string owner, std::chrono::milliseconds ttl)
        : door_(std::move(door)), owner_(std::move(owner)), ttl_(ttl) {}

    base::Result<void> greet() override;
    base::Result<Acquisition> acquire(const std::string& lock) override;
    base::Result<bool> release(const std::string& lock, const Grant& grant) override;

  private:
    const HttpDoor door_;
    const std::string owner_;
    const std::chrono::milliseconds ttl_;
};

}  // namespace holdfast::load
