#pragma once

// Server: the Holdfast server that the commands talk to. It turns every failure into an exit code and
// a message.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/failure.h"
#include "options/options.h"
#include "sdk/http/exchange.h"

namespace holdfast::cli {

// The options of every command that talks to a server, and how it speaks to people.
struct ServerOptions {
    std::string server = "http://127.0.0.1:8080";  // or several addresses, separated by commas
    std::string token_file;
    std::string ca_file;
    bool is_json = false;
};

void declare_server_options(const options::Command& command, ServerOptions& options);

// The same for a client, with the secret of HOLDFAST_TOKEN if there is no file with one.
[[nodiscard]] ClientOptions to_client_options(const ServerOptions& options);

// The target of requests about a lock. `kind` tells locks with the same name apart.
[[nodiscard]] std::string lock_target(std::string_view name, std::string_view kind);

using sdk::Answer;

class Server {
  public:
    // Waits for `timeout` for each answer; by default as long as any client.
    [[nodiscard]] static Asked<Server> open(const ServerOptions& options,
                                            std::optional<std::chrono::milliseconds> timeout = {});

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

// Where the page after this one begins: the `next` of a listing; empty: nowhere. Fails if this page began
// there, `after`, too: the listing would never end.
[[nodiscard]] Asked<std::string> next_page(const base::JsonValue& next, std::string_view after);

// The time of this machine, in milliseconds since 1970.
[[nodiscard]] std::int64_t unix_now_ms();

}  // namespace holdfast::cli
