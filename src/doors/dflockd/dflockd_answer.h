#pragma once

// Writing a dflockd answer: one line for what the service said.

#include <cstddef>
#include <string>

#include "doors/dflockd/dflockd_request.h"
#include "service/request.h"

namespace holdfast::doors::dflockd {

// Appends the line that answers a `verb`. `waiters_max` is how many may wait for one lock.
// REQUIRES: the verb is one that asks the service, but not stats.
void append_answer(std::string& out, Verb verb, const service::Response& response,
                   std::size_t waiters_max);

// What an answer to `stats` may show. It is for people, and should stop neither the server nor take
// its memory: what is beyond is left out, and the answer says `"truncated":true`.
inline constexpr std::size_t stats_locks_max = 10'000;
inline constexpr std::size_t stats_bytes_max = std::size_t{1024} * 1024;

// Appends the line that answers `stats`. If there are more locks than may be shown, the response
// has at least one of those.
void append_stats(std::string& out, std::size_t connections, const service::Response& response);

// The owner of what a connection holds, by which people, also at other doors, recognise it.
[[nodiscard]] std::string owner_name(std::uint64_t connection_id);

}  // namespace holdfast::doors::dflockd
