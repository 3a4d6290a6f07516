#include "wire/two_cores.h"

#include <sched.h>
#include <sys/resource.h>

#include <vector>

namespace holdfast::bench {

std::optional<TwoCores> find_two_cores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return std::nullopt;
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE && cores.size() < 2; ++core) {
        if (CPU_ISSET(core, &allowed)) cores.push_back(core);
    }
    if (cores.size() < 2) return std::nullopt;
    return TwoCores{.server = cores[0], .client = cores[1]};
}

void stay_on_core(int core) {
    stay_on_cores(core, core);
}

void stay_on_cores(int core, int other) {
    cpu_set_t chosen;
    CPU_ZERO(&chosen);
    CPU_SET(core, &chosen);
    CPU_SET(other, &chosen);
    ::sched_setaffinity(0, sizeof chosen, &chosen);
}

void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace holdfast::bench
