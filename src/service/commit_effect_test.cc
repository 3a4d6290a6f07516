#include "service/commit_effect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

namespace holdfast::service {
namespace {

using namespace std::chrono_literals;
using core::Event;
using core::EventKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Event change(EventKind kind, std::uint64_t fence, core::Duration ttl = 30s) {
    Event event{.kind = kind, .has_new_terms = kind == EventKind::renewed};
    event.lease.scope = core::Scope::named("job");
    event.lease.token.fence = core::Fence{fence};
    event.lease.ttl = ttl;
    return event;
}

Event with_grace(Event event) {
    event.grace = 5s;
    return event;
}

Event transient(Event event) {
    event.lease.is_transient = true;
    return event;
}

Commit commit_of(const std::vector<Event>& events) {
    Commit commit;
    for (const Event& event : events) commit.changes.add(event);
    return commit;
}

// Every put and end of a commit as text: `new 7 30s`, `known 7 30s`, `7 in grace`, `end 7`.
std::vector<std::string> texts_of(const CommitEffect& effect) {
    std::vector<std::string> texts;
    for (const CommitEffect::Put& put : effect.puts()) {
        const core::LeaseView& lease = put.change->lease;
        std::string text = put.is_new ? "new " : "known ";
        text += std::to_string(core::as_number(lease.token.fence));
        text += put.is_in_grace() ? " in grace" : " " + std::to_string(lease.ttl / 1s) + "s";
        texts.push_back(text);
    }
    for (const Event* const end : effect.ends()) {
        texts.push_back("end " + std::to_string(core::as_number(end->lease.token.fence)));
    }
    return texts;
}

std::vector<std::string> texts_of(const std::vector<Event>& events) {
    const Commit commit = commit_of(events);
    CommitEffect effect;
    effect.compute(commit);
    return texts_of(effect);
}

std::vector<std::uint64_t> ended_holds(const std::vector<Event>& events) {
    const Commit commit = commit_of(events);
    CommitEffect effect;
    effect.compute(commit);
    std::vector<std::uint64_t> fences;
    for (const Event* const end : effect.holds()) {
        fences.push_back(core::as_number(end->lease.token.fence));
    }
    return fences;
}

TEST(CommitEffect, HasTheHoldsThatEndedInTheOrderOfTheirEnds) {
    EXPECT_THAT(ended_holds({change(EventKind::released, 4), change(EventKind::expired, 3),
                             with_grace(change(EventKind::expired, 9)),
                             transient(change(EventKind::released, 5))}),
                ElementsAre(4, 3, 9));
}

TEST(CommitEffect, HasNoHoldOfALeaseThatNobodyWasToldOf) {
    EXPECT_THAT(ended_holds({change(EventKind::granted, 7), change(EventKind::released, 7)}),
                IsEmpty());
    EXPECT_THAT(
        ended_holds({change(EventKind::granted, 7), with_grace(change(EventKind::expired, 7)),
                     with_grace(change(EventKind::grace_ended, 7))}),
        IsEmpty());
}

// With as many as a commit may have. (It took a step for each pair of them.)
TEST(CommitEffect, LeavesOutVeryManyHoldsThatNobodyWasToldOf) {
    constexpr std::uint64_t many = 200'000;
    Commit commit;
    for (std::uint64_t fence = 1; fence <= many; ++fence) {
        commit.changes.add(change(EventKind::granted, fence));
    }
    for (std::uint64_t fence = 1; fence <= many; ++fence) {
        commit.changes.add(with_grace(change(EventKind::expired, fence)));
    }
    for (std::uint64_t fence = 1; fence <= many; ++fence) {
        if (fence % 1000 != 0) {
            commit.changes.add(with_grace(change(EventKind::grace_ended, fence)));
        }
    }
    CommitEffect effect;
    effect.compute(commit);
    ASSERT_EQ(effect.holds().size(), many / 1000);
    EXPECT_EQ(effect.puts().size(), many / 1000);
    EXPECT_TRUE(effect.ends().empty());
    for (std::size_t index = 0; index < effect.holds().size(); ++index) {
        EXPECT_EQ(effect.holds()[index]->lease.token.fence, core::Fence{1000 * (index + 1)});
    }
}

TEST(CommitEffect, HasAHoldOnceAlthoughAGraceFollows) {
    EXPECT_THAT(ended_holds({with_grace(change(EventKind::expired, 7)),
                             with_grace(change(EventKind::grace_ended, 7))}),
                ElementsAre(7));
    EXPECT_THAT(ended_holds({with_grace(change(EventKind::grace_ended, 7))}), IsEmpty());
}

TEST(CommitEffect, KnowsHowLongTheHolderWaited) {
    Event granted = change(EventKind::granted, 7);
    granted.waiter = {.serial = 1};
    granted.at = core::Time{9s};
    granted.waiting_since = core::Time{2s};
    const Commit commit = commit_of({granted, change(EventKind::renewed, 7)});
    CommitEffect effect;
    effect.compute(commit);
    ASSERT_EQ(effect.puts().size(), 1U);
    EXPECT_EQ(effect.puts()[0].waited, 7s);
}

TEST(CommitEffect, OfNothingIsEmpty) {
    const Commit nothing;
    CommitEffect effect;
    effect.compute(nothing);
    EXPECT_TRUE(effect.empty());
    EXPECT_EQ(effect.last_fence(), 0U);
    EXPECT_THAT(texts_of(effect), IsEmpty());
}

TEST(CommitEffect, PutsALeaseWithAnotherValue) {
    EXPECT_THAT(texts_of({change(EventKind::value_set, 7)}), ElementsAre("known 7 30s"));
    EXPECT_THAT(texts_of({change(EventKind::granted, 7), change(EventKind::value_set, 7, 31s)}),
                ElementsAre("new 7 31s"));
    EXPECT_THAT(texts_of({change(EventKind::value_set, 7), change(EventKind::released, 7)}),
                ElementsAre("end 7"));
    EXPECT_THAT(texts_of({transient(change(EventKind::value_set, 7))}), IsEmpty());
}

TEST(CommitEffect, PutsWhatIsGrantedAndEndsWhatTheStoreHas) {
    EXPECT_THAT(texts_of({change(EventKind::granted, 7), change(EventKind::released, 3),
                          change(EventKind::granted, 9), change(EventKind::expired, 4)}),
                ElementsAre("new 7 30s", "new 9 30s", "end 3", "end 4"));
}

TEST(CommitEffect, LeavesOutALeaseThatIsGrantedAndEnds) {
    const Commit commit =
        commit_of({change(EventKind::granted, 7), change(EventKind::granted, 8),
                   change(EventKind::renewed, 8), change(EventKind::released, 8)});
    CommitEffect effect;
    effect.compute(commit);
    EXPECT_THAT(texts_of(effect), ElementsAre("new 7 30s"));
    EXPECT_EQ(effect.last_fence(), 8U) << "its number must not be given out again";
}

TEST(CommitEffect, OfALeaseThatIsGrantedAndEndsHasANumberAlone) {
    const Commit commit =
        commit_of({change(EventKind::granted, 8), change(EventKind::released, 8)});
    CommitEffect effect;
    effect.compute(commit);
    EXPECT_THAT(texts_of(effect), IsEmpty());
    EXPECT_FALSE(effect.empty());
}

TEST(CommitEffect, HasTheLastOfSeveralRenewals) {
    EXPECT_THAT(texts_of({change(EventKind::renewed, 3, 10s), change(EventKind::granted, 7),
                          change(EventKind::renewed, 7, 40s), change(EventKind::renewed, 3, 20s),
                          change(EventKind::renewed, 7, 50s)}),
                ElementsAre("known 3 20s", "new 7 50s"));
}

TEST(CommitEffect, EndsAKnownLeaseThatIsRenewedAndReleased) {
    EXPECT_THAT(texts_of({change(EventKind::renewed, 3), change(EventKind::renewed, 2),
                          change(EventKind::released, 3)}),
                ElementsAre("known 2 30s", "end 3"));
}

TEST(CommitEffect, PutsALeaseInGraceAndEndsItAfterThat) {
    EXPECT_THAT(texts_of({with_grace(change(EventKind::expired, 3))}),
                ElementsAre("known 3 in grace"));
    EXPECT_THAT(texts_of({with_grace(change(EventKind::expired, 3)),
                          with_grace(change(EventKind::grace_ended, 3))}),
                ElementsAre("end 3"));
    EXPECT_THAT(texts_of({with_grace(change(EventKind::granted, 7)),
                          with_grace(change(EventKind::expired, 7))}),
                ElementsAre("new 7 in grace"));
}

TEST(CommitEffect, HasNothingOfTransientLeasesAndOfWaiters) {
    Event same_terms = change(EventKind::renewed, 3);
    same_terms.has_new_terms = false;
    EXPECT_THAT(texts_of({transient(change(EventKind::granted, 7)),
                          transient(change(EventKind::released, 7)), same_terms,
                          change(EventKind::queued, 0), change(EventKind::session_ended, 0)}),
                IsEmpty());
}

TEST(CommitEffect, PutsATransientLeaseThatARenewalMakesDurable) {
    const Commit commit =
        commit_of({transient(change(EventKind::granted, 7)), change(EventKind::granted, 8),
                   change(EventKind::renewed, 7), change(EventKind::released, 8),
                   transient(change(EventKind::granted, 9)), change(EventKind::renewed, 9)});
    CommitEffect effect;
    effect.compute(commit);
    EXPECT_THAT(texts_of(effect), ElementsAre("known 7 30s", "known 9 30s"));
    EXPECT_EQ(effect.last_fence(), 9U);
}

TEST(CommitEffect, HasTheFencesAndTheReservedNumber) {
    Commit commit;
    commit.fences = {{.resource = "disk", .highest = 4}};
    CommitEffect effect;
    effect.compute(commit);
    EXPECT_FALSE(effect.empty());
    EXPECT_EQ(effect.fences(), commit.fences);
    Commit reservation;
    reservation.reserved_fence = 100;
    effect.compute(reservation);
    EXPECT_FALSE(effect.empty());
    EXPECT_EQ(effect.reserved_fence(), 100U);
    EXPECT_EQ(effect.last_fence(), 0U);
    EXPECT_THAT(effect.fences(), IsEmpty());
}

// A table of leases that sees every change, and one that sees only the effects of commits.
class TwoTables {
  public:
    explicit TwoTables(std::uint64_t seed) : random_(seed) {}

    std::vector<Event> next_changes() {
        std::vector<Event> events;
        for (auto count = random_() % 30; count > 0; --count) events.push_back(next_change());
        return events;
    }
    void apply(const CommitEffect& effect) {
        for (const CommitEffect::Put& put : effect.puts()) {
            const std::uint64_t fence = core::as_number(put.change->lease.token.fence);
            EXPECT_EQ(put.is_new, !by_effects_.contains(fence));
            by_effects_[fence] = put.change->lease.ttl;
        }
        for (const Event* const end : effect.ends()) {
            EXPECT_EQ(by_effects_.erase(core::as_number(end->lease.token.fence)), 1U);
        }
    }
    void expect_equal() const { EXPECT_EQ(by_effects_, by_changes_); }

  private:
    Event next_change() {
        if (by_changes_.empty() || random_() % 2 == 0) {
            last_fence_ += 1 + random_() % 3;
            by_changes_[last_fence_] = 30s;
            return change(EventKind::granted, last_fence_);
        }
        auto lease = by_changes_.begin();
        std::advance(lease, random_() % by_changes_.size());
        const std::uint64_t fence = lease->first;
        if (random_() % 2 == 0) {
            lease->second += 1s;
            return change(EventKind::renewed, fence, lease->second);
        }
        by_changes_.erase(lease);
        return change(EventKind::released, fence);
    }

    std::mt19937_64 random_;
    std::map<std::uint64_t, core::Duration> by_changes_, by_effects_;
    std::uint64_t last_fence_ = 0;
};

TEST(CommitEffect, OfRandomCommitsAddsUpToAllTheirChanges) {
    CommitEffect effect;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        TwoTables tables(seed);
        for (int step = 0; step < 20; ++step) {
            const Commit commit = commit_of(tables.next_changes());
            effect.compute(commit);
            tables.apply(effect);
            tables.expect_equal();
        }
    }
}

}  // namespace
}  // namespace holdfast::service
