#pragma once

// SpliceSet: connections of one loop that splices read from and write to. Each is added with a
// protocol of its own (ConnectionSet::add).

#include <chrono>
#include <cstddef>

#include "net/loop/connection_set.h"

namespace holdfast::relay {

// With more unsent output than this, the other side of a splice is paused.
inline constexpr std::size_t output_bytes_max = std::size_t{128} * 1024;

// `write_timeout`: how long the peer may leave its input unread. Zero: as long as it likes.
[[nodiscard]] inline net::ConnectionLimits splice_limits(std::chrono::milliseconds write_timeout) {
    net::ConnectionLimits limits;
    limits.write_timeout = write_timeout;
    limits.output_bytes_max = output_bytes_max;
    return limits;
}

class SpliceSet {
  public:
    SpliceSet(net::EventLoop& loop, std::chrono::milliseconds write_timeout)
        : limits_(splice_limits(write_timeout)),
          connections(loop, {.limits = limits_,
                             .factory = no_factory_,
                             .waiting_room = waiting_room_,
                             .tls = nullptr,
                             .divert = no_divert_}) {}

  private:
    const net::ConnectionLimits limits_;
    const net::ProtocolFactory no_factory_;
    const net::Divert no_divert_;
    net::WaitingRoom waiting_room_{0};

  public:
    net::ConnectionSet connections;
};

}  // namespace holdfast::relay
