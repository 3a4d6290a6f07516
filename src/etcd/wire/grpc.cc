#include "etcd/wire/grpc.h"

#include <fmt/format.h>

#include "base/check.h"
#include "net/client/url.h"

namespace holdfast::etcd {

namespace {

using Kind = Failure::Kind;

constexpr std::uint32_t refused_stream = 7;  // HTTP/2: the peer has not looked at the request

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

// What a code means for the request. A code that is not named here does not tell whether the request
// was done: 1, 2, 4, 10, 13, 14 and whatever a proxy may think of.
Kind kind_of(int code, const std::string& message) {
    switch (code) {
        case code_not_found: return Kind::no_lease;
        case code_resource_exhausted:
            if (contains(message, "space exceeded")) return Kind::no_space;
            // "Too many requests" is etcd's own. gRPC itself neither sends nor takes what is too large.
            if (!contains(message, "larger than max")) return Kind::not_done;
            return contains(message, "trying to send") ? Kind::too_large : Kind::rejected;
        case code_out_of_range:
            // The other reason is a revision that this member has not seen yet.
            return contains(message, "compacted") ? Kind::compacted : Kind::not_done;
        case code_invalid_argument:
        case code_permission_denied:
        case code_failed_precondition:
        case code_unimplemented:
        case code_data_loss:
        case code_unauthenticated: return Kind::rejected;
        default: return Kind::unknown;
    }
}

std::string decoded(const std::string& message) {
    return net::percent_decode(message).value_or(message);
}

}  // namespace

std::string to_frame(std::string_view message) {
    CHECK(message.size() <= UINT32_MAX);
    std::string frame;
    frame.reserve(frame_head_bytes + message.size());
    frame += '\0';
    for (int shift = 24; shift >= 0; shift -= 8)
        frame += static_cast<char>(message.size() >> shift);
    frame += message;
    return frame;
}

bool FrameReader::add(std::string_view bytes) {
    buffer_ += bytes;
    return is_acceptable();
}

std::optional<std::string> FrameReader::take() {
    if (buffer_.size() < frame_head_bytes || !is_acceptable()) return std::nullopt;
    const std::size_t end = frame_head_bytes + message_bytes();
    if (buffer_.size() < end) return std::nullopt;
    std::string message = buffer_.substr(frame_head_bytes, end - frame_head_bytes);
    buffer_.erase(0, end);
    return message;
}

bool FrameReader::is_acceptable() const {
    if (buffer_.empty()) return true;
    return buffer_.front() == '\0' && !is_too_large();
}

bool FrameReader::is_too_large() const {
    if (buffer_.size() < frame_head_bytes || buffer_.front() != '\0') return false;
    return message_bytes() > answer_bytes_max;
}

std::size_t FrameReader::message_bytes() const {
    std::size_t size = 0;
    for (std::size_t i = 1; i < frame_head_bytes; ++i) {
        size = (size << 8U) | static_cast<unsigned char>(buffer_[i]);
    }
    return size;
}

Failure explain(const StreamEnd& end, const std::string& member) {
    const std::string message = decoded(end.message);
    if (end.code > code_ok) {
        return {.kind = kind_of(end.code, message),
                .message = fmt::format("{}: {} (code {})", member, message, end.code)};
    }
    if (end.is_too_large) {
        return {.kind = Kind::too_large,
                .message = fmt::format("{} gives an answer of more than {} MiB", member,
                                       answer_bytes_max >> 20U)};
    }
    if (end.http2_error == refused_stream) {
        return {.kind = Kind::not_done,
                .message = fmt::format("{} does not take requests", member)};
    }
    if (end.http_status != 0 && end.http_status != 200) {
        const bool is_refused = end.http_status >= 400 && end.http_status < 500;
        return {.kind = is_refused ? Kind::rejected : Kind::unknown,
                .message = fmt::format("{} answers with the HTTP status {}: it is not etcd, or not "
                                       "in good health",
                                       member, end.http_status)};
    }
    return {.kind = Kind::unknown, .message = fmt::format("{} has given no answer", member)};
}

// Besides the code that is meant for it, etcd has two older answers.
bool wants_new_token(const StreamEnd& end) {
    if (end.code == code_unauthenticated) return true;
    const std::string message = decoded(end.message);
    return end.code == code_invalid_argument &&
           (contains(message, "auth store is old") || contains(message, "user name is empty"));
}

}  // namespace holdfast::etcd
