#pragma once

// How the commands end, for scripts: 0, the code of what was run, or one of these. They are those
// of sysexits.h and of shells where these have one.

#include <cstdlib>

namespace holdfast::cli {

constexpr int exit_success = EXIT_SUCCESS;
constexpr int exit_refused = 1;           // the answer is no: not held, not ours, a stale fence
constexpr int exit_usage = 64;            // the command line makes no sense
constexpr int exit_unavailable = 69;      // no server answers, or it cannot write
constexpr int exit_internal = 70;         // something of our own went wrong
constexpr int exit_cannot_write = 74;     // a file could not be written
constexpr int exit_not_got = 75;          // the lock was not to be had in time
constexpr int exit_lost = 76;             // the lock was lost, and the command stopped for it
constexpr int exit_not_permitted = 77;    // the server wants a secret, or the admin's
constexpr int exit_not_executable = 126;  // the command is there but cannot be run
constexpr int exit_not_found = 127;       // there is no such command
constexpr int exit_by_signal_base = 128;  // plus the number of the signal

}  // namespace holdfast::cli
