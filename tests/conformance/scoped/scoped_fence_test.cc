// Fences: tokens shown for a scope, and numbers for outside resources.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../http_dialogue_test.h"

namespace holdfast::conformance {
namespace {

struct Cover {
    const char* held;
    const char* shown_for;
    bool is_covered;
};

const Cover covers[] = {
    {"inode:7", "inode:7", true},
    {"inode:7", "range:7:0-1", true},
    {"inode:7", "range:7:4096-", true},
    {"inode:7", "inode:8", false},
    {"inode:7", "range:8:0-1", false},
    {"inode:7", "named:7", false},
    {"range:7:0-4096", "range:7:0-4096", true},
    {"range:7:0-4096", "range:7:1-4095", true},
    {"range:7:0-4096", "range:7:0-4097", false},
    {"range:7:10-20", "range:7:9-20", false},
    {"range:7:10-20", "range:7:30-40", false},
    {"range:7:0-4096", "range:7:0-", false},
    {"range:7:0-4096", "inode:7", false},
    {"range:7:0-", "range:7:5-", true},
    {"range:7:0-", "inode:7", true},
    {"path:/a", "path:/a", true},
    {"path:/a", "path:/a/b", false},
    {"path:x", "named:x", false},
    {"x", "named:x", true},
    {"x", "named:xx", false},
};

TEST(ScopedCheck, ATokenIsGoodForWhatItsLeaseCovers) {
    for (const Cover& row : covers) {
        TestHost host(1);
        net::TestClient client = host.connect();
        client.send(http("POST /v1/leases",
                         R"({"scope":")" + std::string(row.held) + R"(","holder":"w1"})"));
        const std::string granted = client.response().body;
        const std::string token = granted.substr(granted.find("\"token\":\"") + 9, 32);
        client.send(http("POST /v1/fence/check",
                         R"({"token":")" + token + R"(","scope":")" + row.shown_for + R"("})"));
        const net::TestResponse response = client.response();
        const std::string about = std::string(row.held) + " for " + row.shown_for;
        EXPECT_EQ(response.status, row.is_covered ? 200 : 409) << about;
        if (row.is_covered) {
            EXPECT_EQ(response.body, granted) << about;
        } else {
            EXPECT_NE(
                response.body.find(R"({"error":"LockScopeMismatch","message":"the lease is on )" +
                                   std::string(row.held) + "\""),
                std::string::npos)
                << response.body;
        }
    }
}

std::vector<Row> checks() {
    return {
        {"OnlyByItsToken", R"(
            > POST /v1/leases {"scope":"range:7:0-4096","holder":"w1","duration_ms":5000}
            < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000}
            > POST /v1/fence/check {"token":"$secret1","scope":{"kind":"range","inode":7,"start":5,"end":6}}
            < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000}
            > POST /v1/fence/check {"token":"$secret1","scope":"inode:7"}
            < 409 {"error":"LockScopeMismatch","message":"the lease is on range:7:0-4096","scope":{"kind":"range","inode":7,"start":0,"end":4096}}
            > POST /v1/fence/check {"token":"ffffffffffffffff0000000000000000","scope":"inode:7"}
            < 404 {"error":"LockNotFound","message":"no lease was ever given this token"}
            +4999
            > POST /v1/fence/check {"token":"$secret1","scope":"range:7:0-1"}
            < 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"range","inode":7,"start":0,"end":4096},"holder":"w1","mode":"exclusive","acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000}
            +1
            > POST /v1/fence/check {"token":"$secret1","scope":"range:7:0-1"}
            < 410 {"error":"LockExpired","message":"the lease of this token has ended"}
        )"},
    };
}

std::vector<Row> fences() {
    return {
        {"NoLowerNumberAfterAHigherOne", R"(
            > POST /v1/fence/bucket {"fencing_token":33}
            < 200 {"resource":"bucket","fencing_token":33,"highest":33}
            b> POST /v1/fence/bucket {"fencing_token":34}
            b< 200 {"resource":"bucket","fencing_token":34,"highest":34}
            > POST /v1/fence/bucket {"fencing_token":33}
            < 409 {"error":"StaleFence","message":"a larger fencing token was shown for this resource","resource":"bucket","fencing_token":33,"highest":34}
            b> POST /v1/fence/bucket {"fencing_token":34}
            b< 200 {"resource":"bucket","fencing_token":34,"highest":34}
            > GET /v1/fence/bucket
            < 200 {"resource":"bucket","highest":34}
            > POST /v1/fence/other {"fencing_token":1}
            < 200 {"resource":"other","fencing_token":1,"highest":1}
        )"},
        {"DroppedByHand", R"(
            > POST /v1/fence/bucket {"fencing_token":33}
            < 200 {"resource":"bucket","fencing_token":33,"highest":33}
            > DELETE /v1/fence/bucket
            < 200 {"dropped":true,"resource":"bucket","highest":33}
            > GET /v1/fence/bucket
            < 404 {"error":"FenceNotFound","message":"no fencing token was ever shown for this resource"}
            > POST /v1/fence/bucket {"fencing_token":1}
            < 200 {"resource":"bucket","fencing_token":1,"highest":1}
        )"},
        {"NamesArePercentDecoded", R"(
            > POST /v1/fence/s3%3A%2F%2Fb%2Fk%20%C3%A4 {"fencing_token":7}
            < 200 {"resource":"s3://b/k ä","fencing_token":7,"highest":7}
            > GET /v1/fence/s3:%2F%2Fb%2fk%20%c3%a4
            < 200 {"resource":"s3://b/k ä","highest":7}
            > GET /v1/fence/a+b
            < 404 {"error":"FenceNotFound","message":"no fencing token was ever shown for this resource"}
        )"},
    };
}

class ScopedFence : public DialogueTest {};
TEST_P(ScopedFence, Dialogue) {
    hold();
}
INSTANTIATE_TEST_SUITE_P(Checks, ScopedFence, with_threads(checks()), name_of);
INSTANTIATE_TEST_SUITE_P(Fences, ScopedFence, with_threads(fences()), name_of);

// Where a pause was longer than the lease: the one who slept is refused, with the number it has.
TEST(ScopedStory, OneWhoSleptTooLongCanDoNoHarm) {
    TestHost host(1);
    Dialogue(host).hold(R"(
        a> POST /v1/leases {"scope":"named:report","holder":"a","duration_ms":5000}
        a< 200 {"token":"$secret1","fencing_token":$token1,"scope":{"kind":"named","name":"report"},"holder":"a","mode":"exclusive","acquired_at":"@@0","expires_at":"@@5000","ttl_ms":5000,"duration_ms":5000}
        +5000
        b> POST /v1/leases {"scope":"named:report","holder":"b","duration_ms":5000}
        b< 200 {"token":"$secret2","fencing_token":$token2,"scope":{"kind":"named","name":"report"},"holder":"b","mode":"exclusive","acquired_at":"@@5000","expires_at":"@@10000","ttl_ms":5000,"duration_ms":5000}
        b> POST /v1/fence/report {"fencing_token":$token2}
        b< 200 {"resource":"report","fencing_token":$token2,"highest":$token2}
        a> POST /v1/fence/report {"fencing_token":$token1}
        a< 409 {"error":"StaleFence","message":"a larger fencing token was shown for this resource","resource":"report","fencing_token":$token1,"highest":$token2}
    )");
}

}  // namespace
}  // namespace holdfast::conformance
