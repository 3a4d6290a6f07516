#include "cluster/leading/leadership.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace holdfast::cluster {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using State = Leadership::State;
using Kind = Leadership::Order::Kind;
using Failure = etcd::Failure;

std::string to_note(const Leadership::Order& order) {
    switch (order.kind) {
        case Kind::read: return "read";
        case Kind::grant: return "grant";
        case Kind::enrol: return "enrol";
        case Kind::campaign: return "campaign";
        case Kind::look: return "look";
        case Kind::keep_alive: return "keep alive";
        case Kind::confirm: return "confirm " + std::to_string(order.revision);
        case Kind::revoke: return "revoke " + std::to_string(order.lease);
        case Kind::watch: return "watch from " + std::to_string(order.revision);
        case Kind::stop_watching: return "stop watching";
        case Kind::load: return "load at " + std::to_string(order.revision);
        case Kind::step_down: return "step down: " + order.why;
        case Kind::finish: return "finish";
        case Kind::stopped: return "stopped";
        case Kind::refuse: return "refuse: " + order.why;
    }
    return "";
}

// A node whose etcd is the test.
struct LeadershipTest : ::testing::Test {
    // The orders since the last call; remembers their tickets.
    std::vector<std::string> orders() {
        std::vector<std::string> notes;
        for (const auto& order : machine.take_orders()) {
            tickets[static_cast<int>(order.kind)] = order.ticket;
            notes.push_back(to_note(order));
        }
        return notes;
    }
    [[nodiscard]] Leadership::Ticket ticket(Kind kind) { return tickets[static_cast<int>(kind)]; }
    void pass(core::Duration step) {
        now += step;
        machine.advance(now);
    }
    static tl::unexpected<Failure> failed(Failure::Kind kind = Failure::Kind::unknown) {
        return tl::unexpected(Failure{.kind = kind, .message = "no answer"});
    }

    void read(std::optional<etcd::KeyValue> leader = {}) {
        machine.on_read(now, ticket(Kind::read), std::move(leader));
    }
    void grant(etcd::LeaseId id = 7) {
        machine.on_granted(now, ticket(Kind::grant), etcd::LeaseAnswer{.id = id, .ttl_seconds = 3});
    }
    void enrol() { machine.on_enrolled(now, ticket(Kind::enrol), {}); }
    void keep_alive(std::int64_t ttl = 3) {
        machine.on_kept_alive(now, ticket(Kind::keep_alive),
                              etcd::LeaseAnswer{.id = 7, .ttl_seconds = ttl});
    }
    void confirm(bool is_leader = true, etcd::Revision at = 70) {
        machine.on_confirmed(now, ticket(Kind::confirm),
                             Leadership::Confirmation{
                                 .is_leader = is_leader, .why = "another leads", .revision = at});
    }
    // A renewal, and what follows it.
    void renew() {
        EXPECT_THAT(orders(), ElementsAre("keep alive"));
        keep_alive();
        EXPECT_THAT(orders(), ElementsAre("confirm 50"));
        confirm();
    }
    void win(etcd::Revision at = 50) {
        machine.on_campaigned(now, ticket(Kind::campaign),
                              etcd::TransactionAnswer{.revision = at, .is_true = true});
    }
    static etcd::KeyValue leader(etcd::LeaseId lease, etcd::Revision at = 40) {
        return {.key = "leader", .value = "b", .create_revision = at, .lease = lease};
    }
    void lose_to(etcd::LeaseId lease) {
        machine.on_campaigned(
            now, ticket(Kind::campaign),
            etcd::TransactionAnswer{.revision = 45, .ranges = {{.found = {leader(lease)}}}});
    }
    void see(std::vector<etcd::KeyValue> found) {
        machine.on_looked(now, ticket(Kind::look),
                          etcd::RangeAnswer{.revision = 46, .found = std::move(found)});
    }

    void start() {
        machine.start(now);
        EXPECT_THAT(orders(), ElementsAre("read"));
        read();
    }
    void campaign() {
        machine.want(now);
        start();
        orders();
        grant();
        orders();
        enrol();
        EXPECT_THAT(orders(), ElementsAre("campaign"));
    }
    void follow() {
        campaign();
        lose_to(8);
        EXPECT_THAT(orders(), ElementsAre("watch from 46"));
    }
    void lead() {
        campaign();
        win();
        EXPECT_THAT(orders(), ElementsAre("watch from 51", "load at 50"));
        machine.loaded();
        machine.confirmed(now);
    }

    core::Time now{1h};
    Leadership machine{{.ttl = 3s}};
    std::map<int, Leadership::Ticket> tickets;
};

constexpr auto no_authority = core::Time::min();
// What is used of three seconds.
constexpr core::Duration usable = 3s - core::Duration{3s} / 64;

TEST_F(LeadershipTest, GoesFromJoiningToLeading) {
    machine.want(now);
    start();
    EXPECT_EQ(machine.state(), State::joining);
    EXPECT_THAT(orders(), ElementsAre("grant"));
    grant();
    EXPECT_EQ(machine.state(), State::enrolling);
    EXPECT_THAT(orders(), ElementsAre("enrol"));
    enrol();
    EXPECT_EQ(machine.state(), State::campaigning);
    EXPECT_THAT(orders(), ElementsAre("campaign"));
    win();
    EXPECT_EQ(machine.state(), State::loading);
    EXPECT_THAT(orders(), ElementsAre("watch from 51", "load at 50"));
    EXPECT_EQ(machine.elected_at(), 50);
    EXPECT_EQ(machine.authority(), no_authority);
    machine.loaded();
    EXPECT_EQ(machine.state(), State::confirming);
    EXPECT_EQ(machine.authority(), no_authority) << "the first commit is not done";
    machine.confirmed(now);
    EXPECT_EQ(machine.state(), State::leading);
    EXPECT_EQ(machine.authority(), now + usable);
}

TEST_F(LeadershipTest, CountsTheTimeOfALeaseFromTheMomentOfSending) {
    machine.want(now);
    start();
    const core::Time sent = now;
    orders();
    pass(400ms);
    grant();
    orders();
    enrol();
    orders();
    win();
    machine.loaded();
    machine.confirmed(now);
    EXPECT_EQ(machine.authority(), sent + usable);
    orders();
    pass(100ms);  // half a second after the sending
    EXPECT_THAT(orders(), ElementsAre("keep alive"));
    const core::Time renewed = now;
    pass(600ms);
    EXPECT_THAT(orders(), IsEmpty()) << "one renewal at a time";
    keep_alive();
    EXPECT_EQ(machine.authority(), sent + usable) << "the lease is renewed, the key was not seen";
    EXPECT_THAT(orders(), ElementsAre("keep alive", "confirm 50")) << "the next is due already";
    pass(100ms);
    confirm();
    EXPECT_EQ(machine.authority(), renewed + usable);
}

// What a confirmation has seen says nothing of the time before the renewals that it was sent after.
TEST_F(LeadershipTest, AConfirmationCountsForRenewalsThatWereAnsweredBeforeIt) {
    lead();
    pass(500ms);
    orders();
    const core::Time first = now;
    keep_alive();
    EXPECT_THAT(orders(), ElementsAre("confirm 50"));
    pass(500ms);
    EXPECT_THAT(orders(), ElementsAre("keep alive"));
    const core::Time second = now;
    keep_alive();
    EXPECT_THAT(orders(), IsEmpty()) << "one confirmation at a time";
    confirm();
    EXPECT_EQ(machine.authority(), first + usable);
    EXPECT_THAT(orders(), ElementsAre("confirm 50")) << "for the second renewal";
    confirm();
    EXPECT_EQ(machine.authority(), second + usable);
}

TEST_F(LeadershipTest, StepsDownWhenItsKeyIsAnother) {
    lead();
    pass(500ms);
    orders();
    keep_alive();
    orders();
    confirm(false);
    EXPECT_EQ(machine.authority(), no_authority);
    EXPECT_THAT(orders(),
                ElementsAre("step down: another leads", "revoke 7", "stop watching", "grant"));
}

// The lease lives on, and nobody knows whether the key does.
TEST_F(LeadershipTest, StepsDownWhenItsKeyWasNotSeenInTime) {
    lead();
    const core::Time end = machine.authority();
    while (now < end) {
        EXPECT_EQ(machine.state(), State::leading);
        for (const std::string& order : orders()) {
            if (order == "keep alive") keep_alive();
            if (order == "confirm 50") {
                machine.on_confirmed(now, ticket(Kind::confirm), failed());
            }
        }
        pass(std::min<core::Duration>(50ms, end - now));
    }
    EXPECT_EQ(machine.state(), State::joining);
}

TEST_F(LeadershipTest, WatchesTheKeyByWhichItLeads) {
    lead();
    orders();
    etcd::KeyValue own = leader(7, 50);
    machine.on_watched(now, ticket(Kind::watch), {{.entry = own}});
    EXPECT_EQ(machine.state(), State::leading) << "the first commit";
    machine.on_watched(now, ticket(Kind::watch), {{.is_removal = true, .entry = {}}});
    EXPECT_THAT(orders(),
                ElementsAre("step down: the key by which this node leads is gone from etcd",
                            "revoke 7", "stop watching", "grant"));
}

TEST_F(LeadershipTest, AKeyThatWasMadeAnewIsNotItsKey) {
    lead();
    orders();
    machine.on_watched(now, ticket(Kind::watch), {{.entry = leader(7, 60)}});
    EXPECT_EQ(machine.state(), State::joining);
}

TEST_F(LeadershipTest, ALeaderWatchesAnewAfterAConfirmation) {
    lead();
    machine.on_watch_ended(now, ticket(Kind::watch));
    EXPECT_THAT(orders(), IsEmpty());
    pass(500ms);
    orders();
    keep_alive();
    orders();
    confirm(true, 90);
    EXPECT_THAT(orders(), ElementsAre("watch from 91"));
}

// The member that was asked stands still: another must be asked before the time is over.
TEST_F(LeadershipTest, ARenewalHasAQuarterOfTheTime) {
    lead();
    pass(500ms);
    const auto sent = machine.take_orders();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].timeout, 750ms);
    tickets[static_cast<int>(Kind::keep_alive)] = sent[0].ticket;
    keep_alive();
    EXPECT_EQ(machine.take_orders().at(0).timeout, 750ms);
}

TEST_F(LeadershipTest, ALongTtlIsRenewedAsOften) {
    Leadership other{{.ttl = 60s}};
    other.start(now);
    other.on_read(now, other.take_orders().at(0).ticket, std::optional<etcd::KeyValue>());
    other.on_granted(now, other.take_orders().at(0).ticket,
                     etcd::LeaseAnswer{.id = 7, .ttl_seconds = 60});
    EXPECT_EQ(other.next_deadline(), now + 500ms);
}

TEST_F(LeadershipTest, StepsDownAtTheDeadline) {
    lead();
    orders();
    pass(usable - 1us);
    EXPECT_EQ(machine.state(), State::leading);
    orders();
    pass(1us);
    EXPECT_EQ(machine.state(), State::joining);
    EXPECT_EQ(machine.authority(), no_authority);
    EXPECT_THAT(orders(), ElementsAre("step down: etcd did not answer in time", "revoke 7",
                                      "stop watching", "grant"));
}

// A process that stood still finds the answer to its renewal, and that it is too late.
TEST_F(LeadershipTest, AnAnswerAfterTheDeadlineIsTooLate) {
    lead();
    pass(750ms);
    orders();
    now += 10s;
    keep_alive();
    EXPECT_EQ(machine.authority(), no_authority);
    EXPECT_THAT(orders(), ElementsAre("step down: etcd did not answer in time", "revoke 7",
                                      "stop watching", "grant"));
}

TEST_F(LeadershipTest, StepsDownWhenItsLeaseIsGone) {
    lead();
    pass(750ms);
    orders();
    keep_alive(0);
    EXPECT_THAT(orders(), ElementsAre("step down: the lease of this node has ended in etcd",
                                      "revoke 7", "stop watching", "grant"));
}

TEST_F(LeadershipTest, RenewsAgainAfterAFailure) {
    lead();
    pass(750ms);
    EXPECT_THAT(orders(), ElementsAre("keep alive"));
    pass(1s);
    machine.on_kept_alive(now, ticket(Kind::keep_alive), failed());
    EXPECT_THAT(orders(), IsEmpty());
    EXPECT_EQ(machine.next_deadline(), now + 200ms);
    pass(200ms);
    const core::Time sent = now;
    renew();
    EXPECT_EQ(machine.authority(), sent + usable);
}

TEST_F(LeadershipTest, AnAnswerToAnOlderRenewalDoesNothing) {
    lead();
    pass(750ms);
    orders();
    const auto old = ticket(Kind::keep_alive);
    machine.on_kept_alive(now, old, failed());
    pass(200ms);
    orders();
    const core::Time before = machine.authority();
    machine.on_kept_alive(now, old, etcd::LeaseAnswer{.id = 7, .ttl_seconds = 3});
    EXPECT_EQ(machine.authority(), before);
}

TEST_F(LeadershipTest, AsksForALeaseUntilItHasOne) {
    start();
    orders();
    machine.on_granted(now, ticket(Kind::grant), failed());
    EXPECT_EQ(machine.trouble(), "no answer");
    pass(200ms);
    EXPECT_THAT(orders(), ElementsAre("read"));
    read();
    EXPECT_THAT(orders(), ElementsAre("grant"));
    machine.on_granted(now, ticket(Kind::grant), failed(Failure::Kind::no_space));
    pass(999ms);
    EXPECT_THAT(orders(), IsEmpty());
    pass(1ms);
    EXPECT_THAT(orders(), ElementsAre("read"));
    machine.on_read(now, ticket(Kind::read), failed());
    pass(200ms);
    EXPECT_THAT(orders(), ElementsAre("read"));
}

// A full etcd grants no lease and takes no key, but can be read.
TEST_F(LeadershipTest, KnowsWhoLeadsAlthoughItCannotJoin) {
    start();
    orders();
    machine.on_granted(now, ticket(Kind::grant), failed(Failure::Kind::no_space));
    pass(1s);
    orders();
    read(leader(8));
    EXPECT_EQ(machine.leader()->lease, 8);
    EXPECT_THAT(orders(), ElementsAre("grant"));
    grant();
    orders();
    machine.on_enrolled(now, ticket(Kind::enrol), failed(Failure::Kind::no_space));
    EXPECT_EQ(machine.trouble(), "no answer");
    keep_alive();
    pass(1s);
    orders();
    read(leader(9));
    EXPECT_EQ(machine.leader()->lease, 9);
    EXPECT_EQ(machine.state(), State::enrolling);
    EXPECT_THAT(orders(), ElementsAre("enrol"));
}

TEST_F(LeadershipTest, ALeaseThatCameTooLateIsGivenBack) {
    start();
    orders();
    machine.stop(now);
    EXPECT_THAT(orders(), ElementsAre("stopped"));
    grant(9);
    EXPECT_THAT(orders(), ElementsAre("revoke 9"));
    EXPECT_EQ(machine.state(), State::stopped);
}

TEST_F(LeadershipTest, SaysWhenItCannotBeAPartOfTheCluster) {
    start();
    orders();
    grant();
    orders();
    machine.on_enrolled(now, ticket(Kind::enrol), failed(Failure::Kind::rejected));
    EXPECT_EQ(machine.state(), State::stopped);
    EXPECT_THAT(orders(), ElementsAre("revoke 7", "refuse: no answer"));
    EXPECT_EQ(machine.next_deadline(), std::nullopt);
    machine.start(now);
    EXPECT_THAT(orders(), ElementsAre("read"));
}

TEST_F(LeadershipTest, FollowsWhoeverWonAndTakesOverWhenTheKeyIsGone) {
    follow();
    EXPECT_EQ(machine.state(), State::following);
    EXPECT_EQ(machine.leader()->value, "b");
    machine.on_watched(now, ticket(Kind::watch), {{.is_removal = true, .entry = {}}});
    EXPECT_EQ(machine.state(), State::campaigning);
    EXPECT_THAT(orders(), ElementsAre("campaign"));
    win(60);
    EXPECT_THAT(orders(), ElementsAre("stop watching", "watch from 61", "load at 60"));
}

TEST_F(LeadershipTest, HearsOfTheLeadersNews) {
    follow();
    etcd::KeyValue serving = leader(8);
    serving.value = "b serves";
    machine.on_watched(now, ticket(Kind::watch), {{.entry = serving}});
    EXPECT_EQ(machine.leader()->value, "b serves");
    EXPECT_THAT(orders(), ElementsAre("look")) << "the secret may be another";
    see({serving});
    EXPECT_THAT(orders(), IsEmpty());
}

// Watches can be lost without a word.
TEST_F(LeadershipTest, LooksAgainEveryTwoSeconds) {
    follow();
    for (int renewal = 0; renewal < 3; ++renewal) {
        pass(500ms);
        EXPECT_THAT(orders(), ElementsAre("keep alive"));
        keep_alive();
    }
    pass(500ms);
    EXPECT_THAT(orders(), ElementsAre("look", "keep alive"));
    keep_alive();
    see({leader(9)});
    EXPECT_EQ(machine.leader()->lease, 9);
    EXPECT_THAT(orders(), IsEmpty()) << "it watches already";
    pass(2s);
    orders();
    see({});
    EXPECT_THAT(orders(), ElementsAre("campaign"));
}

TEST_F(LeadershipTest, WatchesAnewWhenAWatchHasEnded) {
    follow();
    machine.on_watch_ended(now, ticket(Kind::watch));
    pass(200ms);
    EXPECT_THAT(orders(), ElementsAre("look"));
    see({leader(8)});
    EXPECT_THAT(orders(), ElementsAre("watch from 47"));
}

TEST_F(LeadershipTest, KnowsAnElectionThatItWonWithoutHearingOfIt) {
    campaign();
    machine.on_campaigned(now, ticket(Kind::campaign), failed());
    pass(200ms);
    EXPECT_THAT(orders(), ElementsAre("look"));
    see({leader(7)});  // its own lease
    EXPECT_EQ(machine.state(), State::loading);
    EXPECT_THAT(orders(), ElementsAre("watch from 41", "load at 40"))
        << "the revision at which the key was made";
}

TEST_F(LeadershipTest, CampaignsAgainAfterAFailureIfNobodyLeads) {
    campaign();
    machine.on_campaigned(now, ticket(Kind::campaign), failed(Failure::Kind::no_space));
    pass(1s);
    orders();
    keep_alive();
    see({});
    EXPECT_EQ(machine.trouble(), "no answer") << "nobody leads for the same reason as before";
    EXPECT_THAT(orders(), ElementsAre("campaign"));
    machine.on_campaigned(now, ticket(Kind::campaign), failed(Failure::Kind::no_space));
    pass(1s);
    orders();
    see({leader(8)});
    EXPECT_EQ(machine.leader()->lease, 8);
    EXPECT_EQ(machine.trouble(), "");
}

// Connections that are passed on to the leader stay while this node joins again.
TEST_F(LeadershipTest, KnowsTheLeaderUntilItHearsOtherwise) {
    start();
    orders();
    machine.on_granted(now, ticket(Kind::grant), failed());
    pass(200ms);
    orders();
    read(leader(8));
    orders();
    grant();
    orders();
    enrol();
    EXPECT_EQ(machine.leader()->lease, 8);
    EXPECT_THAT(orders(), ElementsAre("look"));
    see({});
    EXPECT_FALSE(machine.leader().has_value());
}

TEST_F(LeadershipTest, DoesNotCampaignUnlessItWants) {
    start();
    orders();
    grant();
    orders();
    enrol();
    EXPECT_EQ(machine.state(), State::following);
    EXPECT_THAT(orders(), ElementsAre("look"));
    see({});
    EXPECT_THAT(orders(), IsEmpty());
    machine.want(now);
    EXPECT_THAT(orders(), ElementsAre("campaign"));
}

TEST_F(LeadershipTest, LosesTheLeadWithItsLeaseAndBeginsAnew) {
    campaign();
    machine.on_campaigned(now, ticket(Kind::campaign), failed(Failure::Kind::no_lease));
    EXPECT_EQ(machine.state(), State::joining);
    EXPECT_THAT(orders(), ElementsAre("revoke 7", "grant"));
}

TEST_F(LeadershipTest, GivesUpTheLeadWhenTheStoreCannotGoOn) {
    lead();
    machine.fail(now, "another node leads");
    EXPECT_EQ(machine.authority(), no_authority);
    EXPECT_THAT(orders(),
                ElementsAre("step down: another node leads", "revoke 7", "stop watching", "grant"));
    grant(10);
    orders();
    enrol();
    EXPECT_THAT(orders(), ElementsAre("look")) << "until somebody wants it to lead again";
}

TEST_F(LeadershipTest, HandsOver) {
    lead();
    orders();
    machine.resign(now);
    EXPECT_THAT(orders(), ElementsAre("finish"));
    EXPECT_EQ(machine.authority(), now + usable) << "it serves until the commit is finished";
    machine.finished(now);
    EXPECT_EQ(machine.authority(), no_authority) << "before the lease is revoked";
    EXPECT_THAT(orders(), ElementsAre("step down: this node has handed over its locks",
                                      "stop watching", "revoke 7"));
    machine.on_revoked(now, ticket(Kind::revoke));
    EXPECT_THAT(orders(), ElementsAre("grant"));
    machine.want(now);
    grant(11);
    orders();
    enrol();
    EXPECT_THAT(orders(), ElementsAre("look")) << "others come first";
    see({});
    EXPECT_EQ(machine.next_deadline(), now + 500ms) << "the renewal";
    pass(2s);
    EXPECT_THAT(orders(), ElementsAre("look", "keep alive"));
    machine.on_kept_alive(now, ticket(Kind::keep_alive),
                          etcd::LeaseAnswer{.id = 11, .ttl_seconds = 3});
    see({});
    pass(1s);
    EXPECT_THAT(orders(), ElementsAre("look", "keep alive")) << "the pause is over";
    see({});
    EXPECT_THAT(orders(), ElementsAre("campaign")) << "nobody else has taken the lead";
}

TEST_F(LeadershipTest, ResignsUntilTheDeadlineAtMost) {
    lead();
    machine.resign(now);
    orders();
    pass(usable);
    EXPECT_THAT(orders(), ElementsAre("step down: etcd did not answer in time", "revoke 7",
                                      "stop watching", "grant"));
}

// It answers nothing any more, and no other node can lead yet.
TEST_F(LeadershipTest, RetiresWithItsKey) {
    lead();
    orders();
    machine.retire(now, "a new epoch begins");
    EXPECT_EQ(machine.state(), State::leaving);
    EXPECT_EQ(machine.authority(), no_authority);
    EXPECT_THAT(orders(), ElementsAre("step down: a new epoch begins", "stop watching"));
    pass(10s);
    EXPECT_THAT(orders(), IsEmpty());
    machine.retired(now);
    EXPECT_THAT(orders(), ElementsAre("revoke 7"));
    machine.retired(now);
    EXPECT_THAT(orders(), IsEmpty());
    machine.on_revoked(now, ticket(Kind::revoke));
    EXPECT_THAT(orders(), ElementsAre("grant"));
}

TEST_F(LeadershipTest, StopsWhileItRetires) {
    lead();
    machine.retire(now, "a new epoch begins");
    orders();
    machine.stop(now);
    EXPECT_THAT(orders(), ElementsAre("revoke 7"));
    machine.retired(now);
    machine.on_revoked(now, ticket(Kind::revoke));
    EXPECT_THAT(orders(), ElementsAre("stopped"));
}

TEST_F(LeadershipTest, StopsAfterHandingOver) {
    lead();
    orders();
    machine.stop(now);
    EXPECT_THAT(orders(), ElementsAre("finish"));
    machine.finished(now);
    EXPECT_THAT(orders(), ElementsAre("step down: this node has handed over its locks",
                                      "stop watching", "revoke 7"));
    machine.on_revoked(now, ticket(Kind::revoke));
    EXPECT_EQ(machine.state(), State::stopped);
    EXPECT_THAT(orders(), ElementsAre("stopped"));
    EXPECT_EQ(machine.next_deadline(), std::nullopt);
}

TEST_F(LeadershipTest, StopsAlsoWhenItLosesItsLeaseMeanwhile) {
    lead();
    orders();
    machine.stop(now);
    orders();
    pass(usable);
    EXPECT_THAT(orders(), ElementsAre("step down: etcd did not answer in time", "revoke 7",
                                      "stop watching", "stopped"));
}

TEST_F(LeadershipTest, AFollowerStops) {
    follow();
    machine.stop(now);
    EXPECT_THAT(orders(), ElementsAre("stop watching", "revoke 7"));
    machine.on_revoked(now, ticket(Kind::revoke));
    EXPECT_THAT(orders(), ElementsAre("stopped"));
}

}  // namespace
}  // namespace holdfast::cluster
