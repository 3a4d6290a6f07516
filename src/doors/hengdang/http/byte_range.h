#pragma once

// Parts of a file: `Range: bytes=0-499` of one that is read, `Content-Range: bytes 0-499/*` of one
// that is written.

#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::doors::hengdang {

// Half-open: [start, end).
struct ByteSpan {
    std::uint64_t start = 0;
    std::uint64_t end = 0;

    bool operator==(const ByteSpan&) const = default;
    [[nodiscard]] std::uint64_t size() const { return end - start; }
};

struct RangeChoice {
    enum class Kind { whole, part, unsatisfiable };

    Kind kind = Kind::whole;
    ByteSpan span;  // of a part

    bool operator==(const RangeChoice&) const = default;
};

// What a Range header asks of a file of that size. What is malformed, in other units, or more than
// one range asks for the whole, as HTTP lets a server choose.
[[nodiscard]] RangeChoice choose_range(std::string_view header, std::uint64_t size_bytes);

// Where the body of a PATCH goes; nothing if the header does not say it. What it tells of the whole
// size is not looked at.
[[nodiscard]] std::optional<ByteSpan> parse_content_range(std::string_view header);

}  // namespace holdfast::doors::hengdang
