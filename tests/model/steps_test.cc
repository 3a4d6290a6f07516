// The random calls are worth something only if they get everywhere: every kind of answer, every
// reason for a refusal and every kind of event must come up, and often enough to meet one another.

#include "model/steps.h"

#include <gtest/gtest.h>

#include <map>

namespace holdfast::model {
namespace {

using core::EventKind;
using core::Refusal;

// How often each thing happened in a number of runs.
struct Tally {
    std::map<core::Outcome::Kind, int> outcomes;
    std::map<Refusal, int> refusals;
    std::map<EventKind, int> events;
    std::map<core::Cause, int> causes;
    int steps = 0, grants_after_wait = 0, reclaims = 0, grants_after_lapse = 0;
};

void count_events(const core::Changes& changes, Tally& tally) {
    for (std::size_t index = 0; index < changes.size(); ++index) {
        const core::Event event = changes[index];
        ++tally.events[event.kind];
        ++tally.causes[event.cause];
        if (event.kind != EventKind::granted) continue;
        if (event.waiter) ++tally.grants_after_wait;
        const bool is_reclaim = index > 0 && !event.waiter &&
                                changes[index - 1].kind == EventKind::grace_ended &&
                                changes[index - 1].lease.owner == event.lease.owner;
        if (is_reclaim) {
            ++tally.reclaims;
        } else if (!event.previous_owner.empty()) {
            ++tally.grants_after_lapse;
        }
    }
}

void run(const Universe& universe, std::uint64_t seed, Tally& tally) {
    constexpr int size = 100;
    core::LockTable table(universe.options);
    Names names;
    History history(universe);
    for (const Step& step : arbitrary_steps()(rc::Random(seed), size).value()) {
        const Situation situation{.universe = universe,
                                  .history = history,
                                  .names = names,
                                  .now = table.now(),
                                  .next_deadline = table.next_deadline()};
        const auto serial = static_cast<std::uint64_t>(++tally.steps);
        const Call call = make_call_of(step, situation, serial);
        const Reply reply = make_call(table, names, call);
        if (reply.outcome) {
            ++tally.outcomes[reply.outcome->kind];
            ++tally.refusals[reply.outcome->refusal];
        }
        count_events(table.changes(), tally);
        history.note(call, reply, table.changes());
        table.clear_changes();
    }
}

TEST(Steps, ReachEveryAnswerAndEvent) {
    Tally tally;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        for (const Universe& universe :
             {one_of_each(), one_inode(), idle_permits(), tight_limits()}) {
            run(universe, seed, tally);
        }
    }
    constexpr int often = 20;
    // The service's own come after these.
    for (int refusal = 0; refusal <= static_cast<int>(Refusal::lease_ended); ++refusal) {
        const auto why = static_cast<Refusal>(refusal);
        EXPECT_GT(tally.refusals[why], often) << core::to_text(why);
    }
    for (int event = 0; event <= static_cast<int>(EventKind::session_ended); ++event) {
        const auto kind = static_cast<EventKind>(event);
        EXPECT_GT(tally.events[kind], often) << core::to_text(kind);
    }
    EXPECT_EQ(tally.outcomes.size(), 5u);
    EXPECT_EQ(tally.causes.size(), 3u);
    EXPECT_GT(tally.grants_after_wait, tally.steps / 100);
    EXPECT_GT(tally.reclaims, often);
    EXPECT_GT(tally.grants_after_lapse, often);
}

}  // namespace
}  // namespace holdfast::model
