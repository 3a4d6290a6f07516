#include "base/text/hex.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace holdfast::base {

namespace {

std::string hex(std::uint64_t value) {
    std::string out;
    append_hex(out, value);
    return out;
}

TEST(Hex, WritesSixteenLowerCaseDigits) {
    EXPECT_EQ(hex(0), "0000000000000000");
    EXPECT_EQ(hex(1), "0000000000000001");
    EXPECT_EQ(hex(0x0123456789ABCDEF), "0123456789abcdef");
    EXPECT_EQ(hex(std::numeric_limits<std::uint64_t>::max()), "ffffffffffffffff");
}

TEST(Hex, AppendsToWhatIsThere) {
    std::string out = "token ";
    append_hex(out, 255);
    EXPECT_EQ(out, "token 00000000000000ff");
}

TEST(Hex, ReadsWhatItWrote) {
    EXPECT_EQ(parse_hex(hex(0)), 0U);
    EXPECT_EQ(parse_hex("fedcba9876543210"), 0xFEDCBA9876543210);
    for (int shift = 0; shift < 64; ++shift) {
        const std::uint64_t value = std::uint64_t{1} << shift;
        EXPECT_EQ(parse_hex(hex(value)), value);
        EXPECT_EQ(parse_hex(hex(~value)), ~value);
    }
}

TEST(Hex, AcceptsOnlyTheSixteenDigits) {
    for (int value = 0; value < 256; ++value) {
        const char c = static_cast<char>(value);
        const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        for (const std::size_t at : {0, 7, 15}) {
            std::string text = "0000000000000000";
            text[at] = c;
            EXPECT_EQ(parse_hex(text).has_value(), digit) << value << " at " << at;
        }
    }
}

TEST(Hex, AcceptsNoOtherLength) {
    for (std::size_t length = 0; length <= 40; ++length) {
        EXPECT_EQ(parse_hex(std::string(length, 'a')).has_value(), length == 16) << length;
    }
}

TEST(HexBytes, ReadsWhatItWrote) {
    std::array<std::uint8_t, 256> bytes{};
    for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<std::uint8_t>(at);
    const std::string text = to_hex(bytes);
    EXPECT_EQ(text.substr(0, 6), "000102");
    EXPECT_EQ(text.substr(text.size() - 6), "fdfeff");
    std::array<std::uint8_t, 256> read{};
    ASSERT_TRUE(parse_hex_bytes(text, read));
    EXPECT_EQ(read, bytes);
}

TEST(HexBytes, OfATextAreReadBack) {
    const std::string text("a\0\xff/", 4);
    EXPECT_EQ(to_hex(text), "6100ff2f");
    EXPECT_EQ(decode_hex("6100ff2f"), text);
    EXPECT_EQ(decode_hex(""), "");
    for (const char* wrong : {"6", "610", "6100FF", "nightly!", "6x"}) {
        EXPECT_EQ(decode_hex(wrong), std::nullopt) << wrong;
    }
}

TEST(HexBytes, AcceptsNeitherUpperCaseNorAnotherLength) {
    std::array<std::uint8_t, 2> bytes{};
    EXPECT_TRUE(parse_hex_bytes("0aff", bytes));
    for (const char* text : {"", "0af", "0aff0", "0AFF", "0aFF", "0x0a", "0ag0", " 0af"}) {
        EXPECT_FALSE(parse_hex_bytes(text, bytes)) << text;
    }
}

TEST(Base64, IsDecodedAsTheStandardShows) {
    const std::pair<const char*, const char*> examples[] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"Zm9vYmE=", "fooba"},
        {"Zm9vYmFy", "foobar"},
    };
    for (const auto& [text, bytes] : examples) EXPECT_EQ(decode_base64(text), bytes) << text;
    EXPECT_EQ(decode_base64("AP/+"), std::string("\x00\xFF\xFE", 3));
}

TEST(Base64, OfAnotherFormIsRefused) {
    for (const char* text : {"Z", "Zg", "Zg=", "Zm9", "Zm9v\n", " Zm9", "Zm9v    ",
                             "Z===", "====", "=g==", "Zg==Zg==", "Zm_v", "Zm-v", "Zm9=Zm9v"}) {
        EXPECT_EQ(decode_base64(text), std::nullopt) << text;
    }
}

}  // namespace

}  // namespace holdfast::base
