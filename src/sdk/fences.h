#pragma once

// Asking the server before a protected thing is used, as Client says.

#include <cstdint>
#include <optional>
#include <string_view>

#include "holdfast/lease.h"
#include "sdk/http/exchange.h"

namespace holdfast::sdk {

[[nodiscard]] LockResult<std::uint64_t> pass_fence(Exchange& exchange, std::string_view resource,
                                                   std::uint64_t fencing_token);
[[nodiscard]] LockResult<std::optional<std::uint64_t>> get_fence(Exchange& exchange,
                                                                 std::string_view resource);
[[nodiscard]] LockResult<Lease> check(Exchange& exchange, std::string_view token,
                                      const LockScope& scope, LockMode mode);

}  // namespace holdfast::sdk
