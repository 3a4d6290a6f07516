#pragma once

// Settings: what kind of world a seed is. Everything in it is drawn from the seed: how large it is,
// what is locked there and for how long, and what goes wrong.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/values/ids.h"
#include "core/values/scope.h"
#include "sim/world.h"

namespace holdfast::sim {

// What goes wrong. How often is said by a mean interval, zero meaning never, or by a chance.
struct Faults {
    double loss = 0;         // of a message
    double duplication = 0;  // of a request, by another way
    core::Duration delay_max{0};
    core::Duration hang_up_every{0};  // a connection dies
    core::Duration client_pause_every{0};
    core::Duration client_crash_every{0};
    core::Duration server_pause_every{0};
    core::Duration server_crash_every{0};
    double crash_around_commit = 0;  // before the write, after it, before the answers leave
    double reboot = 0;               // the whole machine, when the server crashes
    core::Duration wall_step_every{0};
    core::Duration disk_trouble_every{0};
    core::Duration disk_delay_max{0};
    double unknown_commit = 0;               // written or not, and the disk does not say which
    core::Duration recovery_delay_max{0};    // until the disk has answered what it has
    core::Duration authority_lost_every{0};  // for a while
    double deposed = 0;                      // at a commit
    core::Duration timer_lateness_max{0};
};

// Something that clients of this world lock.
struct LockTarget {
    core::Scope scope;
    std::uint32_t limit = 1;
};

// How many clients of each kind there are.
struct Crowd {
    std::size_t workers = 0;
    std::size_t homelab = 0;
    std::size_t sessions = 0;
    std::size_t admins = 0;
    std::size_t collectors = 0;
    std::size_t crosswise = 0;
    std::size_t candidates = 0;
};

struct Settings {
    Faults faults;
    Crowd crowd;
    std::vector<LockTarget> targets;
    core::Duration ttl{0};             // the usual one; all other times are parts of it
    core::Duration idle_retention{0};  // of the table
    double transient_share = 0;        // of requests whose leases end with the server
    bool keeps_sets = true;            // whether leases on several locks survive a restart
    bool is_volatile = false;          // nothing is written to disk; the server never crashes then
    std::size_t commit_changes_max = SIZE_MAX;
    std::uint64_t visits_max = 4096;  // of the table: small numbers cut everything into parts
    std::uint64_t steps_max = 0;
    core::Duration time_max{0};

    static Settings draw(Random& random);
};

// `crash loss 0.05 ...`: for the first line of a history.
[[nodiscard]] std::string to_text(const Settings& settings);

}  // namespace holdfast::sim
