#pragma once

// ServerProcess: the real `holdfast serve` on a free port.

#include <algorithm>
#include <string>
#include <vector>

#include "net/loop/test_client.h"
#include "net/sockets/endpoint.h"
#include "process.h"

namespace holdfast::e2e {

inline const std::string holdfast_program = HOLDFAST_PROGRAM;

// Without a `--data` among the flags, nothing is kept; without a `--dflockd`, that door is on a
// free port, so that servers do not get in each other's way.
inline Command serve_command(const std::vector<std::string>& flags = {}) {
    Command command{.words = {holdfast_program, "serve"}};
    const bool is_durable = std::find(flags.begin(), flags.end(), "--data") != flags.end();
    if (!is_durable) command.environment["HOLDFAST_MEMORY"] = "true";
    command.environment["HOLDFAST_DFLOCKD"] = "127.0.0.1:0";
    command.words.insert(command.words.end(), flags.begin(), flags.end());
    return command;
}

// Waits until the server says where it listens for HTTP, or for it over TLS, and returns that:
// `127.0.0.1:43211`.
inline std::string wait_for_address(Process& process) {
    const std::string line = process.wait_for_output("listening http");
    return line.empty() ? "127.0.0.1:1" : line.substr(line.rfind(' ') + 1);
}

struct ServerProcess {
    explicit ServerProcess(const std::vector<std::string>& flags = {"--http", "127.0.0.1:0"})
        : ServerProcess(serve_command(flags)) {}
    explicit ServerProcess(const Command& command) : process(command) {}

    [[nodiscard]] net::TestClient connect() const {
        return net::TestClient(net::parse_endpoint(address).value());
    }

    // Asks over a connection of its own.
    [[nodiscard]] net::TestResponse ask(const std::string& line) const {
        net::TestClient client = connect();
        client.send(line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        return client.response();
    }

    Process process;
    const std::string address = wait_for_address(process);
};

}  // namespace holdfast::e2e
