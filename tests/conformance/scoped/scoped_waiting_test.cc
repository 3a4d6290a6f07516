// Waiting for a scope, sharing it, asking again by an id, and the other doors.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../event_reader.h"
#include "../http_dialogue_test.h"

namespace holdfast::conformance {
namespace {

// What an answer says of a five-second lease that was granted at `at` milliseconds.
std::string granted(const std::string& number, const std::string& scope, const std::string& holder,
                    int at, const std::string& mode = "exclusive") {
    return R"(200 {"token":"$secret)" + number + R"(","fencing_token":$token)" + number +
           R"(,"scope":)" + scope + R"(,"holder":")" + holder + R"(","mode":")" + mode +
           R"(","acquired_at":"@@)" + std::to_string(at) + R"(","expires_at":"@@)" +
           std::to_string(at + 5000) + R"(","ttl_ms":5000,"duration_ms":5000})" + "\n";
}

std::string wants(const std::string& scope, const std::string& holder,
                  const std::string& more = "") {
    return R"(POST /v1/leases {"scope":")" + scope + R"(","holder":")" + holder +
           R"(","duration_ms":5000)" + more + "}\n";
}

const std::string waiting = R"(,"wait_ms":60000)";
const std::string inode = R"({"kind":"inode","inode":7})";

std::string range(const std::string& start, const std::string& end) {
    return R"({"kind":"range","inode":7,"start":)" + start + R"(,"end":)" + end + "}";
}

const std::string a_holds_the_inode =
    "a> " + wants("inode:7", "a") + "a< " + granted("1", inode, "a", 0);

std::vector<Row> ranges() {
    const std::string two_hold = "a> " + wants("range:7:0-4096", "a") + "a< " +
                                 granted("1", range("0", "4096"), "a", 0) + "b> " +
                                 wants("range:7:4096-8192", "b") + "b< " +
                                 granted("2", range("4096", "8192"), "b", 0) + "c> " +
                                 wants("range:7:4000-5000", "c", waiting) + "waiting 1\n+1000\n";
    const std::string a_releases = R"(
        a> DELETE /v1/leases/$secret1
        a< 200 {"released":true}
    )";
    const std::string b_releases = R"(
        b> DELETE /v1/leases/$secret2
        b< 200 {"released":true}
    )";
    return {
        {"TwoNeighboursTogetherAndAThirdForBoth",
         two_hold + a_releases + "waiting 1\n" + b_releases + "c< " +
             granted("3", range("4000", "5000"), "c", 1000)},
        {"TheSameInTheOtherOrder", two_hold + b_releases + "waiting 1\n" + a_releases + "c< " +
                                       granted("3", range("4000", "5000"), "c", 1000)},
        {"AndWhenTheyExpire",
         two_hold + "+3999\nwaiting 1\n+1\nc< " + granted("3", range("4000", "5000"), "c", 5000)},
        // One that overlaps a waiter stands behind it; one that does not goes by.
        {"AWaiterBlocksOnlyWhatItOverlaps",
         two_hold + "d> " + wants("range:7:9000-9001", "d") + "d< " +
             granted("3", range("9000", "9001"), "d", 1000) + a_releases + "d> " +
             wants("range:7:0-4000", "d") + "d< " + granted("4", range("0", "4000"), "d", 1000) +
             "d> " + wants("range:7:4000-4001", "d") + R"(
             d< 409 {"error":"LockHeld","message":"range:7:4000-5000 is not held, but earlier asked for by c","scope":{"kind":"range","inode":7,"start":4000,"end":5000},"holder":"c","mode":"exclusive","queue_length":1,"retry_after_ms":1000}
             )"},
    };
}

std::vector<Row> waits() {
    return {
        {"GrantedWhenReleased", a_holds_the_inode + "b> " + wants("range:7:0-1", "b", waiting) + R"(
            waiting 1
            +1000
            a> DELETE /v1/leases/$secret1
            a< 200 {"released":true}
            b< )" + granted("2", range("0", "1"), "b", 1000)},
        {"TimedOut",
         a_holds_the_inode + "b> " + wants("range:7:0-1", "b", R"(,"wait_ms":4000)") + R"(
            waiting 1
            +3999
            waiting 1
            +1
            b< 409 {"error":"WaitTimedOut","message":"it was not granted within wait_ms: inode:7 is held by a","scope":{"kind":"inode","inode":7},"holder":"a","mode":"exclusive","expires_at":"@@5000","queue_length":0,"retry_after_ms":250}
            waiting 0
        )"},
        {"OneWhoStopsSendingLeavesTheQueueAndIsTold",
         a_holds_the_inode + "b> " + wants("inode:7", "b", waiting) + R"(
            waiting 1
            b/
            b< 409 {"error":"Cancelled","message":"the client stopped sending while it waited","scope":{"kind":"inode","inode":7}}
            waiting 0
        )"},
        {"OneWhoDisconnectsLeavesTheQueue",
         a_holds_the_inode + "b> " + wants("inode:7", "b", waiting) + "waiting 1\nc> " +
             wants("inode:7", "c", waiting) + "waiting 2\nb!\nwaiting 1\n+5000\nc< " +
             granted("2", inode, "c", 5000)},
        {"InOrder", a_holds_the_inode + "b> " + wants("inode:7", "b", waiting) + "waiting 1\nc> " +
                        wants("range:7:0-1", "c", waiting) + "waiting 2\n+5000\nb< " +
                        granted("2", inode, "b", 5000) + "waiting 1\n+5000\nc< " +
                        granted("3", range("0", "1"), "c", 10000)},
    };
}

std::vector<Row> sharing() {
    const std::string mode_shared = R"(,"mode":"shared")";
    return {
        {"ReadersTogetherAndAWriterAfterThem",
         "a> " + wants("inode:7", "a", mode_shared) + "a< " +
             granted("1", inode, "a", 0, "shared") + "b> " +
             wants("range:7:0-10", "b", mode_shared) + "b< " +
             granted("2", range("0", "10"), "b", 0, "shared") + "c> " +
             wants("range:7:5-6", "c", waiting) + "waiting 1\nd> " +
             wants("range:7:5-6", "d", mode_shared) + R"(
             d< 409 {"error":"LockHeld","message":"range:7:0-10 is held by b","scope":{"kind":"range","inode":7,"start":0,"end":10},"holder":"b","mode":"shared","expires_at":"@@5000","queue_length":1,"retry_after_ms":1000}
             +5000
             c< )" +
             granted("3", range("5", "6"), "c", 5000)},
    };
}

std::vector<Row> repeated() {
    const std::string by_id = R"(,"request_id":"q1")";
    const std::string a_holds =
        "a> " + wants("inode:7", "a", by_id) + "a< " + granted("1", inode, "a", 0);
    return {
        {"TheSameLeaseAgain", a_holds + "+1000\nb> " + wants("inode:7", "a", by_id) + "b< " +
                                  granted("1", inode, "a", 0)},
        {"Ended", a_holds + "+5000\na> " + wants("inode:7", "a", by_id) + R"(
            a< 409 {"error":"RequestEnded","message":"what this request_id was granted is over","scope":{"kind":"inode","inode":7}}
        )"},
        {"Superseded", a_holds + "b> " + wants("inode:7", "b", by_id + waiting) + "waiting 1\nc> " +
                           wants("inode:7", "b", by_id + waiting) + R"(
            b< 409 {"error":"RequestSuperseded","message":"a later request of this request_id waits","scope":{"kind":"inode","inode":7}}
            waiting 1
            +5000
            c< )" + granted("2", inode, "b", 5000)},
    };
}

// The server keeps nobody without an answer for longer than ten minutes.
std::vector<Row> long_waits() {
    const std::string without_end = R"(,"request_id":"q1","wait_ms":31536000000)";
    const std::string b_still_waits = R"(
        a> POST /v1/leases {"scope":"inode:7","holder":"a","duration_ms":86400000}
        a< 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"inode","inode":7},"holder":"a","mode":"exclusive","acquired_at":"@@0","expires_at":"@@86400000","ttl_ms":86400000,"duration_ms":86400000}
        b> )" + wants("inode:7", "b", without_end) +
                                      R"(
        waiting 1
        c> )" + wants("range:7:0-1", "c", R"(,"wait_ms":600000)") +
                                      R"(
        waiting 2
        +599999
        waiting 2
        +1
        b< 409 {"error":"StillWaiting","message":"ask again with the same request_id: the place in the queue is kept","scope":{"kind":"inode","inode":7},"place_kept_ms":5000}
        c< 409 {"error":"WaitTimedOut","message":"it was not granted within wait_ms: inode:7 is held by a","scope":{"kind":"inode","inode":7},"holder":"a","mode":"exclusive","expires_at":"@@86400000","queue_length":1,"retry_after_ms":1000}
        waiting 1
    )";
    const std::string a_releases = R"(
        a> DELETE /v1/leases/$secret1
        a< 200 {"released":true}
    )";
    return {
        {"GoOnWhereTheyWere",
         b_still_waits + "c> " + wants("inode:7", "c", waiting) + "waiting 2\n+4999\nb> " +
             wants("inode:7", "b", without_end) + "waiting 2\n" + a_releases + "b< " +
             granted("2", inode, "b", 604999) + "+5000\nc< " + granted("3", inode, "c", 609999)},
        {"AreOverWhenNobodyAsksAgain", b_still_waits + "+5000\nwaiting 0\n" + a_releases},
        {"GiveUpTheirPlaceWhenTheyAreAskedWithoutAWait",
         b_still_waits + "b> " + wants("inode:7", "b", R"(,"request_id":"q1")") + R"(
            b< 409 {"error":"LockHeld","message":"inode:7 is held by a","scope":{"kind":"inode","inode":7},"holder":"a","mode":"exclusive","expires_at":"@@86400000","queue_length":0,"retry_after_ms":1000}
            waiting 0
        )"},
    };
}

std::vector<Row> doors() {
    const std::string name = R"({"kind":"named","name":"x"})";
    return {
        {"ANameIsTheSameLockAtEveryDoor", "a> " + wants("named:x", "a") + "a< " +
                                              granted("1", name, "a", 0) + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"b","ttl_ms":5000}
            b< 409 {"acquired":false,"lock_name":"x","current_owner_id":"a","current_expiry_ms":@5000,"recommended_retry_ms":1000,"reason":"HELD"}
            b> POST /lock?client=a&job=x
            b< 409 {"success":false,"job":"x","holder":"a","message":"held by another client","expires_at":"2024-01-15T10:30:05Z"}
            a> DELETE /v1/leases/$secret1
            a< 200 {"released":true}
            b> POST /v1/locks/x/acquire {"owner_id":"b","ttl_ms":5000}
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"b","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@5000}
            a> )" + wants("named:x", "b") + R"(
            a< 409 {"error":"LockHeld","message":"x is held by b","scope":{"kind":"named","name":"x"},"holder":"b","mode":"exclusive","expires_at":"@@5000","queue_length":0,"retry_after_ms":1000}
        )"},
        {"WhatIsKeptInGraceIsHeld", R"(
            a> POST /lock?client=a&job=x&ttl=5s
            a< 200 {"success":true,"job":"x","holder":"a","message":"acquired","expires_at":"2024-01-15T10:30:05Z"}
            +5000
            b> )" + wants("named:x", "b") +
                                        R"(
            b< 409 {"error":"LockHeld","message":"x is kept for its last holder, a","scope":{"kind":"named","name":"x"},"holder":"a","mode":"exclusive","expires_at":"@@10000","queue_length":0,"retry_after_ms":1000}
            +5000
            b> )" + wants("named:x", "b") +
                                        "b< " + granted("1", name, "b", 10000)},
    };
}

class ScopedWaiting : public DialogueTest {};
TEST_P(ScopedWaiting, Dialogue) {
    hold();
}
INSTANTIATE_TEST_SUITE_P(Ranges, ScopedWaiting, with_threads(ranges()), name_of);
INSTANTIATE_TEST_SUITE_P(Waits, ScopedWaiting, with_threads(waits()), name_of);
INSTANTIATE_TEST_SUITE_P(Sharing, ScopedWaiting, with_threads(sharing()), name_of);
INSTANTIATE_TEST_SUITE_P(Repeated, ScopedWaiting, with_threads(repeated()), name_of);
INSTANTIATE_TEST_SUITE_P(LongWaits, ScopedWaiting, with_threads(long_waits()), name_of);
INSTANTIATE_TEST_SUITE_P(Doors, ScopedWaiting, with_threads(doors()), name_of);

TEST(ScopedEvents, AreThoseOfThisDoor) {
    TestHost host(1);
    EventReader reader(host);
    Dialogue dialogue(host);
    dialogue.hold("a> " + wants("range:7:0-4096", "a") + "a< " +
                  granted("1", range("0", "4096"), "a", 0) + "+5000\n");
    const std::string about =
        R"(,"lock_name":"7","kind":"range","mode":"exclusive","scope":"range:7:0-4096",)"
        R"("owner_id":"a","door":"scoped","fencing_token":)" +
        dialogue.blank("token1") + R"(,"lease_expiry_ms":1705314605000)";
    const SeenEvent first = reader.next(), second = reader.next();
    EXPECT_EQ(first.kind, "granted");
    EXPECT_EQ(first.data,
              R"({"at_ms":1705314600000)" + about + R"(,"by":"http@127.0.0.1","queue_length":0})");
    EXPECT_EQ(second.kind, "expired");
    EXPECT_EQ(second.data,
              R"({"at_ms":1705314605000)" + about + R"(,"held_ms":5000,"queue_length":0})");
}

TEST(ScopedEvents, TellOfRefusedFences) {
    TestHost host(1);
    EventReader reader(host), of_others(host, "?prefix=job");
    Dialogue(host).hold(R"(
        > POST /v1/fence/bucket {"fencing_token":34}
        < 200 {"resource":"bucket","fencing_token":34,"highest":34}
        +1000
        > POST /v1/fence/bucket {"fencing_token":33}
        < 409 {"error":"StaleFence","message":"a larger fencing token was shown for this resource","resource":"bucket","fencing_token":33,"highest":34}
        > POST /v1/fence/job {"fencing_token":34}
        < 200 {"resource":"job","fencing_token":34,"highest":34}
        > POST /v1/fence/job {"fencing_token":1}
        < 409 {"error":"StaleFence","message":"a larger fencing token was shown for this resource","resource":"job","fencing_token":1,"highest":34}
    )");
    const SeenEvent event = reader.next(), other = of_others.next();
    EXPECT_EQ(event.kind, "fence_refused");
    EXPECT_EQ(event.data,
              R"({"at_ms":1705314601000,"resource":"bucket","fencing_token":33,"highest":34})");
    EXPECT_EQ(other.data,
              R"({"at_ms":1705314601000,"resource":"job","fencing_token":1,"highest":34})");
}

}  // namespace
}  // namespace holdfast::conformance
