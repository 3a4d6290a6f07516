#include "base/json/json_value.h"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::base {
namespace {

JsonValue parse(std::string_view text) {
    auto value = JsonValue::parse(text);
    EXPECT_TRUE(value) << text;
    return value ? *value : JsonValue();
}

TEST(JsonValue, ReadsEveryKind) {
    const JsonValue value = parse(
        R"({"text":"a\nb","yes":true,"no":false,"none":null,"whole":-7,"large":18446744073709551615,)"
        R"("real":1.5,"list":[1,"two",[3]],"object":{"inner":"x"}})");
    EXPECT_EQ(value["text"].text(), "a\nb");
    EXPECT_TRUE(value["yes"].is_true());
    EXPECT_FALSE(value["no"].is_true());
    EXPECT_TRUE(value["none"].is_null());
    EXPECT_EQ(value["whole"].number(), -7);
    EXPECT_EQ(value["large"].natural(), UINT64_MAX);
    EXPECT_EQ(value["real"].real(), 1.5);
    EXPECT_EQ(value["list"].items().size(), 3U);
    EXPECT_EQ(value["list"][1].text(), "two");
    EXPECT_EQ(value["list"][2][0].number(), 3);
    EXPECT_EQ(value["object"]["inner"].text(), "x");
    EXPECT_TRUE(value.is_object());
    EXPECT_TRUE(value["list"].is_array());
}

TEST(JsonValue, KeepsTheOrderOfFields) {
    std::string names;
    const JsonValue object = parse(R"({"b":1,"a":2,"c":3})");
    for (const auto& [name, value] : object.fields()) names += name;
    EXPECT_EQ(names, "bac");
}

TEST(JsonValue, TakesTheLastOfFieldsWithOneName) {
    EXPECT_EQ(parse(R"({"a":1,"a":2})")["a"].number(), 2);
}

TEST(JsonValue, IsEmptyWhereThereIsNothing) {
    const JsonValue value = parse(R"({"text":"x","number":1})");
    EXPECT_TRUE(value["missing"]["deeper"][7]["still"].is_null());
    EXPECT_EQ(value["number"].text(), "");
    EXPECT_EQ(value["text"].number(), std::nullopt);
    EXPECT_EQ(value["text"].real(), std::nullopt);
    EXPECT_FALSE(value["text"].is_true());
    EXPECT_TRUE(value["text"].items().empty());
    EXPECT_TRUE(value["text"].fields().empty());
    EXPECT_TRUE(value["text"][0].is_null());
    EXPECT_TRUE(JsonValue().is_null());
}

TEST(JsonValue, TellsNumbersApart) {
    const JsonValue value = parse(R"([-1,3.0,9223372036854775808,5])");
    EXPECT_EQ(value[0].natural(), std::nullopt);
    EXPECT_EQ(value[1].number(), std::nullopt);
    EXPECT_EQ(value[1].real(), 3.0);
    EXPECT_EQ(value[2].number(), std::nullopt);
    EXPECT_EQ(value[2].natural(), std::uint64_t{1} << 63);
    EXPECT_EQ(value[3].number(), 5);
    EXPECT_EQ(value[3].natural(), 5U);
    EXPECT_EQ(value[3].real(), 5.0);
}

TEST(JsonValue, ReadsDocumentsOfAnyKind) {
    EXPECT_EQ(parse("\"x\"").text(), "x");
    EXPECT_TRUE(parse("[]").is_array());
    EXPECT_EQ(parse(" 12 \n").number(), 12);
}

TEST(JsonValue, RefusesWhatIsNoJsonWhereverItIsCut) {
    const std::string text = R"({"a":[1,{"b":"c"}],"d":null})";
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
        const auto value = JsonValue::parse(text.substr(0, cut));
        ASSERT_FALSE(value) << text.substr(0, cut);
        EXPECT_TRUE(value.error().message.starts_with("not valid JSON: "));
    }
    EXPECT_FALSE(JsonValue::parse("{} {}"));
    EXPECT_FALSE(JsonValue::parse("\"\xff\""));
    EXPECT_FALSE(JsonValue::parse(std::string(5000, '[')));
}

TEST(JsonValue, OfARequestHasNoFieldTwice) {
    for (const char* const text : {R"({"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]})", "[]", "7"}) {
        EXPECT_EQ(JsonValue::parse_request(text)->to_json(), text);
    }
    for (const char* const text :
         {R"({"a":1,"b":2,"a":1})", R"({"x":{"y":[0,{"a":1,"\u0061":2}]}})",
          R"([{"a":[],"a":{}}])"}) {
        EXPECT_TRUE(JsonValue::parse(text)) << text;
        const auto refused = JsonValue::parse_request(text);
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().message, "the field \"a\" comes twice");
    }
    EXPECT_FALSE(JsonValue::parse_request("{"));
}

TEST(JsonValue, IsWrittenAsItWasRead) {
    for (const char* const text :
         {"null", "true", "false", "0", "-17", "18446744073709551615", "1.5", "\"\"", "[]", "{}",
          R"({"b":[1,"two",null,{"x":false}],"a":"\u001b\"\n"})"}) {
        EXPECT_EQ(JsonValue::parse(text).value().to_json(), text);
    }
}

}  // namespace
}  // namespace holdfast::base
