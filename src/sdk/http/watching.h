#pragma once

// Following what happens on a server, over broken connections.

#include <functional>
#include <optional>
#include <stop_token>
#include <string_view>

#include "holdfast/election.h"
#include "holdfast/lock_event.h"
#include "sdk/http/exchange.h"

namespace holdfast::sdk {

// As Client::watch() and Client::observe() say.
LockResult<void> watch(Exchange& exchange, const WatchOptions& options,
                       const std::function<void(const LockEvent&)>& on_event,
                       const std::stop_token& stop);

LockResult<void> observe(Exchange& exchange, std::string_view election,
                         const std::function<void(const std::optional<Leader>&)>& on_change,
                         const std::stop_token& stop);

}  // namespace holdfast::sdk
