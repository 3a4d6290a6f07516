#pragma once

// AnswerFramer: tells where an answer ends, for clients that know nothing else of a protocol.
//
// A framer is a function without memory: given all that was received since the last answer, it
// returns the bytes of the first answer, or 0 while that is incomplete.

#include <cstddef>
#include <functional>
#include <string_view>

namespace holdfast::bench {

using AnswerFramer = std::function<std::size_t(std::string_view received)>;

// Every answer has this size. The cheapest there is, for load clients that have seen one answer.
[[nodiscard]] AnswerFramer fixed_size(std::size_t answer_bytes);

// An HTTP/1.1 response with a Content-Length; without one it ends with its header.
[[nodiscard]] std::size_t http_answer(std::string_view received);

// One line, which ends in a line feed.
[[nodiscard]] std::size_t line_answer(std::string_view received);

}  // namespace holdfast::bench
