#pragma once

// Transport: sends and receives the bytes of one connection, and never blocks.
//
// This is all that a Connection knows of sockets. Encryption is hidden here: the same operations on
// the same descriptor, with a TlsStream between them, which answers `would_block` during the
// handshake.
//
// Lifetime: owns the descriptor and closes it.

#include <sys/epoll.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "net/sockets/endpoint.h"
#include "net/sockets/io_result.h"
#include "net/tls/tls_stream.h"

namespace holdfast::net {

// How long the system waits until it says that the other side of a TCP connection is gone for good.
struct KeepAlive {
    int silence_s = 15;  // nothing was received for so long
    int interval_s = 5;  // between two questions
    int questions = 3;   // that were not answered
};
// Lets the system notice that, while nothing is sent. Connections that a listener accepts inherit it. A
// Unix socket refuses these options of TCP, and does not need them.
void notice_lost_peer(int descriptor, const KeepAlive& times = {});

class Transport {
  public:
    // Owns a connected, non-blocking TCP socket. Switches off the delaying of small answers.
    explicit Transport(int descriptor);
    Transport(Transport&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)), tls_(std::move(other.tls_)) {}
    Transport& operator=(Transport&&) = delete;
    ~Transport();

    // Encrypts everything from now on, as the server. REQUIRES: nothing was sent or received.
    void encrypt(const TlsContext& context);
    // The same as a client. The server must prove that it is `host`.
    void encrypt(const TlsTrust& trust, const std::string& host);

    // REQUIRES: the buffer has room for TlsStream::record_bytes_max.
    [[nodiscard]] IoResult receive(std::span<char> buffer);
    [[nodiscard]] IoResult send(std::string_view bytes);

    // Which of epoll's events to wait for before trying to receive, or send, again.
    [[nodiscard]] std::uint32_t receive_events() const {
        return tls_ ? tls_->receive_events() : std::uint32_t{EPOLLIN};
    }
    [[nodiscard]] std::uint32_t send_events() const {
        return tls_ ? tls_->send_events() : std::uint32_t{EPOLLOUT};
    }
    // What is wrong with the certificate of the server, if that is why the connection failed.
    [[nodiscard]] std::string certificate_fault() const {
        return tls_ ? tls_->certificate_fault() : std::string();
    }
    // Why the peer has ended the connection with an alert of TLS; empty if it has not.
    [[nodiscard]] std::string alert() const { return tls_ ? tls_->alert() : std::string(); }
    // Whether a TLS handshake is under way.
    [[nodiscard]] bool is_shaking_hands() const { return tls_ && tls_->is_shaking_hands(); }

    // Tells the peer that nothing more will be sent. False if this must be tried again after
    // send_events(). REQUIRES: all output is sent.
    [[nodiscard]] bool finish_sending();
    // Unsent bytes are lost.
    void close();

    // The address of the other side as text; empty if it has none or is gone.
    [[nodiscard]] std::string peer_address() const;

    [[nodiscard]] int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
    std::unique_ptr<TlsStream> tls_;  // absent: plain
};

// Connections that this process begins, inside an event loop.

// Begins to connect and does not wait. The transport can be given to a ConnectionSet at once: bytes
// are sent when the connection is there, and the connection fails if it cannot be made. The caller
// limits the time.
[[nodiscard]] base::Result<Transport> begin_connect(const Endpoint& endpoint);

}  // namespace holdfast::net
