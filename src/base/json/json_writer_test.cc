#include "base/json/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace holdfast::base {
namespace {

TEST(JsonWriter, WritesFieldsOfEveryKind) {
    std::string text;
    JsonWriter(text)
        .begin_object()
        .field("text", std::string("a \"b\""))
        .field("literal", "c")
        .field("yes", true)
        .field("no", false)
        .field("most", UINT64_MAX)
        .field("least", INT64_MIN)
        .end_object();
    EXPECT_EQ(text, R"({"text":"a \"b\"","literal":"c","yes":true,"no":false,)"
                    R"("most":18446744073709551615,"least":-9223372036854775808})");
}

TEST(JsonWriter, Nests) {
    std::string text = "x";
    JsonWriter json(text);
    json.begin_object().begin_array("empty").end_array().begin_array("two");
    json.begin_object().field("n", 1).end_object();
    json.begin_object().end_object();
    json.end_array().begin_object("inner").field("n", 2).end_object().field("n", 3).end_object();
    EXPECT_EQ(text, R"(x{"empty":[],"two":[{"n":1},{}],"inner":{"n":2},"n":3})");
}

}  // namespace
}  // namespace holdfast::base
