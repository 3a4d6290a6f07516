#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::base {

// RandomBits: unguessable numbers from the kernel, fetched a page at a time.
//
// Thread safety: none.
class RandomBits {
  public:
    std::uint64_t operator()();

  private:
    std::array<std::uint64_t, 32> words_{};  // getrandom never returns less than this in one call
    std::size_t next_ = words_.size();
};

}  // namespace holdfast::base
