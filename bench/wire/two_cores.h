#pragma once

// Which core the server gets and which the client, so that neither takes time from the other.

#include <optional>

namespace holdfast::bench {

struct TwoCores {
    int server;
    int client;
};

// The first two cores this process may use; nothing when it has only one.
[[nodiscard]] std::optional<TwoCores> find_two_cores();

// Binds the calling thread, and what it starts later, to one core.
void stay_on_core(int core);
// ... or to either of two, which may be the same.
void stay_on_cores(int core, int other);

// Lets this process and those it starts open as many descriptors as the system permits.
void raise_descriptor_limit();

}  // namespace holdfast::bench
