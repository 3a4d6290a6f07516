#pragma once

// Peer: one connection to a server on this machine, which blocks.
//
// For what comes before and around a measurement, such as taking the lock that is going to be
// renewed, and for measurements of a single request. Every wait ends after ten seconds with an error.
//
// Lifetime: owns the descriptor and closes it.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    // Sends that many requests at once, and returns the answers in their order. REQUIRES: nothing
    // is unanswered, and the sockets hold all of it.
    [[nodiscard]] base::Result<std::vector<std::string>> exchange_all(std::string_view requests,
                                                                      std::size_t count,
                                                                      const AnswerFramer& framer);

    [[nodiscard]] base::Result<void> send(std::string_view requests);
    // Waits for that many answers. Fails if more has arrived.
    [[nodiscard]] base::Result<std::vector<std::string>> receive(std::size_t count,
                                                                 const AnswerFramer& framer);

    [[nodiscard]] int descriptor() const { return descriptor_; }

  private:
    explicit Peer(int descriptor) : descriptor_(descriptor) {}

    int descriptor_;
};

}  // namespace holdfast::bench
