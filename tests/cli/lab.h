#pragma once

// For the tests of the command line: the program as a client of a server that the test started, and
// ways to see what happened to the commands that it runs.

#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../e2e/durable.h"
#include "../e2e/server_process.h"

namespace holdfast::e2e {

// `holdfast` with these words, as a client of the server at that address.
inline Command client_command(const std::string& address, const std::vector<std::string>& words) {
    const bool is_unix = address.starts_with("unix:");
    Command command{.words = {holdfast_program},
                    .environment = {{"HOLDFAST_SERVER", is_unix ? address : "http://" + address},
                                    {"HOLDFAST", holdfast_program},
                                    {"HOLDFAST_TOKEN_FILE", ""}}};
    command.words.insert(command.words.end(), words.begin(), words.end());
    return command;
}

inline Finished run_client(const ServerProcess& server, const std::vector<std::string>& words) {
    return run(client_command(server.address, words));
}

// `holdfast run` with these options around a line of shell.
inline Command run_command(const std::string& address, std::vector<std::string> options,
                           const std::string& line) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", "/bin/sh", "-c", line});
    return client_command(address, options);
}

// A file that a shell line waits for or makes: `until [ -e FILE ]; do sleep 0.01; done`.
class Sign {
  public:
    Sign() : path_(folder_.path() + "/sign") {}
    void give() const { std::ofstream(path_).put('x'); }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string wait_line() const {
        return "until [ -e " + path_ + " ]; do sleep 0.01; done";
    }

  private:
    DataFolder folder_;
    std::string path_;
};

// Asks again until `is_so`, or fails the test after a minute.
template <class Condition>
void wait_until(const Condition& is_so) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (!is_so()) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it does not happen";
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
}

inline bool is_held(const ServerProcess& server, const std::string& name) {
    return server.ask("GET /v1/locks/" + name).body.find("\"held\":true") != std::string::npos;
}

inline bool has_waiter(const ServerProcess& server, const std::string& name) {
    return server.ask("GET /v1/locks/" + name + "?queue=true").body.find("\"place\":1,") !=
           std::string::npos;
}

// The processes that `pid` has started.
inline std::vector<pid_t> children_of(pid_t pid) {
    const std::string path =
        "/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children";
    std::ifstream file(path);
    std::vector<pid_t> children;
    for (pid_t child = 0; file >> child;) children.push_back(child);
    return children;
}

}  // namespace holdfast::e2e
