#pragma once

// The exchanges that the HTTP benchmarks measure, as curl sends them: a client renewing its lock at
// `/lock`, or taking it and giving it back in turn.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/load_client.h"
#include "wire/peer.h"

namespace holdfast::bench {

// How the answer begins.
inline constexpr std::string_view ok_prefix = "HTTP/1.1 200";

// The request of the client with this number; all are of one size. REQUIRES: number < 10000.
[[nodiscard]] std::string renewal_request(std::size_t number);

// Takes the lock of that client, renews it once, and returns the answer to the renewal. The answers
// to all further renewals have its size.
[[nodiscard]] base::Result<std::string> take_and_renew(Peer& peer, std::size_t number);

// The client with this number takes its lock and gives it back; both requests are of one size.
// REQUIRES: number < 10000.
[[nodiscard]] Requests take_and_give_back(std::size_t number);

}  // namespace holdfast::bench
