// Leases on several scopes, and deadlocks.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../event_reader.h"
#include "../http_dialogue_test.h"

namespace holdfast::conformance {
namespace {

std::string named(const std::string& name) {
    return R"({"kind":"named","name":")" + name + R"("})";
}

// What an answer says of a five-second lease that was granted at `at` milliseconds. `scopes` is
// empty, or what stands in the list.
std::string set_granted(const std::string& number, const std::string& scope,
                        const std::string& holder, int at, const std::string& scopes = "") {
    return R"(200 {"token":"$secret)" + number + R"(","fencing_token":$token)" + number +
           R"(,"scope":)" + scope + R"(,"holder":")" + holder + R"(","mode":"exclusive")" +
           (scopes.empty() ? "" : R"(,"scopes":[)" + scopes + "]") + R"(,"acquired_at":"@@)" +
           std::to_string(at) + R"(","expires_at":"@@)" + std::to_string(at + 5000) +
           R"(","ttl_ms":5000,"duration_ms":5000})" + "\n";
}

std::string wants_all(const std::string& scopes, const std::string& holder,
                      const std::string& more = "") {
    return R"(POST /v1/leases {"scopes":[)" + scopes + R"(],"holder":")" + holder +
           R"(","duration_ms":5000)" + more + "}\n";
}

const std::string and_waits = R"(,"wait_ms":60000)";
const std::string a_and_b = R"("a","b")";
const std::string held_a_and_b = R"({"scope":{"kind":"named","name":"a"},"mode":"exclusive"},)"
                                 R"({"scope":{"kind":"named","name":"b"},"mode":"exclusive"})";

// NOLINTNEXTLINE(readability-function-size): a table
std::vector<Row> sets() {
    return {
        {"IsOneLease",
         "a> " + wants_all(a_and_b, "w1") + "a< " +
             set_granted("1", named("a"), "w1", 0, held_a_and_b) +
             R"(
            b> POST /v1/leases {"scope":"b","holder":"w2"}
            b< 409 {"error":"LockHeld","message":"b is held by w1","scope":{"kind":"named","name":"b"},"holder":"w1","mode":"exclusive","expires_at":"@@5000","queue_length":0,"retry_after_ms":1000}
            +1000
            a> POST /v1/leases/$secret1/renew
            a< )" +
             R"(200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"named","name":"a"},"holder":"w1","mode":"exclusive","scopes":[)" +
             held_a_and_b +
             R"(],"acquired_at":"@@0","expires_at":"@@6000","ttl_ms":5000,"duration_ms":5000}
            a> DELETE /v1/leases/$secret1
            a< 200 {"released":true}
            a> GET /v1/leases
            a< 200 {"leases":[]}
        )"},
        {"EveryKindTogether",
         "a> " +
             wants_all(
                 R"("a",{"scope":"path:/x","mode":"shared"},{"scope":{"kind":"range","inode":7,"start":0,"end":9}},{"scope":"semaphore:s","limit":3})",
                 "w1") +
             "a< " +
             set_granted(
                 "1", named("a"), "w1", 0,
                 R"({"scope":{"kind":"named","name":"a"},"mode":"exclusive"},{"scope":{"kind":"path","path":"/x"},"mode":"shared"},{"scope":{"kind":"range","inode":7,"start":0,"end":9},"mode":"exclusive"},{"scope":{"kind":"semaphore","name":"s"},"mode":"exclusive","limit":3})") +
             R"(
            b> GET /v1/leases?kind=range
            b< 200 {"leases":[{"fencing_token":$token1,"scope":{"kind":"named","name":"a"},"holder":"w1","mode":"exclusive","scopes":[{"scope":{"kind":"named","name":"a"},"mode":"exclusive"},{"scope":{"kind":"path","path":"/x"},"mode":"shared"},{"scope":{"kind":"range","inode":7,"start":0,"end":9},"mode":"exclusive"},{"scope":{"kind":"semaphore","name":"s"},"mode":"exclusive","limit":3}],"acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000,"door":"scoped"}]}
            b> POST /v1/leases {"scopes":["free",{"scope":"semaphore:s","limit":4}],"holder":"w2"}
            b< 409 {"error":"LimitMismatch","message":"the semaphore has another limit","scope":{"kind":"semaphore","name":"s"}}
            b> GET /v1/locks/free
            b< 200 {"lock_name":"free","held":false}
        )"},
        {"OneElementIsAUsualLease",
         "a> " + wants_all(R"("a")", "w1") + "a< " + set_granted("1", named("a"), "w1", 0)},
        // S15
        {"IsAllOrNothingAndWaitsHoldingNothing", "a> " + wants_all(R"("b")", "bob") + "a< " +
                                                     set_granted("1", named("b"), "bob", 0) +
                                                     "b> " + wants_all(a_and_b, "ann") + R"(
            b< 409 {"error":"LockHeld","message":"b is held by bob","scope":{"kind":"named","name":"b"},"holder":"bob","mode":"exclusive","expires_at":"@@5000","queue_length":0,"retry_after_ms":1000}
            b> )" + wants_all(a_and_b, "ann", and_waits) +
                                                     R"(
            waiting 1
            c> GET /v1/locks/a?queue=true
            c< 200 {"lock_name":"a","held":false,"queue_length":1,"queue":[{"place":1,"owner_id":"ann","door":"scoped","mode":"exclusive","waiting_since_ms":@0,"wait_until_ms":@60000,"waits_for":"bob","scopes":["a","b"]}]}
            +1000
            a> DELETE /v1/leases/$secret1
            a< 200 {"released":true}
            b< )" + set_granted("2", named("a"), "ann", 1000, held_a_and_b)},
        {"ChecksCoverWhatOneScopeCovers",
         "a> " + wants_all(R"("a","inode:7")", "w1") + "a< " +
             set_granted(
                 "1", named("a"), "w1", 0,
                 R"({"scope":{"kind":"named","name":"a"},"mode":"exclusive"},{"scope":{"kind":"inode","inode":7},"mode":"exclusive"})") +
             R"(
            a> POST /v1/fence/check {"token":"$secret1","scope":"range:7:0-9"}
            a< 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"named","name":"a"},"holder":"w1","mode":"exclusive","scopes":[{"scope":{"kind":"named","name":"a"},"mode":"exclusive"},{"scope":{"kind":"inode","inode":7},"mode":"exclusive"}],"acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000}
            a> POST /v1/fence/check {"token":"$secret1","scope":"b"}
            a< 409 {"error":"LockScopeMismatch","message":"the lease is on a, inode:7","scope":{"kind":"named","name":"a"},"scopes":[{"scope":{"kind":"named","name":"a"},"mode":"exclusive"},{"scope":{"kind":"inode","inode":7},"mode":"exclusive"}]}
        )"},
        {"ARequestThatIsRepeatedFindsTheSet",
         "a> " + wants_all(a_and_b, "w1", R"(,"request_id":"q1")") + "a< " +
             set_granted("1", named("a"), "w1", 0, held_a_and_b) + "+1000\nb> " +
             wants_all(a_and_b, "w1", R"(,"request_id":"q1")") + "b< " +
             set_granted("1", named("a"), "w1", 0, held_a_and_b)},
        {"ForceReleaseOfOneEndsTheWholeLease",
         "a> " + wants_all(a_and_b, "w1") + "a< " +
             set_granted("1", named("a"), "w1", 0, held_a_and_b) +
             R"(
            b> DELETE /v1/locks/b
            b< 200 {"released":true,"holders":1}
            b> GET /v1/locks/a
            b< 200 {"lock_name":"a","held":false}
        )"},
        {"IsShownInEveryListing", "a> " + wants_all(a_and_b, "w1") + "a< " +
                                      set_granted("1", named("a"), "w1", 0, held_a_and_b) + R"(
            b> GET /v1/locks/b
            b< 200 {"lock_name":"b","held":true,"owner_id":"w1","fencing_token":$token1,"lease_expiry_ms":@5000,"scopes":["a","b"],"version":1}
            b> GET /v1/locks
            b< 200 {"locks":[{"lock_name":"a","kind":"named","held":true,"version":1,"waiters":0,"holders":[{"owner_id":"w1","fencing_token":$token1,"lease_expiry_ms":@5000,"door":"scoped","acquired_ms":@0,"ttl_ms":5000,"scopes":["a","b"]}]},{"lock_name":"b","kind":"named","held":true,"version":1,"waiters":0,"holders":[{"owner_id":"w1","fencing_token":$token1,"lease_expiry_ms":@5000,"door":"scoped","acquired_ms":@0,"ttl_ms":5000,"scopes":["a","b"]}]}]}
        )"},
    };
}

std::vector<Row> deadlocks() {
    const std::string ann_waits_for_bob =
        "a> " + wants_all(R"("a")", "ann") + "a< " + set_granted("1", named("a"), "ann", 0) +
        "b> " + wants_all(R"("b")", "bob") + "b< " + set_granted("2", named("b"), "bob", 0) +
        "a> " + wants_all(R"("b")", "ann", and_waits) + "waiting 1\n";
    const std::string cycle =
        R"("cycle":[{"holder":"bob","door":"scoped","waits_for":{"kind":"named","name":"a"},"held_by":"ann","fencing_token":$token1},)"
        R"({"holder":"ann","door":"scoped","waits_for":{"kind":"named","name":"b"},"held_by":"bob","fencing_token":$token2}])";
    const std::string refuse = and_waits + R"(,"on_deadlock":"refuse")";
    return {
        // S16
        {"IsToldToOneAndTheOtherGoesOn", ann_waits_for_bob + "b> " +
                                             wants_all(R"("a")", "bob", refuse) + R"(
            b< 409 {"error":"Deadlock","message":"bob waits for ann, who holds a and waits for bob","scope":{"kind":"named","name":"a"},)" +
                                             cycle + R"(}
            waiting 1
            b> DELETE /v1/leases/$secret2
            b< 200 {"released":true}
            a< )" + set_granted("3", named("b"), "ann", 0)},
        {"IsListedWhileItExists",
         "c> GET /v1/deadlocks\nc< 200 {\"deadlocks\":[]}\n" + ann_waits_for_bob + "+1000\nb> " +
             wants_all(R"("a")", "bob", and_waits) + "waiting 2\n+1000\n" + R"(
            c> GET /v1/deadlocks
            c< 200 {"deadlocks":[{"since":"@@1000",)" +
             cycle + R"(}]}
            b!
            waiting 1
            c> GET /v1/deadlocks
            c< 200 {"deadlocks":[]}
        )"},
        {"IsOfOneWaiterNotOfAllThatHaveItsName",
         "a> " + wants_all(R"("a")", "w", R"(,"waiter":"t1")") + "a< " +
             set_granted("1", named("a"), "w", 0) + "b> " +
             wants_all(R"("b")", "w", R"(,"waiter":"t2")") + "b< " +
             set_granted("2", named("b"), "w", 0) + "a> " +
             wants_all(R"("b")", "w", R"(,"waiter":"t1")" + refuse) + "waiting 1\nb> " +
             wants_all(R"("a")", "w", R"(,"waiter":"t2")" + refuse) + R"(
            b< 409 {"error":"Deadlock","message":"w waits for w, who holds a and waits for w","scope":{"kind":"named","name":"a"},"cycle":[{"holder":"w","waiter":"t2","door":"scoped","waits_for":{"kind":"named","name":"a"},"held_by":"w","fencing_token":$token1},{"holder":"w","waiter":"t1","door":"scoped","waits_for":{"kind":"named","name":"b"},"held_by":"w","fencing_token":$token2}]}
        )"},
        // Whoever asks for all it needs at once holds nothing while it waits.
        {"IsImpossibleWithSets",
         "a> " + wants_all(a_and_b, "ann") + "a< " +
             set_granted("1", named("a"), "ann", 0, held_a_and_b) + "b> " +
             wants_all(R"("b","a")", "bob", refuse) + "waiting 1\nc> " +
             wants_all(a_and_b, "cid", refuse) + R"(
            waiting 2
            a> DELETE /v1/leases/$secret1
            a< 200 {"released":true}
            b< )" +
             set_granted(
                 "2", named("b"), "bob", 0,
                 R"({"scope":{"kind":"named","name":"b"},"mode":"exclusive"},{"scope":{"kind":"named","name":"a"},"mode":"exclusive"})")},
        {"MayBeAcrossDoors", R"(
            a> POST /v1/locks/a/acquire {"owner_id":"ann","ttl_ms":5000}
            a< 200 {"acquired":true,"lock_name":"a","owner_id":"ann","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
            b> )" + wants_all(R"("b")", "bob") +
                                 "b< " + set_granted("2", named("b"), "bob", 0) + R"(
            a> POST /v1/locks/b/acquire {"owner_id":"ann","ttl_ms":5000,"wait_ms":60000}
            waiting 1
            b> )" + wants_all(R"("a")", "bob", refuse) +
                                 R"(
            b< 409 {"error":"Deadlock","message":"bob waits for ann, who holds a and waits for bob","scope":{"kind":"named","name":"a"},"cycle":[{"holder":"bob","door":"scoped","waits_for":{"kind":"named","name":"a"},"held_by":"ann","fencing_token":$token1},{"holder":"ann","door":"lockserver","waits_for":{"kind":"named","name":"b"},"held_by":"bob","fencing_token":$token2}]}
        )"},
    };
}

class ScopedSet : public DialogueTest {};
TEST_P(ScopedSet, Dialogue) {
    hold();
}
INSTANTIATE_TEST_SUITE_P(Sets, ScopedSet, with_threads(sets()), name_of);
INSTANTIATE_TEST_SUITE_P(Deadlocks, ScopedSet, with_threads(deadlocks()), name_of);

TEST(ScopedSetEvents, AreOfAllItsScopes) {
    TestHost host(1);
    EventReader reader(host), of_b(host, "?prefix=b"), of_c(host, "?prefix=c");
    Dialogue dialogue(host);
    dialogue.hold("a> " + wants_all(a_and_b, "w1") + "a< " +
                  set_granted("1", named("a"), "w1", 0, held_a_and_b) + "a> " +
                  wants_all(R"("c")", "w1") + "a< " + set_granted("2", named("c"), "w1", 0));
    const std::string data =
        R"({"at_ms":1705314600000,"lock_name":"a","kind":"named","mode":"exclusive",)"
        R"("scopes":["a","b"],"owner_id":"w1","door":"scoped","fencing_token":)" +
        dialogue.blank("token1") +
        R"(,"lease_expiry_ms":1705314605000,"by":"http@127.0.0.1","queue_length":0})";
    EXPECT_EQ(reader.next().data, data);
    EXPECT_EQ(of_b.next().data, data);
    EXPECT_NE(of_c.next().data, data);
}

TEST(ScopedSetEvents, TellOfDeadlocks) {
    TestHost host(1);
    EventReader reader(host, "?prefix=b");
    Dialogue dialogue(host);
    dialogue.hold("a> " + wants_all(R"("a")", "ann") + "a< " +
                  set_granted("1", named("a"), "ann", 0) + "b> " + wants_all(R"("b")", "bob") +
                  "b< " + set_granted("2", named("b"), "bob", 0) + "a> " +
                  wants_all(R"("b")", "ann", and_waits) + "waiting 1\nb> " +
                  wants_all(R"("a")", "bob", and_waits) + "waiting 2\n");
    EXPECT_EQ(reader.next().kind, "granted");
    EXPECT_EQ(reader.next().kind, "queued");
    const SeenEvent event = reader.next();
    EXPECT_EQ(event.kind, "deadlock");
    EXPECT_EQ(event.data,
              R"({"at_ms":1705314600000,"cycle":[{"holder":"bob","door":"scoped",)"
              R"("waits_for":{"kind":"named","name":"a"},"held_by":"ann","fencing_token":)" +
                  dialogue.blank("token1") +
                  R"(},{"holder":"ann","door":"scoped","waits_for":{"kind":"named","name":"b"},)"
                  R"("held_by":"bob","fencing_token":)" +
                  dialogue.blank("token2") + "}]}");
}

}  // namespace
}  // namespace holdfast::conformance
