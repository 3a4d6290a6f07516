#include "base/json_object.h"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

struct Read {
    std::string owner;
    std::optional<std::int64_t> ttl;
    std::string fault;
};

Read read(std::string_view text) {
    Read result;
    const auto done = read_json_object(text, {{"owner", &result.owner}, {"ttl", &result.ttl}});
    if (!done) result.fault = done.error().message;
    return result;
}

TEST(JsonObject, ReadsTextsAndNumbersInAnyOrder) {
    const Read seen = read(R"( {"ttl":-5 , "owner":"w\u00e91\n"} )");
    EXPECT_EQ(seen.fault, "");
    EXPECT_EQ(seen.owner, "w\u00e91\n");
    EXPECT_EQ(seen.ttl, -5);
}

TEST(JsonObject, LeavesWhatIsMissingOrNull) {
    EXPECT_EQ(read("{}").fault, "");
    const Read seen = read(R"({"owner":null,"ttl":null})");
    EXPECT_EQ(seen.fault, "");
    EXPECT_EQ(seen.owner, "");
    EXPECT_FALSE(seen.ttl);
}

TEST(JsonObject, NamesTheFault) {
    EXPECT_EQ(read("").fault, "the body is empty; a JSON object is expected");
    EXPECT_EQ(read(R"({"owner":"w"} and more)").fault,
              "the body is not valid JSON: its object has no end, or something follows it");
    EXPECT_EQ(read("[1]").fault, "the body must be a JSON object");
    EXPECT_EQ(read("7").fault, "the body must be a JSON object");
    EXPECT_EQ(read(R"({"owner":7})").fault, "owner must be a string");
    EXPECT_EQ(read(R"({"owner":{"a":1}})").fault, "owner must be a string");
    EXPECT_EQ(read(R"({"ttl":"7"})").fault, "ttl must be a whole number");
    EXPECT_EQ(read(R"({"ttl":7.5})").fault, "ttl must be a whole number");
    EXPECT_EQ(read(R"({"ttl":[7]})").fault, "ttl must be a whole number");
    EXPECT_EQ(read(R"({"ttl":9223372036854775808})").fault, "ttl must be a whole number");
    EXPECT_EQ(read(R"({"color":"red"})").fault, "unknown field \"color\"");
    EXPECT_EQ(read(R"({"Owner":"w"})").fault, "unknown field \"Owner\"");
}

TEST(JsonObject, RefusesWhatIsNoJson) {
    for (const char* text :
         {"owner", "{", R"({"owner")", R"({"owner":)", R"({"owner":"w)", R"({"owner":"w"} x)",
          R"({"owner":"w"}{})", R"({owner:"w"})", R"({"owner":"w",})", R"({"ttl":01})",
          R"({"owner":"\ud800"})", R"({"ttl":nul})", "\xff", "{\"owner\":\"\xff\"}",
          "{\"owner\":\"a\nb\"}", "null"}) {
        EXPECT_NE(read(text).fault, "") << text;
    }
}

TEST(JsonObject, EveryBeginningOfAnObjectIsRefused) {
    const std::string whole = R"({"owner":"w\u00e91","ttl":12})";
    EXPECT_EQ(read(whole).fault, "");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_NE(read(whole.substr(0, size)).fault, "") << size;
    }
}

}  // namespace
}  // namespace holdfast::base
