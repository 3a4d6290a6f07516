#pragma once

// WaitingRoom: the memory that waiting answers of all connections of a server may take together.
//
// An answer waits when an earlier request of its connection is unanswered. A connection adds the
// bytes of such answers while they wait, and handles no request whose answer would have to wait
// while the room is full. Requests whose answers can leave at once are not affected.
//
// Thread safety: every method from any thread.

#include <atomic>
#include <cstddef>

namespace holdfast::net {

class WaitingRoom {
  public:
    explicit WaitingRoom(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    void add(std::size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
    // REQUIRES: at least as many bytes were added.
    void remove(std::size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

    [[nodiscard]] bool is_full() const { return bytes() >= bytes_max_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  private:
    const std::size_t bytes_max_;
    std::atomic<std::size_t> bytes_ = 0;
};

}  // namespace holdfast::net
