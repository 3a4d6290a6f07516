#pragma once

// A lock taken and given back, as dflockd's clients say it and as Redis is used for it.

#include <cstddef>

#include "base/result.h"
#include "wire/load_client.h"
#include "wire/peer.h"

namespace holdfast::bench {

// One connection's share of the traffic.
struct LockTraffic {
    std::size_t connection = 0;  // below 10000
    std::size_t pipeline = 1;    // locks that are taken before the first is given back; below 100
    bool is_hot = false;         // all want the same one, and wait for it
};

// The cycle of requests: every lock is taken, then every lock is given back.
[[nodiscard]] Requests dflockd_requests(const LockTraffic& traffic);
// Where the token, which the server gives, goes.
[[nodiscard]] Carry dflockd_carry();

// The same of Redis. Its script is loaded first.
[[nodiscard]] base::Result<Requests> redis_requests(Peer& peer, const LockTraffic& traffic);

// Of dflockd_requests(): the mean size of a request and of its answer.
struct MessageSizes {
    std::size_t request_bytes;
    std::size_t answer_bytes;
};
[[nodiscard]] MessageSizes dflockd_sizes();

}  // namespace holdfast::bench
