// The small values of the public headers: BootClock, ClientOptions and Lease.

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "holdfast/boot_clock.h"
#include "holdfast/client_options.h"
#include "holdfast/lease.h"
#include "sdk/http/exchange.h"

namespace holdfast {

namespace {

std::string_view variable(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

}  // namespace

BootClock::time_point BootClock::now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return time_point{std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec}};
}

ClientOptions ClientOptions::from_environment() {
    ClientOptions options;
    if (auto servers = sdk::split_by_commas(variable("HOLDFAST_SERVER")); !servers.empty()) {
        options.servers = std::move(servers);
    }
    options.token_file = variable("HOLDFAST_TOKEN_FILE");
    options.ca_file = variable("HOLDFAST_CA_FILE");
    return options;
}

std::chrono::milliseconds Lease::margin() const {
    constexpr std::chrono::milliseconds margin_max{5'000};
    return std::min(margin_max, ttl / 6);
}

// Rounded down, so that the promise is true.
std::chrono::milliseconds Lease::time_guaranteed() const {
    const auto left =
        std::chrono::floor<std::chrono::milliseconds>(lasts_until - BootClock::now()) - margin();
    return std::max(left, std::chrono::milliseconds{0});
}

bool Lease::is_guaranteed() const {
    return time_guaranteed() > std::chrono::milliseconds{0};
}

}  // namespace holdfast
