#include "store/journal/journal_entry.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>

namespace holdfast::store {

namespace {

constexpr std::uint64_t kind_end = 0, kind_mark = 1, kind_lease = 2;
constexpr std::size_t number_bytes_max = 10, secret_bytes = 8;
// More than all numbers of a lease take.
constexpr std::size_t numbers_bytes_max = 25 * number_bytes_max;

// Small numbers of either sign become small numbers without one.
std::uint64_t fold_sign(std::uint64_t difference) {
    const auto number = std::bit_cast<std::int64_t>(difference);
    return (difference << 1U) ^ std::bit_cast<std::uint64_t>(number >> 63);
}
std::uint64_t unfold_sign(std::uint64_t folded) {
    return (folded >> 1U) ^ (~(folded & 1U) + 1U);
}

// How a value of a row is written as a number, and read again. Reading says whether a server can
// have written it.
std::uint64_t to_number(std::uint64_t value) {
    return value;
}
std::uint64_t to_number(core::Duration value) {
    return static_cast<std::uint64_t>(value.count());
}
template <class Value>
requires std::is_enum_v<Value> || std::is_same_v<Value, std::uint32_t> std::uint64_t to_number(
    Value value) {
    return static_cast<std::uint64_t>(value);
}

template <class Value>
bool from_number(std::uint64_t number, Value& value, std::uint64_t max) {
    value = static_cast<Value>(number);
    return number <= max;
}
bool from_number(std::uint64_t number, std::uint64_t& value) {
    value = number;
    return true;
}
bool from_number(std::uint64_t number, core::Duration& value) {
    value = core::Duration{static_cast<std::int64_t>(number)};
    return number < static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}
bool from_number(std::uint64_t number, core::ScopeKind& value) {
    return from_number(number, value, static_cast<std::uint64_t>(core::ScopeKind::range));
}
bool from_number(std::uint64_t number, core::Mode& value) {
    return from_number(number, value, static_cast<std::uint64_t>(core::Mode::shared));
}
bool from_number(std::uint64_t number, core::LeaseState& value) {
    return from_number(number, value, static_cast<std::uint64_t>(core::LeaseState::grace));
}
bool from_number(std::uint64_t number, core::Door& value) {
    return from_number(number, value, 0xff);
}
bool from_number(std::uint64_t number, std::uint32_t& value) {
    return from_number(number, value, std::numeric_limits<std::uint32_t>::max());
}

// How much later than its TTL says a lease expires, with the sign folded. Sums may overflow in a
// damaged file.
std::uint64_t later_of(const LeaseRowView& row) {
    const auto expires = static_cast<std::uint64_t>(row.expires_at.time_since_epoch().count());
    const auto acquired = static_cast<std::uint64_t>(row.acquired_at.time_since_epoch().count());
    return fold_sign(expires - acquired - to_number(row.ttl));
}
void set_later(LeaseRowView& row, std::uint64_t later) {
    const auto acquired = static_cast<std::uint64_t>(row.acquired_at.time_since_epoch().count());
    const std::uint64_t expires = acquired + to_number(row.ttl) + unfold_sign(later);
    row.expires_at = service::WallTime{core::Duration{static_cast<std::int64_t>(expires)}};
}

// Whether the time can be written in nanoseconds, as `locks` has it.
bool is_time(service::WallTime time) {
    constexpr std::int64_t count_max = std::numeric_limits<std::int64_t>::max() / 1000;
    const std::int64_t count = time.time_since_epoch().count();
    return -count_max <= count && count <= count_max;
}

// Visits the optional values in their order, each with its usual value.
template <class Row, class Visitor>
void visit_optional(Row& row, std::uint64_t& later, Visitor&& visit) {
    visit(row.memory, core::Duration::zero());
    visit(row.grace, core::Duration::zero());
    visit(row.request_id, std::string_view{});
    visit(row.metadata, std::string_view{});
    visit(row.kind, core::ScopeKind::named);
    visit(row.mode, core::Mode::exclusive);
    visit(row.permits, std::uint32_t{1});
    visit(later, std::uint64_t{0});
    visit(row.state, core::LeaseState::held);
    visit(row.inode, std::uint64_t{0});
    visit(row.range.start, std::uint64_t{0});
    visit(row.range.end, core::Range::end_of_file);
    visit(row.members, std::string_view{});
    visit(row.value, std::string_view{});
    visit(row.revision, std::uint64_t{0});
    visit(row.waiter, std::string_view{});
}
constexpr unsigned optional_count = 16;

// Writes into memory. REQUIRES: there is room.
class Pen {
  public:
    explicit Pen(char* at) : at_(at) {}

    [[nodiscard]] char* at() const { return at_; }

    void number(std::uint64_t value) {
        while (value >= 0x80) {
            *at_++ = static_cast<char>(value | 0x80U);
            value >>= 7U;
        }
        *at_++ = static_cast<char>(value);
    }
    void text(std::string_view text) {
        number(text.size());
        copy(text.data(), text.size());
    }
    void fixed(std::uint64_t value) { copy(&value, secret_bytes); }
    template <class Value>
    void value(const Value& value) {
        number(to_number(value));
    }
    void value(std::string_view value) { text(value); }

  private:
    void copy(const void* bytes, std::size_t size) {
        if (size == 0) return;  // the pointer may be null
        std::memcpy(at_, bytes, size);
        at_ += size;
    }

    char* at_;
};

class Eye {
  public:
    explicit Eye(std::string_view rest) : rest_(rest) {}

    [[nodiscard]] bool is_at_end() const { return rest_.empty(); }
    // Whether everything so far could be read.
    [[nodiscard]] bool is_fine() const { return is_fine_; }

    std::uint64_t number() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            if (rest_.empty()) return fail();
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            const std::uint64_t bits = byte & 0x7fU;
            if (shift == 63 && bits > 1) return fail();
            value |= bits << shift;
            if (byte < 0x80) {
                // There is one way to write a number.
                return byte == 0 && shift > 0 ? fail() : value;
            }
        }
        return fail();
    }
    std::string_view text() {
        const std::uint64_t size = number();
        if (size > rest_.size()) {
            fail();
            return {};
        }
        const auto text = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return text;
    }
    std::uint64_t fixed() {
        std::uint64_t value = 0;
        if (rest_.size() < secret_bytes) return fail();
        std::memcpy(&value, rest_.data(), secret_bytes);
        rest_.remove_prefix(secret_bytes);
        return value;
    }
    template <class Value>
    void value(Value& value) {
        if (!from_number(number(), value)) fail();
    }
    void value(std::string_view& value) { value = text(); }
    void require(bool is_so) {
        if (!is_so) fail();
    }

  private:
    std::uint64_t fail() {
        is_fine_ = false;
        rest_ = {};
        return 0;
    }

    std::string_view rest_;
    bool is_fine_ = true;
};

// The numbers before, from which the differences are computed.
struct Before {
    std::uint64_t fence = 0;
    std::uint64_t time = 0;

    std::uint64_t step(std::uint64_t Before::*which, std::uint64_t now) {
        const std::uint64_t folded = fold_sign(now - this->*which);
        this->*which = now;
        return folded;
    }
    std::uint64_t unstep(std::uint64_t Before::*which, std::uint64_t folded) {
        return this->*which += unfold_sign(folded);
    }
};

void write_lease(Pen& pen, Before& before, const JournalEntry::Put& put) {
    const LeaseRowView& row = put.row;
    std::uint64_t later = later_of(row);
    std::uint64_t bits = put.is_new ? 1 : 0, bit = 2;
    visit_optional(row, later, [&](const auto& value, const auto& usual) {
        if (value != usual) bits |= bit;
        bit <<= 1U;
    });
    pen.number(kind_lease + bits);
    pen.number(before.step(&Before::fence, row.fence));
    pen.fixed(row.secret);
    pen.text(row.name);
    pen.text(row.owner);
    const auto acquired = static_cast<std::uint64_t>(row.acquired_at.time_since_epoch().count());
    pen.number(before.step(&Before::time, acquired));
    pen.value(row.ttl);
    pen.value(row.door);
    pen.number(row.version);
    if (bits < 2) return;
    visit_optional(row, later, [&](const auto& value, const auto& usual) {
        if (value != usual) pen.value(value);
    });
}

JournalEntry::Put read_lease(Eye& eye, Before& before, std::uint64_t bits) {
    JournalEntry::Put put{.row = {}, .is_new = (bits & 1U) != 0};
    LeaseRowView& row = put.row;
    row.fence = before.unstep(&Before::fence, eye.number());
    row.secret = eye.fixed();
    row.name = eye.text();
    row.owner = eye.text();
    row.acquired_at = service::WallTime{
        core::Duration{static_cast<std::int64_t>(before.unstep(&Before::time, eye.number()))}};
    eye.value(row.ttl);
    eye.value(row.door);
    row.version = eye.number();
    std::uint64_t later = 0;
    eye.require(bits >> (optional_count + 1) == 0);
    visit_optional(row, later, [&](auto& value, const auto& usual) {
        bits >>= 1U;
        value = usual;
        if ((bits & 1U) == 0) return;
        eye.value(value);
        eye.require(value != usual);
    });
    set_later(row, later);
    eye.require(is_time(row.acquired_at) && is_time(row.expires_at));
    return put;
}

std::size_t size_max(const JournalEntry& entry) {
    std::size_t size = 2 * number_bytes_max + 2 * number_bytes_max * entry.ends.size();
    for (const auto& [row, is_new] : entry.puts) {
        size += numbers_bytes_max + row.name.size() + row.owner.size() + row.request_id.size() +
                row.metadata.size() + row.members.size() + row.value.size() + row.waiter.size();
    }
    for (const auto& [resource, highest] : entry.marks) {
        size += 3 * number_bytes_max + resource.size();
    }
    return size;
}

}  // namespace

void JournalEntry::set(const service::CommitEffect& effect, service::WallTime epoch,
                       std::int64_t start) {
    start_number = start;
    last_token = std::max(effect.last_fence(), effect.reserved_fence());
    puts.clear();
    for (const auto& [change, is_new] : effect.puts()) {
        puts.push_back({.row = to_row<LeaseRowView>(*change, epoch, start), .is_new = is_new});
    }
    ends.clear();
    for (const core::Event* const end : effect.ends()) {
        ends.push_back(core::as_number(end->lease.token.fence));
    }
    marks.clear();
    for (const service::FenceMark& mark : effect.fences()) {
        marks.push_back({.resource = mark.resource, .highest = mark.highest});
    }
}

std::string_view write_entry(const JournalEntry& entry, std::string& memory) {
    constexpr std::size_t kept_size = std::size_t{1} << 20U;
    if (memory.size() > kept_size) std::string().swap(memory);
    if (const std::size_t size = size_max(entry); memory.size() < size) memory.resize(2 * size);
    Pen pen(memory.data());
    Before before;
    pen.number(static_cast<std::uint64_t>(entry.start_number));
    pen.number(entry.last_token);
    for (const JournalEntry::Put& put : entry.puts) write_lease(pen, before, put);
    for (const std::uint64_t end : entry.ends) {
        pen.number(kind_end);
        pen.number(before.step(&Before::fence, end));
    }
    for (const auto& [resource, highest] : entry.marks) {
        pen.number(kind_mark);
        pen.text(resource);
        pen.number(highest);
    }
    return {memory.data(), static_cast<std::size_t>(pen.at() - memory.data())};
}

std::optional<JournalEntry> read_entry(std::string_view bytes) {
    Eye eye(bytes);
    Before before;
    JournalEntry entry;
    entry.start_number = static_cast<std::int64_t>(eye.number());
    entry.last_token = eye.number();
    while (eye.is_fine() && !eye.is_at_end()) {
        const std::uint64_t kind = eye.number();
        if (kind >= kind_lease) {
            eye.require(entry.ends.empty() && entry.marks.empty());
            entry.puts.push_back(read_lease(eye, before, kind - kind_lease));
            entry.puts.back().row.start_number = entry.start_number;
        } else if (kind == kind_end) {
            eye.require(entry.marks.empty());
            entry.ends.push_back(before.unstep(&Before::fence, eye.number()));
        } else {
            const std::string_view resource = eye.text();
            entry.marks.push_back({.resource = resource, .highest = eye.number()});
        }
    }
    if (!eye.is_fine()) return std::nullopt;
    return entry;
}

}  // namespace holdfast::store
