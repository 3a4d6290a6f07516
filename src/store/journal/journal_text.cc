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

// The largest sizes: of a lease without its texts, of one character of a text, and of a number.
constexpr std::size_t numbers_size_max = 512, character_size_max = 6, number_size_max = 20;

// The bytes that JSON writes as they are, and that are a whole character each.
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

// Writes values into memory. REQUIRES: there is room for them.
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
    void value(std::int64_t value) { number(value); }
    void value(std::uint64_t value) { number(value); }
    void value(core::Duration value) { number(value); }
    void value(std::string_view value) { text(value); }
    template <class Enum>
    requires std::is_enum_v<Enum>
    void value(Enum value) {
        using core::to_text;
        using store::to_text;
        word(to_text(value));
    }
    void hex(std::uint64_t value) {
        sign('"');
        base::write_hex(std::span<char, base::hex_digits>(at_, base::hex_digits), value);
        at_ += base::hex_digits;
        sign('"');
    }
    // REQUIRES: the word has only ordinary bytes.
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
        if (bytes.empty()) return;  // the pointer may be null
        std::memcpy(at_, bytes.data(), bytes.size());
        at_ += bytes.size();
    }

    char* at_;
    bool is_plain_ = true;
};

core::Duration later(const LeaseRowView& row) {
    return row.expires_at - row.acquired_at - row.ttl;
}

// Visits the values that may be left out at the end, in their order, each with its usual value.
template <class Visitor>
void visit_optional(const LeaseRowView& row, Visitor visit) {
    visit(row.memory, core::Duration::zero());
    visit(row.grace, core::Duration::zero());
    visit(row.request_id, std::string_view{});
    visit(row.metadata, std::string_view{});
    visit(row.kind, core::ScopeKind::named);
    visit(row.mode, core::Mode::exclusive);
    visit(std::int64_t{row.permits}, std::int64_t{1});
    visit(later(row), core::Duration::zero());
    visit(row.state, core::LeaseState::held);
    visit(row.inode, std::uint64_t{0});
    visit(row.range.start, std::uint64_t{0});
    visit(row.range.end, core::Range::end_of_file);
}

void write_optional(Pen& pen, const LeaseRowView& row) {
    int count = 0, needed = 0;
    visit_optional(row, [&](const auto& value, const auto& usual) {
        ++count;
        if (value != usual) needed = count;
    });
    if (needed == 0) return;
    visit_optional(row, [&](const auto& value, const auto& /*usual*/) {
        if (needed-- <= 0) return;
        pen.sign(',');
        pen.value(value);
    });
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
    write_optional(pen, row);
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
