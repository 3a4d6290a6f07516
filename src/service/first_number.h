#pragma once

#include <cstdint>

namespace holdfast::service {

// Where fencing numbers (and those of events) start: at the wall clock in microseconds. A store
// that knows of larger ones has its way. So they grow over restarts also where there is no store,
// and where an old copy of one was put back, as long as less than a million locks a second were
// granted. A clock that is a century wrong is not believed: the numbers have an end.
[[nodiscard]] std::uint64_t first_number();

}  // namespace holdfast::service
