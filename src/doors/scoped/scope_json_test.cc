#include "doors/scoped/scope_json.h"

#include <gtest/gtest.h>

namespace holdfast::doors::scoped {
namespace {

// The text form of the scope, or the fault.
std::string object(std::string text) {
    const auto scope = read_scope({.object = std::move(text)});
    return scope ? core::to_text(scope->view()) : scope.error().message;
}
std::string text(std::string written) {
    const auto scope = read_scope({.text = std::move(written)});
    return scope ? core::to_text(scope->view()) : scope.error().message;
}

TEST(ScopeJson, ReadsObjects) {
    EXPECT_EQ(object(R"({"kind":"named","name":"x"})"), "x");
    EXPECT_EQ(object(R"({"kind":"path","path":"/a/b"})"), "path:/a/b");
    EXPECT_EQ(object(R"({"kind":"inode","inode":18446744073709551615})"),
              "inode:18446744073709551615");
    EXPECT_EQ(object(R"({"kind":"range","inode":7,"start":0,"end":4096})"), "range:7:0-4096");
    EXPECT_EQ(object(R"({"end":null,"start":4096,"inode":0,"kind":"range"})"), "range:0:4096-");
}

TEST(ScopeJson, ReadsTexts) {
    EXPECT_EQ(text("named:x"), "x");
    for (const char* written :
         {"x", "a:b", "file:x", "named:path:/a", "path:/a/b", "inode:7", "range:7:0-4096",
          "range:7:4096-", "range:18446744073709551615:1-2"}) {
        EXPECT_EQ(text(written), written);
    }
}

TEST(ScopeJson, NamesTheFaultOfAnObject) {
    const std::pair<const char*, const char*> rows[] = {
        {R"({})", "a scope needs a kind: named, semaphore, path, inode or range"},
        {R"({"kind":"file"})",
         "unknown kind of scope \"file\"; there are named, semaphore, path, inode or range"},
        {R"({"kind":"semaphore"})", "a scope of kind semaphore needs name"},
        {R"({"kind":"named"})", "a scope of kind named needs name"},
        {R"({"kind":"named","name":""})", "a scope of kind named needs name"},
        {R"({"kind":"path","name":"/a"})", "a scope of kind path has no name"},
        {R"({"kind":"path"})", "a scope of kind path needs path"},
        {R"({"kind":"inode"})", "a scope of kind inode needs inode"},
        {R"({"kind":"inode","inode":7,"start":0})", "a scope of kind inode has no start"},
        {R"({"kind":"named","name":"x","inode":7})", "a scope of kind named has no inode"},
        {R"({"kind":"named","name":"x","path":"/"})", "a scope of kind named has no path"},
        {R"({"kind":"inode","inode":7,"end":1})", "a scope of kind inode has no end"},
        {R"({"kind":"range","start":0,"end":1})", "a scope of kind range needs inode"},
        {R"({"kind":"range","inode":7,"end":1})", "a scope of kind range needs start"},
        {R"({"kind":"range","inode":7,"start":5,"end":5})",
         "the start of a range must be less than its end"},
        {R"({"kind":"range","inode":7,"start":5,"end":4})",
         "the start of a range must be less than its end"},
        {R"({"kind":"range","inode":-7,"start":0,"end":4})",
         "inode must be a whole number that is not negative"},
        {R"({"kind":"range","inode":7,"start":-1,"end":4})",
         "start must be a whole number that is not negative"},
        {R"({"kind":"range","inode":7,"start":0,"end":1.5})",
         "end must be a whole number that is not negative"},
        {R"({"kind":7})", "kind must be a string"},
        {R"({"kind":"inode","inode":7,"color":"red"})", "unknown field \"color\""},
    };
    for (const auto& [given, fault] : rows) EXPECT_EQ(object(given), fault) << given;
}

TEST(ScopeJson, NamesTheFaultOfAText) {
    const std::string range =
        "a range is written range:<inode>:<start>-<end>, in whole numbers, its start less than its "
        "end; without an end it reaches to the end of the file";
    const std::string inode = "an inode is written inode:<number>, a whole number, not negative";
    const std::pair<const char*, std::string> rows[] = {
        {"", "scope required"},
        {"semaphore:", "a scope of kind semaphore needs a name"},
        {"named:", "a scope of kind named needs a name"},
        {"path:", "a scope of kind path needs a name"},
        {"inode:", inode},
        {"inode:-7", inode},
        {"inode:seven", inode},
        {"range:7", range},
        {"range:7:5-5", range},
        {"range:7:9-5", range},
        {"range:7:-5", range},
        {"range:-7:0-5", range},
        {"range:7:0", range},
    };
    for (const auto& [given, fault] : rows) EXPECT_EQ(text(given), fault) << given;
    const auto missing = read_scope({});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message, "scope required");
}

TEST(ScopeJson, WritesWhatItReads) {
    for (const char* whole :
         {R"({"kind":"named","name":"a \"b\""})", R"({"kind":"path","path":"/a/b"})",
          R"({"kind":"inode","inode":18446744073709551615})",
          R"({"kind":"range","inode":7,"start":0,"end":4096})",
          R"({"kind":"range","inode":7,"start":4096})"}) {
        std::string out;
        base::JsonWriter json(out);
        json.begin_object();
        append_scope(json, "scope", read_scope({.object = whole}).value().view());
        json.end_object();
        EXPECT_EQ(out, std::string(R"({"scope":)") + whole + "}");
    }
    std::string out;
    base::JsonWriter json(out);
    json.begin_object();
    append_scope(json, "scope", core::Scope::semaphore("printers"));
    EXPECT_EQ(out, R"({"scope":{"kind":"semaphore","name":"printers"})");
}

}  // namespace
}  // namespace holdfast::doors::scoped
