// What is said to `/v1/locks` and what it answers: LockServer's protocol, line by line. Each
// dialogue is held with one I/O thread and with three.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../http_dialogue_test.h"

namespace holdfast::conformance {
namespace {

// Most dialogues begin so.
const std::string w1_acquires = R"(
    > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}
    < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
)";

std::vector<Row> acquiring() {
    return {
        {"Free", w1_acquires},
        {"HeldByAnother", w1_acquires + R"(
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"w1","current_expiry_ms":@5000,"recommended_retry_ms":1000,"reason":"HELD"}
        )"},
        {"HeldByTheSameOwner", w1_acquires + R"(
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"w1","current_expiry_ms":@5000,"recommended_retry_ms":1000,"reason":"HELD"}
        )"},
        {"TryAgainInAQuarterOfTheRest", w1_acquires + R"(
            +1000
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":1}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"w1","current_expiry_ms":@5000,"recommended_retry_ms":1000,"reason":"HELD"}
            +4
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":1}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"w1","current_expiry_ms":@5000,"recommended_retry_ms":999,"reason":"HELD"}
            +1996
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":1}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"w1","current_expiry_ms":@5000,"recommended_retry_ms":500,"reason":"HELD"}
            +1896
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":1}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"w1","current_expiry_ms":@5000,"recommended_retry_ms":26,"reason":"HELD"}
            +103
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":1}
            < 409 {"acquired":false,"lock_name":"x","current_owner_id":"w1","current_expiry_ms":@5000,"recommended_retry_ms":25,"reason":"HELD"}
            +1
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":1}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@5001}
        )"},
        {"TtlFromOneToTenMinutes", R"(
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":1}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@1}
            > POST /v1/locks/y/acquire {"ttl_ms":600000,"owner_id":"w1"}
            < 200 {"acquired":true,"lock_name":"y","owner_id":"w1","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@600000}
        )"},
        {"TokensGrowOverReleaseAndExpiry", w1_acquires + R"(
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":true}
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@5000}
            +5000
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@10000}
        )"},
        {"SlashesInTheEnd", R"(
            > POST /v1/locks/x/acquire/ {"owner_id":"w1","ttl_ms":5000}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
            > GET /v1/locks/x/
            < 200 {"lock_name":"x","held":true,"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"version":1}
            > POST /v1/locks/x/renew/ {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":6000}
            < 200 {"renewed":true,"lease_expiry_ms":@6000}
            > POST /v1/locks/x/release/ {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":true}
        )"},
        {"NamesAreDecodedAndEscaped", R"(
            > POST /v1/locks/a%2Fb%20%22c%22/acquire {"owner_id":"B\u00fcro \"1\"\n","ttl_ms":5000}
            < 200 {"acquired":true,"lock_name":"a/b \"c\"","owner_id":"Büro \"1\"\n","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000}
            > GET /v1/locks/a%2fb+%22c%22
            < 200 {"lock_name":"a/b+\"c\"","held":false}
        )"},
    };
}

std::vector<Row> renewing() {
    return {
        {"Renewed", w1_acquires + R"(
            +2000
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":5000}
            < 200 {"renewed":true,"lease_expiry_ms":@7000}
        )"},
        {"NeverShortened", w1_acquires + R"(
            +1000
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":100}
            < 200 {"renewed":true,"lease_expiry_ms":@5000}
            +3950
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":100}
            < 200 {"renewed":true,"lease_expiry_ms":@5050}
            +99
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":true,"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5050,"version":3}
            +1
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":false}
        )"},
        {"NotByAnotherOwnerLeaseOrToken", w1_acquires + R"(
            > POST /v1/locks/x/renew {"owner_id":"w2","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":100}
            < 409 {"renewed":false,"reason":"NOT_OWNER_OR_EXPIRED"}
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"6f1f0a52-9d8c-4b6f-8a53-5f0c6b5a9d11","fencing_token":$token1,"extend_by_ms":100}
            < 409 {"renewed":false,"reason":"NOT_OWNER_OR_EXPIRED"}
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"anything","fencing_token":$token1,"extend_by_ms":100}
            < 409 {"renewed":false,"reason":"NOT_OWNER_OR_EXPIRED"}
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"$lease1","fencing_token":1,"extend_by_ms":100}
            < 409 {"renewed":false,"reason":"NOT_OWNER_OR_EXPIRED"}
            > POST /v1/locks/y/renew {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":100}
            < 409 {"renewed":false,"reason":"NOT_OWNER_OR_EXPIRED"}
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":true,"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"version":1}
        )"},
        {"NotAfterExpiry", w1_acquires + R"(
            +5000
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":100}
            < 409 {"renewed":false,"reason":"NOT_OWNER_OR_EXPIRED"}
        )"},
        {"NotAfterAnotherTookTheLock", w1_acquires + R"(
            +5000
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@10000}
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":60000}
            < 409 {"renewed":false,"reason":"NOT_OWNER_OR_EXPIRED"}
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":true,"owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@10000,"version":1}
        )"},
        {"NotAfterItWasReleased", w1_acquires + R"(
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":true}
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":100}
            < 409 {"renewed":false,"reason":"NOT_OWNER_OR_EXPIRED"}
        )"},
    };
}

std::vector<Row> releasing() {
    return {
        {"Released", w1_acquires + R"(
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":true}
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":false}
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":false,"reason":"NOT_OWNER"}
        )"},
        {"NotByAnotherOwnerLeaseOrToken", w1_acquires + R"(
            > POST /v1/locks/x/release {"owner_id":"w2","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":false,"reason":"NOT_OWNER"}
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"6f1f0a52-9d8c-4b6f-8a53-5f0c6b5a9d11","fencing_token":$token1}
            < 200 {"released":false,"reason":"NOT_OWNER"}
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":9007199254740991}
            < 200 {"released":false,"reason":"NOT_OWNER"}
            > POST /v1/locks/y/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":false,"reason":"NOT_OWNER"}
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":true,"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"version":1}
        )"},
        {"NotAfterExpiry", w1_acquires + R"(
            +5000
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":false,"reason":"NOT_OWNER"}
        )"},
        {"NotAfterAnotherTookTheLock", w1_acquires + R"(
            +5000
            > POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":5000}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@10000}
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":false,"reason":"NOT_OWNER"}
            > POST /v1/locks/x/release {"owner_id":"w2","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":false,"reason":"NOT_OWNER"}
            > POST /v1/locks/x/release {"owner_id":"w2","lease_id":"$lease2","fencing_token":$token1}
            < 200 {"released":false,"reason":"NOT_OWNER"}
            > POST /v1/locks/x/release {"owner_id":"w2","lease_id":"$lease2","fencing_token":$token2}
            < 200 {"released":true}
        )"},
    };
}

std::vector<Row> looking() {
    return {
        {"NeverHeld", R"(
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":false}
        )"},
        {"TheVersionGrowsWithEveryTransition", w1_acquires + R"(
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":true,"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"version":1}
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"extend_by_ms":5000}
            < 200 {"renewed":true,"lease_expiry_ms":@5000}
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":true,"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1,"lease_expiry_ms":@5000,"version":2}
            b> POST /v1/locks/x/acquire {"owner_id":"w2","ttl_ms":1000,"wait_ms":60000}
            queue x 1
            # Released, and granted to the next.
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"$lease1","fencing_token":$token1}
            < 200 {"released":true}
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@1000}
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":true,"owner_id":"w2","lease_id":"$lease2","fencing_token":$token2,"lease_expiry_ms":@1000,"version":4}
            b> POST /v1/locks/x/acquire {"owner_id":"w3","ttl_ms":1000,"wait_ms":60000}
            queue x 1
            # Expired, and granted to the next.
            +1000
            b< 200 {"acquired":true,"lock_name":"x","owner_id":"w3","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@2000}
            > GET /v1/locks/x
            < 200 {"lock_name":"x","held":true,"owner_id":"w3","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@2000,"version":6}
        )"},
        {"TheQueueIsShownOnDemand", R"(
            > GET /v1/locks/x?queue=true
            < 200 {"lock_name":"x","held":false,"queue_length":0,"queue":[]}
            > GET /v1/locks/x?queue=false
            < 200 {"lock_name":"x","held":false}
            > GET /v1/locks/x?queue=1
            < 400 {"error":"queue must be true or false"}
        )"},
    };
}

// The faults, each with the text that names it.
std::vector<Row> faults() {
    return {
        {"OwnerRequired", R"(
            > POST /v1/locks/x/acquire {"ttl_ms":5000}
            < 400 {"error":"owner_id required"}
            > POST /v1/locks/x/acquire {"owner_id":"","ttl_ms":5000}
            < 400 {"error":"owner_id required"}
        )"},
        {"LockNameRequired", R"(
            > POST /v1/locks//acquire {"owner_id":"w1","ttl_ms":5000}
            < 400 {"error":"lock_name required"}
            > GET /v1/locks/
            < 400 {"error":"lock_name required"}
        )"},
        {"NoJson", R"(
            > POST /v1/locks/x/acquire
            < 400 {"error":"the body is empty; a JSON object is expected"}
            > POST /v1/locks/x/acquire ["owner_id"]
            < 400 {"error":"the body must be a JSON object"}
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000} {}
            < 400 {"error":"the body is not valid JSON: something follows the object"}
            > POST /v1/locks/x/acquire {"owner_id":7,"ttl_ms":5000}
            < 400 {"error":"owner_id must be a string"}
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":"5000"}
            < 400 {"error":"ttl_ms must be a whole number"}
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"l","fencing_token":1.5,"extend_by_ms":1}
            < 400 {"error":"fencing_token must be a whole number"}
        )"},
        {"UnknownField", R"(
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000,"ttl":5}
            < 400 {"error":"unknown field \"ttl\""}
            > POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"l","fencing_token":1,"extend_by_ms":1,"ttl_ms":5}
            < 400 {"error":"unknown field \"ttl_ms\""}
            > POST /v1/locks/x/release {"owner_id":"w1","lease_id":"l","fencing_token":1,"extend_by_ms":1}
            < 400 {"error":"unknown field \"extend_by_ms\""}
        )"},
    };
}

std::vector<Row> faults_of_paths() {
    return {
        {"NoSuchPath", R"(
            > POST /v1/locks/x/steal {}
            < 404 {"error":"unknown action"}
            > POST /v1/locks/x/acquire/now {}
            < 404 {"error":"invalid path"}
        )"},
        {"PathsThatTheOriginalDoesNotKnow", R"(
            > GET /v1/locks/x/acquire
            < 404 {"error":"invalid path"}
            > POST /v1/locks/x {"owner_id":"w1","ttl_ms":5000}
            < 404 {"error":"unknown action"}
        )"},
        {"OtherMethods", R"(
            > PUT /v1/locks/x/acquire
            < 405 {"error":"method not allowed"}
            > PUT /v1/locks/x/renew {}
            < 405 {"error":"method not allowed"}
            > DELETE /v1/locks/x/release
            < 405 {"error":"method not allowed"}
            > PUT /v1/locks/x {}
            < 405 {"error":"method not allowed"}
            > POST /v1/locks {}
            < 405 {"error":"method not allowed"}
            > DELETE /v1/events
            < 405 {"error":"method not allowed"}
        )"},
        {"BadEscape", R"(
            > GET /v1/locks/%G1
            < 400 {"error":"a % is not followed by two hexadecimal digits"}
        )"},
        {"BadExtensions", R"(
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":1,"wait_ms":-1}
            < 400 {"error":"wait_ms must not be negative"}
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":1,"wait_ms":600001}
            < 400 {"error":"wait_ms must be in [0, 600000]; a longer wait needs a request_id"}
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":1,"mode":"both"}
            < 400 {"error":"mode must be exclusive or shared"}
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":1,"limit":0}
            < 400 {"error":"limit must be in [1, 1000000]"}
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":1,"limit":1000001}
            < 400 {"error":"limit must be in [1, 1000000]"}
            > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":1,"limit":2,"mode":"shared"}
            < 400 {"error":"a lock with a limit cannot be shared: every holder takes one permit"}
            > GET /v1/locks?limit=0
            < 400 {"error":"limit must be in [1, 1000]"}
            > GET /v1/locks?limit=1001
            < 400 {"error":"limit must be in [1, 1000]"}
            > GET /v1/locks?after=inode:x
            < 400 {"error":"after must be the `next` of an earlier page"}
        )"},
    };
}

std::vector<Row> out_of_range() {
    Row ttl{"TtlOutOfRange", ""}, extend_by{"ExtendByOutOfRange", ""};
    for (const char* number : {"0", "-1", "600001", "null"}) {
        ttl.text += R"(> POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":)" +
                    std::string(number) + "}\n" +
                    R"(< 400 {"error":"ttl_ms must be in (0, 600000]"})" + "\n";
        extend_by.text +=
            R"(> POST /v1/locks/x/renew {"owner_id":"w1","lease_id":"l","fencing_token":1,"extend_by_ms":)" +
            std::string(number) + "}\n" +
            R"(< 400 {"error":"extend_by_ms must be in (0, 600000]"})" + "\n";
    }
    return {ttl, extend_by};
}

Row proof_required() {
    Row proof{"ProofRequired", ""};
    for (const char* body :
         {R"({"lease_id":"l","fencing_token":1})", R"({"owner_id":"w1","fencing_token":1})",
          R"({"owner_id":"w1","lease_id":"l"})",
          R"({"owner_id":"w1","lease_id":"l","fencing_token":0})", "{}"}) {
        for (const char* action : {"renew", "release"}) {
            proof.text += "> POST /v1/locks/x/" + std::string(action) + " " + body + "\n" +
                          R"(< 400 {"error":"owner_id, lease_id, fencing_token required"})" + "\n";
        }
    }
    return proof;
}

Row too_long_texts() {
    Row too_long{"TooLong", ""};
    const auto refuse = [&](const std::string& lock, const std::string& fields,
                            const std::string& what) {
        too_long.text += "> POST /v1/locks/" + lock + "/acquire {\"ttl_ms\":5000," + fields +
                         "}\n< 400 {\"error\":\"" + what + " is too long\"}\n";
    };
    const std::string w1 = R"("owner_id":"w1")";
    refuse("x", R"("owner_id":")" + std::string(1025, 'o') + "\"", "owner_id");
    refuse(std::string(4097, 'x'), w1, "lock_name");
    refuse("x", w1 + R"(,"request_id":")" + std::string(257, 'r') + "\"", "request_id");
    refuse("x", w1 + R"(,"metadata":")" + std::string(1025, 'm') + "\"", "metadata");
    return too_long;
}

class LockserverDialogue : public DialogueTest {};

INSTANTIATE_TEST_SUITE_P(Acquiring, LockserverDialogue, with_threads(acquiring()), name_of);
INSTANTIATE_TEST_SUITE_P(Renewing, LockserverDialogue, with_threads(renewing()), name_of);
INSTANTIATE_TEST_SUITE_P(Releasing, LockserverDialogue, with_threads(releasing()), name_of);
INSTANTIATE_TEST_SUITE_P(Looking, LockserverDialogue, with_threads(looking()), name_of);
INSTANTIATE_TEST_SUITE_P(Faults, LockserverDialogue, with_threads(faults()), name_of);
INSTANTIATE_TEST_SUITE_P(Paths, LockserverDialogue, with_threads(faults_of_paths()), name_of);
INSTANTIATE_TEST_SUITE_P(Ranges, LockserverDialogue, with_threads(out_of_range()), name_of);
INSTANTIATE_TEST_SUITE_P(Texts, LockserverDialogue,
                         with_threads({proof_required(), too_long_texts()}), name_of);

TEST_P(LockserverDialogue, GoesAsWritten) {
    hold();
}

}  // namespace
}  // namespace holdfast::conformance
