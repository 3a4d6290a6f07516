#pragma once

// HttpClient: one request, one answer, over connections that are kept and used again.
//
//     auto client = HttpClient::open(HttpAddress::parse("http://127.0.0.1:8080").value());
//     auto answer = (*client)->send({.method = "GET", .target = "/healthz"});
//
// Calls wait, for their timeout at most. A std::stop_token ends them at once from another thread;
// their connection is closed then, which takes a request that waits out of the server's queue.
//
// Thread safety: everything from any thread. Each call has a connection of its own meanwhile.

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/client/http_address.h"
#include "net/client/http_connection.h"
#include "net/client/http_failure.h"
#include "net/http/http_answer.h"

namespace holdfast::net {

struct HttpClientOptions {
    std::string ca_file;  // for https; empty: the system's
    std::chrono::milliseconds connect_timeout{5'000};
    std::uint64_t answer_bytes_max = std::uint64_t{64} * 1024 * 1024;
};

// Whether a request may be sent again when nobody knows whether it had an effect.
enum class Repeat : std::uint8_t {
    allowed,  // it may use a kept connection, and another if that one turns out to be closed
    never,    // it goes over a connection of its own, once
};

struct HttpCall {
    std::string method;
    std::string target;  // after the prefix of the address: "/v1/locks?limit=1"
    std::string body;    // JSON, if it is not empty
    std::vector<std::pair<std::string, std::string>> headers;
    std::chrono::milliseconds timeout{10'000};
    Repeat repeat = Repeat::allowed;
    std::stop_token stop;
};

// Where an answer goes that is taken in pieces.
struct HttpStream {
    // Called once, with status and headers; false: the rest is of no interest.
    std::function<bool(const HttpAnswer& head)> on_head;
    // Called with what comes; false: enough.
    std::function<bool(std::string_view bytes)> on_bytes;
    // How long the server may be silent.
    std::chrono::milliseconds silence_max{45'000};
};

class HttpClient {
  public:
    // Connects to nobody yet. The error names what is wrong with the CA file.
    [[nodiscard]] static base::Result<std::unique_ptr<HttpClient>> open(
        HttpAddress address, HttpClientOptions options = {});

    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    [[nodiscard]] HttpResult<HttpAnswer> send(const HttpCall& call);

    // For answers without an end, or without a limit. The call's timeout is that of the header.
    // Returns when the answer has ended, or one of the functions returned false.
    [[nodiscard]] HttpResult<void> stream(const HttpCall& call, const HttpStream& stream);

    [[nodiscard]] const HttpAddress& address() const { return address_; }

  private:
    using Connection = std::unique_ptr<HttpConnection>;

    HttpClient(HttpAddress address, HttpClientOptions options,
               std::shared_ptr<const TlsTrust> trust);

    HttpResult<Connection> connect(Waiter& waiter);
    HttpResult<HttpAnswer> exchange(Connection connection, const HttpCall& call, Waiter& waiter);
    [[nodiscard]] std::string format(const HttpCall& call) const;
    Connection take_kept();
    void keep(Connection connection);

    const HttpAddress address_;
    const HttpClientOptions options_;
    const std::shared_ptr<const TlsTrust> trust_;  // null: no TLS
    std::mutex mutex_;
    std::vector<Connection> kept_;  // under mutex_; the last to come is the first to go
};

}  // namespace holdfast::net
