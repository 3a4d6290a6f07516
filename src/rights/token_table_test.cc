#include "rights/token_table.h"

#include <gmock/gmock.h>

#include "rights/denial.h"

namespace holdfast::rights {
namespace {

using core::Scope;

// A file in which every token's secret is its name and `!`.
std::vector<TokenLine> lines(const std::vector<std::string>& texts) {
    std::string file;
    for (const std::string& text : texts) {
        const std::string name = text.substr(0, text.find(' '));
        file += text + " " + to_text(base::sha256(name + "!")) + "\n";
    }
    return parse_token_file(file).value();
}

bool may_lock(const TokenPtr& token, const char* name) {
    return token->may(Right::lock, Door::http, Scope::named(name));
}

TEST(TokenTable, WithoutTokensLetsEverybodyDoEverything) {
    const TokenTable table({}, nullptr);
    EXPECT_TRUE(table.is_open());
    EXPECT_TRUE(table.is_empty());
    EXPECT_EQ(table.find("x"), nullptr);
    EXPECT_EQ(table.find(""), nullptr);
}

TEST(TokenTable, HasTheTokensOfTheTwoFlags) {
    const TokenTable table({.auth = "user", .admin = "root"}, nullptr);
    EXPECT_FALSE(table.is_open());
    EXPECT_EQ(table.find("user")->name(), "auth");
    EXPECT_EQ(table.find("user")->everywhere(Door::files), Right::lock);
    EXPECT_EQ(table.find("root")->name(), "admin");
    EXPECT_EQ(table.find("root")->everywhere(Door::http), Right::admin);
    for (const char* wrong : {"", "use", "userr", "auth", "root "}) {
        EXPECT_EQ(table.find(wrong), nullptr) << wrong;
    }
    const TokenTable same({.auth = "one", .admin = "one"}, nullptr);
    EXPECT_EQ(same.find("one")->everywhere(Door::http), Right::admin);
    const TokenTable open({.admin = "root"}, nullptr);
    EXPECT_TRUE(open.is_open());
    EXPECT_FALSE(open.is_empty());
    EXPECT_EQ(open.anonymous()->everywhere(Door::http), Right::lock);
}

TEST(TokenTable, FindsTheTokensOfAFileByTheirSecrets) {
    const TokenTable table({.lines = lines({"ci lock deploy/*", "ui read *", "z admin *"})},
                           nullptr);
    EXPECT_FALSE(table.is_open());
    for (const char* name : {"ci", "ui", "z"}) {
        EXPECT_EQ(table.find(std::string(name) + "!")->name(), name);
        EXPECT_EQ(table.find(name), nullptr);
    }
    const TokenTable none({.lines = lines({})}, nullptr);
    EXPECT_FALSE(none.is_open()) << "a file without tokens lets nobody in";
}

TEST(TokenSource, GivesTokensThatAreInUseTheirNewRights) {
    TokenSource source({.lines = lines({"ci lock deploy/*", "ui lock *"})});
    const auto ci = source.current()->find("ci!"), ui = source.current()->find("ui!");
    EXPECT_TRUE(may_lock(ci, "deploy/x"));
    const auto version = source.version();
    source.replace({.lines = lines({"ci lock prod"})});
    EXPECT_NE(source.version(), version);
    EXPECT_EQ(source.current()->find("ci!"), ci) << "the same object";
    EXPECT_TRUE(may_lock(ci, "prod"));
    EXPECT_FALSE(may_lock(ci, "deploy/x"));
    EXPECT_FALSE(may_lock(ui, "x")) << "it was withdrawn";
    EXPECT_EQ(ui->everywhere(Door::http), Right::none);
}

TEST(TokenSource, TakesTheRightsFromASecretThatHasChanged) {
    auto before = lines({"ci lock *"});
    TokenSource source({.lines = before});
    const auto old = source.current()->find("ci!");
    before[0].digest = base::sha256("new");
    source.replace({.lines = before});
    EXPECT_EQ(source.current()->find("ci!"), nullptr);
    EXPECT_TRUE(may_lock(source.current()->find("new"), "x"));
    EXPECT_FALSE(may_lock(old, "x"));
    // A secret that goes to another name is another token.
    before[0].name = "cd";
    const auto ci = source.current()->find("new");
    source.replace({.lines = before});
    EXPECT_EQ(source.current()->find("new")->name(), "cd");
    EXPECT_FALSE(may_lock(ci, "x"));
}

TEST(TokenSource, TakesTheRightsFromTheFlagsTokensThatHaveChanged) {
    TokenSource source({.auth = "one", .admin = "root"});
    const auto token = source.current()->find("one"), admin = source.current()->find("root");
    source.replace({.auth = "two", .admin = "root2"});
    EXPECT_EQ(source.current()->find("one"), nullptr);
    EXPECT_FALSE(may_lock(token, "x"));
    EXPECT_FALSE(may_lock(admin, "x"));
    EXPECT_TRUE(may_lock(source.current()->find("two"), "x"));
}

// Tokens overlap for a minute.
class OverlapTest : public ::testing::Test {
  protected:
    static TokenClock::time_point at(int seconds) {
        return TokenClock::time_point(std::chrono::seconds(seconds));
    }
    static std::vector<TokenLine> with_secret(const char* text, std::string_view secret) {
        auto file = lines({text});
        file[0].digest = base::sha256(secret);
        return file;
    }
    TokenSource source_{
        {.auth = "one", .admin = "root", .lines = with_secret("ci lock deploy/*", "old")},
        std::chrono::minutes{1}};
    TokenPtr find(std::string_view secret) { return source_.current()->find(secret); }
};

TEST_F(OverlapTest, AReplacedSecretIsRightForAWhile) {
    const auto one = find("one"), old = find("old");
    source_.replace({.auth = "two", .admin = "root", .lines = with_secret("ci lock prod", "new")},
                    at(0));
    EXPECT_EQ(find("one"), one);
    EXPECT_EQ(find("old"), old);
    EXPECT_TRUE(may_lock(one, "x"));
    EXPECT_TRUE(may_lock(old, "prod")) << "with the new rights";
    EXPECT_FALSE(may_lock(old, "deploy/x"));
    EXPECT_EQ(source_.current()->tokens().size(), 3U);
    EXPECT_EQ(source_.current()->next_end(), at(60));
    const auto version = source_.version();
    source_.end_replaced(at(59));
    EXPECT_TRUE(may_lock(one, "x"));
    source_.end_replaced(at(60));
    EXPECT_GT(source_.version(), version + 1);
    EXPECT_FALSE(may_lock(one, "x"));
    EXPECT_FALSE(may_lock(old, "prod"));
    EXPECT_EQ(find("one"), nullptr);
    EXPECT_EQ(find("old"), nullptr);
    EXPECT_EQ(source_.current()->next_end(), std::nullopt);
    EXPECT_TRUE(may_lock(find("two"), "x"));
}

TEST_F(OverlapTest, ATokenThatIsGoneHasNoRightsAtOnce) {
    const auto one = find("one"), root = find("root"), old = find("old");
    source_.replace({.auth = "two", .lines = lines({"ui read *"})}, at(0));
    EXPECT_TRUE(may_lock(one, "x"));
    EXPECT_FALSE(may_lock(root, "x"));
    EXPECT_FALSE(may_lock(old, "deploy/x"));
    EXPECT_EQ(find("root"), nullptr);
    // Also if it was replaced before.
    source_.replace({.lines = lines({"ui read *"})}, at(1));
    EXPECT_FALSE(may_lock(one, "x"));
    EXPECT_EQ(find("one"), nullptr);
}

TEST_F(OverlapTest, AnotherChangeMakesItNoLonger) {
    const auto one = find("one");
    source_.replace({.auth = "two"}, at(0));
    const auto two = find("two");
    source_.replace({.auth = "three"}, at(30));
    EXPECT_TRUE(may_lock(one, "x"));
    EXPECT_TRUE(may_lock(two, "x"));
    EXPECT_EQ(source_.current()->next_end(), at(60));
    source_.replace({.auth = "three"}, at(60));
    EXPECT_FALSE(may_lock(one, "x"));
    EXPECT_TRUE(may_lock(two, "x"));
    EXPECT_EQ(source_.current()->next_end(), at(90));
}

TEST_F(OverlapTest, ASecretThatComesBackIsTheSameToken) {
    const auto one = find("one");
    source_.replace({.auth = "two"}, at(0));
    const auto two = find("two");
    source_.replace({.auth = "one"}, at(30));
    EXPECT_EQ(find("one"), one);
    source_.end_replaced(at(60));
    EXPECT_TRUE(may_lock(one, "x"));
    EXPECT_EQ(source_.current()->next_end(), at(90)) << "that of the other one";
    // A secret that goes to another name is another token.
    source_.replace({.auth = "three", .admin = "two"}, at(40));
    EXPECT_FALSE(may_lock(two, "x"));
    EXPECT_EQ(find("two")->name(), "admin");
}

TEST(Denial, SaysWhichRightIsMissingOnWhatAndIsCounted) {
    const TokenTable table({.lines = lines({"ci lock deploy/*"})}, nullptr);
    const auto ci = table.find("ci!");
    EXPECT_FALSE(deny(nullptr, {Right::admin, Door::http, Scope::named("x")}));
    EXPECT_FALSE(deny(ci.get(), {Right::read, Door::http, Scope::named("deploy/x")}));
    const auto denial = deny(ci.get(), {Right::lock, Door::redis, Scope::path("/a\"b")});
    ASSERT_TRUE(denial);
    EXPECT_EQ(denial->sentence,
              "the token ci lacks the right lock on path:/a\"b at the door redis");
    std::string body = "{\"error\":\"no\"}\n";
    add_to_json(body, *denial);
    EXPECT_EQ(body, "{\"error\":\"no\",\"right\":\"lock\",\"on\":\"path:/a\\\"b\"}\n");
    std::string bare = "{\"error\":\"no\"}";
    add_to_json(bare, refuse_everything(*ci, Right::lock, Door::http));
    EXPECT_EQ(bare, "{\"error\":\"no\",\"right\":\"lock\",\"on\":\"*\"}");
    EXPECT_EQ(ci->denials(Right::lock), 2U);
    EXPECT_EQ(ci->denials(Right::read), 0U);
}

TEST(ReadableScopes, AreThoseThatTheClientMayRead) {
    const TokenTable table({.lines = lines({"ci lock deploy/* @http", "ui read *"})}, nullptr);
    EXPECT_EQ(readable_by(nullptr, Door::http), nullptr);
    EXPECT_EQ(readable_by(table.find("ui!").get(), Door::http), nullptr);
    const auto filter = readable_by(table.find("ci!").get(), Door::http);
    ASSERT_NE(filter, nullptr);
    EXPECT_TRUE(filter->includes(Scope::named("deploy/x")));
    EXPECT_FALSE(filter->includes(Scope::named("prod")));
    EXPECT_FALSE(
        readable_by(table.find("ci!").get(), Door::dflockd)->includes(Scope::named("deploy/x")));
}

}  // namespace
}  // namespace holdfast::rights
