#pragma once

// Server: the Holdfast server that the commands talk to. It turns every failure into an exit code and
// a message.

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "options/options.h"
#include "sdk/http/exchange.h"

namespace holdfast::cli {

// The options of every command that talks to a server.
struct ServerOptions {
    std::string server = "http://127.0.0.1:8080";  // or several addresses, separated by commas
    std::string token_file;
    std::string ca_file;
};

void declare_server_options(const options::Command& command, ServerOptions& options);

// `--kind`, for commands that name a lock.
void declare_kind_option(const options::Command& command, std::string& kind);
// The target of requests about a lock. `kind` tells locks with the same name apart.
[[nodiscard]] std::string lock_target(std::string_view name, std::string_view kind);
// The same, to get the lock with its queue.
[[nodiscard]] std::string shown_lock_target(std::string_view name, std::string_view kind);

// How the commands end, for scripts: 0, the code of the command that was run, or one of these. They
// are the codes of sysexits.h and of shells where those have one.
constexpr int exit_success = EXIT_SUCCESS;
constexpr int exit_refused = 1;           // refused: not held, not ours, a stale fence
constexpr int exit_usage = 64;            // the command line makes no sense
constexpr int exit_unavailable = 69;      // no server answers, or it cannot write
constexpr int exit_internal = 70;         // a fault of this program
constexpr int exit_cannot_write = 74;     // a file could not be written
constexpr int exit_not_got = 75;          // the lock was not granted in time
constexpr int exit_lost = 76;             // the lock was lost, so the command was stopped
constexpr int exit_not_permitted = 77;    // a token is missing or wrong
constexpr int exit_not_executable = 126;  // the command exists but cannot be run
constexpr int exit_not_found = 127;       // there is no such command
constexpr int exit_by_signal_base = 128;  // plus the number of the signal

// Why a command did not do its work.
struct Failure {
    int exit_code;
    std::string message;
};
template <class T>
using Asked = tl::expected<T, Failure>;

// Prints the message, and returns the exit code.
int complain(const Failure& failure);

using sdk::Answer;

class Server {
  public:
    [[nodiscard]] static Asked<Server> open(const ServerOptions& options);

    // Returns an answer, unless it is a failure for every command: the token is missing or wrong,
    // the request makes no sense, or the server cannot write.
    [[nodiscard]] Asked<Answer> ask(const std::string& method, const std::string& target,
                                    const std::string& body = "");
    // A GET; every answer but 200 is a failure.
    [[nodiscard]] Asked<Answer> get(const std::string& target);

    // Passes on an answer of any length, until `on_bytes` returns false.
    [[nodiscard]] Asked<void> stream(const std::string& target, std::chrono::milliseconds timeout,
                                     const std::function<bool(std::string_view)>& on_bytes);

    // How far the server's clock is ahead of ours. The times in its answers are by its clock.
    [[nodiscard]] Asked<std::chrono::milliseconds> clock_offset();

    [[nodiscard]] const std::string& address() const { return address_; }

    [[nodiscard]] sdk::Exchange& exchange() { return *exchange_; }
    // The failure of a command whose request for `target` got no useful answer.
    [[nodiscard]] Failure to_failure(const sdk::NoAnswer& none, const std::string& target) const;

  private:
    Server(std::string address, std::unique_ptr<sdk::Exchange> exchange)
        : address_(std::move(address)), exchange_(std::move(exchange)) {}

    std::string address_;
    std::unique_ptr<sdk::Exchange> exchange_;
};

// The time of this machine, in milliseconds since 1970.
[[nodiscard]] std::int64_t unix_now_ms();

}  // namespace holdfast::cli
