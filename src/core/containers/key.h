#pragma once

// The names of resources: how they are hashed, and how a record stores its own.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace holdfast::core {

__extension__ using Wide = unsigned __int128;

// Multiplies, and folds the two halves of the 128-bit product into one word: every input bit
// reaches every output bit.
[[nodiscard]] inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// A text of one to seven characters in one word.
[[nodiscard]] inline std::uint64_t short_word(const char* data, std::size_t size) {
    if (size >= sizeof(std::uint32_t)) {
        std::uint32_t first = 0, last = 0;  // they overlap
        std::memcpy(&first, data, sizeof first);
        std::memcpy(&last, data + size - sizeof last, sizeof last);
        return std::uint64_t{first} << 32 | last;
    }
    const auto at = [data](std::size_t index) {
        return std::uint64_t{static_cast<unsigned char>(data[index])};
    };
    return at(0) << 16 | at(size / 2) << 8 | at(size - 1);
}

// A keyed hash of `text`. Without knowing the seed nobody can choose texts that collide.
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
        if (text.size() >= sizeof word) {  // the last eight bytes: some are hashed twice
            std::memcpy(&word, data + left - sizeof word, sizeof word);
        } else {
            word = short_word(data, left);
        }
        state = mix(state ^ word ^ odd_a, seed ^ odd_b);
    }
    return mix(state ^ odd_b, seed | 1);
}

// KeyText: the name of a resource. A short name, as most are, is stored in the record itself.
class KeyText {
  public:
    KeyText() = default;
    explicit KeyText(std::string_view text) : size_(static_cast<std::uint32_t>(text.size())) {
        char* bytes = inside_;
        if (is_outside()) {
            bytes = new char[text.size()];
            std::memcpy(inside_, &bytes, sizeof bytes);
        }
        std::memcpy(bytes, text.data(), text.size());
    }
    KeyText(const KeyText&) = delete;
    KeyText& operator=(const KeyText&) = delete;
    ~KeyText() {
        if (is_outside()) delete[] outside();
    }

    [[nodiscard]] std::string_view view() const {
        return {is_outside() ? outside() : inside_, size_};
    }

  private:
    static constexpr std::uint32_t inside_max = 24;

    [[nodiscard]] bool is_outside() const { return size_ > inside_max; }
    [[nodiscard]] char* outside() const {
        char* bytes = nullptr;
        std::memcpy(&bytes, inside_, sizeof bytes);
        return bytes;
    }

    std::uint32_t size_ = 0;
    char inside_[inside_max];  // the bytes, or a pointer to them
};

}  // namespace holdfast::core
