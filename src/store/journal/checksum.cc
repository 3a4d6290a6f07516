#include "store/journal/checksum.h"

#include <array>
#include <cstring>

namespace holdfast::store {

namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // with its bits reversed

constexpr std::array<std::uint32_t, 256> crc_table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t byte = 0; byte < entries.size(); ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) {
            value = (value >> 1U) ^ ((value & 1U) != 0 ? polynomial : 0U);
        }
        entries[byte] = value;
    }
    return entries;
}();

std::uint32_t continue_by_table(std::uint32_t value, std::string_view bytes) {
    for (const char c : bytes) {
        value = (value >> 8U) ^ crc_table[(value ^ static_cast<unsigned char>(c)) & 0xffU];
    }
    return value;
}

#if defined(__x86_64__)

// Eight bytes at a time. With the table, the checksum would cost as much as all the rest of an entry.
__attribute__((target("sse4.2"))) std::uint32_t continue_by_processor(std::uint32_t value,
                                                                      std::string_view bytes) {
    std::uint64_t wide = value;
    while (bytes.size() >= sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), sizeof word);
        wide = __builtin_ia32_crc32di(wide, word);
        bytes.remove_prefix(sizeof word);
    }
    return continue_by_table(static_cast<std::uint32_t>(wide), bytes);
}

bool has_instruction() {
    static const bool is_supported = __builtin_cpu_supports("sse4.2") != 0;
    return is_supported;
}

#else

std::uint32_t continue_by_processor(std::uint32_t value, std::string_view bytes) {
    return continue_by_table(value, bytes);
}

bool has_instruction() {
    return false;
}

#endif

}  // namespace

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t before) {
    return ~continue_by_table(~before, bytes);
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
    if (!has_instruction()) return crc32c_by_table(bytes, before);
    return ~continue_by_processor(~before, bytes);
}

}  // namespace holdfast::store
