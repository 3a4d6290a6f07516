#include "app/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "base/text/number.h"

namespace holdfast::app {

namespace {

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::optional<std::chrono::microseconds> choose_alive_interval(
    const ServiceManager::Variables& variables) {
    if (variables.notify_socket.empty()) return std::nullopt;
    const bool is_ours = variables.watchdog_pid.empty() ||
                         base::parse_decimal<std::uint32_t>(variables.watchdog_pid) ==
                             static_cast<std::uint32_t>(::getpid());
    const auto wanted = base::parse_decimal<std::int64_t>(variables.watchdog_microseconds);
    if (!is_ours || !wanted || *wanted < 2) return std::nullopt;
    return std::chrono::microseconds{*wanted / 2};
}

// The clock that systemd compares with its own, in microseconds.
std::string monotonic_microseconds() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::to_string(std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000);
}

// A line break would begin another message.
std::string one_line(std::string_view text) {
    std::string line(text);
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
}

}  // namespace

ServiceManager::Variables ServiceManager::read_environment() {
    return {.notify_socket = variable("NOTIFY_SOCKET"),
            .watchdog_microseconds = variable("WATCHDOG_USEC"),
            .watchdog_pid = variable("WATCHDOG_PID")};
}

ServiceManager::ServiceManager(const Variables& variables)
    : socket_name_(variables.notify_socket), alive_interval_(choose_alive_interval(variables)) {}

void ServiceManager::say_ready(std::string_view status) const {
    send("READY=1\nSTATUS=" + one_line(status) + "\n");
}

void ServiceManager::say_reloading() const {
    send("RELOADING=1\nMONOTONIC_USEC=" + monotonic_microseconds() +
         "\nSTATUS=reading tokens and certificate again\n");
}

void ServiceManager::say_stopping() const {
    send("STOPPING=1\nSTATUS=answering what is in flight\n");
}

void ServiceManager::say_alive() const {
    send("WATCHDOG=1\n");
}

// A socket for every message: there are few of them, and nothing is to be kept in order.
void ServiceManager::send(const std::string& message) const {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (socket_name_.empty() || socket_name_.size() >= sizeof address.sun_path) return;
    std::copy(socket_name_.begin(), socket_name_.end(), address.sun_path);
    if (socket_name_.front() == '@') address.sun_path[0] = '\0';
    const auto length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_name_.size());
    const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return;
    const auto* const to = reinterpret_cast<const sockaddr*>(&address);
    ::sendto(descriptor, message.data(), message.size(), MSG_NOSIGNAL, to, length);
    ::close(descriptor);
}

}  // namespace holdfast::app
