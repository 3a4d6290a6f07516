#pragma once

#include <cstddef>
#include <string>

#include "core/values/turn_limits.h"

namespace holdfast::doors::answers {

// The text of a page of a listing. A page ends behind the row with which it is full, and the next page
// begins there: so it has at least one row.
class PageText {
  public:
    // What is appended to `out` from now on. Lifetime: `out` outlives it.
    explicit PageText(const std::string& out) : out_(out), begin_(out.size()) {}

    [[nodiscard]] bool is_full() const { return out_.size() - begin_ >= core::copied_max; }

  private:
    const std::string& out_;
    const std::size_t begin_;
};

}  // namespace holdfast::doors::answers
