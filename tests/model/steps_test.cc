// The random calls are worth something only if they get everywhere: every kind of answer, every
// reason for a refusal and every kind of event must come up, and often enough to meet one another.

#include "model/steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace holdfast::model {
namespace {

using core::EventKind;
using core::Refusal;

// Two-phase requests: what had become of the last thing a session enqueued when it came back to it,
// and what it was told then. `seen["enqueue after released: granted"]` is how often that happened.
class EntryTally {
  public:
    void note(const Call& call, const Reply& reply, const core::Changes& changes) {
        for (const core::Event& event : changes) note(event);
        const bool is_about_entry =
            call.operation == Operation::enqueue || call.operation == Operation::wait;
        if (is_about_entry) note_answer(call, *reply.outcome);
        const bool is_refused_renewal =
            call.operation == Operation::renew && reply.outcome->refusal == Refusal::lease_ended;
        if (!is_refused_renewal) return;
        for (Entry& entry : entries_) {
            if (entry.fence == call.token.fence && entry.fate == "expired") {
                entry.fate = "a refused renewal";
            }
        }
    }

    std::map<std::string, int> seen;

  private:
    struct Entry {
        std::size_t session = 0;
        core::Scope scope;
        std::string fate;
        core::WaiterId waiter;
        bool is_waited_for = false;
        core::Fence fence{};
    };

    void note(const core::Event& event) {
        std::erase_if(entries_, [](const Entry& entry) { return entry.fate.empty(); });
        for (Entry& entry : entries_) {
            if (event.kind == EventKind::granted && event.waiter && event.waiter == entry.waiter) {
                // Its session waited for it, and has it: that is the end of the entry.
                entry.fate = entry.is_waited_for ? "" : "granted later";
                entry.fence = event.lease.token.fence;
            }
            if (event.lease.token.fence != entry.fence || entry.fence == core::Fence{}) continue;
            if (event.kind == EventKind::released) entry.fate = "released";
            if (event.kind == EventKind::expired) entry.fate = "expired";
            if (event.kind == EventKind::renewed && event.has_new_terms) {
                entry.fate = "granted and renewed";
            }
        }
    }

    void note_answer(const Call& call, const core::Outcome& outcome) {
        std::erase_if(entries_, [](const Entry& entry) { return entry.fate.empty(); });
        const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
            return other.session == call.session && other.scope == call.request.scope;
        });
        const bool is_enqueue = call.operation == Operation::enqueue;
        if (entry != entries_.end()) {
            std::string answer(core::to_text(outcome.refusal));
            if (outcome.kind == core::Outcome::Kind::granted) answer = "granted";
            if (outcome.kind == core::Outcome::Kind::queued) answer = "queued";
            ++seen[(is_enqueue ? "enqueue after " : "wait after ") + entry->fate + ": " + answer];
            const bool is_unchanged = is_enqueue ? outcome.kind == core::Outcome::Kind::refused
                                                 : outcome.kind == core::Outcome::Kind::queued;
            if (!is_enqueue && is_unchanged) entry->is_waited_for = true;
            if (is_unchanged) return;
            entries_.erase(entry);
        }
        if (!is_enqueue || outcome.kind == core::Outcome::Kind::refused) return;
        const bool is_queued = outcome.kind == core::Outcome::Kind::queued;
        entries_.push_back({.session = call.session,
                            .scope = call.request.scope,
                            .fate = is_queued ? "queued" : "granted",
                            .waiter = outcome.waiter,
                            .fence = outcome.lease.token.fence});
    }

    std::vector<Entry> entries_;
};

// How often each thing happened in a number of runs.
struct Tally {
    std::map<core::Outcome::Kind, int> outcomes;
    std::map<Refusal, int> refusals;
    std::map<EventKind, int> events;
    std::map<core::Cause, int> causes;
    std::map<std::string, int> entries;
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
    EntryTally entries;
    for (const Step& step : arbitrary_steps()(rc::Random(seed), size).value()) {
        const Situation situation{.universe = universe,
                                  .history = history,
                                  .names = names,
                                  .now = table.now(),
                                  .next_deadline = table.next_deadline()};
        const auto serial = static_cast<std::uint64_t>(++tally.steps);
        const Call call = make_call_of(step, situation, serial);
        const Reply reply = make_call(table, names, call);
        const bool is_session_too_many =
            call.operation == Operation::open_session && reply.number == 0;
        if (is_session_too_many) ++tally.refusals[Refusal::sessions_max];
        if (reply.outcome) {
            ++tally.outcomes[reply.outcome->kind];
            ++tally.refusals[reply.outcome->refusal];
        }
        count_events(table.changes(), tally);
        entries.note(call, reply, table.changes());
        history.note(call, reply, table.changes());
        table.clear_changes();
    }
    for (const auto& [what, times] : entries.seen) tally.entries[what] += times;
}

TEST(Steps, ReachEveryAnswerAndEvent) {
    Tally tally;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        for (const Universe& universe : {one_of_each(), one_inode(), idle_permits(), tight_limits(),
                                         few_leases(), crosswise()}) {
            run(universe, seed, tally);
        }
    }
    constexpr int often = 20;
    // The service's own come after these.
    for (int refusal = 0; refusal <= static_cast<int>(Refusal::lease_ended); ++refusal) {
        const auto why = static_cast<Refusal>(refusal);
        if (why == Refusal::name_not_utf8) continue;  // all names of these worlds are
        EXPECT_GT(tally.refusals[why], often) << core::to_text(why);
    }
    for (int event = 0; event <= static_cast<int>(EventKind::deadlock); ++event) {
        const auto kind = static_cast<EventKind>(event);
        EXPECT_GT(tally.events[kind], often) << core::to_text(kind);
    }
    EXPECT_EQ(tally.outcomes.size(), 5u);
    EXPECT_EQ(tally.causes.size(), 4u);
    EXPECT_GT(tally.grants_after_wait, tally.steps / 100);
    EXPECT_GT(tally.reclaims, often);
    EXPECT_GT(tally.grants_after_lapse, often);
}

// A session comes back to what it enqueued, whatever has become of it.
TEST(Steps, ReachEveryFateOfATwoPhaseRequest) {
    Tally tally;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        for (const Universe& universe : {one_name(), one_of_each(), idle_permits()}) {
            run(universe, seed, tally);
        }
    }
    constexpr int often = 20;
    for (const char* what :
         {"enqueue after granted: already_enqueued",
          "enqueue after granted later: already_enqueued", "enqueue after queued: already_enqueued",
          "enqueue after released: granted", "enqueue after released: queued",
          "enqueue after expired: granted", "enqueue after expired: queued",
          "enqueue after a refused renewal: granted", "wait after granted: granted",
          "wait after granted later: granted", "wait after granted and renewed: granted",
          "wait after queued: queued", "wait after queued: timed_out",
          "wait after released: not_enqueued", "wait after expired: lease_ended",
          "wait after a refused renewal: lease_ended"}) {
        EXPECT_GT(tally.entries[what], often) << what;
    }
}

}  // namespace
}  // namespace holdfast::model
