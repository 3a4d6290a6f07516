#include "service/history/hold.h"

#include <gtest/gtest.h>

namespace holdfast::service {
namespace {

using namespace std::chrono_literals;
using core::Cause;
using core::Event;
using core::EventKind;

TEST(Hold, EndsInOneOfFiveWays) {
    EXPECT_EQ(ending_of({.kind = EventKind::released}), Ending::released);
    EXPECT_EQ(ending_of({.kind = EventKind::expired}), Ending::expired);
    EXPECT_EQ(ending_of({.kind = EventKind::released, .cause = Cause::force}), Ending::forced);
    EXPECT_EQ(ending_of({.kind = EventKind::released, .cause = Cause::session_end}),
              Ending::session);
    EXPECT_EQ(ending_of({.kind = EventKind::expired, .cause = Cause::restart}), Ending::restart);
}

TEST(Hold, HasAnEndingThatCanBeReadAgain) {
    for (const auto ending :
         {Ending::released, Ending::expired, Ending::forced, Ending::session, Ending::restart}) {
        EXPECT_EQ(parse_ending(to_text(ending)), ending);
    }
    EXPECT_EQ(parse_ending("lost"), std::nullopt);
}

TEST(Hold, OfALeaseThatExpiredHasEndedAtItsDeadline) {
    Event event{.kind = EventKind::expired, .at = core::Time{9s}};
    event.lease.expires_at = core::Time{5s};
    EXPECT_EQ(end_of(event), core::Time{5s});
    event.kind = EventKind::released;
    EXPECT_EQ(end_of(event), core::Time{9s});
}

TEST(Hold, HasNoPartInTheGraceThatFollows) {
    Event event{.kind = EventKind::grace_ended, .at = core::Time{9s}};
    event.lease.acquired_at = core::Time{2s};
    event.lease.expires_at = core::Time{5s};
    EXPECT_EQ(held_of(event), 3s);
}

TEST(Hold, NamesWhoHasAskedForItsBeginAndItsEnd) {
    const Hold hold =
        to_hold({.kind = EventKind::released, .by = "ops"}, {.waited = 3s, .by = "ci"}, WallTime{});
    EXPECT_EQ(hold.waited, 3s);
    EXPECT_EQ(hold.granted_by, "ci");
    EXPECT_EQ(hold.ended_by, "ops");
}

TEST(Hold, KnowsHowLongItsHolderWaited) {
    Event event{.kind = EventKind::granted, .at = core::Time{9s}, .waiting_since = core::Time{2s}};
    EXPECT_EQ(waited_of(event), 0s);
    event.waiter = {.serial = 1};
    EXPECT_EQ(waited_of(event), 7s);
}

Hold hold(core::Scope scope, std::string owner) {
    return {.fence = 7,
            .kind = scope.kind,
            .name = std::string(scope.name),
            .inode = scope.inode,
            .range = scope.range,
            .owner = std::move(owner),
            .acquired_at = WallTime{100s},
            .ended_at = WallTime{200s}};
}

HistoryQuery on(const core::Scope& scope) {
    return {.kind = scope.kind,
            .name = std::string(scope.name),
            .inode = scope.inode,
            .range = scope.range};
}

TEST(HistoryQuery, FindsALockByItsScope) {
    const Hold named = hold(core::Scope::named("a"), "w");
    EXPECT_TRUE(matches({}, named));
    EXPECT_TRUE(matches(on(core::Scope::named("a")), named));
    EXPECT_FALSE(matches(on(core::Scope::named("b")), named));
    EXPECT_FALSE(matches(on(core::Scope::semaphore("a")), named));
    EXPECT_FALSE(matches(on(core::Scope::of_inode(0)), named));
}

TEST(HistoryQuery, FindsRangesThatOverlap) {
    core::Scope range{
        .kind = core::ScopeKind::range, .inode = 7, .range = {.start = 10, .end = 20}};
    const Hold of_range = hold(range, "w");
    EXPECT_TRUE(matches(on(core::Scope::of_inode(7)), of_range));
    EXPECT_FALSE(matches(on(core::Scope::of_inode(8)), of_range));
    range.range = {.start = 20, .end = 30};
    EXPECT_FALSE(matches(on(range), of_range));
    range.range = {.start = 19, .end = 30};
    EXPECT_TRUE(matches(on(range), of_range));
    EXPECT_FALSE(matches({.prefix = "a"}, of_range));
}

TEST(HistoryQuery, FindsByOwnerAndPrefix) {
    const Hold named = hold(core::Scope::named("deploy/eu"), "ann");
    EXPECT_TRUE(matches({.prefix = "deploy/", .owner = "ann"}, named));
    EXPECT_FALSE(matches({.prefix = "build/"}, named));
    EXPECT_FALSE(matches({.owner = "bob"}, named));
}

TEST(HistoryQuery, FindsWhatWasHeldAtSomeTimeBetweenTwoTimes) {
    const Hold held = hold(core::Scope::named("a"), "w");  // from 100 to 200
    EXPECT_TRUE(matches({.since = WallTime{200s}}, held));
    EXPECT_FALSE(matches({.since = WallTime{201s}}, held));
    EXPECT_TRUE(matches({.until = WallTime{101s}}, held));
    EXPECT_FALSE(matches({.until = WallTime{100s}}, held));
    EXPECT_TRUE(matches({.since = WallTime{150s}, .until = WallTime{160s}}, held));
}

class OnlyA final : public core::ScopeFilter {
  public:
    [[nodiscard]] bool includes(const core::Scope& scope) const override {
        return scope.name == "a";
    }
};

TEST(HistoryQuery, ShowsOnlyWhatMayBeSeen) {
    const HistoryQuery query{.filter = std::make_shared<OnlyA>()};
    EXPECT_TRUE(matches(query, hold(core::Scope::named("a"), "w")));
    EXPECT_FALSE(matches(query, hold(core::Scope::named("b"), "w")));
}

TEST(HistoryQuery, FindsASetByEachMemberAndShowsItToThoseWhoMaySeeAllOfIt) {
    const std::vector<core::SetMember> members{{.scope = core::Scope::named("a")},
                                               {.scope = core::Scope::path("/b")}};
    Hold set = hold(core::Scope::named("a"), "w");
    set.members = core::set_to_text(members);
    EXPECT_EQ(set.scopes(), members);
    EXPECT_TRUE(matches(on(core::Scope::path("/b")), set));
    EXPECT_TRUE(matches({.prefix = "/"}, set));
    EXPECT_FALSE(matches(on(core::Scope::path("/c")), set));
    EXPECT_FALSE(matches({.filter = std::make_shared<OnlyA>()}, set));
}

}  // namespace
}  // namespace holdfast::service
