#include "service/books/fence_book.h"

#include <gmock/gmock.h>

namespace holdfast::service {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = FenceOutcome::Kind;
using Wait = FenceOutcome::Wait;

core::Fence number(std::uint64_t value) {
    return core::Fence{value};
}

FenceOutcome accepted(std::uint64_t highest, Wait wait = Wait::nothing) {
    return {.kind = Kind::accepted, .highest = highest, .wait = wait};
}
FenceOutcome stale(std::uint64_t highest, Wait wait = Wait::nothing) {
    return {.kind = Kind::stale, .highest = highest, .wait = wait};
}

TEST(FenceBook, TakesNoLowerNumberThanItHasSeen) {
    FenceBook book({}, FenceBook::Keeping::in_memory);
    EXPECT_EQ(book.read("bucket"), FenceOutcome{});
    EXPECT_EQ(book.raise("bucket", number(7)), accepted(7));
    EXPECT_EQ(book.raise("bucket", number(6)), stale(7));
    EXPECT_EQ(book.raise("bucket", number(7)), accepted(7));
    EXPECT_EQ(book.raise("bucket", number(9)), accepted(9));
    EXPECT_EQ(book.raise("bucket", number(8)), stale(9));
    EXPECT_EQ(book.raise("other", number(1)), accepted(1));
    EXPECT_EQ(book.read("bucket"), accepted(9));
    EXPECT_EQ(book.size(), 2U);
}

TEST(FenceBook, ForgetsWhatIsDropped) {
    FenceBook book({}, FenceBook::Keeping::in_memory);
    EXPECT_EQ(book.drop("bucket").kind, Kind::unknown);
    book.raise("bucket", number(7));
    EXPECT_EQ(book.drop("bucket"), accepted(7));
    EXPECT_EQ(book.size(), 0U);
    EXPECT_EQ(book.read("bucket").kind, Kind::unknown);
    EXPECT_EQ(book.raise("bucket", number(1)), accepted(1));
}

TEST(FenceBook, HasLimits) {
    FenceBook book({.resources_max = 2, .resource_length_max = 3}, FenceBook::Keeping::in_memory);
    EXPECT_EQ(book.raise("four", number(1)).kind, Kind::resource_length_max);
    EXPECT_EQ(book.raise("a", number(1)), accepted(1));
    EXPECT_EQ(book.raise("b", number(1)), accepted(1));
    EXPECT_EQ(book.raise("c", number(1)).kind, Kind::resources_max);
    EXPECT_EQ(book.raise("b", number(2)), accepted(2)) << "it is there already";
    book.drop("a");
    EXPECT_EQ(book.raise("c", number(1)), accepted(1));
}

TEST(FenceBook, AnAnswerWaitsForTheCommitItRestsOn) {
    FenceBook book({}, FenceBook::Keeping::durable);
    EXPECT_EQ(book.raise("a", number(7)), accepted(7, Wait::next_commit));
    EXPECT_EQ(book.raise("a", number(7)), accepted(7, Wait::next_commit)) << "as high already";
    EXPECT_EQ(book.raise("a", number(6)), stale(7, Wait::next_commit));
    EXPECT_TRUE(book.has_uncommitted());
    EXPECT_THAT(book.begin_commit(), ElementsAre(FenceMark{"a", 7}));
    EXPECT_FALSE(book.has_uncommitted());

    EXPECT_EQ(book.raise("a", number(7)), accepted(7, Wait::commit_under_way));
    EXPECT_EQ(book.read("a"), accepted(7, Wait::commit_under_way));
    EXPECT_EQ(book.raise("a", number(6)), stale(7, Wait::commit_under_way));
    EXPECT_EQ(book.raise("b", number(3)), accepted(3, Wait::next_commit));
    book.end_commit();

    EXPECT_EQ(book.raise("a", number(7)), accepted(7));
    EXPECT_EQ(book.raise("a", number(6)), stale(7));
    EXPECT_EQ(book.read("b"), accepted(3, Wait::next_commit));
    EXPECT_THAT(book.begin_commit(), ElementsAre(FenceMark{"b", 3}));
    EXPECT_EQ(book.read("a"), accepted(7));
    EXPECT_EQ(book.read("b"), accepted(3, Wait::commit_under_way));
    book.end_commit();
    EXPECT_EQ(book.read("b"), accepted(3));
}

// A crash could bring back a fence that was dropped, or take one away that fills the book.
TEST(FenceBook, WhatIsNotThereWaitsForTheCommitOfAllChangesBefore) {
    FenceBook book({.resources_max = 1}, FenceBook::Keeping::durable);
    book.restore({.resource = "a", .highest = 7});
    EXPECT_EQ(book.read("b").wait, Wait::nothing);
    EXPECT_EQ(book.raise("b", number(1)).wait, Wait::nothing) << "full of what is on disk";
    book.drop("a");
    EXPECT_EQ(book.read("a").wait, Wait::next_commit);
    EXPECT_EQ(book.drop("a").wait, Wait::next_commit);
    EXPECT_THAT(book.begin_commit(), ElementsAre(FenceMark{"a", 0}));
    EXPECT_EQ(book.read("a").wait, Wait::commit_under_way);
    EXPECT_EQ(book.drop("a").wait, Wait::commit_under_way);
    book.end_commit();
    EXPECT_EQ(book.drop("a"), FenceOutcome{});
    book.raise("b", number(1));
    EXPECT_EQ(book.raise("c", number(1)).kind, Kind::resources_max);
    EXPECT_EQ(book.raise("c", number(1)).wait, Wait::next_commit);
}

TEST(FenceBook, CommitsEachResourceOnceAsItIsInTheEnd) {
    FenceBook book({}, FenceBook::Keeping::durable);
    book.raise("a", number(1));
    book.raise("a", number(2));
    book.raise("b", number(1));
    EXPECT_EQ(book.drop("b"), accepted(1, Wait::next_commit));
    book.raise("c", number(5));
    book.drop("c");
    book.raise("c", number(4));
    EXPECT_THAT(book.begin_commit(),
                ElementsAre(FenceMark{"a", 2}, FenceMark{"b", 0}, FenceMark{"c", 4}));
    EXPECT_THAT(book.begin_commit(), IsEmpty());
}

TEST(FenceBook, FindsAgainWhatWasKept) {
    FenceBook book({.resources_max = 1}, FenceBook::Keeping::durable);
    book.restore({.resource = "a", .highest = 7});
    book.restore({.resource = "b", .highest = 8});
    EXPECT_FALSE(book.has_uncommitted());
    EXPECT_EQ(book.read("a"), accepted(7));
    EXPECT_EQ(book.raise("b", number(7)), stale(8));
}

TEST(FenceBook, KeepsNothingForACommitInMemory) {
    FenceBook book({}, FenceBook::Keeping::in_memory);
    book.raise("a", number(7));
    book.drop("a");
    EXPECT_FALSE(book.has_uncommitted());
}

}  // namespace
}  // namespace holdfast::service
