#include "service/books/wait_rights.h"

#include <gmock/gmock.h>

#include "service/test_service.h"

namespace holdfast::service {
namespace {

using core::Scope;
using testing::TestRights;

std::vector<std::string> texts(const std::vector<core::SetMember>& members) {
    std::vector<std::string> texts;
    for (const core::SetMember& member : members) texts.push_back(core::to_text(member.scope));
    return texts;
}

TEST(WaitRights, KnowWhatARequestAsksFor) {
    const core::AcquireRequest one{.scope = Scope::semaphore("pool"), .limit = 3};
    EXPECT_EQ(wanted_by(one), (std::vector<core::SetMember>{{.scope = one.scope, .limit = 3}}));
    EXPECT_EQ(texts(wanted_by(Enqueue{.request = one})), texts(wanted_by(one)));
    EXPECT_EQ(texts(wanted_by(Wait{.scope = Scope::named("a")})), std::vector<std::string>{"a"});
    const std::vector<core::SetMember> both{{.scope = Scope::named("a")},
                                            {.scope = Scope::path("/b")}};
    const core::AcquireRequest set{.scope = Scope::named("a"), .members = both};
    EXPECT_EQ(wanted_by(set), both);
    EXPECT_TRUE(wanted_by(core::RenewRequest{}).empty());
}

TEST(WaitRights, GiveTheWaitsWithoutARightOnce) {
    WaitRights waits;
    const auto rights = std::make_shared<TestRights>();
    const std::vector<core::SetMember> a{{.scope = Scope::named("a")}};
    const std::vector<core::SetMember> set{{.scope = Scope::of_range(7, {.start = 0, .end = 9})},
                                           {.scope = Scope::named("b:c")}};
    waits.keep({.serial = 1}, rights, a);
    waits.keep({.serial = 2}, rights, set);
    waits.keep({.serial = 3}, rights, a);
    waits.keep({.serial = 4}, rights, a);
    waits.forget({.serial = 3});
    EXPECT_TRUE(waits.take_lost().empty());
    rights->lost = {"b:c"};
    auto lost = waits.take_lost();
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].waiter.serial, 2U);
    EXPECT_EQ(core::parse_scope(lost[0].scope), Scope::named("b:c"));
    rights->lost = {"a", "b:c"};
    lost = waits.take_lost();
    ASSERT_EQ(lost.size(), 2U);
    EXPECT_EQ(lost[0].waiter.serial, 4U) << "the newest first";
    EXPECT_EQ(lost[1].waiter.serial, 1U);
    EXPECT_EQ(waits.size(), 0U);
}

TEST(WaitRights, AreThoseOfTheClientThatAskedLast) {
    WaitRights waits;
    const auto old_rights = std::make_shared<TestRights>(), rights = std::make_shared<TestRights>();
    const std::vector<core::SetMember> a{{.scope = Scope::named("a")}};
    waits.keep({.serial = 1}, old_rights, a);
    waits.keep({.serial = 1}, rights, a);
    old_rights->lost = {"a"};
    EXPECT_TRUE(waits.take_lost().empty());
    rights->lost = {"a"};
    EXPECT_EQ(waits.take_lost().size(), 1U);
}

}  // namespace
}  // namespace holdfast::service
