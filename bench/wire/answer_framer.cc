#include "wire/answer_framer.h"

#include <charconv>

namespace holdfast::bench {

AnswerFramer fixed_size(std::size_t answer_bytes) {
    return [answer_bytes](std::string_view received) {
        return received.size() < answer_bytes ? 0 : answer_bytes;
    };
}

std::size_t http_answer(std::string_view received) {
    constexpr std::string_view length_name = "\r\nContent-Length: ";
    const auto header_end = received.find("\r\n\r\n");
    if (header_end == received.npos) return 0;
    const auto header = received.substr(0, header_end + 2);
    std::size_t bytes = header_end + 4;
    if (const auto at = header.find(length_name); at != header.npos) {
        const auto text = header.substr(at + length_name.size());
        std::size_t body_bytes = 0;
        std::from_chars(text.data(), text.data() + text.size(), body_bytes);
        bytes += body_bytes;
    }
    return received.size() < bytes ? 0 : bytes;
}

std::size_t line_answer(std::string_view received) {
    const auto end = received.find('\n');
    return end == received.npos ? 0 : end + 1;
}

}  // namespace holdfast::bench
