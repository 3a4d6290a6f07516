#include "rights/grants.h"

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

#include "rights/token_file.h"

namespace holdfast::rights {
namespace {

using core::Scope;
using ::testing::HasSubstr;
using ::testing::Not;

Grants grants(std::string_view text) {
    return Grants::parse(split_words(text)).value();
}

std::string fault(std::string_view text) {
    const auto parsed = Grants::parse(split_words(text));
    return parsed ? "" : parsed.error().message;
}

TEST(Grants, AreRightsOnPatterns) {
    const Grants ci = grants("lock deploy/* nightly read *");
    EXPECT_TRUE(ci.may(Right::lock, Door::http, Scope::named("deploy/web")));
    EXPECT_TRUE(ci.may(Right::lock, Door::redis, Scope::named("nightly")));
    EXPECT_FALSE(ci.may(Right::lock, Door::http, Scope::named("prod")));
    EXPECT_TRUE(ci.may(Right::read, Door::http, Scope::named("prod")));
    EXPECT_FALSE(ci.may(Right::admin, Door::http, Scope::named("deploy/web")));
}

TEST(Grants, OfAGreaterRightIncludeTheSmaller) {
    const Grants root = grants("admin x");
    EXPECT_TRUE(root.may(Right::lock, Door::http, Scope::named("x")));
    EXPECT_TRUE(root.may(Right::read, Door::http, Scope::named("x")));
    EXPECT_FALSE(root.may(Right::read, Door::http, Scope::named("y")));
}

TEST(Grants, HoldAtTheDoorsBehindThem) {
    const Grants ci = grants("lock deploy/* read logs @dflockd,redis read * @http");
    EXPECT_TRUE(ci.may(Right::lock, Door::dflockd, Scope::named("deploy/x")));
    EXPECT_TRUE(ci.may(Right::read, Door::redis, Scope::named("logs")));
    EXPECT_FALSE(ci.may(Right::lock, Door::http, Scope::named("deploy/x")));
    EXPECT_TRUE(ci.may(Right::read, Door::http, Scope::named("deploy/x")));
    EXPECT_FALSE(ci.may(Right::read, Door::files, Scope::named("logs")));
    EXPECT_TRUE(ci.may_something(Right::lock, Door::dflockd));
    EXPECT_FALSE(ci.may_something(Right::lock, Door::http));
    EXPECT_EQ(ci.everywhere(Door::http), Right::read);
    EXPECT_EQ(ci.everywhere(Door::dflockd), Right::none);
    EXPECT_EQ(grants("read * lock *").everywhere(Door::files), Right::lock);
}

TEST(Grants, ThatAreWrongSayWhichRuleIsBroken) {
    EXPECT_THAT(fault(""), HasSubstr("needs a right"));
    EXPECT_THAT(fault("deploy/*"), HasSubstr("read, lock or admin stands before"));
    EXPECT_THAT(fault("lock"), HasSubstr("lock needs a pattern"));
    EXPECT_THAT(fault("lock read *"), HasSubstr("named:lock"));
    EXPECT_THAT(fault("lock @http"), HasSubstr("lock needs a pattern"));
    EXPECT_THAT(fault("lock x @"), HasSubstr("http, dflockd, redis, files"));
    EXPECT_THAT(fault("lock x @http,"), HasSubstr("behind @"));
    EXPECT_THAT(fault("lock x @lockserver"), HasSubstr("behind @"));
    EXPECT_THAT(fault("@http lock x"), HasSubstr("before an @"));
    EXPECT_THAT(fault("lock x @http @redis"), HasSubstr("before an @"));
    EXPECT_THAT(fault("lock x @http y"), HasSubstr("read, lock or admin stands before"));
    EXPECT_THAT(fault("lock a*b"), HasSubstr("star"));
    EXPECT_THAT(fault("write s3cret"), Not(HasSubstr("s3cret")));
    std::string many = "read";
    for (std::size_t index = 0; index <= Grants::count_max; ++index) many += " x";
    EXPECT_THAT(fault(many), HasSubstr("patterns at most"));
}

// The same by the simplest rules that can be written down: a right is a row of words.
struct NaiveGrant {
    int right;
    std::string kind, name;
    bool has_star;
    std::vector<std::string> doors;  // none: all
};

bool naive_may(const std::vector<NaiveGrant>& all, int right, const std::string& door,
               const std::string& kind, const std::string& name) {
    for (const NaiveGrant& grant : all) {
        bool is_here = grant.doors.empty();
        for (const std::string& each : grant.doors) is_here = is_here || each == door;
        const bool is_everything = grant.kind.empty() && grant.name.empty() && grant.has_star;
        const bool is_kind = grant.kind == kind || ((grant.kind.empty() || grant.kind == "named") &&
                                                    (kind == "named" || kind == "semaphore"));
        const bool is_name =
            grant.has_star ? name.substr(0, grant.name.size()) == grant.name : name == grant.name;
        if (is_here && grant.right >= right && (is_everything || (is_kind && is_name))) return true;
    }
    return false;
}

TEST(Grants, AgreeWithANaiveModel) {
    std::mt19937 random(7);
    const auto pick = [&](const auto& from) { return from[random() % std::size(from)]; };
    const std::string names[] = {"", "a", "b", "a/", "a/b", "ab", "/a", "/a/b"};
    const std::string kinds[] = {"", "named", "semaphore", "path"};
    const std::string doors[] = {"http", "dflockd", "redis", "files"};
    const std::string rights[] = {"", "read", "lock", "admin"};
    int granted = 0, denied = 0;
    for (int round = 0; round < 3000; ++round) {
        std::vector<NaiveGrant> model;
        std::string text;
        const std::size_t count = 1 + random() % 4;
        for (std::size_t index = 0; index < count; ++index) {
            NaiveGrant grant{.right = static_cast<int>(1 + random() % 3),
                             .kind = pick(kinds),
                             .name = pick(names),
                             .has_star = random() % 2 == 0};
            if (grant.name.empty()) grant.has_star = true;
            text += " " + rights[grant.right] + " " + grant.kind + (grant.kind.empty() ? "" : ":") +
                    grant.name + (grant.has_star ? "*" : "");
            if (random() % 2 == 0) {  // the rest of the group has no doors of its own yet
                grant.doors = {pick(doors), pick(doors)};
                text += " @" + grant.doors[0] + "," + grant.doors[1];
            }
            model.push_back(grant);
            for (auto before = model.rbegin() + 1; !grant.doors.empty() && before != model.rend();
                 ++before) {
                if (!before->doors.empty()) break;
                before->doors = grant.doors;
            }
        }
        const Grants parsed = grants(text);
        for (int right = 1; right <= 3; ++right) {
            const std::string door = pick(doors), kind = pick(kinds), name = pick(names);
            const Scope scope{.kind = core::parse_kind(kind).value_or(core::ScopeKind::named),
                              .name = name};
            const bool is_expected =
                naive_may(model, right, door, kind.empty() ? "named" : kind, name);
            ASSERT_EQ(parsed.may(Right(right), *parse_door(door), scope), is_expected)
                << text << " for " << rights[right] << " on " << core::to_text(scope) << " at "
                << door;
            ++(is_expected ? granted : denied);
        }
    }
    EXPECT_GT(granted, 500);
    EXPECT_GT(denied, 500);
}

}  // namespace
}  // namespace holdfast::rights
