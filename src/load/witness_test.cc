#include "load/witness.h"

#include <gmock/gmock.h>

namespace holdfast::load {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A witness whose clock is moved by hand.
class WitnessTest : public ::testing::Test {
  protected:
    Witness::Hold grant(const Witness::Question& question, const std::string& owner,
                        std::uint64_t number) {
        return witness_.see_grant(question, {.owner = owner, .fencing_number = number, .ttl = 10s});
    }
    Witness::Hold take(const std::string& owner, std::uint64_t number) {
        return grant(witness_.ask(), owner, number);
    }

    Witness::TimePoint now_{1000s};
    Witness witness_{"x", [this] { return now_; }};
};

TEST_F(WitnessTest, HasNothingToSayOfHoldersWhoFollowOneAnother) {
    const auto first = take("a", 1);
    EXPECT_TRUE(witness_.write(first));
    witness_.see_release(first);
    const auto second = take("b", 2);
    now_ += 10s;  // its lease is over
    const auto third = take("c", 3);
    EXPECT_TRUE(witness_.write(third));
    EXPECT_FALSE(witness_.write(second));
    witness_.see_release(second);
    witness_.see_release(third);
    EXPECT_THAT(witness_.faults(), IsEmpty());
    EXPECT_EQ(witness_.downstream().accepted(), 2U);
    EXPECT_EQ(witness_.downstream().refused(), 1U);
    EXPECT_EQ(witness_.downstream().largest(), 3U);
}

TEST_F(WitnessTest, SeesTwoHoldersAtOnce) {
    take("a", 1);
    now_ += 10s - 1ns;
    take("b", 2);
    EXPECT_THAT(witness_.faults(),
                ElementsAre("x was granted to b (number 2) while a (number 1) still held it"));
    EXPECT_EQ(witness_.fault_count(), 1U);
}

TEST_F(WitnessTest, CountsALeaseFromTheRequest) {
    const auto early = witness_.ask();
    now_ += 4s;
    grant(early, "a", 1);
    now_ += 6s;  // ten seconds after it was asked for
    take("b", 2);
    EXPECT_THAT(witness_.faults(), IsEmpty());
}

TEST_F(WitnessTest, GuaranteesNothingToAnAnswerThatCameTooLate) {
    const auto early = witness_.ask();
    now_ += 10s;  // granted meanwhile, and over
    const auto held = take("b", 2);
    now_ += 1s;
    grant(early, "a", 1);  // hears only now of a lease that ended before b's began
    witness_.see_release(held);
    take("c", 3);
    EXPECT_THAT(witness_.faults(), IsEmpty());
}

TEST_F(WitnessTest, SeesNumbersThatDoNotGrow) {
    witness_.see_release(take("a", 5));
    witness_.see_release(take("b", 5));
    witness_.see_release(take("c", 4));
    EXPECT_THAT(witness_.faults(),
                ElementsAre("x was granted to b under number 5, after number 5 had been seen",
                            "x was granted to c under number 4, after number 5 had been seen"));
}

TEST_F(WitnessTest, NumbersOfRequestsAtTheSameTimeMayComeInAnyOrderButOnce) {
    const auto question = witness_.ask();
    witness_.see_release(grant(question, "a", 7));
    witness_.see_release(grant(question, "b", 6));
    EXPECT_THAT(witness_.faults(), IsEmpty());
    witness_.see_release(grant(question, "c", 7));
    EXPECT_THAT(witness_.faults(), ElementsAre("x was granted twice under number 7"));
}

TEST_F(WitnessTest, SeesAStaleWriteThatWasAccepted) {
    const auto old = take("a", 9);
    now_ += 10s;
    const auto current = take("b", 8);  // a server that counts backwards
    EXPECT_TRUE(witness_.write(current));
    EXPECT_TRUE(witness_.write(old));
    EXPECT_THAT(witness_.faults(), ElementsAre(HasSubstr("under number 8, after number 9"),
                                               HasSubstr("a write under number 9 was accepted")));
}

TEST_F(WitnessTest, NumbersGrantsItselfWhereTheProtocolDoesNot) {
    const auto old = take("a", 0);
    now_ += 10s;
    const auto current = take("b", 0);
    EXPECT_TRUE(witness_.write(current));
    EXPECT_FALSE(witness_.write(old));
    EXPECT_THAT(witness_.faults(), IsEmpty());
    EXPECT_EQ(witness_.downstream().largest(), 2U);
}

TEST_F(WitnessTest, KeepsTheFirstHundredFaultsAndCountsAll) {
    for (int times = 0; times < 150; ++times) witness_.see_release(take("a", 1));
    EXPECT_EQ(witness_.fault_count(), 149U);
    EXPECT_EQ(witness_.faults().size(), 100U);
}

TEST(Downstream, TakesTheLargestNumberAgainAndNoneBelow) {
    Downstream downstream;
    EXPECT_TRUE(downstream.write(3));
    EXPECT_TRUE(downstream.write(3));
    EXPECT_FALSE(downstream.write(2));
    EXPECT_TRUE(downstream.write(4));
    EXPECT_EQ(downstream.accepted(), 3U);
    EXPECT_EQ(downstream.refused(), 1U);
}

}  // namespace
}  // namespace holdfast::load
