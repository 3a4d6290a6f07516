#pragma once

// Server: the Holdfast server that the commands talk to, and what they do about its troubles.

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "base/json/json_value.h"
#include "net/client/http_client.h"
#include "options/options.h"

namespace holdfast::cli {

// Where the server is and what proves that we may talk to it: on every command that talks.
struct ServerOptions {
    std::string server = "http://127.0.0.1:8080";  // several, by commas: the first that answers
    std::string token_file;
    std::string ca_file;
};

void declare_server_options(const options::Command& command, ServerOptions& options);

// `--kind`, of commands on a lock by its name.
void declare_kind_option(const options::Command& command, std::string& kind);
// Where the server has the lock; of things that share its name, the one of that kind.
[[nodiscard]] std::string lock_target(std::string_view name, std::string_view kind);
// The same, to be shown with its queue.
[[nodiscard]] std::string shown_lock_target(std::string_view name, std::string_view kind);

// Why a command ends without having done what it should.
struct Failure {
    int exit_code;
    std::string message;
};
template <class T>
using Asked = tl::expected<T, Failure>;

// Says what went wrong, and returns the exit code for it.
int complain(const Failure& failure);

// An answer that says yes, or a no which the command knows what to make of.
struct Answer {
    int status = 0;
    std::string body;
    base::JsonValue json;

    // Its `error` or `reason` code, and its sentence for people.
    [[nodiscard]] std::string_view reason() const;
    [[nodiscard]] std::string_view message() const;
};

class Server {
  public:
    [[nodiscard]] static Asked<Server> open(const ServerOptions& options);

    // Asks, and returns any answer but those that are trouble for every command: no or a wrong
    // secret, a request that makes no sense, a server that cannot write.
    [[nodiscard]] Asked<Answer> ask(const std::string& method, const std::string& target,
                                    const std::string& body = "");
    // The same, where everything but 200 is a failure.
    [[nodiscard]] Asked<Answer> get(const std::string& target);

    // Calls `on_bytes` with what comes of an answer without an end or limit; false from it: enough.
    [[nodiscard]] Asked<void> stream(const net::HttpCall& call,
                                     const std::function<bool(std::string_view)>& on_bytes,
                                     const std::function<void()>& on_open = {});

    // How far the server's clock is ahead of ours: its moments are by that.
    [[nodiscard]] Asked<std::chrono::milliseconds> clock_offset();

    [[nodiscard]] const std::string& address() const { return options_.server; }

  private:
    Server(ServerOptions options, std::vector<std::unique_ptr<net::HttpClient>> clients)
        : options_(std::move(options)), clients_(std::move(clients)) {}
    [[nodiscard]] Asked<std::vector<std::pair<std::string, std::string>>> headers() const;

    ServerOptions options_;
    std::vector<std::unique_ptr<net::HttpClient>> clients_;
};

// The time of this machine, as the server's moments are told.
[[nodiscard]] std::int64_t unix_now_ms();

}  // namespace holdfast::cli
