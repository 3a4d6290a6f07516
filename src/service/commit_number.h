#pragma once

#include <cstdint>

namespace holdfast::service {

// Commits are numbered 1, 2, 3 ... since the service began. A number is never used twice, also when
// its commit failed.
enum class CommitNumber : std::uint64_t {};

// What is on disk already, or need not be, rests on no commit. Smaller than every other number.
inline constexpr CommitNumber no_commit{0};

[[nodiscard]] constexpr CommitNumber next_after(CommitNumber number) {
    return CommitNumber{static_cast<std::uint64_t>(number) + 1};
}

}  // namespace holdfast::service
