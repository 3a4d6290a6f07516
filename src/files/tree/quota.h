#pragma once

#include <cstdint>
#include <mutex>

namespace holdfast::files {

// Quota: how many bytes all files have together, and may have.
//
// What is on its way counts already: an upload reserves what it will add, piece by piece, and hands
// its reservation in at the commit. So uploads that fit one by one cannot pass the limit together.
//
// Thread safety: any thread.
class Quota {
  public:
    struct Start {
        std::uint64_t limit_bytes = 0;  // 0: no limit
        std::uint64_t used_bytes = 0;
    };
    explicit Quota(const Start& start)
        : limit_bytes_(start.limit_bytes), used_bytes_(start.used_bytes) {}

    // Sets `bytes` aside if there is room for them.
    [[nodiscard]] bool reserve(std::uint64_t bytes);
    void release(std::uint64_t bytes);

    // A file's size has changed, and a reservation that was made for that ends.
    // REQUIRES: it was not smaller than the growth.
    struct SizeChange {
        std::uint64_t reserved_bytes = 0;
        std::uint64_t old_bytes = 0;
        std::uint64_t new_bytes = 0;
    };
    void settle(const SizeChange& change);

    [[nodiscard]] std::uint64_t used_bytes() const;
    [[nodiscard]] std::uint64_t limit_bytes() const { return limit_bytes_; }

  private:
    const std::uint64_t limit_bytes_;
    mutable std::mutex mutex_;
    std::uint64_t used_bytes_;
    std::uint64_t reserved_bytes_ = 0;
};

}  // namespace holdfast::files
