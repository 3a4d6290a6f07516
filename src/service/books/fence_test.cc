#include "service/books/fence.h"

#include <gmock/gmock.h>

namespace holdfast::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = FenceOutcome::Kind;

constexpr CommitNumber first{1}, second{2};

core::Fence number(std::uint64_t value) {
    return core::Fence{value};
}

FenceOutcome accepted(std::uint64_t highest, CommitNumber commit = no_commit) {
    return {.kind = Kind::accepted, .highest = highest, .rests_on = commit};
}
FenceOutcome stale(std::uint64_t highest, CommitNumber commit = no_commit) {
    return {.kind = Kind::stale, .highest = highest, .rests_on = commit};
}

TEST(FenceBook, TakesNoLowerNumberThanItHasSeen) {
    FenceBook book({}, FenceBook::Keeping::in_memory);
    EXPECT_EQ(book.read("bucket"), FenceOutcome{});
    EXPECT_EQ(book.raise("bucket", number(7), first), accepted(7));
    EXPECT_EQ(book.raise("bucket", number(6), first), stale(7));
    EXPECT_EQ(book.raise("bucket", number(7), first), accepted(7));
    EXPECT_EQ(book.raise("bucket", number(9), first), accepted(9));
    EXPECT_EQ(book.raise("bucket", number(8), first), stale(9));
    EXPECT_EQ(book.raise("other", number(1), first), accepted(1));
    EXPECT_EQ(book.read("bucket"), accepted(9));
    EXPECT_EQ(book.size(), 2U);
}

TEST(FenceBook, ForgetsWhatIsDropped) {
    FenceBook book({}, FenceBook::Keeping::in_memory);
    EXPECT_EQ(book.drop("bucket", first).kind, Kind::unknown);
    book.raise("bucket", number(7), first);
    EXPECT_EQ(book.drop("bucket", first), accepted(7));
    EXPECT_EQ(book.size(), 0U);
    EXPECT_EQ(book.read("bucket").kind, Kind::unknown);
    EXPECT_EQ(book.raise("bucket", number(1), first), accepted(1));
}

TEST(FenceBook, HasLimits) {
    FenceBook book({.resources_max = 2, .resource_length_max = 3}, FenceBook::Keeping::in_memory);
    EXPECT_EQ(book.raise("four", number(1), first).kind, Kind::resource_length_max);
    EXPECT_EQ(book.raise("a", number(1), first), accepted(1));
    EXPECT_EQ(book.raise("b", number(1), first), accepted(1));
    EXPECT_EQ(book.raise("c", number(1), first).kind, Kind::resources_max);
    EXPECT_EQ(book.raise("b", number(2), first), accepted(2)) << "it is there already";
    book.drop("a", first);
    EXPECT_EQ(book.raise("c", number(1), first), accepted(1));
}

// The server was started with lower limits than before. What is there stays, and goes on.
TEST(FenceBook, KeepsWhatIsRestoredBeyondItsLimits) {
    FenceBook book({.resources_max = 2, .resource_length_max = 3}, FenceBook::Keeping::durable);
    for (const char* const resource : {"a", "b", "much longer"}) {
        book.restore({.resource = resource, .highest = 7});
    }
    EXPECT_EQ(book.size(), 3U);
    EXPECT_EQ(book.raise("a", number(8), first), accepted(8, first));
    EXPECT_EQ(book.raise("b", number(6), first), stale(7));
    EXPECT_EQ(book.read("much longer"), accepted(7));
    EXPECT_EQ(book.raise("c", number(1), first).kind, Kind::resources_max);
    EXPECT_EQ(book.drop("much longer", first).kind, Kind::accepted);
    EXPECT_EQ(book.raise("c", number(1), first).kind, Kind::resources_max) << "two are left";
    book.drop("b", first);
    EXPECT_EQ(book.raise("c", number(1), first).kind, Kind::accepted);
}

TEST(FenceBook, RefusesNewResourcesThatAreNotUtf8) {
    FenceBook book({}, FenceBook::Keeping::in_memory);
    book.restore({.resource = "\xffold", .highest = 3});
    EXPECT_EQ(book.raise("\xff", number(1), first).kind, Kind::resource_not_utf8);
    EXPECT_EQ(book.raise("\xffold", number(4), first), accepted(4));
    EXPECT_EQ(book.drop("\xffold", first), accepted(4));
}

TEST(FenceBook, AnAnswerRestsOnTheCommitOfItsMark) {
    FenceBook book({}, FenceBook::Keeping::durable);
    EXPECT_EQ(book.raise("a", number(7), first), accepted(7, first));
    EXPECT_EQ(book.raise("a", number(7), first), accepted(7, first)) << "as high already";
    EXPECT_EQ(book.raise("a", number(6), first), stale(7, first));
    EXPECT_TRUE(book.has_uncommitted());
    EXPECT_THAT(book.take_uncommitted(), ElementsAre(FenceMark{"a", 7}));
    EXPECT_FALSE(book.has_uncommitted());

    EXPECT_EQ(book.raise("a", number(7), second), accepted(7, first)) << "nothing has changed";
    EXPECT_EQ(book.read("a"), accepted(7, first));
    EXPECT_EQ(book.raise("a", number(6), second), stale(7, first));
    EXPECT_EQ(book.raise("b", number(3), second), accepted(3, second));
    EXPECT_EQ(book.raise("a", number(8), second), accepted(8, second));
    EXPECT_THAT(book.take_uncommitted(), ElementsAre(FenceMark{"a", 8}, FenceMark{"b", 3}));
}

// A crash could bring back a fence that was dropped, or take one away that fills the book.
TEST(FenceBook, WhatIsNotThereRestsOnTheLastChange) {
    FenceBook book({.resources_max = 1}, FenceBook::Keeping::durable);
    book.restore({.resource = "a", .highest = 7});
    EXPECT_EQ(book.read("b").rests_on, no_commit);
    EXPECT_EQ(book.raise("b", number(1), first).rests_on, no_commit) << "full of what is on disk";
    book.drop("a", first);
    EXPECT_EQ(book.read("a").rests_on, first);
    EXPECT_EQ(book.drop("a", second).rests_on, first);
    EXPECT_THAT(book.take_uncommitted(), ElementsAre(FenceMark{"a", 0}));
    book.raise("b", number(1), second);
    EXPECT_EQ(book.raise("c", number(1), second).kind, Kind::resources_max);
    EXPECT_EQ(book.raise("c", number(1), second).rests_on, second);
}

TEST(FenceBook, CommitsEachResourceOnceAsItIsInTheEnd) {
    FenceBook book({}, FenceBook::Keeping::durable);
    book.raise("a", number(1), first);
    book.raise("a", number(2), first);
    book.raise("b", number(1), first);
    EXPECT_EQ(book.drop("b", first), accepted(1, first));
    book.raise("c", number(5), first);
    book.drop("c", first);
    book.raise("c", number(4), first);
    EXPECT_THAT(book.take_uncommitted(),
                ElementsAre(FenceMark{"a", 2}, FenceMark{"b", 0}, FenceMark{"c", 4}));
    EXPECT_THAT(book.take_uncommitted(), IsEmpty());
}

TEST(FenceBook, FindsAgainWhatWasKept) {
    FenceBook book({.resources_max = 1}, FenceBook::Keeping::durable);
    book.restore({.resource = "a", .highest = 7});
    book.restore({.resource = "b", .highest = 8});
    EXPECT_FALSE(book.has_uncommitted());
    EXPECT_EQ(book.read("a"), accepted(7));
    EXPECT_EQ(book.raise("b", number(7), first), stale(8));
}

TEST(FenceBook, KeepsNothingForACommitInMemory) {
    FenceBook book({}, FenceBook::Keeping::in_memory);
    book.raise("a", number(7), first);
    book.drop("a", first);
    EXPECT_FALSE(book.has_uncommitted());
}

}  // namespace
}  // namespace holdfast::service
