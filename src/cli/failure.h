#pragma once

// Why a command did not do its work, for people and for scripts.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json/json_writer.h"
#include "holdfast/lock_error.h"
#include "holdfast/lock_result.h"
#include "options/options.h"

namespace holdfast::cli {

// How every command ends: 0, the code of the command that was run, or one of these. They are the
// codes of sysexits.h and of shells where those have one.
constexpr int exit_success = EXIT_SUCCESS;
constexpr int exit_refused = 1;                  // refused: not held, not ours, a stale fence
constexpr int exit_usage = options::exit_usage;  // 64: the command line makes no sense
constexpr int exit_unavailable = 69;             // no server answers, or it cannot write
constexpr int exit_internal = 70;                // a fault of this program
constexpr int exit_cannot_write = 74;            // a file could not be written
constexpr int exit_not_got = 75;                 // the lock was not granted in time
constexpr int exit_lost = 76;                    // the lock was lost, so the command was stopped
constexpr int exit_not_permitted = 77;           // a token is missing or wrong
constexpr int exit_not_executable = 126;         // the command exists but cannot be run
constexpr int exit_not_found = 127;              // there is no such command
constexpr int exit_by_signal_base = 128;         // plus the number of the signal

struct Failure {
    int exit_code;
    std::string message;
    // What else is known of it, for --json: the fields of a JSON object, without braces.
    std::string facts = {};
};
template <class T>
using Asked = tl::expected<T, Failure>;

[[nodiscard]] inline tl::unexpected<Failure> fail(int exit_code, std::string message) {
    return tl::unexpected<Failure>({.exit_code = exit_code, .message = std::move(message)});
}

// Why there is no lock, and what to do about it. `title` is the lock as the person calls it.
[[nodiscard]] Failure to_failure(const LockError& error, const std::string& title);

// `"cycle":[..]` of a deadlock, for --json: as the server shows it, with scopes as texts.
void append_cycle(base::JsonWriter& json, const std::vector<DeadlockMember>& cycle);

// What the SDK returned, as commands do.
template <class T>
[[nodiscard]] Asked<T> asked(LockResult<T> result, const std::string& title = "") {
    if (!result) return tl::unexpected(to_failure(result.error(), title));
    if constexpr (std::is_void_v<T>) {
        return {};
    } else {
        return *std::move(result);
    }
}

// How a failure is told: as a sentence on the standard error, or as JSON. The standard output of
// `run` belongs to its command.
enum class Telling : std::uint8_t { sentence, json, json_on_standard_error };

// Tells it, and returns the exit code.
int complain(const Failure& failure, Telling telling = Telling::sentence);

}  // namespace holdfast::cli
