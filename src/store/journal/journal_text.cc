#include "store/journal/journal_text.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <span>

#include "base/check.h"
#include "base/json/json.h"
#include "base/text/hex.h"

namespace holdfast::store {

namespace {

// What all of a lease but its texts takes at most, one character of those, and a number.
constexpr std::size_t numbers_size_max = 512, character_size_max = 6, number_size_max = 20;

// The bytes that stand for themselves in JSON, each a whole character.
constexpr std::array<bool, 256> ordinary_bytes = [] {
    std::array<bool, 256> ordinary{};
    for (unsigned char byte = 0x20; byte < 0x7F; ++byte) {
        ordinary[byte] = byte != '"' && byte != '\\';
    }
    return ordinary;
}();

bool is_ordinary(std::string_view text) {
    bool is_so_far = true;
    for (const char c : text) is_so_far &= ordinary_bytes[static_cast<unsigned char>(c)];
    return is_so_far;
}

// Writes values where there is room for them.
class Pen {
  public:
    explicit Pen(char* at) : at_(at) {}

    [[nodiscard]] char* at() const { return at_; }
    // Whether all texts so far could be written.
    [[nodiscard]] bool is_plain() const { return is_plain_; }

    void sign(char c) { *at_++ = c; }
    void number(std::int64_t value) {
        const fmt::format_int digits(value);
        copy({digits.data(), digits.size()});
    }
    void number(std::uint64_t value) { number(std::bit_cast<std::int64_t>(value)); }
    void number(core::Duration value) { number(std::int64_t{value.count()}); }
    void hex(std::uint64_t value) {
        sign('"');
        base::write_hex(std::span<char, base::hex_digits>(at_, base::hex_digits), value);
        at_ += base::hex_digits;
        sign('"');
    }
    // REQUIRES: it is ordinary.
    void word(std::string_view word) {
        sign('"');
        copy(word);
        sign('"');
    }
    void text(std::string_view text) {
        if (is_ordinary(text)) return word(text);
        if (!is_plain_text(text)) {
            is_plain_ = false;
            return;
        }
        std::string escaped;
        base::append_json_string(escaped, text);
        copy(escaped);
    }

  private:
    void copy(std::string_view bytes) {
        if (bytes.empty()) return;  // perhaps it points nowhere
        std::memcpy(at_, bytes.data(), bytes.size());
        at_ += bytes.size();
    }

    char* at_;
    bool is_plain_ = true;
};

core::Duration later(const LeaseRowView& row) {
    return row.expires_at - row.acquired_at - row.ttl;
}

// How many of the columns that may be left out have to be there.
int optional_columns(const LeaseRowView& row) {
    if (row.range.end != core::Range::end_of_file) return 12;
    if (row.range.start != 0) return 11;
    if (row.inode != 0) return 10;
    if (row.state != core::LeaseState::held) return 9;
    if (later(row) != core::Duration::zero()) return 8;
    if (row.permits != 1) return 7;
    if (row.mode != core::Mode::exclusive) return 6;
    if (row.kind != core::ScopeKind::named) return 5;
    if (!row.metadata.empty()) return 4;
    if (!row.request_id.empty()) return 3;
    if (row.grace != core::Duration::zero()) return 2;
    if (row.memory != core::Duration::zero()) return 1;
    return 0;
}

void write_optional_columns(Pen& pen, const LeaseRowView& row) {
    int left = optional_columns(row);
    const auto value = [&pen, &left](auto&& write) {
        if (left-- <= 0) return;
        pen.sign(',');
        write();
    };
    value([&] { pen.number(row.memory); });
    value([&] { pen.number(row.grace); });
    value([&] { pen.text(row.request_id); });
    value([&] { pen.text(row.metadata); });
    value([&] { pen.word(core::to_text(row.kind)); });
    value([&] { pen.word(core::to_text(row.mode)); });
    value([&] { pen.number(std::int64_t{row.permits}); });
    value([&] { pen.number(later(row)); });
    value([&] { pen.word(to_text(row.state)); });
    value([&] { pen.number(row.inode); });
    value([&] { pen.number(row.range.start); });
    value([&] { pen.number(row.range.end); });
}

}  // namespace

void JournalText::begin(const Reference& reference) {
    constexpr std::size_t kept_size = 1024 * 1024;
    if (room_.size() > kept_size) std::string("[").swap(room_);
    size_ = 1;
    reference_ = reference;
}

bool JournalText::add(const LeaseRowView& row) {
    const std::size_t characters =
        row.name.size() + row.owner.size() + row.request_id.size() + row.metadata.size();
    Pen pen(make_room(numbers_size_max + characters * character_size_max));
    pen.sign('[');
    pen.number(reference_.last_token - row.fence);
    pen.sign(',');
    pen.hex(row.secret);
    pen.sign(',');
    pen.text(row.name);
    pen.sign(',');
    pen.text(row.owner);
    pen.sign(',');
    pen.number(reference_.written_at - row.acquired_at);
    pen.sign(',');
    pen.number(row.ttl);
    pen.sign(',');
    pen.number(static_cast<std::int64_t>(row.door));
    pen.sign(',');
    pen.number(row.version);
    write_optional_columns(pen, row);
    pen.sign(']');
    if (pen.is_plain()) end_element(pen.at());
    return pen.is_plain();
}

void JournalText::add_end(std::uint64_t fence) {
    Pen pen(make_room(number_size_max));
    pen.number(reference_.last_token - fence);
    end_element(pen.at());
}

std::string_view JournalText::finish() {
    CHECK(!empty());
    room_[size_ - 1] = ']';
    return {room_.data(), size_};
}

char* JournalText::make_room(std::size_t bytes) {
    const std::size_t needed = size_ + bytes + 1;  // and a comma
    if (room_.size() < needed) room_.resize(2 * needed);
    return room_.data() + size_;
}

void JournalText::end_element(const char* end) {
    size_ = static_cast<std::size_t>(end - room_.data());
    room_[size_++] = ',';
}

}  // namespace holdfast::store
