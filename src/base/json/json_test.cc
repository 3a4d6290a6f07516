#include "base/json/json.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::base {
namespace {

using namespace std::string_literals;

constexpr std::string_view replaced = "\xEF\xBF\xBD";

std::string json(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

// What json() gives for `count` bytes none of which can be kept.
std::string json_replacements(std::size_t count) {
    std::string out = "\"";
    for (std::size_t i = 0; i < count; ++i) out += replaced;
    return out + '"';
}

std::string utf8(char32_t point) {
    const auto byte = [](char32_t value) { return static_cast<char>(value); };
    const auto tail = [&](int shift) { return byte(0x80 | ((point >> shift) & 0x3F)); };
    if (point < 0x80) return {byte(point)};
    if (point < 0x800) return {byte(0xC0 | (point >> 6)), tail(0)};
    if (point < 0x10000) return {byte(0xE0 | (point >> 12)), tail(6), tail(0)};
    return {byte(0xF0 | (point >> 18)), tail(12), tail(6), tail(0)};
}

TEST(JsonString, QuotesPlainText) {
    EXPECT_EQ(json(""), R"("")");
    EXPECT_EQ(json("laptop1"), R"("laptop1")");
    EXPECT_EQ(json("a/b <c> & 'd'"), R"("a/b <c> & 'd'")");
}

TEST(JsonString, AppendsToWhatIsThere) {
    std::string out = "{\"holder\":";
    append_json_string(out, "me");
    EXPECT_EQ(out, R"({"holder":"me")");
}

TEST(JsonString, EscapesWhatJsonForbids) {
    EXPECT_EQ(json("say \"hi\" \\ bye"), R"("say \"hi\" \\ bye")");
    EXPECT_EQ(json("\b\f\n\r\t"), R"("\b\f\n\r\t")");
    EXPECT_EQ(json("\"\""), R"("\"\"")");
    EXPECT_EQ(json("a\0b"s), R"("a\u0000b")");
    EXPECT_EQ(json("\x1F"), R"("\u001f")");
}

TEST(JsonString, TreatsEveryByteValueAsDocumented) {
    for (int value = 0; value < 256; ++value) {
        const char byte = static_cast<char>(value);
        const std::string got = json("<" + std::string(1, byte) + ">");
        const std::string middle = got.substr(2, got.size() - 4);
        ASSERT_EQ(got, "\"<" + middle + ">\"") << value;
        if (value >= 0x80) {
            EXPECT_EQ(middle, replaced) << value;
        } else if (value < 0x20 || byte == '"' || byte == '\\') {
            EXPECT_EQ(middle[0], '\\') << value;
        } else {
            EXPECT_EQ(middle, std::string(1, byte)) << value;
        }
        if (middle.starts_with("\\u")) {
            EXPECT_EQ(middle.size(), 6U) << value;
            EXPECT_EQ(std::stoi(middle.substr(2), nullptr, 16), value);
        }
    }
}

TEST(JsonString, KeepsEveryCodePointBeyondAscii) {
    for (char32_t point = 0x80; point <= 0x10FFFF; ++point) {
        if (point == 0xD800) point = 0xE000;
        const std::string text = utf8(point);
        ASSERT_EQ(json(text), '"' + text + '"') << "U+" << std::hex << static_cast<int>(point);
    }
}

TEST(JsonString, ReplacesSurrogates) {
    for (char32_t point = 0xD800; point <= 0xDFFF; ++point) {
        ASSERT_EQ(json(utf8(point)), json_replacements(3)) << std::hex << static_cast<int>(point);
    }
}

TEST(JsonString, ReplacesBrokenUtf8ByteByByte) {
    const std::vector<std::string> broken = {
        "\x80",                      // a continuation alone
        "\xBF\xBF",                  //
        "\xC0\x80",                  // overlong NUL
        "\xC0\xAF",                  // overlong '/'
        "\xC1\xBF",                  // overlong DEL
        "\xE0\x80\xAF",              // overlong '/' in three bytes
        "\xE0\x9F\xBF",              // overlong U+07FF
        "\xF0\x80\x80\xAF",          // overlong '/' in four bytes
        "\xF0\x8F\xBF\xBF",          // overlong U+FFFF
        "\xF4\x90\x80\x80",          // U+110000
        "\xF5\x80\x80\x80",          // U+140000
        "\xF7\xBF\xBF\xBF",          // the last of four bytes
        "\xF8\x88\x80\x80\x80",      // five bytes
        "\xFC\x84\x80\x80\x80\x80",  // six bytes
        "\xFE\xFF",                  // a byte order mark of UTF-16
        "\xC3\xC3",                  // two beginnings and no end
    };
    for (const auto& text : broken) {
        EXPECT_EQ(json(text), json_replacements(text.size())) << testing::PrintToString(text);
    }
}

TEST(JsonString, ReplacesTruncatedSequencesAndKeepsWhatFollows) {
    for (const char32_t point : {U'é', U'\u0800', U'€', U'\uD7FF', U'\U00010000', U'\U0010FFFF'}) {
        const std::string whole = utf8(point);
        for (std::size_t length = 1; length < whole.size(); ++length) {
            const std::string cut = whole.substr(0, length);
            const std::string at_end = json_replacements(length);
            EXPECT_EQ(json(cut), at_end);
            EXPECT_EQ(json(cut + "\n"), at_end.substr(0, at_end.size() - 1) + R"(\n")");
            EXPECT_EQ(json(cut + whole), at_end.substr(0, at_end.size() - 1) + whole + '"');
        }
    }
}

TEST(JsonString, DoesNotReadBehindItsText) {
    const std::string text = "é";
    EXPECT_EQ(json(std::string_view(text).substr(0, 1)), json_replacements(1));
}

TEST(JsonText, IsTheTextItselfUnlessItNeedsEscapes) {
    const std::string plain = "laptop1 ~!", escaped = "a\"b";
    EXPECT_EQ(JsonText(plain).view().data(), plain.data());
    EXPECT_EQ(JsonText(plain).view(), plain);
    EXPECT_EQ(JsonText(escaped).view(), R"(a\"b)");
    EXPECT_EQ(JsonText("").view(), "");
}

TEST(JsonString, MixesRunsAndEscapes) {
    EXPECT_EQ(json("grüße\tan \"日本\"\xFF!"), "\"grüße\\tan \\\"日本\\\"\xEF\xBF\xBD!\"");
}

}  // namespace
}  // namespace holdfast::base
