#pragma once

// Locks and events as JSON for scripts, with the field names of /v1/leases and of the clients:
// `scope`, `holder`, `fencing_token`, `expires_at`, `ttl_ms`.

#include <string>

#include "base/json/json_value.h"
#include "cli/screen/lock_rows.h"
#include "holdfast/lock_event.h"

namespace holdfast::cli {

// On one line. The waiters are listed if `has_queue`; how many there are is always told.
[[nodiscard]] std::string lock_json(const LockRow& lock, const std::string& scope, bool has_queue);

[[nodiscard]] std::string session_json(const base::JsonValue& session);

[[nodiscard]] std::string event_json(const LockEvent& event);

}  // namespace holdfast::cli
