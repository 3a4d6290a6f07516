#pragma once

// Moves locks from one store into another: from the file of a server into a cluster, or back.
//
// Thread safety: on the thread of the executor.

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "service/ports/clock.h"
#include "service/ports/executor.h"
#include "service/store.h"

namespace holdfast::app {

struct Transferred {
    std::size_t leases = 0;
    std::size_t fences = 0;
    std::uint64_t next_fence = 0;  // smaller fencing numbers are never given out again
};
using TransferDone = std::function<void(base::Result<Transferred>)>;

// Copies all leases and fences. Every lease runs anew for its whole TTL when a server begins with
// them. Fails if `to` has leases or fences already; then nothing is changed. `done` is called once,
// on the executor's thread. REQUIRES: called on that thread; the stores outlive that, and nobody else
// uses them.
void transfer(service::Store& from, service::Store& to, const service::Clock& clock,
              service::Executor& executor, TransferDone done);

}  // namespace holdfast::app
