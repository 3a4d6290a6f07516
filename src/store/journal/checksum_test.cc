#include "store/journal/checksum.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace holdfast::store {
namespace {

// The values of RFC 3720, B.4, and the usual check value.
TEST(Checksum, IsTheOneOfTheStandard) {
    std::string rising(32, '\0');
    for (std::size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<char>(i);
    for (const auto& [bytes, expected] :
         {std::pair(std::string(), 0U), std::pair(std::string("123456789"), 0xe3069283U),
          std::pair(std::string(32, '\0'), 0x8a9136aaU),
          std::pair(std::string(32, '\xff'), 0x62a8ab43U), std::pair(rising, 0x46dd794eU)}) {
        EXPECT_EQ(crc32c(bytes), expected);
        EXPECT_EQ(crc32c_by_table(bytes), expected);
    }
}

TEST(Checksum, IsTheSameWithoutTheInstructionAndInTwoParts) {
    std::mt19937_64 random(1);
    for (std::size_t size = 0; size < 200; ++size) {
        std::string bytes(size, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random());
        EXPECT_EQ(crc32c(bytes), crc32c_by_table(bytes)) << size;
        const std::string_view begin = std::string_view(bytes).substr(0, size / 3);
        const std::string_view end = std::string_view(bytes).substr(size / 3);
        EXPECT_EQ(crc32c(end, crc32c(begin)), crc32c(bytes)) << size;
        EXPECT_EQ(crc32c_by_table(end, crc32c_by_table(begin)), crc32c(bytes)) << size;
    }
}

}  // namespace
}  // namespace holdfast::store
