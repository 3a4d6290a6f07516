#pragma once

// What became of one attempt to move bytes without blocking.

#include <cstddef>
#include <cstdint>

namespace holdfast::net {

enum class IoStatus : std::uint8_t {
    moved,        // some bytes went through
    would_block,  // none just now: wait until the descriptor is ready
    ended,        // the peer has finished sending
    failed,       // the connection is gone
};

struct IoResult {
    IoStatus status;
    std::size_t bytes = 0;
};

}  // namespace holdfast::net
