#pragma once

// The exchange that the HTTP benchmarks measure: a client renewing its lock at `/lock`, as curl
// sends it.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "wire/peer.h"

namespace holdfast::bench {

// How the answer begins.
inline constexpr std::string_view ok_prefix = "HTTP/1.1 200";

// The request of the client with this number; all are of one size. REQUIRES: number < 10000.
[[nodiscard]] std::string renewal_request(std::size_t number);

// Takes the lock of that client, renews it once, and returns the answer to the renewal. The answers
// to all further renewals have its size.
[[nodiscard]] base::Result<std::string> take_and_renew(Peer& peer, std::size_t number);

}  // namespace holdfast::bench
