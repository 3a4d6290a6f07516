#pragma once

// System: what the clients of a world talk to. One server with a disk, or a cluster of nodes.
//
// It has its own faults, which the simulation lets happen until it calls heal(). After every event
// the simulation lets it look for broken promises.

#include <cstddef>
#include <functional>

#include "core/lock_table.h"
#include "sim/checker/ledger.h"
#include "sim/message.h"
#include "sim/network.h"
#include "sim/settings.h"
#include "sim/world.h"

namespace holdfast::sim {

// What a system finds around it. All of it outlives the system.
struct Surroundings {
    World& world;
    const Settings& settings;
    const Faults& faults;  // as they are now
    Network& network;
    Ledger& ledger;
};

class System {
  public:
    virtual ~System() = default;

    virtual void start() = 0;
    virtual void receive(const Call& call) = 0;
    // The client's end of a connection is gone.
    virtual void hang_up(ConnectionId connection) = 0;

    // Lets an action happen again and again, about so often, until the faults heal.
    using Every = std::function<void(core::Duration mean, std::function<void()> action)>;
    virtual void arrange_faults(const Every& every) = 0;
    virtual void heal() = 0;

    // Accuses itself of what can be seen to be wrong at this moment.
    virtual void look() = 0;
    // After everything has come to an end: nobody waits, and nothing is left.
    virtual void check_empty() = 0;
    // At the very end: begins the trial with this number, or returns false if there are no more. In a
    // trial a part of the system must serve alone, within recovery_time_max().
    [[nodiscard]] virtual bool begin_trial(std::size_t /*number*/) { return false; }
    [[nodiscard]] virtual bool has_passed_trial() const { return true; }
    // How long after the faults have healed the system may need until it serves.
    [[nodiscard]] virtual core::Duration recovery_time_max() const = 0;
};

// Accuses the service if something is left in the memory of a server at the end.
void check_counts(World& world, const core::TableCounts& counts);

}  // namespace holdfast::sim
