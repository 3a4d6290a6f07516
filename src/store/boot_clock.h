#pragma once

#include <string>

#include "base/result.h"
#include "core/values/time.h"

namespace holdfast::store {

// BootClock: a moment on a clock that goes on while the server is down, and is not the wall clock.
//
// It tells how long ago another run of the server was, exactly and whatever people do to the wall
// clock, as long as the machine has not been restarted in between; and when it has, it says so.
struct BootClock {
    std::string boot;              // which start of the machine this is
    core::Duration since_boot{0};  // how long ago that was, time asleep included

    // The machine's, now. Fails where the kernel does not tell.
    [[nodiscard]] static base::Result<BootClock> read();
};

}  // namespace holdfast::store
