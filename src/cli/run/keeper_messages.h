#pragma once

// What `holdfast run` and the keeper of its command tell each other, as the bytes of these structs:
// both are one program.

#include <sys/types.h>

#include <cstdint>

#include "holdfast/boot_clock.h"

namespace holdfast::cli {

using BootTime = BootClock::time_point;

// How long the command may go on. It is asked to end (SIGTERM) at `stop_at`, and made to (SIGKILL)
// at `kill_at`.
struct CommandLimits {
    BootTime stop_at = BootTime::max();
    BootTime kill_at = BootTime::max();
};

enum class OrderKind : std::uint8_t {
    start,    // the command; with more for its environment
    prolong,  // it may go on for longer
    stop,     // it may not, whatever was said before
    forward   // a signal to it
};

struct Order {
    OrderKind kind = OrderKind::start;
    CommandLimits limits;  // of start, prolong and stop
    int signal = 0;        // of forward
};

enum class ReportKind : std::uint8_t {
    failed,   // to start; `value` is an errno
    stopped,  // as by Ctrl-Z; `value` is the signal
    ended,    // and all that came of it; `value` is what waitpid() said of the command
    gone      // the keeper itself, without a word
};

struct Report {
    ReportKind kind = ReportKind::gone;
    int value = 0;
    bool is_out_of_time = false;  // of ended: the command was made to
};

}  // namespace holdfast::cli
