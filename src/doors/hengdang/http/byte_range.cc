#include "doors/hengdang/http/byte_range.h"

#include <algorithm>

#include "base/text/number.h"

namespace holdfast::doors::hengdang {

namespace {

using Number = std::optional<std::uint64_t>;

Number parse_number(std::string_view text) {
    return base::parse_decimal<std::uint64_t>(text);
}

// `500-` and `500-999`.
RangeChoice choose_from_start(std::uint64_t first, std::string_view last_text,
                              std::uint64_t size_bytes) {
    using Kind = RangeChoice::Kind;
    if (last_text.empty()) {
        if (first >= size_bytes) return {.kind = Kind::unsatisfiable};
        return {.kind = Kind::part, .span = {.start = first, .end = size_bytes}};
    }
    const Number last = parse_number(last_text);
    if (!last || *last < first) return {};
    if (first >= size_bytes) return {.kind = Kind::unsatisfiable};
    const std::uint64_t end = *last >= size_bytes ? size_bytes : *last + 1;
    return {.kind = Kind::part, .span = {.start = first, .end = end}};
}

}  // namespace

RangeChoice choose_range(std::string_view header, std::uint64_t size_bytes) {
    using Kind = RangeChoice::Kind;
    const std::string_view unit = "bytes=";
    if (!header.starts_with(unit)) return {};
    header.remove_prefix(unit.size());
    const std::size_t dash = header.find('-');
    if (dash == std::string_view::npos) return {};
    const std::string_view first_text = header.substr(0, dash), last_text = header.substr(dash + 1);
    if (first_text.empty()) {  // the last so many bytes
        const Number count = parse_number(last_text);
        if (!count) return {};
        if (*count == 0 || size_bytes == 0) return {.kind = Kind::unsatisfiable};
        return {.kind = Kind::part,
                .span = {.start = size_bytes - std::min(*count, size_bytes), .end = size_bytes}};
    }
    const Number first = parse_number(first_text);
    return first ? choose_from_start(*first, last_text, size_bytes) : RangeChoice{};
}

std::optional<ByteSpan> parse_content_range(std::string_view header) {
    const std::string_view unit = "bytes ";
    if (!header.starts_with(unit)) return std::nullopt;
    header.remove_prefix(unit.size());
    const std::size_t dash = header.find('-'), slash = header.find('/');
    if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) {
        return std::nullopt;
    }
    const Number first = parse_number(header.substr(0, dash));
    const Number last = parse_number(header.substr(dash + 1, slash - dash - 1));
    const std::string_view whole = header.substr(slash + 1);
    if (!first || !last || *last < *first || *last >= INT64_MAX) return std::nullopt;
    if (whole != "*" && !parse_number(whole)) return std::nullopt;
    return ByteSpan{.start = *first, .end = *last + 1};
}

}  // namespace holdfast::doors::hengdang
