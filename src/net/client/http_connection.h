#pragma once

// HttpConnection: a client's connection to an HTTP server. Its calls wait for the server.
//
// Thread safety: none. One request at a time. After a failure the connection must not be used.

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "net/client/dial.h"
#include "net/client/waiter.h"
#include "net/http/http_answer.h"
#include "net/sockets/transport.h"
#include "net/tls/tls_trust.h"

namespace holdfast::net {

class HttpConnection {
  public:
    // Tries the addresses of the host in turn, each for `timeout` at most. With `trust`, everything
    // is encrypted and the server must prove its name.
    [[nodiscard]] static HttpResult<std::unique_ptr<HttpConnection>> open(
        const HttpAddress& address, const TlsTrust* trust, std::chrono::milliseconds timeout,
        Waiter& waiter);

    [[nodiscard]] HttpResult<void> send(std::string_view bytes, Waiter& waiter);
    // Waits for more of the answer, and gives it to the parser. True when the answer is complete.
    [[nodiscard]] HttpResult<bool> read_some(HttpAnswerParser& parser, Waiter& waiter);

    // Whether the connection can be used for another request: no unexpected bytes have arrived, and
    // the server has not closed it.
    [[nodiscard]] bool is_quiet() const;

  private:
    HttpConnection(Transport transport, std::string server)
        : transport_(std::move(transport)), server_(std::move(server)) {}

    HttpResult<bool> parse_input(HttpAnswerParser& parser);
    HttpResult<void> wait(std::uint32_t events, Waiter& waiter);
    [[nodiscard]] tl::unexpected<HttpFailure> broken(const std::string& how) const;

    Transport transport_;
    const std::string server_;  // for people
    std::string input_;         // received, not parsed yet
};

}  // namespace holdfast::net
