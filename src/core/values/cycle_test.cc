#include "core/values/cycle.h"

#include <gtest/gtest.h>

namespace holdfast::core {
namespace {

std::vector<CycleMember> two_members() {
    return {{.owner = {.door = Door{2}, .name = "ann"},
             .waiter = "thread 1",
             .waits_for = Scope::named("b"),
             .held_by = {.door = Door{0}, .name = "bob"},
             .fence = Fence{7}},
            {.owner = {.door = Door{0}, .name = "bob"},
             .waits_for = Scope::of_range(1, {0, 10}),
             .held_by = {.door = Door{2}, .name = "ann"}}};
}

TEST(Cycle, HasATextForm) {
    const std::string text = cycle_to_text(two_members());
    EXPECT_EQ(parse_cycle(text), two_members());
}

TEST(Cycle, ReadsNoOtherText) {
    const std::string text = cycle_to_text(two_members());
    std::size_t whole = 0;
    for (std::size_t size = 0; size < text.size(); ++size) {
        whole += parse_cycle(std::string_view(text).substr(0, size)) ? 1 : 0;
    }
    EXPECT_EQ(whole, 1u);  // the first member alone
    EXPECT_FALSE(parse_cycle("1:x3:ann0:1:b1:03:bob1:7"));
    EXPECT_FALSE(parse_cycle("3:9993:ann0:1:b1:03:bob1:7"));
    EXPECT_FALSE(parse_cycle("1:03:ann0:1:b1:03:bob0:"));
}

TEST(Cycle, IsDescribedForPeople) {
    EXPECT_EQ(describe_cycle(two_members()),
              "ann waits for b of bob, bob waits for range:1:0-10 of ann");
}

}  // namespace
}  // namespace holdfast::core
