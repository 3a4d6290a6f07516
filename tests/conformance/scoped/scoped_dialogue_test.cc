// Leases over HTTP: taken, renewed, looked at, given back, listed.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../http_dialogue_test.h"

namespace holdfast::conformance {
namespace {

const std::string w1_holds = R"(
    > POST /v1/leases {"scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","duration_ms":5000}
    < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000}
)";
const std::string not_found =
    R"({"error":"LockNotFound","message":"no lease was ever given this token"})";
const std::string expired =
    R"({"error":"LockExpired","message":"the lease of this token has ended"})";

std::vector<Row> taking() {
    return {
        {"HeldByAnother", w1_holds + R"(
            +1000
            > POST /v1/leases {"scope":"range:7:4095-5000","holder":"w2"}
            < 409 {"error":"LockHeld","message":"range:7:0-4096 is held by w1","scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","expires_at":"@@5000","queue_length":0,"retry_after_ms":1000}
            > POST /v1/leases {"scope":"range:7:4096-5000","holder":"w2"}
            < 200 {"token":"$secret2","fencing_token":$token2,"scope":{"kind":"range","inode":7,"start":4096,"end":5000},"holder":"w2","mode":"exclusive","acquired_at":"@@1000","expires_at":"@@31000","ttl_ms":30000,"duration_ms":30000}
        )"},
        {"EveryKind", R"(
            > POST /v1/leases {"scope":{"kind":"named","name":"x"},"holder":"w1"}
            < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"named","name":"x"},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@30000","ttl_ms":30000,"duration_ms":30000}
            > POST /v1/leases {"scope":{"kind":"path","path":"/a \"b\""},"holder":"w1","mode":"shared"}
            < 200 {"token":"$secret2","fencing_token":$token2,"scope":{"kind":"path","path":"/a \"b\""},"holder":"w1","mode":"shared","acquired_at":"@@0","expires_at":"@@30000","ttl_ms":30000,"duration_ms":30000}
            > POST /v1/leases {"scope":{"kind":"inode","inode":18446744073709551615},"holder":"w1"}
            < 200 {"token":"$secret3","fencing_token":$token3,"scope":{"kind":"inode","inode":18446744073709551615},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@30000","ttl_ms":30000,"duration_ms":30000}
            > POST /v1/leases {"scope":{"kind":"range","inode":7,"start":4096},"holder":"w1","metadata":"tail"}
            < 200 {"token":"$secret4","fencing_token":$token4,"scope":{"kind":"range","inode":7,"start":4096},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@30000","ttl_ms":30000,"duration_ms":30000,"metadata":"tail"}
        )"},
        {"ASemaphoreByPermits", R"(
            > POST /v1/leases {"scope":"semaphore:x","holder":"w1","limit":2}
            < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"semaphore","name":"x"},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@30000","ttl_ms":30000,"duration_ms":30000}
            > POST /v1/leases {"scope":{"kind":"semaphore","name":"x"},"holder":"w2","limit":2}
            < 200 {"token":"$secret2","fencing_token":$token2,"scope":{"kind":"semaphore","name":"x"},"holder":"w2","mode":"exclusive","acquired_at":"@@0","expires_at":"@@30000","ttl_ms":30000,"duration_ms":30000}
            > POST /v1/leases {"scope":"semaphore:x","holder":"w3","limit":2}
            < 409 {"error":"LockHeld","message":"semaphore:x is held by w1","scope":{"kind":"semaphore","name":"x"},"holder":"w1","mode":"exclusive","expires_at":"@@30000","queue_length":0,"retry_after_ms":1000}
            > POST /v1/leases {"scope":"semaphore:x","holder":"w3","limit":3}
            < 409 {"error":"LimitMismatch","message":"the semaphore has another limit","scope":{"kind":"semaphore","name":"x"}}
            > DELETE /v1/leases/$secret1
            < 200 {"released":true}
            > POST /v1/locks/x/acquire {"owner_id":"w3","ttl_ms":5000,"limit":2}
            < 200 {"acquired":true,"lock_name":"x","owner_id":"w3","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@5000}
        )"},
        {"FreeWhenExpired", w1_holds + R"(
            +4999
            > POST /v1/leases {"scope":"inode:7","holder":"w2"}
            < 409 {"error":"LockHeld","message":"range:7:0-4096 is held by w1","scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","expires_at":"@@5000","queue_length":0,"retry_after_ms":25}
            +1
            > POST /v1/leases {"scope":"inode:7","holder":"w2"}
            < 200 {"token":"$secret2","fencing_token":$token2,"scope":{"kind":"inode","inode":7},"holder":"w2","mode":"exclusive","acquired_at":"@@5000","expires_at":"@@35000","ttl_ms":30000,"duration_ms":30000}
        )"},
    };
}

std::vector<Row> keeping() {
    return {
        {"RenewedFromNowOn", w1_holds + R"(
            +4000
            > POST /v1/leases/$secret1/renew {"duration_ms":10000}
            < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@14000","ttl_ms":10000,"duration_ms":10000}
            > POST /v1/leases/$secret1/renew {"duration_ms":1000}
            < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@5000","ttl_ms":1000,"duration_ms":1000}
        )"},
        {"RenewedForItsOwnDuration", w1_holds + R"(
            +4000
            > POST /v1/leases/$secret1/renew
            < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@9000","ttl_ms":5000,"duration_ms":5000}
            > POST /v1/leases/$secret1/renew {}
            < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@9000","ttl_ms":5000,"duration_ms":5000}
        )"},
        {"LookedAt", w1_holds + R"(
            +1
            > GET /v1/leases/$secret1
            < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000}
        )"},
        {"GivenBack", w1_holds + R"(
            > DELETE /v1/leases/$secret1
            < 200 {"released":true}
            > POST /v1/leases {"scope":"inode:7","holder":"w2"}
            < 200 {"token":"$secret2","fencing_token":$token2,"scope":{"kind":"inode","inode":7},"holder":"w2","mode":"exclusive","acquired_at":"@@0","expires_at":"@@30000","ttl_ms":30000,"duration_ms":30000}
        )"},
    };
}

// What ended is expired, whatever ended it, and is never brought back.
std::vector<Row> ended() {
    const auto all_are = [](const std::string& status, const std::string& body) {
        return R"(
            > GET /v1/leases/$secret1
            < )" +
               status + body + R"(
            > POST /v1/leases/$secret1/renew {"duration_ms":5000}
            < )" +
               status + body + R"(
            > DELETE /v1/leases/$secret1
            < )" +
               status + body + R"(
            > POST /v1/fence/check {"token":"$secret1","scope":"inode:7"}
            < )" +
               status + body + "\n";
    };
    return {
        {"ByItself", w1_holds + "+5000\n" + all_are("410 ", expired) + R"(
            > POST /v1/leases {"scope":"inode:7","holder":"w2"}
            < 200 {"token":"$secret2","fencing_token":$token2,"scope":{"kind":"inode","inode":7},"holder":"w2","mode":"exclusive","acquired_at":"@@5000","expires_at":"@@35000","ttl_ms":30000,"duration_ms":30000}
        )" + all_are("410 ", expired) +
                         "+100000000\n" + all_are("410 ", expired)},
        {"ByItsHolder", w1_holds + R"(
            > DELETE /v1/leases/$secret1
            < 200 {"released":true}
        )" + all_are("410 ", expired)},
    };
}

std::vector<Row> unknown() {
    std::string text = w1_holds;
    // Too short, no digits, none at all, upper case, a number that was never given out.
    for (const char* token :
         {"1", "gggggggggggggggggggggggggggggggg", "00000000000000000000000000000000",
          "0006604EFEEB32D670ECDEEC23021D23", "ffffffffffffffffffffffffffffffff", "%24secret1",
          "01981342-deaf-4ec0-a96c-e212d211d8de"}) {
        for (const char* line : {"GET /v1/leases/", "DELETE /v1/leases/"}) {
            text += std::string("> ") + line + token + "\n< 404 " + not_found + "\n";
        }
        text += std::string("> POST /v1/leases/") + token + "/renew {\"duration_ms\":1}\n< 404 " +
                not_found + "\n";
    }
    return {{"Token", text}};
}

std::vector<Row> listing() {
    const std::string three = w1_holds + R"(
        > POST /v1/leases {"scope":"path:/a","holder":"w2","mode":"shared","metadata":"m"}
        < 200 {"token":"$secret2","fencing_token":$token2,"scope":{"kind":"path","path":"/a"},"holder":"w2","mode":"shared","acquired_at":"@@0","expires_at":"@@30000","ttl_ms":30000,"duration_ms":30000,"metadata":"m"}
        > POST /v1/locks/x/acquire {"owner_id":"w1","ttl_ms":5000}
        < 200 {"acquired":true,"lock_name":"x","owner_id":"w1","lease_id":"$lease3","fencing_token":$token3,"lease_expiry_ms":@5000}
    )";
    const std::string first =
        R"({"fencing_token":$token1,"scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000,"door":"scoped"})";
    const std::string second =
        R"({"fencing_token":$token2,"scope":{"kind":"path","path":"/a"},"holder":"w2","mode":"shared","acquired_at":"@@0","expires_at":"@@30000","ttl_ms":30000,"duration_ms":30000,"door":"scoped","metadata":"m"})";
    const std::string third =
        R"({"fencing_token":$token3,"scope":{"kind":"named","name":"x"},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000,"door":"lockserver"})";
    const auto page = [](const std::string& query, const std::string& leases) {
        return "> GET /v1/leases" + query + "\n< 200 {\"leases\":[" + leases + "]";
    };
    return {
        {"Nothing", "> GET /v1/leases\n< 200 {\"leases\":[]}\n"},
        {"OfEveryDoorWithoutTokens", three + page("", first + "," + second + "," + third) + "}\n"},
        {"Filtered", three + page("?kind=path", second) + "}\n" +
                         page("?holder=w1", first + "," + third) + "}\n" +
                         page("?holder=w1&kind=range", first) + "}\n" + page("?inode=7", first) +
                         "}\n" + page("?inode=8", "") + "}\n" + page("?path=%2Fa", second) + "}\n" +
                         page("?path=%2Fa&holder=w1", "") + "}\n" +
                         page("?kind=&holder=&inode=&path=%2Fa", second) + "}\n"},
        {"PageByPage", three + page("?limit=2", first + "," + second) + ",\"next\":\"$token2\"}\n" +
                           page("?limit=2&after=$token2", third) + "}\n" + page("?limit=1", first) +
                           ",\"next\":\"$token1\"}\n" +
                           page("?limit=3", first + "," + second + "," + third) + "}\n" +
                           page("?after=$token3", "") + "}\n"},
        {"WithoutWhatIsOver", three + "+5000\n" + page("", second) + "}\n"},
    };
}

class ScopedLeases : public DialogueTest {};
TEST_P(ScopedLeases, Dialogue) {
    hold();
}
INSTANTIATE_TEST_SUITE_P(Taking, ScopedLeases, with_threads(taking()), name_of);
INSTANTIATE_TEST_SUITE_P(Keeping, ScopedLeases, with_threads(keeping()), name_of);
INSTANTIATE_TEST_SUITE_P(Ended, ScopedLeases, with_threads(ended()), name_of);
INSTANTIATE_TEST_SUITE_P(Unknown, ScopedLeases, with_threads(unknown()), name_of);
INSTANTIATE_TEST_SUITE_P(Listing, ScopedLeases, with_threads(listing()), name_of);

}  // namespace
}  // namespace holdfast::conformance
