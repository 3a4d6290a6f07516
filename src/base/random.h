#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::base {

// RandomBits: unguessable numbers, fetched many at a time from a generator that the kernel seeds.
// (The kernel itself takes 30 ns for one, whatever their number.)
//
// Thread safety: none.
class RandomBits {
  public:
    std::uint64_t operator()();

  private:
    std::array<std::uint64_t, 512> words_{};
    std::size_t next_ = words_.size();
};

}  // namespace holdfast::base
