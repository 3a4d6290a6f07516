#include "net/syntax/chunked_body.h"

#include <algorithm>
#include <charconv>

#include "net/syntax/characters.h"
#include "net/syntax/field_line.h"

namespace holdfast::net {

namespace {

constexpr std::string_view line_end = "\r\n";

void skip_blanks(std::string_view& text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

bool take(std::string_view& text, char c) {
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
}

bool take_token(std::string_view& text) {
    const std::size_t size = token_size(text);
    text.remove_prefix(size);
    return size > 0;
}

// The rest of a quoted text, behind its first quote.
bool take_quoted(std::string_view& text) {
    while (!text.empty()) {
        const char c = text.front();
        text.remove_prefix(1);
        if (c == '"') return true;
        if (c == '\\' && !text.empty()) text.remove_prefix(1);
    }
    return false;
}

// Whether the text is `;name=value;name="value"`, perhaps with blanks around the signs, or empty.
bool are_extensions(std::string_view text) {
    if (value_size(text) != text.size()) return false;  // a control character
    while (!text.empty()) {
        skip_blanks(text);
        if (!take(text, ';')) return false;
        skip_blanks(text);
        if (!take_token(text)) return false;
        std::string_view rest = text;
        skip_blanks(rest);
        if (!take(rest, '=')) continue;
        skip_blanks(rest);
        if (!(take(rest, '"') ? take_quoted(rest) : take_token(rest))) return false;
        text = rest;
    }
    return true;
}

}  // namespace

ChunkedBody::Outcome ChunkedBody::read(std::string_view& input, const Limits& limits) {
    for (;;) {
        const std::size_t before = input.size();
        Outcome outcome = Outcome::need_more;
        switch (state_) {
            case State::size: outcome = read_size(input, limits); break;
            case State::data: outcome = read_data(input); break;
            case State::data_end: outcome = read_data_end(input); break;
            case State::trailer: outcome = read_trailer(input, limits); break;
        }
        if (outcome != Outcome::need_more) return outcome;
        if (input.size() == before) return Outcome::need_more;
    }
}

ChunkedBody::Outcome ChunkedBody::read_size(std::string_view& input, const Limits& limits) {
    const std::size_t end = std::min(input.find('\r', searched_bytes_), input.size());
    if (end > limits.line_bytes_max) return refuse(faults::bad_chunk);
    searched_bytes_ = end;
    if (input.size() - end < line_end.size()) return Outcome::need_more;
    if (input[end + 1] != '\n') return refuse(faults::bad_chunk);
    searched_bytes_ = 0;
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(end + line_end.size());
    const char* const line_last = line.data() + line.size();
    const auto [size_end, error] = std::from_chars(line.data(), line_last, chunk_bytes_left_, 16);
    if (error != std::errc{} || !are_extensions({size_end, line_last})) {
        return refuse(faults::bad_chunk);
    }
    if (chunk_bytes_left_ > limits.body_bytes_max - body_bytes_)
        return refuse(faults::body_too_big);
    body_bytes_ += chunk_bytes_left_;
    state_ = chunk_bytes_left_ == 0 ? State::trailer : State::data;
    return Outcome::need_more;
}

ChunkedBody::Outcome ChunkedBody::read_data(std::string_view& input) {
    if (input.empty()) return Outcome::need_more;
    const auto bytes = std::min<std::uint64_t>(chunk_bytes_left_, input.size());
    piece_ = input.substr(0, static_cast<std::size_t>(bytes));
    input.remove_prefix(piece_.size());
    chunk_bytes_left_ -= bytes;
    if (chunk_bytes_left_ == 0) state_ = State::data_end;
    return Outcome::piece;
}

ChunkedBody::Outcome ChunkedBody::read_data_end(std::string_view& input) {
    if (!line_end.starts_with(input.substr(0, 2))) return refuse(faults::bad_chunk);
    if (input.size() < 2) return Outcome::need_more;
    input.remove_prefix(2);
    state_ = State::size;
    return Outcome::need_more;
}

ChunkedBody::Outcome ChunkedBody::read_trailer(std::string_view& input, const Limits& limits) {
    if (input.starts_with(line_end)) {
        input.remove_prefix(line_end.size());
        return Outcome::whole;
    }
    if (input.size() < 2) return Outcome::need_more;
    const std::size_t before = input.size();
    HttpHeader field;
    const auto outcome = take_field(input, field);
    trailer_bytes_ += before - input.size();
    const std::size_t incomplete = outcome == FieldOutcome::need_more ? input.size() : 0;
    const bool is_bad = outcome == FieldOutcome::malformed ||
                        trailer_bytes_ + incomplete > limits.line_bytes_max ||
                        framing_field(field.name) != FramingField::none;
    return is_bad ? refuse(faults::bad_chunk) : Outcome::need_more;
}

ChunkedBody::Outcome ChunkedBody::refuse(const HttpFault& fault) {
    fault_ = &fault;
    return Outcome::refused;
}

}  // namespace holdfast::net
