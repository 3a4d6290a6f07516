// What Holdfast adds to LockServer's `/v1/locks`: waiting in a queue, sharing, permits, requests
// with an id, and the locks of other doors.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../http_dialogue_test.h"

namespace holdfast::conformance {
namespace {

const std::string w1_holds = R"(
    > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}
    < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
)";
const std::string w1_releases = R"(
    > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
    < 200 {"released":true}
)";

std::vector<Row> waiting() {
    return {
        {"GrantedWhenReleased", w1_holds + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000}
            queue x 1
            +1000
        )" + w1_releases + R"(
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@6000}
        )"},
        {"GrantedWhenExpired", w1_holds + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000}
            queue x 1
            +5000
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@10000}
        )"},
        {"GrantedAtOnceWhenFree", R"(
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"wait_ms":60000}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
        )"},
        {"TimedOut", w1_holds + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":4000}
            queue x 1
            +3999
            queue x 1
            +1
            b< 409 {"acquired":false,"lock_name":"x","recommended_retry_ms":25,"reason":"WAIT_TIMED_OUT"}
            queue x 0
        )"},
        {"OneWhoDisconnectsLeavesTheQueue", w1_holds + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000}
            queue x 1
            c> POST /v1/locks/x/acquire {"owner_id":"w3","ttl_ms":5000,"wait_ms":60000}
            queue x 2
            b!
            queue x 1
        )" + w1_releases + R"(
            c< 200 {"acquired":true,"lock_name":"x","owner_id":"w3","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@5000}
        )"},
        {"OneWhoStopsSendingLeavesTheQueueAndIsTold", w1_holds + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000}
            queue x 1
            b/
            b< 409 {"acquired":false,"lock_name":"x","reason":"CANCELLED"}
            queue x 0
        )"},
    };
}

std::vector<Row> queueing() {
    return {
        {"TheFirstToComeIsTheFirstToGo", w1_holds + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000}
            queue x 1
            c> POST /v1/locks/x/acquire {"owner_id":"w3","ttl_ms":5000,"wait_ms":60000}
            queue x 2
            d> POST /v1/locks/x/acquire {"owner_id":"w4","ttl_ms":5000,"wait_ms":60000}
            queue x 3
        )" + w1_releases + R"(
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@5000}
            > POST /v1/locks/x/release {"owner_id":"w2","lease_id":"$lease2","fencing_token":$token2}
            < 200 {"released":true}
            c< 200 {"acquired":true,"lock_name":"x","owner_id":"w3","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@5000}
            +5000
            d< 200 {"acquired":true,"lock_name":"x","owner_id":"w4","lease_id":"$lease4","fencing_token":$token4,"lease_expiry_ms":@10000}
        )"},
        {"NobodyOvertakesTheQueue", w1_holds + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000}
            queue x 1
        )" + w1_releases + R"(
            > POST /v1/locks/x/acquire {"owner_id":"w9","ttl_ms":5000}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"w2","current_expiry_ms":@5000,"recommended_retry_ms":1000,"reason":"HELD"}
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@5000}
        )"},
        {"TheQueueAsPeopleSeeIt", w1_holds + R"(
            +1000
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":4000,"metadata":"build 7"}
            queue x 1
            +500
            c> POST /v1/locks/x/acquire {"owner_id":"w3","ttl_ms":5000,"wait_ms":60000,"mode":"shared"}
            queue x 2
            > GET /v1/locks/x?queue=true
            < 200 {"lock_name":"x","held":true,"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"version":1,"queue_length":2,"queue":[{"place":1,"owner_id":"w2","door":"lockserver","mode":"exclusive","waiting_since_ms":@1000,"wait_until_ms":@5000,"waits_for":"w1","metadata":"build 7"},{"place":2,"owner_id":"w3","door":"lockserver","mode":"shared","waiting_since_ms":@1500,"wait_until_ms":@61500,"waits_for":"w2"}]}
        )"},
    };
}

std::vector<Row> forcing() {
    return {
        {"NobodyHoldsIt", R"(
            > DELETE /v1/locks/x
            < 200 {"released":false,"reason":"NOT_HELD","holders":0}
        )"},
        {"WaitersMoveUp", w1_holds + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"wait_ms":60000}
            queue x 1
            > DELETE /v1/locks/x
            < 200 {"released":true,"holders":1}
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@5000}
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":5000}
            < 409 {"renewed":false,"reason":"NOT_OWNER_OR_EXPIRED"}
        )"},
        {"APermitToo", R"(
            > POST /v1/locks/s/acquire {"owner_id":"w1","ttl_ms":5000,"limit":2}
            < 200 {"acquired":true,"lock_name":"s","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
            > POST /v1/locks/s/acquire {"owner_id":"w2","ttl_ms":5000,"limit":2}
            < 200 {"acquired":true,"lock_name":"s","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@5000}
            > DELETE /v1/locks/s
            < 200 {"released":true,"holders":2}
            > DELETE /v1/locks/s
            < 200 {"released":false,"reason":"NOT_HELD","holders":0}
        )"},
    };
}

std::vector<Row> sharing() {
    const std::string two_readers = R"(
        > POST /v1/locks/x/acquire {"owner_id":"r1","ttl_ms":5000,"mode":"shared"}
        < 200 {"acquired":true,"lock_name":"x","owner_id":"r1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"mode":"shared"}
        > POST /v1/locks/x/acquire {"owner_id":"r2","ttl_ms":6000,"mode":"shared"}
        < 200 {"acquired":true,"lock_name":"x","owner_id":"r2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@6000,"mode":"shared"}
    )";
    return {
        {"ReadersTogether", two_readers + R"(
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":true,"owner_id":"r1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"mode":"shared","version":2,"holders":[{"owner_id":"r1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"mode":"shared","door":"lockserver","acquired_ms":@0,"ttl_ms":5000},{"owner_id":"r2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@6000,"mode":"shared","door":"lockserver","acquired_ms":@0,"ttl_ms":6000}]}
        )"},
        {"AWriterWaitsForAllReaders", two_readers + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w","ttl_ms":5000,"wait_ms":60000}
            queue x 1
            > POST /v1/locks/x/release {"owner_id":"r1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":true}
            queue x 1
            > POST /v1/locks/x/release {"owner_id":"r2","lease_id":"$lease2","fencing_token":$token2}
            < 200 {"released":true}
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@5000}
        )"},
        {"ReadersWhoKeepComingDoNotStarveAWriter", two_readers + R"(
            b> POST /v1/locks/x/acquire {"owner_id":"w","ttl_ms":5000,"wait_ms":60000}
            queue x 1
            > POST /v1/locks/x/acquire {"owner_id":"r3","ttl_ms":5000,"mode":"shared"}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"r1","current_expiry_ms":@5000,"recommended_retry_ms":1000,"reason":"HELD"}
            c> POST /v1/locks/x/acquire {"owner_id":"r4","ttl_ms":5000,"mode":"shared","wait_ms":60000}
            queue x 2
            d> POST /v1/locks/x/acquire {"owner_id":"r5","ttl_ms":5000,"mode":"shared","wait_ms":60000}
            queue x 3
            +6000
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@11000}
            > POST /v1/locks/x/release {"owner_id":"w","lease_id":"$lease3","fencing_token":$token3}
            < 200 {"released":true}
            c< 200 {"acquired":true,"lock_name":"x","owner_id":"r4","lease_id":"$lease4","fencing_token":$token4,"lease_expiry_ms":@11000,"mode":"shared"}
            d< 200 {"acquired":true,"lock_name":"x","owner_id":"r5","lease_id":"$lease5","fencing_token":$token5,"lease_expiry_ms":@11000,"mode":"shared"}
        )"},
    };
}

std::vector<Row> permits() {
    const std::string two_of_two = R"(
        > POST /v1/locks/s/acquire {"owner_id":"w1","ttl_ms":5000,"limit":2}
        < 200 {"acquired":true,"lock_name":"s","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
        > POST /v1/locks/s/acquire {"owner_id":"w2","ttl_ms":6000,"limit":2}
        < 200 {"acquired":true,"lock_name":"s","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@6000}
    )";
    return {
        {"AsManyAsTheLimit", two_of_two + R"(
            > POST /v1/locks/s/acquire {"owner_id":"w3","ttl_ms":5000,"limit":2}
            < 409 {"acquired":false,"lock_name":"s","current_owner_id":"w1","current_expiry_ms":@5000,"recommended_retry_ms":1000,"reason":"HELD"}
            > GET /v1/locks/s
            < 200 {"lock_name":"s","held":true,"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"version":2,"limit":2,"holders":[{"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"door":"lockserver","acquired_ms":@0,"ttl_ms":5000},{"owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@6000,"door":"lockserver","acquired_ms":@0,"ttl_ms":6000}]}
        )"},
        {"AreRenewedReleasedAndWaitedFor", two_of_two + R"(
            > POST /v1/locks/s/renew {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":9000}
            < 200 {"renewed":true,"lease_expiry_ms":@9000}
            b> POST /v1/locks/s/acquire {"owner_id":"w3","ttl_ms":5000,"limit":2,"wait_ms":60000}
            queue s 1
            > POST /v1/locks/s/release {"owner_id":"w2","lease_id":"$lease2","fencing_token":$token2}
            < 200 {"released":true}
            b< 200 {"acquired":true,"lock_name":"s","owner_id":"w3","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@5000}
        )"},
        {"OfAnotherNumberAreRefused", two_of_two + R"(
            > POST /v1/locks/s/acquire {"owner_id":"w3","ttl_ms":5000,"limit":3}
            < 409 {"acquired":false,"lock_name":"s","reason":"LIMIT_MISMATCH"}
        )"},
        {"ANameIsALockOrASemaphore", two_of_two + R"(
            > POST /v1/locks/s/acquire {"owner_id":"w3","ttl_ms":5000}
            < 409 {"acquired":false,"lock_name":"s","reason":"KIND_MISMATCH"}
            > POST /v1/leases {"scope":"s","holder":"w3","wait_ms":5000}
            < 409 {"error":"KindMismatch","message":"the name is a semaphore at the moment: ask for semaphore:NAME and its limit","scope":{"kind":"named","name":"s"}}
            > POST /lock?job=s&client=w3
            < 409 {"success":false,"job":"s","holder":"","message":"this name is a semaphore at the moment","error":"this name is a semaphore at the moment"}
        )"},
        {"ALimitOfOneIsThePlainLock", R"(
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"limit":1}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"w1","current_expiry_ms":@5000,"recommended_retry_ms":1000,"reason":"HELD"}
        )"},
        {"ALargerOneIsAnotherThing", w1_holds + R"(
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000,"limit":2}
            < 409 {"acquired":false,"lock_name":"x","reason":"KIND_MISMATCH"}
        )" + w1_releases},
    };
}

std::vector<Row> metadata() {
    return {{"MetadataIsShownWithTheLease", R"(
        > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"metadata":"build \"7\""}
        < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"metadata":"build \"7\""}
        > GET /v1/locks/x
        < 200 {"lock_name":"x","held":true,"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"metadata":"build \"7\"","version":1}
    )"}};
}

class LockserverWaiting : public DialogueTest {};

INSTANTIATE_TEST_SUITE_P(Waiting, LockserverWaiting, with_threads(waiting()), name_of);
INSTANTIATE_TEST_SUITE_P(Queueing, LockserverWaiting, with_threads(queueing()), name_of);
INSTANTIATE_TEST_SUITE_P(Forcing, LockserverWaiting, with_threads(forcing()), name_of);
INSTANTIATE_TEST_SUITE_P(Sharing, LockserverWaiting, with_threads(sharing()), name_of);
INSTANTIATE_TEST_SUITE_P(Permits, LockserverWaiting, with_threads(permits()), name_of);
INSTANTIATE_TEST_SUITE_P(Metadata, LockserverWaiting, with_threads(metadata()), name_of);

TEST_P(LockserverWaiting, GoesAsWritten) {
    hold();
}

}  // namespace
}  // namespace holdfast::conformance
