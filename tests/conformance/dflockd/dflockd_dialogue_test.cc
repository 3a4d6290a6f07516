// What is said to a dflockd server and what it answers: the fact sheet, line by line. Each dialogue
// is held with one I/O thread and with three, and in both ways to start the server.

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "dialogue.h"

namespace holdfast::conformance {
namespace {

const std::string no_token = "00000000000000010000000000000002";

std::vector<Dialogue> locks() {
    return {
        {"LockFree", {{0s, "a", "l|k|10", "ok $1 33"}}},
        {"LockWithALease", {{0s, "a", "l|k|10 60", "ok $1 60"}}},
        {"TryLock", {{0s, "a", "l|k|0", "ok $1 33"}, {0s, "b", "l|k|0", "timeout"}}},
        {"LockTimesOut",
         {{0s, "a", "l|k|0", "ok $1 33"}, {0s, "b", "l|k|10", ""}, {10s, "b", "", "timeout"}}},
        {"LockIsHandedOn",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "l|k|10 7", ""},
          {4s, "a", "r|k|$1", "ok"},
          {4s, "b", "", "ok $2 7"},
          {10s, "b", "n|k|$2", "ok 33"}}},
        {"StrictlyFirstInFirstOut",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "l|k|100", ""},
          {0s, "c", "l|k|100", ""},
          {0s, "d", "l|k|100", ""},
          {0s, "e", "l|k|0", "timeout"},
          {1s, "a", "r|k|$1", "ok"},
          {1s, "b", "", "ok $2 33"},
          {1s, "a", "l|k|100", ""},
          {1s, "b", "r|k|$2", "ok"},
          {1s, "c", "", "ok $3 33"},
          {1s, "c", "r|k|$3", "ok"},
          {1s, "d", "", "ok $4 33"},
          {1s, "d", "r|k|$4", "ok"},
          {1s, "a", "", "ok $5 33"}}},
        {"NotReentrant",
         {{0s, "a", "l|k|0 5", "ok $1 5"}, {0s, "a", "l|k|10", ""}, {5s, "a", "", "ok $2 33"}}},
        {"LeasesEndOnTime",
         {{0s, "a", "l|k|0 1", "ok $1 1"},
          {0s, "b", "l|k|10", ""},
          {999999us, "c", "l|k|0", "timeout"},
          {1s, "b", "", "ok $2 33"},
          {1s, "a", "r|k|$1", "error"}}},
        {"AnEndlessWait",
         {{0s, "a", "l|k|0 3600", "ok $1 3600"},
          {0s, "b", "l|k|18446744073709551615", ""},
          {1h, "b", "", "ok $2 33"}}},
        {"ALeaseBeyondAllReason", {{0s, "a", "l|k|0 18446744073709551615", "error"}}},
        {"MaxLocks",
         {{0s, "a", "l|k1|0", "ok $1 33"},
          {0s, "a", "l|k2|0", "ok $2 33"},
          {0s, "a", "l|k3|0", "error_max_locks"},
          {0s, "a", "e|k3|", "error_max_locks"},
          {0s, "a", "sl|k3|0 1", "error_max_locks"},
          {0s, "a", "r|k1|$1", "ok"},
          {0s, "a", "l|k3|0", "ok $3 33"}},
         [](app::ServeOptions& options) { options.dflockd_limits.locks_max = 2; }},
        {"MaxLocksOfTheServer",
         {{0s, "a", "l|k1|0", "ok $1 33"}, {0s, "a", "l|k2|0", "error_max_locks"}},
         [](app::ServeOptions& options) { options.limits.locks_max = 1; }},
        {"MaxWaiters",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "l|k|10", ""},
          {0s, "c", "l|k|10", "error_max_waiters"},
          {0s, "c", "e|k|", "error_max_waiters"},
          {0s, "c", "l|k|0", "error_max_waiters"},
          {0s, "c", "l|other|10", "ok $2 33"},
          {0s, "d", "l|other|0", "timeout"},
          {10s, "b", "", "timeout"},
          {10s, "c", "l|k|0", "timeout"}},
         [](app::ServeOptions& options) { options.dflockd_limits.waiters_max = 1; }},
        {"MaxWaitersOfTheServer",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "l|k|10", ""},
          {0s, "c", "l|k|10", "error_max_waiters"},
          {0s, "c", "l|k|0", "error_max_waiters"}},
         [](app::ServeOptions& options) { options.limits.waiters_per_lock_max = 1; }},
        {"MaxWaitersOfASemaphore",
         {{0s, "a", "sl|s|0 1", "ok $1 33"},
          {0s, "b", "se|s|1", "queued"},
          {0s, "c", "sl|s|0 1", "error_max_waiters"},
          {0s, "c", "se|s|1", "error_max_waiters"}},
         [](app::ServeOptions& options) { options.dflockd_limits.waiters_max = 1; }},
    };
}

std::vector<Dialogue> tokens() {
    return {
        {"Release",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "a", "r|k|" + no_token, "error"},
          {0s, "a", "r|other|$1", "error"},
          {0s, "a", "sr|k|$1", "error"},
          {0s, "a", "r|k|$1", "ok"},
          {0s, "a", "r|k|$1", "error"}}},
        {"AnyConnectionMayUseAToken",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "n|k|$1 50", "ok 50"},
          {0s, "b", "r|k|$1", "ok"},
          {0s, "a", "r|k|$1", "error"}}},
        {"RenewWithoutALeaseTakesTheServersOwn",
         {{0s, "a", "l|k|0 100", "ok $1 100"},
          {0s, "a", "n|k|$1", "ok 33"},
          {32s, "b", "l|k|0", "timeout"},
          {33s, "b", "l|k|0", "ok $2 33"}}},
        {"RenewWithALease",
         {{0s, "a", "l|k|0 5", "ok $1 5"},
          {4s, "a", "n|k|$1 60", "ok 60"},
          {63s, "b", "l|k|0", "timeout"},
          {64s, "b", "l|k|0", "ok $2 33"}}},
        {"RenewOfSomethingElse",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "a", "n|k|" + no_token, "error"},
          {0s, "a", "n|other|$1", "error"},
          {0s, "a", "sn|k|$1", "error"},
          {0s, "a", "n|k|$1", "ok 33"}}},
        {"RenewOfAnExpiredLeaseGrantsTheNext",
         {{0s, "a", "l|k|0 5", "ok $1 5"},
          {0s, "b", "l|k|100", ""},
          {5s, "a", "n|k|$1", "error"},
          {5s, "b", "", "ok $2 33"}}},
        {"AnotherDefaultLease",
         {{0s, "a", "l|k|0", "ok $1 12"}, {0s, "a", "n|k|$1", "ok 12"}},
         [](app::ServeOptions& options) { options.dflockd.default_lease = 12s; }},
    };
}

std::vector<Dialogue> semaphores() {
    return {
        {"Permits",
         {{0s, "a", "sl|s|0 2", "ok $1 33"},
          {0s, "b", "sl|s|0 2 60", "ok $2 60"},
          {0s, "c", "sl|s|0 2", "timeout"},
          {0s, "c", "sl|s|10 2", ""},
          {1s, "a", "sr|s|$1", "ok"},
          {1s, "c", "", "ok $3 33"},
          {1s, "b", "sn|s|$2", "ok 33"},
          {1s, "b", "sn|s|$2 9", "ok 9"},
          {1s, "b", "sr|s|$2", "ok"},
          {1s, "b", "sr|s|$2", "error"}}},
        {"LimitMismatch",
         {{0s, "a", "sl|s|0 2", "ok $1 33"},
          {0s, "b", "sl|s|0 3", "error_limit_mismatch"},
          {0s, "b", "se|s|1", "error_limit_mismatch"}}},
        {"ASemaphoreIsNotTheLockOfItsName",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "a", "sl|k|0 1", "ok $2 33"},
          {0s, "b", "sl|k|0 1", "timeout"},
          {0s, "b", "r|k|$2", "error"},
          {0s, "b", "sr|k|$2", "ok"},
          {0s, "b", "l|k|0", "timeout"}}},
        {"TwoPhases",
         {{0s, "a", "se|s|1", "acquired $1 33"},
          {0s, "a", "se|s|1", "error_already_enqueued"},
          {0s, "b", "se|s|1 60", "queued"},
          {0s, "b", "w|s|5", "error_not_enqueued"},
          {0s, "b", "sends sw|s|5", ""},
          {1s, "a", "sw|s|5", "ok $1 33"},
          {1s, "a", "sr|s|$1", "ok"},
          {1s, "b", "", "ok $2 60"}}},
        {"TooManyPermits", {{0s, "a", "sl|s|0 1000001", "error"}}},
    };
}

std::vector<Dialogue> disconnects() {
    return {
        {"ItsLocksAreReleasedAndHandedOn",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "a", "l|other|0", "ok $2 33"},
          {0s, "a", "sl|s|0 1", "ok $3 33"},
          {0s, "b", "l|k|10", ""},
          {0s, "a", "close", ""},
          {0s, "b", "", "ok $4 33"},
          {0s, "?", "", "1 locks 0 waiters"},
          {0s, "b", "n|k|$1", "error"}}},
        {"ABlockedOneIsMissedAtOnce",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "l|k|100", ""},
          {0s, "c", "l|k|100", ""},
          {0s, "d", "l|k|100", ""},
          {0s, "b", "close", ""},
          {0s, "c", "reset", ""},
          {0s, "?", "", "1 locks 1 waiters"},
          {0s, "a", "r|k|$1", "ok"},
          {0s, "d", "", "ok $2 33"}}},
        {"HalfClosedWhileBlockedIsGone",
         {{0s, "a", "l|k|0", "ok $1 33"},
          {0s, "b", "l|k|100", ""},
          {0s, "b", "half", ""},
          {0s, "b", "", "error"},
          {0s, "?", "", "1 locks 0 waiters"}}},
        {"WithoutAutoReleaseLeasesLiveOn",
         {{0s, "a", "l|k|0 20", "ok $1 20"},
          {0s, "b", "l|k|100", ""},
          {0s, "b", "close", ""},
          {0s, "?", "", "1 locks 0 waiters"},
          {0s, "a", "close", ""},
          {0s, "c", "l|k|0", "timeout"},
          {0s, "c", "n|k|$1 20", "ok 20"},
          {0s, "c", "l|k|100", ""},
          {20s, "c", "", "ok $2 33"}},
         [](app::ServeOptions& options) { options.dflockd.releases_on_disconnect = false; }},
    };
}

std::vector<Dialogue> malformed() {
    Dialogue dialogue{"Malformed", {}};
    for (const char* request :
         {"||",        "x|k|1", "L|k|1",     "lock|k|1", "l||1",         "l|a b|1", "l|a\tb|1",
          "l|a\rb|1",  "l|k|",  "l|k|1.5",   "l|k|-1",   "l|k|ten",      "l|k|1 0", "l|k|1 1.5",
          "l|k|1 2 3", "r|k|",  "r|k|short", "n|k|",     "n|k|x 1",      "e|k|0",   "e|k|1 2",
          "w|k|",      "w|k|x", "sl|k|1",    "sl|k|1 0", "sl|k|1 2 3 4", "se|k|",   "se|k|0",
          "sw|k|",     "sr|k|", "sn|k|"}) {
        dialogue.steps.push_back({0s, "a", request, "error"});
    }
    dialogue.steps.push_back({0s, "a", "ping|_|", "ok"});
    dialogue.steps.push_back({0s, "?", "", "0 locks 0 waiters"});
    return {dialogue,
            {"Ping", {{0s, "a", "ping|_|", "ok"}, {0s, "a", "ping|what|ever", "ok"}}},
            {"AuthWhereNobodyIsAsked",
             {{0s, "a", "auth|_|secret", "ok"},
              {0s, "a", "auth|_|secret", "error"},
              {0s, "a", "ping|_|", "ok"}}},
            {"NumbersMayHaveAPlus",
             {{0s, "a", "l|k|+5 +7", "ok $1 7"}, {0s, "a", "n|k|$1 +9", "ok 9"}}},
            {"CarriageReturnsAtTheEndAreDropped",
             {{0s, "a", "l\r\r|k\r\r\r|0\r\r", "ok $1 33"}, {0s, "b", "l|k|0", "timeout"}}},
            {"LongestKey", {{0s, "a", "l|" + std::string(256, 'k') + "|0", "ok $1 33"}}}};
}

class DflockdDialogue : public ::testing::TestWithParam<std::tuple<Dialogue, std::size_t, Start>> {
};

std::string name_of(const ::testing::TestParamInfo<DflockdDialogue::ParamType>& info) {
    const bool is_alone = std::get<2>(info.param) == Start::dflockd;
    return std::get<0>(info.param).name + "With" + std::to_string(std::get<1>(info.param)) +
           (is_alone ? "Alone" : "");
}

auto all_ways(const std::vector<Dialogue>& dialogues) {
    return ::testing::Combine(::testing::ValuesIn(dialogues), ::testing::Values(1, 3),
                              ::testing::Values(Start::serve, Start::dflockd));
}

INSTANTIATE_TEST_SUITE_P(Locks, DflockdDialogue, all_ways(locks()), name_of);
INSTANTIATE_TEST_SUITE_P(Tokens, DflockdDialogue, all_ways(tokens()), name_of);
INSTANTIATE_TEST_SUITE_P(Semaphores, DflockdDialogue, all_ways(semaphores()), name_of);
INSTANTIATE_TEST_SUITE_P(Disconnects, DflockdDialogue, all_ways(disconnects()), name_of);
INSTANTIATE_TEST_SUITE_P(Malformed, DflockdDialogue, all_ways(malformed()), name_of);

TEST_P(DflockdDialogue, GoesAsWritten) {
    const auto& [dialogue, threads, start] = GetParam();
    app::ServeOptions options = options_of(start, threads);
    if (dialogue.adjust) dialogue.adjust(options);
    DflockdHost host(options);
    DialogueRunner(host).run(dialogue.steps);
}

}  // namespace
}  // namespace holdfast::conformance
