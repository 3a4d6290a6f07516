#include "doors/lockserver/lease_id.h"

#include "base/text/hex.h"

namespace holdfast::doors::lockserver {

namespace {

// The two halves of a UUID: 48 free bits, 4 of the version, 12 free bits; and 2 of the variant, 62
// free bits.
constexpr std::uint64_t version = 0x4000, version_mask = 0xf000;
constexpr std::uint64_t variant = std::uint64_t{0b10} << 62,
                        variant_mask = std::uint64_t{0b11} << 62;
constexpr unsigned fence_bits = 53;

// The high half has 60 free bits: 58 for the kind and the number, and the 2 upper bits of the
// secret, which has 64 bits and does not fit into the 62 free bits of the low half.
struct Halves {
    std::uint64_t high, low;
};

Halves to_halves(const LeaseId& id) {
    const auto secret = static_cast<std::uint64_t>(id.token.secret);
    const std::uint64_t named =
        static_cast<std::uint64_t>(id.kind) << fence_bits | core::as_number(id.token.fence);
    const std::uint64_t upper = named << 2 | secret >> 62;  // 60 bits
    return {.high = (upper >> 12) << 16 | version | (upper & 0xfff),
            .low = variant | (secret & ~variant_mask)};
}

LeaseId from_halves(const Halves& halves) {
    const std::uint64_t upper = (halves.high >> 16) << 12 | (halves.high & 0xfff);
    const std::uint64_t named = upper >> 2;
    const std::uint64_t fence = named & ((std::uint64_t{1} << fence_bits) - 1);
    return {.kind = static_cast<core::ScopeKind>(named >> fence_bits),
            .token = {.fence = core::Fence{fence},
                      .secret = core::Secret{(upper & 0b11) << 62 | (halves.low & ~variant_mask)}}};
}

constexpr std::size_t text_size = 36;
constexpr std::size_t dashes[] = {8, 13, 18, 23};

}  // namespace

void append_lease_id(std::string& out, const LeaseId& id) {
    const Halves halves = to_halves(id);
    const std::size_t begin = out.size();
    base::append_hex(out, halves.high);
    base::append_hex(out, halves.low);
    for (const std::size_t dash : dashes) out.insert(begin + dash, 1, '-');
}

std::optional<LeaseId> parse_lease_id(std::string_view text) {
    if (text.size() != text_size) return std::nullopt;
    std::string digits(text);
    for (std::size_t index = std::size(dashes); index-- > 0;) {
        if (digits[dashes[index]] != '-') return std::nullopt;
        digits.erase(dashes[index], 1);
    }
    const std::string_view both = digits;
    const auto high = base::parse_hex(both.substr(0, 16));
    const auto low = base::parse_hex(both.substr(16));
    if (!high || !low || (*high & version_mask) != version || (*low & variant_mask) != variant) {
        return std::nullopt;
    }
    const LeaseId id = from_halves({.high = *high, .low = *low});
    if (id.kind > core::ScopeKind::range) return std::nullopt;
    return id;
}

}  // namespace holdfast::doors::lockserver
