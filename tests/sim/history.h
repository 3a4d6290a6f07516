#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace holdfast::sim {

// History: what happened in a world, line by line.
//
// Of a long history only the end is kept, but every line goes into the hash: two runs of a seed are
// the same exactly when their hashes are.
class History {
  public:
    explicit History(std::size_t lines_max) : lines_max_(lines_max) {}

    void add(std::string line);

    [[nodiscard]] std::uint64_t hash() const { return hash_; }
    [[nodiscard]] const std::deque<std::string>& lines() const { return lines_; }

  private:
    const std::size_t lines_max_;
    std::deque<std::string> lines_;
    std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace holdfast::sim
