#pragma once

// How long a client is kept without an answer, and what becomes of its place in the queue then.
//
// A client, and every proxy on the way to it, needs an answer once in a while. So a request that
// may wait for longer than `answer_max` is answered as `still_waiting` by then, and its place in
// the queue is kept for `place_kept`: the client asks again by the same request id, and goes on
// waiting there. This is for requests that have an id; others could not be recognised.

#include <chrono>

#include "core/values/request.h"

namespace holdfast::service {

struct WaitLimits {
    core::Duration answer_max = std::chrono::seconds{600};
    core::Duration place_kept = std::chrono::seconds{5};
};

// A wait of a year or more has no end.
inline constexpr std::chrono::milliseconds endless_wait = std::chrono::hours{24 * 365};

[[nodiscard]] constexpr core::Duration to_wait(std::chrono::milliseconds asked) {
    return asked >= endless_wait ? core::wait_forever : core::Duration{asked};
}

}  // namespace holdfast::service
