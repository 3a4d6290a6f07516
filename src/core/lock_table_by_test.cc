// Whom the changes name: those who have asked for what happens, and nobody where it happens by itself.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "core/lock_table_test_fixture.h"

namespace holdfast::core {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class LockTableBy : public ::testing::Test {
  protected:
    AcquireRequest ask(std::string_view owner) {
        return {.scope = Scope::named("job"), .owner = {.name = owner}, .ttl = 10s};
    }
    Outcome acquire(std::string_view by, const AcquireRequest& request) {
        table_.on_behalf_of(by);
        return table_.acquire(now_, request);
    }
    void pass(Duration time) {
        table_.on_behalf_of({});
        table_.advance(now_ += time);
    }
    // `released ops`: the changes since the last call.
    std::vector<std::string> told() {
        std::vector<std::string> lines;
        for (const Event& event : table_.changes()) {
            lines.push_back(std::string(to_text(event.kind)) + ' ' + std::string(event.by));
        }
        table_.clear_changes();
        return lines;
    }

    LockTable table_;
    Time now_{1s};
};

TEST_F(LockTableBy, AGrantAndItsReleaseNameWhoAskedForEach) {
    const Token held = acquire("ci", ask("ann")).lease.token;
    table_.on_behalf_of("ops");
    table_.release(now_, {.token = held});
    EXPECT_THAT(told(), ElementsAre("granted ci", "released ops"));
}

TEST_F(LockTableBy, AGrantAfterAWaitNamesWhoHasWaited) {
    acquire("ci", ask("ann"));
    AcquireRequest patient = ask("bob");
    patient.wait = 60s;
    acquire("a client with a name that is rather long", patient);
    table_.on_behalf_of("ops");
    table_.force_release(now_, Scope::named("job"));
    EXPECT_THAT(told(),
                ElementsAre("granted ci", "queued a client with a name that is rather long",
                            "released ops", "granted a client with a name that is rather long"));
}

TEST_F(LockTableBy, WhatHappensByItselfNamesNobodyAlsoDuringARequest) {
    AcquireRequest request = ask("ann");
    request.grace = 5s;
    acquire("ci", request);
    AcquireRequest impatient = ask("bob");
    impatient.wait = 2s;
    acquire("ops", impatient);
    now_ += 60s;
    table_.on_behalf_of("late");
    table_.acquire(now_, ask("eve"));
    EXPECT_THAT(told(), ElementsAre("granted ci", "queued ops", "wait_timed_out ", "expired ",
                                    "grace_ended ", "granted late"));
}

TEST_F(LockTableBy, ALockThatIsHadAgainInItsGraceNamesWhoAskedAgain) {
    AcquireRequest request = ask("ann");
    request.grace = 5s;
    acquire("ci", request);
    pass(12s);
    acquire("ops", ask("ann"));
    EXPECT_THAT(told(), ElementsAre("granted ci", "expired ", "grace_ended ops", "granted ops"));
}

TEST_F(LockTableBy, ASessionThatIsEndedNamesWhoEndedIt) {
    table_.on_behalf_of("ci");
    const SessionId session = table_.open_session(now_, {.name = "conn"});
    AcquireRequest request = ask("ann");
    request.session = session;
    acquire("ci", request);
    table_.on_behalf_of("ops");
    table_.end_session(now_, session);
    EXPECT_THAT(told(), ElementsAre("session_opened ci", "granted ci", "released ops",
                                    "session_ended ops"));
}

TEST_F(LockTableBy, OfRenewalsOnlyThoseAreNamedThatAreForcedOrBeginALeaseForAStore) {
    AcquireRequest request = ask("ann");
    request.is_transient = true;
    request.renew_own = true;
    const Token held = acquire("ci", request).lease.token;
    table_.renew(now_, {.token = held});
    table_.renew(now_, {.token = held, .ttl = 20s});
    table_.on_behalf_of("ops");
    table_.renew(now_, {.token = held, .is_forced = true});
    request.is_transient = false;
    acquire("ci", request);
    EXPECT_THAT(told(),
                ElementsAre("granted ci", "renewed ", "renewed ", "renewed ops", "renewed ci"));
}

TEST_F(LockTableBy, ASetThatHasWaitedNamesWhoAskedForIt) {
    acquire("ci", ask("ann"));
    const SetMember members[] = {{.scope = Scope::named("job")}, {.scope = Scope::named("other")}};
    AcquireRequest set = ask("bob");
    set.members = members;
    set.wait = 60s;
    acquire("ops", set);
    pass(10s);
    EXPECT_THAT(told(), ElementsAre("granted ci", "queued ops", "expired ", "granted ops"));
}

}  // namespace
}  // namespace holdfast::core
