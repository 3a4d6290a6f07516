#include "relay/frames.h"

#include <algorithm>

namespace holdfast::relay {

namespace {

enum WireKind : std::uint8_t { wire_data = 1, wire_end = 2, wire_gone = 3 };

void append_header(std::string& out, WireKind kind, std::size_t size) {
    out.push_back(static_cast<char>(kind));
    out.push_back(static_cast<char>(size >> 16U));
    out.push_back(static_cast<char>(size >> 8U));
    out.push_back(static_cast<char>(size));
}

std::size_t byte_at(std::string_view text, std::size_t index) {
    return static_cast<unsigned char>(text[index]);
}

}  // namespace

void append_data(std::string& out, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto piece = bytes.substr(0, frame_bytes_max);
        append_header(out, wire_data, piece.size());
        out.append(piece);
        bytes.remove_prefix(piece.size());
    }
}

void append_end(std::string& out) {
    append_header(out, wire_end, 0);
}

void append_gone(std::string& out) {
    append_header(out, wire_gone, 0);
}

FrameReader::Piece FrameReader::next(std::string_view& input) {
    if (state_ == State::broken) return {Kind::fault};
    if (data_left_ > 0) return take_data(input);
    if (input.empty()) return {};
    if (state_ == State::gone) return state_ = State::broken, Piece{Kind::fault};
    if (input.size() < frame_header_bytes) return {};
    const auto kind = static_cast<std::uint8_t>(input[0]);
    const std::size_t size = byte_at(input, 1) << 16U | byte_at(input, 2) << 8U | byte_at(input, 3);
    input.remove_prefix(frame_header_bytes);
    const Piece piece = begin_frame(kind, size);
    return data_left_ > 0 ? take_data(input) : piece;
}

FrameReader::Piece FrameReader::begin_frame(std::uint8_t kind, std::size_t size) {
    const bool may_have_data = state_ == State::flowing && size > 0 && size <= frame_bytes_max;
    if (kind == wire_data && may_have_data) {
        data_left_ = size;
        return {};
    }
    if (kind == wire_end && state_ == State::flowing && size == 0) {
        state_ = State::ended;
        return {Kind::end};
    }
    if (kind == wire_gone && size == 0) {
        state_ = State::gone;
        return {Kind::gone};
    }
    state_ = State::broken;
    return {Kind::fault};
}

FrameReader::Piece FrameReader::take_data(std::string_view& input) {
    const auto bytes = input.substr(0, std::min(data_left_, input.size()));
    if (bytes.empty()) return {};
    data_left_ -= bytes.size();
    input.remove_prefix(bytes.size());
    return {Kind::data, bytes};
}

bool FrameReader::is_at_data(std::string_view input) const {
    if (data_left_ > 0) return true;
    return state_ == State::flowing && !input.empty() && input.front() == char{wire_data};
}

}  // namespace holdfast::relay
