#pragma once

// TlsStream: one side of TLS on one non-blocking socket.
//
// It moves bytes the way the socket itself does, and shakes hands inside of these calls. What it
// then waits for may be the other thing: to receive it may have to send, and the other way round.
// receive_events() and send_events() say for which of epoll's events to wait before trying again.
//
// Nothing that was received stays in here, out of epoll's sight: OpenSSL takes one record at a time
// from the socket, and receive() passes all of it on. What follows is still the kernel's to report.
//
// A client that speaks plain HTTP is told so, in plain HTTP; what else it sends is ignored until it
// has finished.
//
// Lifetime: within the descriptor's.

#include <sys/epoll.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/loop/io_result.h"
#include "net/tls/tls_context.h"
#include "net/tls/tls_trust.h"

struct ssl_st;  // NOLINT(readability-identifier-naming): OpenSSL's

namespace holdfast::net {

// What OpenSSL's end of the socket needs.
struct TlsSocket {
    int descriptor;
    bool is_ended = false;
    char first_byte = '\0';  // of all that the peer has sent
};

class TlsStream {
  public:
    // A receiver's buffer is at least as large as a record.
    static constexpr std::size_t record_bytes_max = std::size_t{16} * 1024;

    // The server's side.
    TlsStream(const TlsContext& context, int descriptor);
    // The client's side. The server must prove that it is `host`, a name or an IP address.
    TlsStream(const TlsTrust& trust, const std::string& host, int descriptor);
    TlsStream(const TlsStream&) = delete;
    TlsStream& operator=(const TlsStream&) = delete;

    // REQUIRES: the buffer has record_bytes_max bytes.
    [[nodiscard]] IoResult receive(std::span<char> buffer);
    // REQUIRES: what would not go is offered again first, with or without more behind it.
    [[nodiscard]] IoResult send(std::string_view bytes);

    // Tells the peer, who may still be sending, that nothing more will come. False when it must be
    // called again after send_events().
    [[nodiscard]] bool finish_sending();

    // What is wrong with the certificate of the server, if that is why this has failed; else empty.
    [[nodiscard]] std::string certificate_fault() const;

    [[nodiscard]] bool is_shaking_hands() const { return state_ != State::established; }
    [[nodiscard]] std::uint32_t receive_events() const { return receive_events_; }
    [[nodiscard]] std::uint32_t send_events() const { return send_events_; }

  private:
    enum class State : std::uint8_t {
        shaking_hands,
        established,
        refused,  // it did not speak TLS and was told
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
    std::uint32_t receive_events_ = EPOLLIN;
    std::uint32_t send_events_ = EPOLLOUT;
};

}  // namespace holdfast::net
