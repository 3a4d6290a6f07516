#pragma once

// Transport: the bytes of one connection, without ever blocking.
//
// This is all a Connection knows of sockets. Encryption takes its place here: the same operations
// on the same descriptor, with a TlsStream between them, answering `would_block` while it shakes
// hands.
//
// Lifetime: owns the descriptor and closes it.

#include <sys/epoll.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "net/loop/io_result.h"
#include "net/tls/tls_stream.h"

namespace holdfast::net {

class Transport {
  public:
    // Takes a connected, non-blocking TCP socket. Switches the delaying of small answers off.
    explicit Transport(int descriptor);
    Transport(Transport&& other) noexcept
        : descriptor_(std::exchange(other.descriptor_, -1)), tls_(std::move(other.tls_)) {}
    Transport& operator=(Transport&&) = delete;
    ~Transport();

    // Encrypts everything from now on, as the server. REQUIRES: nothing was sent or received.
    void encrypt(const TlsContext& context);
    // The same as the client of `host`, who must prove that it is that.
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
    // What is wrong with the server's certificate, if that is why nothing moves any more.
    [[nodiscard]] std::string certificate_fault() const {
        return tls_ ? tls_->certificate_fault() : std::string();
    }
    // Whether the peer must still prove that it can speak before it can say anything.
    [[nodiscard]] bool is_shaking_hands() const { return tls_ && tls_->is_shaking_hands(); }

    // Tells the peer that nothing more will be sent. False when that must be tried again after
    // send_events(). REQUIRES: all that was to be sent is sent.
    [[nodiscard]] bool finish_sending();
    // Whatever is not sent is lost.
    void close();

    [[nodiscard]] int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
    std::unique_ptr<TlsStream> tls_;  // absent: plain
};

}  // namespace holdfast::net
