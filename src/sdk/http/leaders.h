#pragma once

// The leaders of an election, as the server tells them at /v1/elections.

#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>

#include "holdfast/election.h"
#include "sdk/http/exchange.h"

namespace holdfast::sdk {

// As Client::observe() says.
LockResult<void> observe(Exchange& exchange, std::string_view election,
                         const std::function<void(const std::optional<Leader>&)>& on_change,
                         const std::stop_token& stop);

}  // namespace holdfast::sdk
