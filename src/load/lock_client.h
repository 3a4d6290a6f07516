#pragma once

// LockClient: one client's way to a lock server, in one of the protocols that have locks.
//
// Calls wait for the answer. An error is a failure of the way: no connection, no answer, or one
// that the protocol does not know. After an error the next call connects anew.
//
// Thread safety: none; every client has its own.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "load/load_options.h"

namespace holdfast::load {

struct Grant {
    std::string lease;                 // what the release must show
    std::uint64_t fencing_number = 0;  // 0: the protocol has none
    std::chrono::milliseconds ttl{};
};

struct Refusal {
    std::optional<std::chrono::milliseconds> retry_after;  // if the server said so
};

using Acquisition = std::variant<Grant, Refusal>;

class LockClient {
  public:
    virtual ~LockClient() = default;

    // Whether the server is there and lets this client in.
    [[nodiscard]] virtual base::Result<void> greet() = 0;
    // Now or never.
    [[nodiscard]] virtual base::Result<Acquisition> acquire(const std::string& lock) = 0;
    // False: the lease was over.
    [[nodiscard]] virtual base::Result<bool> release(const std::string& lock,
                                                     const Grant& grant) = 0;
};

// Connects to nobody yet. Fails if the options make no sense or a file cannot be read.
[[nodiscard]] base::Result<std::unique_ptr<LockClient>> open_client(const LoadOptions& options,
                                                                    const std::string& owner);

}  // namespace holdfast::load
