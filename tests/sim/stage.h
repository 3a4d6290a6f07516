#pragma once

#include <map>
#include <string>

#include "sim/fenced_resource.h"
#include "sim/network.h"
#include "sim/referee.h"
#include "sim/settings.h"
#include "sim/world.h"

namespace holdfast::sim {

// Stage: what clients find around them. All of it outlives them.
struct Stage {
    World& world;
    const Settings& settings;
    Network& network;
    Referee& referee;
    std::map<std::string, FencedResource>& resources;  // by the scope that protects them
};

}  // namespace holdfast::sim
