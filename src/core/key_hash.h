#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace holdfast::core {

__extension__ using Wide = unsigned __int128;

// The two halves of a 128-bit product folded into one word: every input bit reaches every output
// bit.
[[nodiscard]] inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// A keyed hash of `text`. Without the seed nobody can choose texts that collide.
[[nodiscard]] inline std::uint64_t hash_text(std::uint64_t seed, std::string_view text) {
    constexpr std::uint64_t odd_a = 0x9e3779b97f4a7c15, odd_b = 0xd1b54a32d192ed03;
    std::uint64_t state = mix(seed ^ odd_a, text.size() ^ odd_b);
    const char* data = text.data();
    std::size_t left = text.size();
    for (; left >= sizeof(std::uint64_t); left -= sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, data, sizeof word);
        state = mix(state ^ word ^ odd_a, seed ^ odd_b);
        data += sizeof word;
    }
    if (left > 0) {
        std::uint64_t word = 0;
        if (text.size() >= sizeof word) {  // the last eight, some of which were seen before
            std::memcpy(&word, data + left - sizeof word, sizeof word);
        } else {
            for (std::size_t at = 0; at < left; ++at) {
                word = word << 8 | static_cast<unsigned char>(data[at]);
            }
        }
        state = mix(state ^ word ^ odd_a, seed ^ odd_b);
    }
    return mix(state ^ odd_b, seed | 1);
}

}  // namespace holdfast::core
