#pragma once

// LockClient: one client of a lock server, in one of the protocols that have locks.
//
// A call waits for the answer. An error means that there was no connection, no answer, or an answer
// that the protocol does not have. The call after an error connects again.
//
// Thread safety: none; every client is used by one thread.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "load/load_run.h"

namespace holdfast::load {

struct Grant {
    std::string lease;                 // the proof that a release must contain
    std::uint64_t fencing_number = 0;  // 0: the protocol has none
    std::chrono::milliseconds ttl{};
};

struct Refusal {
    std::optional<std::chrono::milliseconds> retry_after;  // if the server recommends a time
};

using Acquisition = std::variant<Grant, Refusal>;

class LockClient {
  public:
    virtual ~LockClient() = default;

    // Fails if the server does not answer or does not accept this client.
    [[nodiscard]] virtual base::Result<void> greet() = 0;
    // Does not wait for the lock.
    [[nodiscard]] virtual base::Result<Acquisition> acquire(const std::string& lock) = 0;
    // False: the lease had ended before.
    [[nodiscard]] virtual base::Result<bool> release(const std::string& lock,
                                                     const Grant& grant) = 0;
};

// How a client names itself and proves that it may ask.
struct ClientIdentity {
    std::string owner;
    std::string token;  // empty: none is sent
};

// Does not connect yet. Fails if the options make no sense or a file cannot be read.
[[nodiscard]] base::Result<std::unique_ptr<LockClient>> open_client(const LoadOptions& options,
                                                                    const std::string& owner);
// The same for the two protocols over HTTP.
[[nodiscard]] base::Result<std::unique_ptr<LockClient>> open_http_client(const LoadOptions& options,
                                                                         ClientIdentity identity);

}  // namespace holdfast::load
