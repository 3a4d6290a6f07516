#pragma once

// Descent: how deep a recursion over a script is, in levels and in bytes of stack.
//
// The number of levels is the limit that clients meet: it is the same on every machine and in every
// build. The bytes are the second net. They hold also where a level needs more stack than usual.

#include <cstddef>
#include <cstdint>

namespace holdfast::doors::redis {

// How much stack the parser or a run of a script may use. They are tested with a stack of twice that.
// Under AddressSanitizer a level needs several times as much.
#ifdef __SANITIZE_ADDRESS__
inline constexpr std::size_t script_stack_bytes_max = std::size_t{1024} * 1024;
#else
inline constexpr std::size_t script_stack_bytes_max = std::size_t{128} * 1024;
#endif

class Descent {
  public:
    // Begins where it is made.
    explicit Descent(int levels_max) : levels_max_(levels_max), top_(place()) {}

    // One level more, as long as the object lives.
    class Level {
      public:
        explicit Level(Descent& descent) : descent_(descent) { ++descent_.levels_; }
        ~Level() { --descent_.levels_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

      private:
        Descent& descent_;
    };

    [[nodiscard]] int levels() const { return levels_; }
    [[nodiscard]] bool is_too_deep() const {
        return levels_ > levels_max_ || used_bytes() > script_stack_bytes_max;
    }
    [[nodiscard]] std::size_t used_bytes() const {
        const std::uintptr_t now = place();
        return now < top_ ? top_ - now : now - top_;
    }

  private:
    [[nodiscard]] static std::uintptr_t place() {
        return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    }

    const int levels_max_;
    const std::uintptr_t top_;
    int levels_ = 0;
};

}  // namespace holdfast::doors::redis
