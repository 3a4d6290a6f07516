#pragma once

// TlsStream: one side of TLS on one non-blocking socket.
//
// It sends and receives like the socket itself, and does the handshake inside these calls. To
// receive, TLS may have to send first, and the other way round. So receive_events() and
// send_events() say for which of epoll's events to wait before the next attempt.
//
// The stream stores no received bytes, of which epoll would not know: OpenSSL reads one record at a
// time from the socket, and receive() returns all of it. The kernel still reports the bytes behind
// that record.
//
// A client that speaks plain HTTP gets an answer in plain HTTP that says so. Everything else that
// it sends is ignored.
//
// Lifetime: the descriptor outlives the stream.

#include <sys/epoll.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/sockets/io_result.h"
#include "net/tls/tls_context.h"
#include "net/tls/tls_trust.h"

struct ssl_st;  // NOLINT(readability-identifier-naming): OpenSSL's

namespace holdfast::net {

// What the functions know that OpenSSL calls to use the socket.
struct TlsSocket {
    int descriptor;
    bool is_ended = false;
    char first_byte = '\0';  // of all that the peer has sent
};

class TlsStream {
  public:
    // The buffer for receive() must be at least as large as a record.
    static constexpr std::size_t record_bytes_max = std::size_t{16} * 1024;

    // The server's side.
    TlsStream(const TlsContext& context, int descriptor);
    // The client's side. The server must prove that it is `host`, a name or an IP address.
    TlsStream(const TlsTrust& trust, const std::string& host, int descriptor);
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    // REQUIRES: the buffer has record_bytes_max bytes.
    [[nodiscard]] IoResult receive(std::span<char> buffer);
    // REQUIRES: bytes that were not sent are offered again first, perhaps with more behind them.
    [[nodiscard]] IoResult send(std::string_view bytes);

    // Tells the peer, which may still send, that nothing more will come. False if this must be
    // called again after send_events().
    [[nodiscard]] bool finish_sending();

    // What is wrong with the certificate of the server, if that is why this has failed; else empty.
    [[nodiscard]] std::string certificate_fault() const;

    // Why the peer has ended this with an alert of TLS ("certificate required"); empty if it has not.
    [[nodiscard]] const std::string& alert() const { return alert_; }

    [[nodiscard]] bool is_shaking_hands() const { return state_ != State::established; }
    [[nodiscard]] std::uint32_t receive_events() const { return receive_events_; }
    [[nodiscard]] std::uint32_t send_events() const { return send_events_; }

  private:
    enum class State : std::uint8_t {
        shaking_hands,
        established,
        refused,  // the client does not speak TLS and was told so
        failed,
    };
    struct Free {
        void operator()(ssl_st* stream) const;
    };

    void attach();
    IoStatus explain(int returned, std::uint32_t& events);
    IoStatus refuse_plain_http();
    IoStatus discard(std::span<char> buffer);
    void note_progress();

    TlsSocket socket_;
    const bool is_client_;
    std::unique_ptr<ssl_st, Free> stream_;
    State state_ = State::shaking_hands;
    bool is_finished_ = false;
    std::string alert_;
    std::uint32_t receive_events_ = EPOLLIN;
    std::uint32_t send_events_ = EPOLLOUT;
};

}  // namespace holdfast::net
