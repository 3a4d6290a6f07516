#pragma once

// Fences of outside resources, as data: what is asked of them, answered and kept.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/values/ids.h"
#include "service/commit_number.h"

namespace holdfast::service {

// The largest fencing number that a resource has seen, as a store keeps it. Zero: none any more.
struct FenceMark {
    std::string resource;
    std::uint64_t highest = 0;

    bool operator==(const FenceMark&) const = default;
};

// Every fence is kept until somebody drops it, so their number has an end.
struct FenceLimits {
    std::size_t resources_max = 100'000;
    std::size_t resource_length_max = 4096;
};

// The answer to whoever raises, reads or drops a fence.
struct FenceOutcome {
    enum class Kind : std::uint8_t {
        accepted,             // raised, or as high already; read; dropped
        stale,                // the resource has seen a larger number
        unknown,              // there is no fence of this resource
        resources_max,        // FenceLimits, by name
        resource_length_max,  // likewise
    };
    Kind kind = Kind::unknown;
    std::uint64_t highest = 0;  // accepted: after a raise, before a drop; stale
    // The answer must not be told before this commit is done: a crash could undo what it says.
    CommitNumber rests_on = no_commit;

    bool operator==(const FenceOutcome&) const = default;
};

// Somebody came with a number that was too small: it had lost its lock, or never had it. The name
// is good during the call that tells of it.
struct FenceRefusal {
    core::Time at;
    std::string_view resource;
    std::uint64_t number = 0;
    std::uint64_t highest = 0;
};

}  // namespace holdfast::service
