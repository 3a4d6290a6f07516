#include "base/text/base64.h"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

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
