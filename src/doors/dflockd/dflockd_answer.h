#pragma once

// Writing a dflockd answer: one line for each response of the service.

#include <cstddef>
#include <string>

#include "doors/dflockd/dflockd_request.h"
#include "service/request.h"

namespace holdfast::doors::dflockd {

// Appends the answer to a `verb`. REQUIRES: the verb is neither stats, ping nor auth.
void append_answer(std::string& out, Verb verb, const service::Response& response);

// The limits of an answer to `stats`. It is for people, and must neither stop the server nor use up
// its memory. If there is more, the answer is cut off and says `"truncated":true`.
inline constexpr std::size_t stats_locks_max = 10'000;
inline constexpr std::size_t stats_bytes_max = std::size_t{1024} * 1024;

// Appends the answer to `stats`. REQUIRES: if there are more locks than may be shown, the response
// contains at least one more than that.
void append_stats(std::string& out, std::size_t connections, const service::Response& response);

// The owner of the leases of a connection, as people see it at all doors.
[[nodiscard]] std::string owner_name(std::uint64_t connection_id);

}  // namespace holdfast::doors::dflockd
