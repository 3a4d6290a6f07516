#include "base/text/append_all.h"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

TEST(AppendAll, AppendsThePiecesInTheirOrder) {
    std::string text = "a";
    append_all(text, "b", "", "cd");
    EXPECT_EQ(text, "abcd");
    append_all(text, std::string_view());
    EXPECT_EQ(text, "abcd");
}

TEST(AppendAll, GrowsTheTextAsFarAsNeeded) {
    std::string text;
    const std::string piece(100, 'x');
    for (int i = 0; i < 10; ++i) append_all(text, piece, piece);
    EXPECT_EQ(text, std::string(2000, 'x'));
}

}  // namespace
}  // namespace holdfast::base
