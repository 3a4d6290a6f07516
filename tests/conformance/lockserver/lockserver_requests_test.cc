// Requests with an id, the locks of other doors, and listings.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../http_dialogue_test.h"

namespace holdfast::conformance {
namespace {

const std::string w1_holds_by_id = R"(
    > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"request_id":"q1"}
    < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
)";

std::vector<Row> request_ids() {
    return {
        {"TheSameLeaseAgain", w1_holds_by_id + R"(
            +1000
            b> POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"request_id":"q1"}
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
            b> POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"request_id":"q2"}
            b< 409 {"acquired":false,"lock_name":"x","current_owner_id":"w1","current_expiry_ms":@5000,"recommended_retry_ms":1000,"reason":"HELD"}
        )"},
        {"BelongToTheirOwnerAndLock", w1_holds_by_id + R"(
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"request_id":"q1"}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"w1","current_expiry_ms":@5000,"recommended_retry_ms":1000,"reason":"HELD"}
            > POST /v1/locks/y/acquire {"owner_id":"w1","ttl_ms":5000,"request_id":"q1"}
            < 200 {"acquired":true,"lock_name":"y","owner_id":"w1","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@5000}
        )"},
        {"EndedByRelease", w1_holds_by_id + R"(
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":true}
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"request_id":"q1"}
            < 409 {"acquired":false,"lock_name":"x","reason":"REQUEST_ENDED"}
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":false}
        )"},
        {"EndedByExpiryAndForgottenAfterTenMinutes", w1_holds_by_id + R"(
            +5000
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"request_id":"q1"}
            < 409 {"acquired":false,"lock_name":"x","reason":"REQUEST_ENDED"}
            +599999
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"request_id":"q1"}
            < 409 {"acquired":false,"lock_name":"x","reason":"REQUEST_ENDED"}
            +2
            # What is old is forgotten when something else ends.
            > POST /v1/locks/y/acquire {"owner_id":"w1","ttl_ms":5000,"request_id":"q1"}
            < 200 {"acquired":true,"lock_name":"y","owner_id":"w1","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@610001}
            > POST /v1/locks/y/release {"owner_id":"w1","lease_id":"$lease2","fencing_token":$token2}
            < 200 {"released":true}
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"request_id":"q1"}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@610001}
        )"},
    };
}

std::vector<Row> request_ids_of_waits() {
    return {
        {"AWaitIsTakenOverWithItsPlace", w1_holds_by_id + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000,"request_id":"q1"}
            queue x 1
            c> POST /v1/locks/x/acquire {"owner_id":"w3","ttl_ms":5000,"wait_ms":60000}
            queue x 2
            d> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000,"request_id":"q1"}
            b< 409 {"acquired":false,"lock_name":"x","reason":"REQUEST_SUPERSEDED"}
            queue x 2
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":true}
            d< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@5000}
            +5000
            c< 200 {"acquired":true,"lock_name":"x","owner_id":"w3","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@10000}
        )"},
        {"TheOldConnectionDoesNotTakeTheNewOneAlong", w1_holds_by_id + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000,"request_id":"q1"}
            queue x 1
            d> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000,"request_id":"q1"}
            b< 409 {"acquired":false,"lock_name":"x","reason":"REQUEST_SUPERSEDED"}
            b!
            queue x 1
            +5000
            d< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@10000}
        )"},
        {"AWaitWhoseConnectionBrokeIsOver", w1_holds_by_id + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000,"request_id":"q1"}
            queue x 1
            c> POST /v1/locks/x/acquire {"owner_id":"w3","ttl_ms":5000,"wait_ms":60000}
            queue x 2
            b!
            queue x 1
            d> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000,"request_id":"q1"}
            queue x 2
            +5000
            c< 200 {"acquired":true,"lock_name":"x","owner_id":"w3","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@10000}
            +5000
            d< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@15000}
        )"},
        {"AWaitInVainMayBeTriedAgain", w1_holds_by_id + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":1000,"request_id":"q1"}
            queue x 1
            +1000
            b< 409 {"acquired":false,"lock_name":"x","recommended_retry_ms":25,"reason":"WAIT_TIMED_OUT"}
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000,"request_id":"q1"}
            queue x 1
            +4000
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@10000}
        )"},
        {"TheLeaseOutlivesItsConnection", w1_holds_by_id + R"(
            b> POST /v1/locks/z/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000,"request_id":"q9"}
            b< 200 {"acquired":true,"lock_name":"z","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@5000}
            b!
            c> POST /v1/locks/z/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000,"request_id":"q9"}
            c< 200 {"acquired":true,"lock_name":"z","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@5000}
        )"},
    };
}

// A wait without an end, of which the server lets its client hear every ten minutes.
std::vector<Row> long_waits() {
    const std::string b_asks = R"(
        b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":31536000000,"request_id":"q1"}
    )";
    const std::string b_still_waits = R"(
        a> POST /v1/leases {"scope":"named:x","holder":"a","duration_ms":86400000}
        a< 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"named","name":"x"},"holder":"a","mode":"exclusive","acquired_at":"@@0","expires_at":"@@86400000","ttl_ms":86400000,"duration_ms":86400000}
    )" + b_asks + R"(
        queue x 1
        +599999
        queue x 1
        +1
        b< 409 {"acquired":false,"lock_name":"x","recommended_retry_ms":25,"reason":"STILL_WAITING","place_kept_ms":5000}
    )";
    const std::string a_releases = R"(
        a> DELETE /v1/leases/$secret1
        a< 200 {"released":true}
    )";
    return {
        {"GoOnAtTheirPlacesWhenTheyAreAskedAgain", b_still_waits + R"(
            c> POST /v1/locks/x/acquire {"owner_id":"w3","ttl_ms":5000,"wait_ms":60000}
            queue x 2
            +4999
        )" + b_asks + R"(
            > GET /v1/locks/x?queue=true
            < 200 {"lock_name":"x","held":true,"owner_id":"a","fencing_token":$token1,"lease_expiry_ms":@86400000,"version":1,"queue_length":2,"queue":[{"place":1,"owner_id":"w2","door":"lockserver","mode":"exclusive","waiting_since_ms":@0,"waits_for":"a"},{"place":2,"owner_id":"w3","door":"lockserver","mode":"exclusive","waiting_since_ms":@600000,"wait_until_ms":@660000,"waits_for":"w2"}]}
        )" + a_releases + R"(
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@609999}
            +5000
            c< 200 {"acquired":true,"lock_name":"x","owner_id":"w3","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@614999}
        )"},
        {"FindWhatTheyWereGrantedMeanwhile", b_still_waits + a_releases + "+1000" + b_asks + R"(
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@605000}
        )"},
        {"LoseTheirPlacesWhenTheyDoNotComeBack", b_still_waits + R"(
            +5000
            queue x 0
        )" + a_releases + R"(
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":false}
        )"},
    };
}

// One set of locks, several doors.
std::vector<Row> doors() {
    const std::string taken_at_lock = R"(
        > POST /lock?client=a&job=x&ttl=5s
        < 200 {"success":true,"job":"x","holder":"a","message":"acquired","expires_at":"2024-01-15T10:30:05Z"}
    )";
    return {
        {"HeldAtTheOtherOne", taken_at_lock + R"(
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"a","current_expiry_ms":@10000,"recommended_retry_ms":1000,"reason":"HELD"}
            > POST /v1/locks/x/acquire {"owner_id":"a","ttl_ms":5000}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"a","current_expiry_ms":@10000,"recommended_retry_ms":1000,"reason":"HELD"}
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":true,"owner_id":"a","fencing_token":$token1,"lease_expiry_ms":@5000,"version":1}
            # What another door granted is out of reach, and its secret is not shown.
            > POST /v1/locks/x/release {"owner_id":"a","lease_id":"01981342-deaf-4ec0-a96c-e212d211d8de","fencing_token":$token1}
            < 200 {"released":false,"reason":"NOT_OWNER"}
            > POST /v1/locks/x/renew {"owner_id":"a","lease_id":"01981342-deaf-4ec0-a96c-e212d211d8de","fencing_token":$token1,"extend_by_ms":1000}
            < 409 {"renewed":false,"reason":"NOT_OWNER_OR_EXPIRED"}
        )"},
        {"InGraceAtTheOtherOne", taken_at_lock + R"(
            +6000
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"a","current_expiry_ms":@10000,"recommended_retry_ms":1000,"reason":"HELD"}
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":true,"owner_id":"a","fencing_token":$token1,"lease_expiry_ms":@5000,"grace_until_ms":@10000,"version":2}
            +4000
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@15000}
        )"},
        {"HeldAtThisOne", R"(
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
            > POST /lock?client=a&job=x&ttl=5s
            < 409 {"success":false,"job":"x","holder":"w1","message":"held by another client","expires_at":"2024-01-15T10:30:05Z"}
            > POST /lock?client=w1&job=x&ttl=5s
            < 409 {"success":false,"job":"x","holder":"w1","message":"held by another client","expires_at":"2024-01-15T10:30:05Z"}
            > GET /lock?job=x
            < 200 {"success":true,"job":"x","holder":"w1","message":"lock held","expires_at":"2024-01-15T10:30:05Z","is_expired":false,"grace_until":"2024-01-15T10:30:05Z"}
            > DELETE /lock?client=w1&job=x
            < 403 {"success":false,"job":"x","holder":"w1","message":"client does not hold the lock","error":"client does not hold the lock"}
        )"},
        {"WaitersOfThisOneComeBeforeLaterOnesOfTheOther", taken_at_lock + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":2000,"wait_ms":60000}
            queue x 1
            > DELETE /lock?client=a&job=x
            < 200 {"success":true,"job":"x","holder":"","message":"lock released"}
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@2000}
            c> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":2000,"wait_ms":60000}
            queue x 1
            > POST /lock?client=a&job=x&ttl=5s
            < 409 {"success":false,"job":"x","holder":"w1","message":"held by another client","expires_at":"2024-01-15T10:30:02Z"}
            +2000
            c< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@4000}
            > POST /lock?client=a&job=x&ttl=5s
            < 409 {"success":false,"job":"x","holder":"w2","message":"held by another client","expires_at":"2024-01-15T10:30:04Z"}
        )"},
        {"ForcedOpenFromThisOne", taken_at_lock + R"(
            > DELETE /v1/locks/x
            < 200 {"released":true,"holders":1}
            > GET /lock?job=x
            < 200 {"success":true,"job":"x","holder":"","message":"no lock held","is_expired":true}
        )"},
        {"DifferInNothingButTheName", taken_at_lock + R"(
            > POST /v1/locks/y/acquire {"owner_id":"w1","ttl_ms":5000}
            < 200 {"acquired":true,"lock_name":"y","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
        )"},
    };
}

std::vector<Row> listings() {
    return {
        {"NoLocks", R"(
            > GET /v1/locks
            < 200 {"locks":[]}
        )"},
        {"EveryKindOfDoorAndLock", R"(
            > POST /lock?client=a&job=x&ttl=5s
            < 200 {"success":true,"job":"x","holder":"a","message":"acquired","expires_at":"2024-01-15T10:30:05Z"}
            > POST /v1/locks/s/acquire {"owner_id":"w1","ttl_ms":5000,"limit":3,"metadata":"m"}
            < 200 {"acquired":true,"lock_name":"s","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"metadata":"m"}
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":1000}
            queue x 1
            +1
            > GET /v1/locks
            < 200 {"locks":[{"lock_name":"x","kind":"named","held":true,"version":1,"waiters":1,"holders":[{"owner_id":"a","fencing_token":$number,"lease_expiry_ms":@5000,"door":"homelab","acquired_ms":@0,"ttl_ms":5000}]},{"lock_name":"s","kind":"semaphore","held":true,"version":1,"waiters":0,"limit":3,"holders":[{"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"metadata":"m","door":"lockserver","acquired_ms":@0,"ttl_ms":5000}]}]}
            > GET /v1/locks?prefix=s&limit=1
            < 200 {"locks":[{"lock_name":"s","kind":"semaphore","held":true,"version":1,"waiters":0,"limit":3,"holders":[{"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"metadata":"m","door":"lockserver","acquired_ms":@0,"ttl_ms":5000}]}]}
        )"},
    };
}

class LockserverRequests : public DialogueTest {};

INSTANTIATE_TEST_SUITE_P(RequestIds, LockserverRequests, with_threads(request_ids()), name_of);
INSTANTIATE_TEST_SUITE_P(Waits, LockserverRequests, with_threads(request_ids_of_waits()), name_of);
INSTANTIATE_TEST_SUITE_P(LongWaits, LockserverRequests, with_threads(long_waits()), name_of);
INSTANTIATE_TEST_SUITE_P(Doors, LockserverRequests, with_threads(doors()), name_of);
INSTANTIATE_TEST_SUITE_P(Listings, LockserverRequests, with_threads(listings()), name_of);

TEST_P(LockserverRequests, GoAsWritten) {
    hold();
}

// Names of one page after the other, until there is no next one.
TEST(LockserverListing, PagesThroughAllLocks) {
    TestHost host(1);
    net::TestClient client = host.connect();
    const auto ask = [&](const std::string& line, const std::string& body = "") {
        client.send(http(line, body));
        return client.response();
    };
    std::vector<std::string> expected;
    for (int i = 100; i < 125; ++i) {
        for (const char* prefix : {"job/a b&", "other-"}) {
            const std::string name = prefix + std::to_string(i);
            std::string in_path = name;
            for (const auto& [plain, escaped] : {std::pair{"/", "%2F"}, {" ", "%20"}}) {
                const auto at = in_path.find(plain);
                if (at != std::string::npos) in_path.replace(at, 1, escaped);
            }
            ASSERT_EQ(
                ask("POST /v1/locks/" + in_path + "/acquire", R"({"owner_id":"w1","ttl_ms":5000})")
                    .status,
                200);
            if (prefix[0] == 'j') expected.push_back(name);
        }
    }
    const auto text_after = [](const std::string& body, const std::string& key, std::size_t from) {
        const auto at = body.find("\"" + key + "\":\"", from);
        if (at == std::string::npos) return std::pair{std::string(), at};
        const auto begin = at + key.size() + 4;
        return std::pair{body.substr(begin, body.find('"', begin) - begin), begin};
    };
    std::vector<std::string> seen;
    std::string after;
    int pages = 0;
    do {
        std::string query = "/v1/locks?prefix=job%2Fa+b%26&limit=4";
        if (!after.empty()) query += "&after=" + after;
        const std::string body = ask("GET " + query).body;
        std::size_t from = 0;
        for (;;) {
            const auto [name, at] = text_after(body, "lock_name", from);
            if (at == std::string::npos) break;
            seen.push_back(name);
            from = at;
        }
        after = text_after(body, "next", 0).first;
        for (const auto& [plain, escaped] : {std::pair{"/", "%2F"}, {" ", "+"}, {"&", "%26"}}) {
            const auto at = after.find(plain);
            if (at != std::string::npos) after.replace(at, 1, escaped);
        }
        ASSERT_LE(++pages, 7);
    } while (!after.empty());
    EXPECT_EQ(pages, 7);
    EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace holdfast::conformance
