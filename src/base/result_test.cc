#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace holdfast::base {
namespace {

Result<int> half(int number) {
    if (number % 2 != 0) return fail("odd");
    return number / 2;
}

Result<void> check_even(int number) {
    TRY(half(number));
    return {};
}

Result<std::string> quarter(int number) {
    TRY(const int first, half(number));
    TRY(const int second, half(first));
    TRY(check_even(number));
    return std::to_string(second);
}

TEST(Try, DeclaresTheValueOrReturnsTheError) {
    EXPECT_EQ(quarter(12), "3");
    EXPECT_EQ(quarter(6).error().message, "odd");
}

TEST(Try, GoesOnWithoutAValueOrReturnsTheError) {
    EXPECT_TRUE(check_even(2));
    EXPECT_EQ(check_even(3).error().message, "odd");
}

Result<std::unique_ptr<int>> moved(std::unique_ptr<int> number) {
    TRY(auto kept, Result<std::unique_ptr<int>>(std::move(number)));
    return kept;
}

TEST(Try, MovesTheValue) {
    EXPECT_EQ(**moved(std::make_unique<int>(7)), 7);
}

}  // namespace
}  // namespace holdfast::base
