#include "base/json/json_object.h"

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

TEST(JsonObject, RefusesAFieldThatComesTwice) {
    EXPECT_EQ(read(R"({"owner":"a","ttl":1,"owner":"b"})").fault,
              "the field \"owner\" comes twice");
    EXPECT_EQ(read(R"({"ttl":null,"ttl":1})").fault, "the field \"ttl\" comes twice");
    EXPECT_EQ(read(R"({"ttl":1,"\u0074tl":1})").fault, "the field \"ttl\" comes twice");
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

TEST(JsonObject, ReadsNumbersUpToTheLargestThatAreNotNegative) {
    std::optional<std::uint64_t> inode;
    const auto fault_of = [&](std::string_view text) {
        inode.reset();
        const auto done = read_json_object(text, {{"inode", &inode}});
        return done ? "" : done.error().message;
    };
    EXPECT_EQ(fault_of(R"({"inode":18446744073709551615})"), "");
    EXPECT_EQ(inode, UINT64_MAX);
    EXPECT_EQ(fault_of(R"({"inode":0})"), "");
    EXPECT_EQ(inode, 0U);
    for (const char* text : {R"({"inode":-1})", R"({"inode":18446744073709551616})",
                             R"({"inode":1.5})", R"({"inode":"7"})", R"({"inode":1e3})"}) {
        EXPECT_EQ(fault_of(text), "inode must be a whole number that is not negative") << text;
    }
}

TEST(JsonObject, ReadsATextOrAnObject) {
    JsonTextOrObject scope;
    std::optional<std::int64_t> after;
    const auto fault_of = [&](std::string_view text) {
        scope = {};
        const auto done = read_json_object(text, {{"scope", &scope}, {"after", &after}});
        return done ? "" : done.error().message;
    };
    EXPECT_EQ(fault_of(R"({"scope":"inode:\u0037","after":3})"), "");
    EXPECT_EQ(scope.text, "inode:7");
    EXPECT_FALSE(scope.object);
    EXPECT_EQ(fault_of(R"({"scope": {"kind":"inode","of":[{}]},"after":4})"), "");
    EXPECT_EQ(scope.object, R"({"kind":"inode","of":[{}]})");
    EXPECT_EQ(after, 4);
    EXPECT_FALSE(scope.text);
    EXPECT_EQ(fault_of(R"({"scope":null})"), "");
    EXPECT_FALSE(scope.text || scope.object);
    for (const char* text : {R"({"scope":7})", R"({"scope":["inode"]})", R"({"scope":true})"}) {
        EXPECT_EQ(fault_of(text), "scope must be a string or an object") << text;
    }
    const std::string whole = R"({"scope":{"kind":"inode"},"after":4})";
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_NE(fault_of(whole.substr(0, size)), "") << size;
    }
}

TEST(JsonObject, ReadsListsOfTextsAndObjects) {
    JsonItems scopes;
    std::optional<std::int64_t> after;
    const auto fault_of = [&](std::string_view text) {
        scopes.clear();
        const auto done = read_json_object(text, {{"scopes", &scopes}, {"after", &after}});
        return done ? "" : done.error().message;
    };
    const std::string whole =
        R"({"scopes":["a\u0062", {"scope":{"kind":"x"},"of":[1]}],"after":4})";
    EXPECT_EQ(fault_of(whole), "");
    ASSERT_EQ(scopes.size(), 2U);
    EXPECT_EQ(scopes[0].text, "ab");
    EXPECT_EQ(scopes[1].object, R"({"scope":{"kind":"x"},"of":[1]})");
    EXPECT_EQ(after, 4);
    EXPECT_EQ(fault_of(R"({"scopes":[]})"), "");
    EXPECT_TRUE(scopes.empty());
    EXPECT_EQ(fault_of(R"({"scopes":null})"), "");
    for (const char* text : {R"({"scopes":"a"})", R"({"scopes":{}})", R"({"scopes":["a",7]})",
                             R"({"scopes":[null]})", R"({"scopes":[["a"]]})"}) {
        EXPECT_EQ(fault_of(text), "scopes must be a list of strings and objects") << text;
    }
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_NE(fault_of(whole.substr(0, size)), "") << size;
    }
}

TEST(JsonObject, EveryBeginningOfAnObjectIsRefused) {
    const std::string whole = R"({"owner":"w\u00e91","ttl":12})";
    EXPECT_EQ(read(whole).fault, "");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_NE(read(whole.substr(0, size)).fault, "") << size;
    }
}

TEST(JsonObject, ReadsListsOfListsOfTexts) {
    TextLists lists;
    ASSERT_TRUE(read_json_object(R"({"tags":[["u","http:\/\/x"],[],["a"]]})", {{"tags", &lists}}));
    EXPECT_EQ(lists, (TextLists{{"u", "http://x"}, {}, {"a"}}));
    for (const char* text :
         {R"({"tags":[["u",1]]})", R"({"tags":["u"]})", R"({"tags":{}})", R"({"tags":[["u"]})",
          R"({"tags":[["u" "v"]]})", R"({"tags":[["u"])"}) {
        EXPECT_FALSE(read_json_object(text, {{"tags", &lists}})) << text;
    }
}

TEST(JsonDocument, IsAWholeObjectOrArray) {
    for (const char* text : {"{}", "[]", " \n[1,{\"a\":null}]\r\n", "{\"a\":[1.5e3,true]}"}) {
        EXPECT_TRUE(is_json_document(text)) << text;
    }
    for (const char* text : {"", " ", "1", "\"a\"", "null", "{", "[1,]", "{}{}", "{} x", "{'a':1}",
                             "{\"a\" 1}", "[\"\xFF\"]", "[01]"}) {
        EXPECT_FALSE(is_json_document(text)) << text;
    }
}

}  // namespace
}  // namespace holdfast::base
