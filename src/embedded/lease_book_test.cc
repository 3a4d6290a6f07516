#include "embedded/lease_book.h"

#include <gtest/gtest.h>

namespace holdfast::embedded {
namespace {

core::LeaseView lease(std::uint64_t number, std::string_view owner = "a") {
    return {.owner = {.name = owner}, .token = {core::Fence{number}, core::Secret{number * 1000}}};
}

core::Event granted(std::uint64_t number, std::string_view owner = "a") {
    return {.kind = core::EventKind::granted, .lease = lease(number, owner)};
}

core::Event expired(std::uint64_t number) {
    return {.kind = core::EventKind::expired, .lease = lease(number)};
}

TEST(LeaseBook, CountsTheLeasesOfEachHolder) {
    LeaseBook book;
    book.on_event(granted(1, "a"));
    book.on_event(granted(2, "a"));
    book.on_event(granted(3, "b"));
    book.on_event({.kind = core::EventKind::renewed, .lease = lease(1, "a")});
    book.on_event({.kind = core::EventKind::released, .lease = lease(2, "a")});
    EXPECT_EQ(book.count_of({.name = "a"}), 1U);
    EXPECT_EQ(book.count_of({.name = "b"}), 1U);
    EXPECT_EQ(book.count_of({.door = core::Door{9}, .name = "a"}), 0U);
}

TEST(LeaseBook, SurvivesTheEndOfALeaseThatWasThereBeforeIt) {
    LeaseBook book;
    book.on_event(expired(1));
    EXPECT_EQ(book.count_of({.name = "a"}), 0U);
    book.on_event(granted(2));
    EXPECT_EQ(book.count_of({.name = "a"}), 1U);
}

TEST(LeaseBook, BeginsAnewWithWhatIsHeld) {
    LeaseBook book;
    book.on_event(granted(1));
    book.on_event(granted(2));
    core::LockView lock;
    lock.holders = {lease(2), lease(3, "b")};
    book.recount({lock});
    EXPECT_EQ(book.count_of({.name = "a"}), 1U);
    EXPECT_EQ(book.count_of({.name = "b"}), 1U);
    book.on_event(granted(3, "b"));  // told only now
    EXPECT_EQ(book.count_of({.name = "b"}), 1U);
    book.on_event({.kind = core::EventKind::released, .lease = lease(1)});  // likewise
    EXPECT_EQ(book.count_of({.name = "a"}), 1U);
}

}  // namespace
}  // namespace holdfast::embedded
