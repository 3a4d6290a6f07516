// Enqueue, do something else, wait: and everything that may happen in between.

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "dialogue.h"

namespace holdfast::conformance {
namespace {

std::vector<Dialogue> two_phases() {
    return {
        {"Free",
         {{0s, "a", "e|k|", "acquired $1 33"},
          {10s, "a", "w|k|5", "ok $1 33"},
          {42s, "b", "l|k|0", "timeout"},
          {43s, "b", "l|k|0", "ok $2 33"}}},
        {"Queued",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "e|k|60", "queued"},
          {0s, "b", "sends w|k|10", ""},
          {5s, "a", "r|k|$1", "ok"},
          {5s, "b", "", "ok $2 60"}}},
        {"WaitWithoutEnqueue", {{0s, "a", "w|k|5", "error_not_enqueued"}}},
        {"EnqueueTwice",
         {{0s, "a", "e|k|", "acquired $1 33"},
          {0s, "a", "e|k|", "error_already_enqueued"},
          {0s, "b", "e|k|", "queued"},
          {0s, "b", "e|k|", "error_already_enqueued"},
          {0s, "b", "e|other|", "acquired $2 33"}}},
        {"TheEntryIsGoneAfterASuccess",
         {{0s, "a", "e|k|", "acquired $1 33"},
          {0s, "a", "w|k|5", "ok $1 33"},
          {0s, "a", "w|k|5", "error_not_enqueued"},
          {0s, "a", "e|k|", "queued"}}},
        {"TheEntryIsGoneAfterATimeout",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "e|k|", "queued"},
          {0s, "b", "sends w|k|5", ""},
          {5s, "b", "", "timeout"},
          {5s, "b", "w|k|5", "error_not_enqueued"},
          {5s, "?", "", "1 locks 0 waiters"},
          {5s, "b", "e|k|", "queued"},
          {5s, "b", "w|k|0", "timeout"},
          {5s, "?", "", "1 locks 0 waiters"}}},
    };
}

// What may happen between enqueue and wait.
std::vector<Dialogue> in_between() {
    return {
        {"RenewedInBetweenAndBegunAnewForTheTimeOfTheEnqueue",
         {{0s, "a", "e|k|20", "acquired $1 20"},
          {1s, "a", "n|k|$1 60", "ok 60"},
          {30s, "a", "w|k|5", "ok $1 20"},
          {49s, "b", "l|k|0", "timeout"},
          {50s, "b", "l|k|0", "ok $2 33"}}},
        {"GrantedInBetweenAndBegunAnew",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "e|k|20", "queued"},
          {1s, "a", "r|k|$1", "ok"},
          {15s, "b", "w|k|5", "ok $2 20"},
          {34s, "c", "l|k|0", "timeout"},
          {35s, "c", "l|k|0", "ok $3 33"}}},
        {"GrantedInBetweenAndOver",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "e|k|20", "queued"},
          {0s, "c", "l|k|100", ""},
          {1s, "a", "r|k|$1", "ok"},
          {21s, "c", "", "ok $3 33"},
          {21s, "b", "w|k|5", "error_lease_expired"},
          {21s, "b", "w|k|5", "error_not_enqueued"}}},
        {"ReleasedInBetween",
         {{0s, "a", "e|k|", "acquired $1 33"},
          {0s, "b", "r|k|$1", "ok"},
          {0s, "a", "w|k|5", "error_not_enqueued"}}},
        {"GoneInBetweenWhileQueued",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "e|k|", "queued"},
          {0s, "c", "l|k|100", ""},
          {0s, "b", "close", ""},
          {0s, "?", "", "1 locks 1 waiters"},
          {0s, "a", "r|k|$1", "ok"},
          {0s, "c", "", "ok $2 33"}}},
        {"GoneInBetweenWhileGranted",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "e|k|", "queued"},
          {0s, "c", "l|k|100", ""},
          {0s, "a", "r|k|$1", "ok"},
          {0s, "b", "reset", ""},
          {0s, "c", "", "ok $3 33"},
          {0s, "?", "", "1 locks 0 waiters"}}},
        {"GoneWhileItWaits",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "e|k|", "queued"},
          {0s, "c", "l|k|100", ""},
          {0s, "b", "sends w|k|100", ""},
          {0s, "b", "half", ""},
          {0s, "b", "", "error"},
          {0s, "?", "", "1 locks 1 waiters"}}},
        {"EntriesOfOneConnectionAreNotAnothers",
         {{0s, "a", "e|k|", "acquired $1 33"}, {0s, "b", "w|k|5", "error_not_enqueued"}}},
    };
}

// An entry ends with its lease: then the connection may enqueue again.
std::vector<Dialogue> again() {
    return {
        {"AfterARelease",
         {{0s, "a", "e|k|", "acquired $1 33"},
          {0s, "a", "r|k|$1", "ok"},
          {0s, "a", "e|k|", "acquired $2 33"},
          {0s, "b", "l|k|0", "timeout"},
          {0s, "a", "w|k|5", "ok $2 33"}}},
        {"AfterAReleaseByAnother",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "e|k|", "queued"},
          {0s, "a", "r|k|$1", "ok"},
          {0s, "b", "w|k|5", "ok $2 33"},
          {0s, "a", "r|k|$2", "ok"},
          {0s, "b", "e|k|", "acquired $3 33"}}},
        {"AfterAnExpiry",
         {{0s, "a", "e|k|10", "acquired $1 10"},
          {10s, "a", "e|k|10", "acquired $2 10"},
          {10s, "a", "e|k|10", "error_already_enqueued"},
          {11s, "a", "w|k|5", "ok $2 10"},
          {11s, "a", "w|k|5", "error_not_enqueued"}}},
        {"AfterAnExpiryBehindAnother",
         {{0s, "a", "e|k|10", "acquired $1 10"},
          {0s, "b", "l|k|100", ""},
          {10s, "b", "", "ok $2 33"},
          {11s, "a", "e|k|10", "queued"},
          {11s, "a", "w|k|0", "timeout"}}},
        {"AfterARefusedRenewal",
         {{0s, "a", "e|k|10", "acquired $1 10"},
          {10s, "a", "n|k|$1", "error"},
          {10s, "a", "e|k|10", "acquired $2 10"}}},
        {"AfterThePermitOfASemaphore",
         {{0s, "a", "se|k|2 10", "acquired $1 10"},
          {0s, "a", "sr|k|$1", "ok"},
          {0s, "a", "sw|k|5", "error_not_enqueued"},
          {0s, "a", "se|k|2 10", "acquired $2 10"},
          {0s, "a", "se|k|2 10", "error_already_enqueued"},
          {10s, "a", "se|k|2 10", "acquired $3 10"},
          {20s, "a", "sw|k|5", "error_lease_expired"},
          {20s, "a", "sw|k|5", "error_not_enqueued"}}},
    };
}

class DflockdTwoPhase : public ::testing::TestWithParam<std::tuple<Dialogue, std::size_t>> {};

std::string name_of_two_phase(const ::testing::TestParamInfo<DflockdTwoPhase::ParamType>& info) {
    return std::get<0>(info.param).name + "With" + std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(TwoPhases, DflockdTwoPhase,
                         ::testing::Combine(::testing::ValuesIn(two_phases()),
                                            ::testing::Values(1, 3)),
                         name_of_two_phase);
INSTANTIATE_TEST_SUITE_P(InBetween, DflockdTwoPhase,
                         ::testing::Combine(::testing::ValuesIn(in_between()),
                                            ::testing::Values(1, 3)),
                         name_of_two_phase);

INSTANTIATE_TEST_SUITE_P(Again, DflockdTwoPhase,
                         ::testing::Combine(::testing::ValuesIn(again()), ::testing::Values(1, 3)),
                         name_of_two_phase);

TEST_P(DflockdTwoPhase, GoesAsWritten) {
    const auto& [dialogue, threads] = GetParam();
    DflockdHost host(options_of(Start::serve, threads));
    DialogueRunner(host).run(dialogue.steps);
}

}  // namespace
}  // namespace holdfast::conformance
