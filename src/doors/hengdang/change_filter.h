#pragma once

#include <string>
#include <string_view>

#include "doors/hengdang/http/file_answer.h"

namespace holdfast::doors::hengdang {

// ChangeFilter: the part of the tree that a reader of changes wants to hear of.
//
//     /a          the file or directory /a, and everything below it
//     /a/*        everything below /a, but not /a itself
//     /a/f.txt    one file
//     /           everything
class ChangeFilter {
  public:
    // Reads the filter. Its path is written as answers show paths: see shown_path().
    [[nodiscard]] static Parsed<ChangeFilter> read(std::string_view text);

    // REQUIRES: the path is that of a change, without a slash at its end.
    [[nodiscard]] bool includes(std::string_view path) const;

    // As answers show it.
    [[nodiscard]] std::string text() const;

  private:
    ChangeFilter(std::string base, bool is_below) : base_(std::move(base)), is_below_(is_below) {}

    std::string base_;  // `/a`; the root is empty
    bool is_below_;     // only what is below the base
};

}  // namespace holdfast::doors::hengdang
