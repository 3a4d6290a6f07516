#pragma once

// Transport: the bytes of one accepted connection, without ever blocking.
//
// This is all a Connection knows of sockets. Encryption takes its place here: the same operations
// on the same descriptor, with OpenSSL between them, answering `would_block` while it shakes hands.
//
// Lifetime: owns the descriptor and closes it.

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace holdfast::net {

enum class IoStatus {
    moved,        // some bytes went through
    would_block,  // none just now: wait until the descriptor is ready
    ended,        // the peer has finished sending
    failed,       // the connection is gone
};

struct IoResult {
    IoStatus status;
    std::size_t bytes = 0;
};

class Transport {
  public:
    // Takes a connected, non-blocking TCP socket. Switches the delaying of small answers off.
    explicit Transport(int descriptor);
    Transport(Transport&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Transport& operator=(Transport&&) = delete;
    ~Transport();

    [[nodiscard]] IoResult receive(std::span<char> buffer);
    [[nodiscard]] IoResult send(std::string_view bytes);

    // Tells the peer that nothing more will be sent.
    void finish_sending();
    void close();

    [[nodiscard]] int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
};

}  // namespace holdfast::net
