#include "base/text/number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::base {
namespace {

template <class Integer>
class Decimal : public testing::Test {
  public:
    static constexpr Integer max = std::numeric_limits<Integer>::max();

    // The number after `max`, as text.
    static std::string beyond_max() {
        std::string text = std::to_string(max);
        ++text.back();  // no maximum of a binary type ends in 9
        return text;
    }
};

using Integers = testing::Types<std::uint16_t, std::uint32_t, std::uint64_t, std::int64_t>;
TYPED_TEST_SUITE(Decimal, Integers);

TYPED_TEST(Decimal, ReadsDigits) {
    EXPECT_EQ(parse_decimal<TypeParam>("0"), TypeParam{0});
    EXPECT_EQ(parse_decimal<TypeParam>("42"), TypeParam{42});
    EXPECT_EQ(parse_decimal<TypeParam>("0042"), TypeParam{42});
    EXPECT_EQ(parse_decimal<TypeParam>("00000000000000000000000000000007"), TypeParam{7});
}

TYPED_TEST(Decimal, RefusesEverythingButDigits) {
    using namespace std::string_view_literals;
    for (const auto text : {""sv,    "-"sv,   "+"sv,   "-1"sv,  "-0"sv,  "+1"sv,  "--1"sv, " 1"sv,
                            "1 "sv,  "1\n"sv, "\t1"sv, "1.0"sv, "1e3"sv, "0x1"sv, "1,0"sv, "1_0"sv,
                            "1\0"sv, "one"sv, "1a"sv,  "a1"sv,  "١"sv,   "/"sv,   ":"sv}) {
        EXPECT_EQ(parse_decimal<TypeParam>(text), std::nullopt) << text;
    }
}

TYPED_TEST(Decimal, ReadsTheLargestAndRefusesTheNext) {
    EXPECT_EQ(parse_decimal<TypeParam>(std::to_string(this->max)), this->max);
    EXPECT_EQ(parse_decimal<TypeParam>(this->beyond_max()), std::nullopt);
    EXPECT_EQ(parse_decimal<TypeParam>(std::to_string(this->max) + "0"), std::nullopt);
    EXPECT_EQ(parse_decimal<TypeParam>(std::string(100, '9')), std::nullopt);
}

TYPED_TEST(Decimal, DoesNotReadBehindItsText) {
    EXPECT_EQ(parse_decimal<TypeParam>(std::string_view("123").substr(0, 2)), TypeParam{12});
}

}  // namespace
}  // namespace holdfast::base
