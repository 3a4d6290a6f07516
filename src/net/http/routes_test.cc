#include "net/http/routes.h"

#include <gtest/gtest.h>

namespace holdfast::net {
namespace {

class Nobody final : public RouteHandler {
  public:
    void handle(const RoutedRequest& /*request*/, HttpReply& /*reply*/) override {}
    void refuse(const HttpRequest& /*request*/, const RouteRefusal& /*refusal*/,
                HttpReply& /*reply*/) override {}
};

constexpr Route lock_routes[] = {
    {.methods = "GET, HEAD", .pattern = "/locks", .action = 1},
    {.methods = "GET, HEAD", .pattern = "/locks/{lock}", .action = 2},
    {.methods = "DELETE", .pattern = "/locks/{lock}", .action = 3},
    {.methods = "POST", .pattern = "/locks/{lock}/acquire", .action = 4},
};
constexpr Route other_routes[] = {
    {.methods = "GET", .pattern = "/", .action = 5},
    {.methods = "GET", .pattern = "/ui/{file...}", .action = 6},
    {.methods = "POST", .pattern = "/fence/check", .action = 7},
    {.methods = "GET, HEAD", .pattern = "/fence/{resource}", .action = 8},
    {.methods = "POST", .pattern = "/fence/{resource}", .action = 9},
};
constexpr Route state_routes[] = {
    {.methods = "GET", .pattern = "/states/{state}", .action = 10},
    {.methods = "POST", .pattern = "/states/{state}", .body = BodyPolicy::pieces, .action = 11},
    {.methods = "LOCK", .pattern = "/states/{state}", .body = BodyPolicy::whole, .action = 12},
    {.methods = "UNLOCK", .pattern = "/states/{state}", .body = BodyPolicy::whole, .action = 13},
    {.methods = "POST", .pattern = "/states/{state}/lock", .body = BodyPolicy::whole, .action = 14},
};

class Routes : public ::testing::Test {
  protected:
    // `4 x`: the action, and the parameter if there is one; `405 GET, HEAD`; `404`, or `404
    // locks` where the handler of the locks says so.
    std::string find(std::string_view method, std::string_view path) {
        const RouteMatch match = table_.find(method, path);
        if (match.route != nullptr) {
            const std::string action = std::to_string(match.route->action.as<int>());
            return match.parameter.empty() ? action : action + " " + std::string(match.parameter);
        }
        if (!match.allowed_methods.empty()) return "405 " + std::string(match.allowed_methods);
        if (match.handler == nullptr) return "404";
        return match.handler == &locks_ ? "404 locks" : "404 others";
    }

    Nobody locks_, others_;
    const RouteTable table_{
        {{lock_routes, &locks_, true}, {other_routes, &others_}, {state_routes, &others_}}};
};

TEST_F(Routes, AreFoundByMethodAndPath) {
    EXPECT_EQ(find("GET", "/locks"), "1");
    EXPECT_EQ(find("HEAD", "/locks"), "1");
    EXPECT_EQ(find("GET", "/locks/x"), "2 x");
    EXPECT_EQ(find("DELETE", "/locks/x%2Fy"), "3 x%2Fy");
    EXPECT_EQ(find("POST", "/locks/x/acquire"), "4 x");
    EXPECT_EQ(find("GET", "/"), "5");
}

TEST_F(Routes, MayHaveTheMethodsOfALock) {
    EXPECT_EQ(find("LOCK", "/states/x"), "12 x");
    EXPECT_EQ(find("UNLOCK", "/states/x"), "13 x");
    EXPECT_EQ(find("LOCK", "/locks/x"), "405 GET, HEAD, DELETE");
    EXPECT_EQ(find("RELOCK", "/states/x"), "405 GET, POST, LOCK, UNLOCK");
}

TEST_F(Routes, SayWhichBodiesComeInPieces) {
    EXPECT_TRUE(table_.takes_pieces("POST", "/states/x"));
    EXPECT_FALSE(table_.takes_pieces("GET", "/states/x"));
    EXPECT_FALSE(table_.takes_pieces("LOCK", "/states/x"));
    EXPECT_FALSE(table_.takes_pieces("POST", "/states/"));
    EXPECT_FALSE(table_.takes_pieces("POST", "/states"));
    EXPECT_FALSE(table_.takes_pieces("POST", "/states/x/lock"));
    EXPECT_FALSE(table_.takes_pieces("POST", "/locks/x/acquire"));
}

TEST_F(Routes, OfALiteralComeBeforeThoseOfAParameter) {
    EXPECT_EQ(find("POST", "/fence/check"), "7");
    EXPECT_EQ(find("GET", "/fence/check"), "405 POST");
    EXPECT_EQ(find("POST", "/fence/checks"), "9 checks");
}

TEST_F(Routes, ThatEndInAnOpenParameterMatchAnyRest) {
    EXPECT_EQ(find("GET", "/ui/"), "6");
    EXPECT_EQ(find("GET", "/ui/main.js"), "6 main.js");
    EXPECT_EQ(find("GET", "/ui/a/b/c/d/e"), "6 a/b/c/d/e");
    EXPECT_EQ(find("POST", "/ui/a/b/c/d/e"), "405 GET");
    EXPECT_EQ(find("GET", "/ui"), "404 others");
}

TEST_F(Routes, NameTheMethodsOfTheirPath) {
    for (const char* method : {"PUT", "OPTIONS", "get", "", "GET, HEAD", "GET,"}) {
        EXPECT_EQ(find(method, "/locks/x"), "405 GET, HEAD, DELETE") << method;
    }
    EXPECT_EQ(find("HEAD", "/"), "405 GET");
}

TEST_F(Routes, OfOtherPathsDoNotExist) {
    for (const char* path :
         {"", "*", "locks", "/lock", "/locksmith", "//locks", "/locks2/x", "/UI/"}) {
        EXPECT_EQ(find("GET", path), "404") << path;
    }
    for (const char* path : {"/locks/x/steal", "/locks/x/acquire/now", "/locks//acquire", "/locks/",
                             "/locks//", "/locks/x/acquire/now/"}) {
        EXPECT_EQ(find("POST", path), "404 locks") << path;
    }
    for (const char* path : {"/fence", "/fence/", "/fence/a/b", "/fence/a/"}) {
        EXPECT_EQ(find("POST", path), "404 others") << path;
    }
}

TEST_F(Routes, MayIgnoreSlashesAtTheEndOfTheirPaths) {
    EXPECT_EQ(find("GET", "/locks/x/"), "2 x");
    EXPECT_EQ(find("GET", "/locks/x//"), "2 x");
    EXPECT_EQ(find("POST", "/locks/x/acquire/"), "4 x");
    EXPECT_EQ(find("POST", "/locks/x/"), "405 GET, HEAD, DELETE");
}

TEST(Route, IsForAdministratorsUnlessItSaysOtherwise) {
    EXPECT_EQ(Route{}.needs, Privilege::administer);
    EXPECT_LT(Privilege::none, Privilege::lock);
    EXPECT_LT(Privilege::lock, Privilege::administer);
}

}  // namespace
}  // namespace holdfast::net
