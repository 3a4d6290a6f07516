#include "core/values/changes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace holdfast::core {
namespace {

// NOLINTNEXTLINE(bugprone-easily-swappable-parameters): the tests below read well with it
Event event(EventKind kind, std::string_view name, std::string_view owner,
            std::string_view previous = {}) {
    Event made{
        .kind = kind, .at = Time{Duration{5}}, .previous_owner = previous, .queue_length = 3};
    made.lease.scope = Scope::named(name);
    made.lease.owner = {.door = Door{2}, .name = owner};
    made.lease.token = {Fence{9}, Secret{8}};
    made.waiter = {.serial = 4, .slot = 1};
    return made;
}

TEST(Changes, AreEmptyAtFirst) {
    const Changes changes;
    EXPECT_TRUE(changes.empty());
    EXPECT_EQ(changes.size(), 0U);
}

TEST(Changes, KeepEveryFieldInOrder) {
    Changes changes;
    changes.add(event(EventKind::expired, "job", "laptop1"));
    changes.add(event(EventKind::granted, "job", "laptop2", "laptop1"));
    ASSERT_EQ(changes.size(), 2U);
    EXPECT_EQ(changes[0].kind, EventKind::expired);
    EXPECT_EQ(changes[0].previous_owner, "");
    const Event granted = changes[1];
    EXPECT_EQ(granted.kind, EventKind::granted);
    EXPECT_EQ(granted.at, Time{Duration{5}});
    EXPECT_EQ(granted.lease.scope, Scope::named("job"));
    EXPECT_EQ(granted.lease.owner, (Owner{Door{2}, "laptop2"}));
    EXPECT_EQ(granted.lease.token, (Token{Fence{9}, Secret{8}}));
    EXPECT_EQ(granted.previous_owner, "laptop1");
    EXPECT_EQ(granted.waiter, (WaiterId{.serial = 4, .slot = 1}));
    EXPECT_EQ(granted.queue_length, 3U);
}

TEST(Changes, KeepTheirOwnCopyOfTheTexts) {
    Changes changes;
    {
        std::string name(1000, 'n'), owner(1000, 'o'), previous(1000, 'p');
        changes.add(event(EventKind::granted, name, owner, previous));
        name.assign(1000, '!'), owner.assign(1000, '!'), previous.assign(1000, '!');
    }
    EXPECT_EQ(changes[0].lease.scope.name, std::string(1000, 'n'));
    EXPECT_EQ(changes[0].lease.owner.name, std::string(1000, 'o'));
    EXPECT_EQ(changes[0].previous_owner, std::string(1000, 'p'));
}

TEST(Changes, MayBeAddedFromThemselves) {
    Changes changes;
    changes.add(event(EventKind::granted, std::string(100, 'n'), "owner"));
    for (int i = 0; i < 20; ++i) {
        Changes copy;
        copy.add(changes[changes.size() - 1]);
        changes.add(copy[0]);
    }
    EXPECT_EQ(changes[20].lease.scope.name, std::string(100, 'n'));
    EXPECT_EQ(changes[20].lease.owner.name, "owner");
}

TEST(Changes, KeepZeroBytesAndEmptyTexts) {
    Changes changes;
    const std::string zero("a\0b", 3);
    changes.add(event(EventKind::queued, zero, ""));
    changes.add(event(EventKind::queued, "", zero));
    EXPECT_EQ(changes[0].lease.scope.name, zero);
    EXPECT_EQ(changes[0].lease.owner.name, "");
    EXPECT_EQ(changes[1].lease.scope.name, "");
    EXPECT_EQ(changes[1].lease.owner.name, zero);
}

TEST(Changes, AreClearedAndUsedAgain) {
    Changes changes;
    for (int i = 0; i < 10'000; ++i) changes.add(event(EventKind::granted, "a long name", "owner"));
    changes.clear();
    EXPECT_TRUE(changes.empty());
    changes.add(event(EventKind::released, "job", "laptop1"));
    ASSERT_EQ(changes.size(), 1U);
    EXPECT_EQ(changes[0].lease.scope.name, "job");
}

TEST(Changes, AreSwappedWhole) {
    Changes a, b;
    a.add(event(EventKind::granted, "a", "x"));
    b.add(event(EventKind::released, "b", "y"));
    b.add(event(EventKind::released, "c", "z"));
    a.swap(b);
    ASSERT_EQ(a.size(), 2U);
    ASSERT_EQ(b.size(), 1U);
    EXPECT_EQ(a[1].lease.owner.name, "z");
    EXPECT_EQ(b[0].lease.scope.name, "a");
}

TEST(Event, HasADifferentTextForEveryKind) {
    std::set<std::string_view> texts;
    for (int kind = 0; kind <= static_cast<int>(EventKind::session_ended); ++kind) {
        texts.insert(to_text(static_cast<EventKind>(kind)));
    }
    EXPECT_EQ(texts.size(), static_cast<std::size_t>(EventKind::session_ended) + 1);
    EXPECT_FALSE(texts.contains(""));
}

TEST(Refusal, HasADifferentTextForEveryReason) {
    std::set<std::string_view> texts;
    for (int why = 0; why <= static_cast<int>(Refusal::lease_ended); ++why) {
        texts.insert(to_text(static_cast<Refusal>(why)));
    }
    EXPECT_EQ(texts.size(), static_cast<std::size_t>(Refusal::lease_ended) + 1);
    EXPECT_FALSE(texts.contains(""));
}

}  // namespace
}  // namespace holdfast::core
