#include "wire/answer_framer.h"

#include <gtest/gtest.h>

namespace holdfast::bench {
namespace {

// Every beginning of the answer is incomplete, and what follows it does not count.
void expect_frames(const AnswerFramer& framer, std::string_view answer) {
    for (std::size_t bytes = 0; bytes < answer.size(); ++bytes) {
        EXPECT_EQ(0U, framer(answer.substr(0, bytes))) << bytes;
    }
    EXPECT_EQ(answer.size(), framer(answer));
    EXPECT_EQ(answer.size(), framer(std::string(answer) + std::string(answer)));
}

TEST(AnswerFramer, KnowsAFixedSize) {
    expect_frames(fixed_size(5), "hello");
}

TEST(AnswerFramer, EndsALineAtItsLineFeed) {
    expect_frames(line_answer, "ok 0123456789abcdef\n");
}

TEST(AnswerFramer, EndsAnHttpResponseAfterItsBody) {
    expect_frames(http_answer,
                  "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nA: b\r\n\r\nContent\r\n\r\n1");
    expect_frames(http_answer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

TEST(AnswerFramer, EndsAnHttpResponseWithoutABodyAfterItsHeader) {
    expect_frames(http_answer, "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n");
}

}  // namespace
}  // namespace holdfast::bench
