#pragma once

// HttpClient: one request, one answer, over connections that stay open for later requests.
//
//     auto client = HttpClient::open(HttpAddress::parse("http://127.0.0.1:8080").value());
//     auto answer = (*client)->send({.method = "GET", .target = "/healthz"});
//
// A call waits for its answer, but no longer than its timeout. A std::stop_token cancels the call
// from another thread; then its connection is closed, and the server removes the request from the
// queue that it waits in.
//
// Thread safety: everything from any thread. While a call runs, its connection is its own.

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
#include "net/http/http_answer.h"

namespace holdfast::net {

struct HttpClientOptions {
    std::string ca_file;  // for https; empty: the system's
    std::chrono::milliseconds connect_timeout{5'000};
    std::uint64_t answer_bytes_max = std::uint64_t{64} * 1024 * 1024;
};

// Whether a request may be sent again although the first one may have had an effect.
enum class Repeat : std::uint8_t {
    allowed,  // uses an open connection; if that turns out to be closed, sends it over a new one
    never,    // sends it over a new connection, once
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

// Receives an answer piece by piece.
struct HttpStream {
    // Called once, with status and headers. Returns false to end the call.
    std::function<bool(const HttpAnswer& head)> on_head;
    // Called with each piece of the body. Returns false to end the call.
    std::function<bool(std::string_view bytes)> on_bytes;
    // How long the server may send nothing.
    std::chrono::milliseconds silence_max{45'000};
};

class HttpClient {
  public:
    // Does not connect yet. The error names what is wrong with the CA file.
    [[nodiscard]] static base::Result<std::unique_ptr<HttpClient>> open(
        HttpAddress address, HttpClientOptions options = {});

    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    [[nodiscard]] HttpResult<HttpAnswer> send(const HttpCall& call);

    // For answers without an end or of any length. The call's timeout is the time until the header
    // of the answer. Returns when the answer has ended, or when one of the functions returned false.
    [[nodiscard]] HttpResult<void> stream(const HttpCall& call, const HttpStream& stream);

    [[nodiscard]] const HttpAddress& address() const { return address_; }

  private:
    using Connection = std::unique_ptr<HttpConnection>;

    HttpClient(HttpAddress address, HttpClientOptions options,
               std::shared_ptr<const TlsTrust> trust);

    HttpResult<Connection> connect(Waiter& waiter);
    HttpResult<HttpAnswer> exchange(Connection connection, const HttpCall& call, Waiter& waiter);
    [[nodiscard]] std::string format(const HttpCall& call) const;
    Connection take_idle();
    void add_idle(Connection connection);

    const HttpAddress address_;
    const HttpClientOptions options_;
    const std::shared_ptr<const TlsTrust> trust_;  // null: no TLS
    std::mutex mutex_;
    std::vector<Connection> idle_;  // under mutex_; the one that was used last is used first
};

}  // namespace holdfast::net
