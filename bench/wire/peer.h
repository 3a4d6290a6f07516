#pragma once

// Peer: one connection to a server on this machine, which blocks.
//
// For what comes before and around a measurement: saying hello, taking the lock that is going to be
// renewed. Every wait ends after ten seconds with an error.
//
// Lifetime: owns the descriptor and closes it.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "wire/answer_framer.h"

namespace holdfast::bench {

class Peer {
  public:
    // Connects to a port of 127.0.0.1. Small requests leave undelayed.
    [[nodiscard]] static base::Result<Peer> connect(std::uint16_t port);

    Peer(Peer&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Peer& operator=(Peer&&) = delete;
    ~Peer();

    // Sends the request and returns its whole answer. REQUIRES: nothing is unanswered.
    [[nodiscard]] base::Result<std::string> exchange(std::string_view request,
                                                     const AnswerFramer& framer);

    [[nodiscard]] int descriptor() const { return descriptor_; }

  private:
    explicit Peer(int descriptor) : descriptor_(descriptor) {}

    int descriptor_;
};

}  // namespace holdfast::bench
