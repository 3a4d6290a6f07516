#include "net/syntax/known_fields.h"

#include <cstring>

namespace holdfast::net {

namespace {

// How often other fields have to be read before they are remembered: if there is room, and if they
// replace some.
constexpr std::uint8_t reads_before_new = 2, reads_before_replacing = 8;

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

std::uint64_t word_at(const char* place) {
    std::uint64_t word = 0;
    std::memcpy(&word, place, word_bytes);
    return word;
}

// Whether the known fields are at the front of `text`. REQUIRES: they have at least one word.
bool is_at_front(std::string_view text, std::string_view known) {
    if (text.size() < known.size()) return false;
    // Most others have another size, and end elsewhere.
    const std::size_t last = known.size() - word_bytes;
    if (std::memcmp(text.data() + known.size() - 4, "\r\n\r\n", 4) != 0) return false;
    std::uint64_t difference = word_at(text.data() + last) ^ word_at(known.data() + last);
    for (std::size_t at = 0; at < last; at += word_bytes) {
        difference |= word_at(text.data() + at) ^ word_at(known.data() + at);
    }
    return difference == 0;
}

}  // namespace

bool KnownFields::take(std::string_view& text, RequestHead& head) {
    const auto is_there = [&] {
        const std::string& known = (*known_)[last_].text;
        return !known.empty() && is_at_front(text, known);
    };
    if (!known_) return false;
    if (!is_there()) {
        last_ ^= 1U;
        if (!is_there()) return last_ ^= 1U, false;
    }
    const Known& known = (*known_)[last_];
    head.fields.set(known.places);
    static_cast<FieldMeaning&>(head) = known.meaning;
    text.remove_prefix(known.text.size());
    return true;
}

void KnownFields::note(std::string_view text, const RequestHead& head) {
    if (text.size() < word_bytes || text.size() > text_bytes_max) return;
    if (--until_remembered_ > 0) return;
    if (!known_) known_ = std::make_unique<std::array<Known, 2>>();
    last_ ^= 1U;
    Known& known = (*known_)[last_];
    known.text = text;
    known.places.assign(head.fields.places().begin(), head.fields.places().end());
    known.meaning = head;
    const bool has_room = known_->front().text.empty() || known_->back().text.empty();
    until_remembered_ = has_room ? reads_before_new : reads_before_replacing;
}

}  // namespace holdfast::net
