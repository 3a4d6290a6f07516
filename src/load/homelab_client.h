#pragma once

// HomelabClient: /lock, where the name of a client is all that it shows, and grants have no number.

#include <utility>

#include "load/http_door.h"
#include "load/lock_client.h"

namespace holdfast::load {

class HomelabClient final : public LockClient {
  public:
    HomelabClient(HttpDoor door, std::string owner, std::chrono::milliseconds ttl)
        : door_(std::move(door)), owner_(std::move(owner)), ttl_(ttl) {}

    base::Result<void> greet() override;
    base::Result<Acquisition> acquire(const std::string& lock) override;
    base::Result<bool> release(const std::string& lock, const Grant& grant) override;

  private:
    [[nodiscard]] std::string target(const std::string& lock) const;

    const HttpDoor door_;
    const std::string owner_;
    const std::chrono::milliseconds ttl_;
};

}  // namespace holdfast::load
