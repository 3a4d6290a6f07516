#pragma once

// Reading a homelab request: `POST /lock?client=laptop1&ttl=30s&job=sync`.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace holdfast::doors::homelab {

enum class Action : std::uint8_t { acquire, release, status };

// One request. The comments name the actions that use a field.
struct HomelabRequest {
    Action action = Action::status;
    std::string job;
    std::string client;                            // empty for status
    std::optional<std::chrono::microseconds> ttl;  // acquire; nothing if it was not given
};

// The job of a request that names none.
inline constexpr std::string_view default_job = "default";

// The job in a query; `default` if it has none, or is malformed.
[[nodiscard]] std::string job_of(std::string_view query);

// Reads the query. Fails with the words of the protocol: `client parameter required`, `invalid ttl
// format`.
[[nodiscard]] base::Result<HomelabRequest> parse_request(Action action, std::string_view query);

}  // namespace holdfast::doors::homelab
