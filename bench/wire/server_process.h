#pragma once

// ServerProcess: a server started for a measurement, and ended with it.
//
// The server must print `listening <door> 127.0.0.1:<port>` on standard output once it can be
// reached, or be told its port; what it says on standard error is thrown away. It dies with its
// starter, however that ends.
//
// Lifetime: the destructor asks the server to end, waits, and after ten seconds does not ask.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace holdfast::bench {

struct ServerCommand {
    std::vector<std::string> words;  // the program and its arguments
    std::string door = {};           // whose port we want: `http`
    // Of a server that was told where to listen and does not say: it is there when it accepts.
    std::optional<std::uint16_t> port = {};
    std::optional<int> core;              // the only one it may run on,
    std::optional<int> second_core = {};  // beside this one
};

// A port that was free a moment ago.
[[nodiscard]] std::uint16_t find_free_port();

class ServerProcess {
  public:
    [[nodiscard]] static base::Result<ServerProcess> start(const ServerCommand& command);

    ServerProcess(ServerProcess&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), port_(other.port_) {}
    ServerProcess& operator=(ServerProcess&&) = delete;
    ~ServerProcess() { end(); }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    // REQUIRES: end() was not called.
    [[nodiscard]] pid_t pid() const { return pid_; }

    // The processor time that all its threads have used, in user space and kernel.
    [[nodiscard]] std::chrono::nanoseconds cpu_time() const;

    // The part of its first thread, which in a holdfast with several threads is that of the service.
    [[nodiscard]] std::chrono::nanoseconds first_thread_time() const;

    // How often its threads have gone to sleep, which is how often somebody had to wake them.
    [[nodiscard]] std::uint64_t sleeps() const;

    // The memory that it occupies now.
    [[nodiscard]] std::uint64_t resident_bytes() const;

    // Ends the server and waits for it. Further calls do nothing.
    void end();

  private:
    explicit ServerProcess(pid_t pid) : pid_(pid) {}

    pid_t pid_;
    std::uint16_t port_ = 0;
};

}  // namespace holdfast::bench
