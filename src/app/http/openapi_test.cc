#include "app/http/openapi.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace holdfast::app {
namespace {

TEST(Openapi, IsTheFileByteByByte) {
    std::ifstream file(HOLDFAST_OPENAPI_FILE, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(openapi_json(), text);
    EXPECT_TRUE(openapi_json().ends_with("}\n"));
}

}  // namespace
}  // namespace holdfast::app
