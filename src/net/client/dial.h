#pragma once

// Connecting to a server, by host and port or over a Unix socket.

#include <chrono>
#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "net/client/http_address.h"
#include "net/client/waiter.h"
#include "net/sockets/transport.h"

namespace holdfast::net {

// Why a request to another server got no answer.
struct HttpFailure {
    enum class Kind : std::uint8_t {
        unreachable,  // there is no connection: the request had no effect
        timed_out,    // no answer in time: the request may have had an effect
        no_answer,    // the connection broke, or the answer is not HTTP: perhaps an effect
        certificate,  // the server could not prove its name, and was told nothing: no effect
        cancelled,    // the stop token ended the call: perhaps an effect
    };

    Kind kind = Kind::no_answer;
    std::string message;  // a sentence for people
};

template <class T>
using HttpResult = tl::expected<T, HttpFailure>;

[[nodiscard]] inline tl::unexpected<HttpFailure> http_failure(HttpFailure::Kind kind,
                                                              std::string message) {
    return tl::unexpected<HttpFailure>(HttpFailure{.kind = kind, .message = std::move(message)});
}

// Connects to the first address of the host that accepts the connection; each is tried for
// `timeout` at most. The connection is plain.
//
// A name is looked up on a thread of its own, because getaddrinfo() can be neither cancelled nor
// limited in time. When nobody waits for it any more, the thread ends by itself.
[[nodiscard]] HttpResult<Transport> dial(const HttpAddress& address,
                                         std::chrono::milliseconds timeout, Waiter& waiter);

}  // namespace holdfast::net
