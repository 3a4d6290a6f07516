#pragma once

// How the values of a journal entry become bytes, and are read again: journal_entry.h says how they
// look. Only journal_entry.cc needs this.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include "core/values/request.h"
#include "service/history/hold.h"

namespace holdfast::store {

inline constexpr std::size_t number_bytes_max = 10, secret_bytes = 8;

// Small numbers of either sign become small numbers without one.
inline std::uint64_t fold_sign(std::uint64_t difference) {
    const auto number = std::bit_cast<std::int64_t>(difference);
    return (difference << 1U) ^ std::bit_cast<std::uint64_t>(number >> 63);
}
inline std::uint64_t unfold_sign(std::uint64_t folded) {
    return (folded >> 1U) ^ (~(folded & 1U) + 1U);
}

// How a value of a row is written as a number, and read again. Reading says whether a server can
// have written it.
inline std::uint64_t to_number(std::uint64_t value) {
    return value;
}
inline std::uint64_t to_number(core::Duration value) {
    return static_cast<std::uint64_t>(value.count());
}
template <class Value>
requires std::is_enum_v<Value> || std::is_same_v<Value, std::uint32_t> std::uint64_t to_number(
    Value value) {
    return static_cast<std::uint64_t>(value);
}

template <class Value>
inline bool from_number(std::uint64_t number, Value& value, std::uint64_t max) {
    value = static_cast<Value>(number);
    return number <= max;
}
inline bool from_number(std::uint64_t number, std::uint64_t& value) {
    value = number;
    return true;
}
inline bool from_number(std::uint64_t number, core::Duration& value) {
    value = core::Duration{static_cast<std::int64_t>(number)};
    return number < static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}
inline bool from_number(std::uint64_t number, core::ScopeKind& value) {
    return from_number(number, value, static_cast<std::uint64_t>(core::ScopeKind::range));
}
inline bool from_number(std::uint64_t number, core::Mode& value) {
    return from_number(number, value, static_cast<std::uint64_t>(core::Mode::shared));
}
inline bool from_number(std::uint64_t number, core::LeaseState& value) {
    return from_number(number, value, static_cast<std::uint64_t>(core::LeaseState::grace));
}
inline bool from_number(std::uint64_t number, service::Ending& value) {
    return from_number(number, value, static_cast<std::uint64_t>(service::last_ending));
}
inline bool from_number(std::uint64_t number, core::Door& value) {
    return from_number(number, value, 0xff);
}
inline bool from_number(std::uint64_t number, std::uint32_t& value) {
    return from_number(number, value, std::numeric_limits<std::uint32_t>::max());
}

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

}  // namespace holdfast::store
