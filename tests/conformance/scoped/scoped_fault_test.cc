// Every fault a client can make, and what it is told.

#include <gtest/gtest.h>

#include <string>

#include "../test_host.h"

namespace holdfast::conformance {
namespace {

struct FaultRow {
    std::string line;
    std::string body;
    int status;
    std::string code;
    std::string message;
};

std::string quoted(char letter, std::size_t count) {
    return "\"" + std::string(count, letter) + "\"";
}

const std::string leases = "POST /v1/leases";
const std::string check = "POST /v1/fence/check";
const std::string fence = "POST /v1/fence/r";
const std::string some_token = "/v1/leases/00000000000000010000000000000001";

const FaultRow faults[] = {
    {leases, "", 400, "BadRequest", "the body is empty; a JSON object is expected"},
    {leases, "scope=7", 400, "BadRequest", "the body must be a JSON object"},
    {leases, "[]", 400, "BadRequest", "the body must be a JSON object"},
    {leases, R"({"scope":"inode:7","holder":"w"} x)", 400, "BadRequest",
     "the body is not valid JSON: its object has no end, or something follows it"},
    {leases, R"({"holder":"w"})", 400, "BadRequest", "scope required"},
    {leases, R"({"scope":{"kind":"file","path":"/a"},"holder":"w"})", 400, "BadRequest",
     "unknown kind of scope \\\"file\\\"; there are named, semaphore, path, inode or range"},
    {leases, R"({"scope":{"inode":7},"holder":"w"})", 400, "BadRequest",
     "a scope needs a kind: named, semaphore, path, inode or range"},
    {leases, R"({"scope":{"kind":"range","inode":7,"start":5,"end":5},"holder":"w"})", 400,
     "BadRequest", "the start of a range must be less than its end"},
    {leases, R"({"scope":{"kind":"range","inode":7,"start":-5,"end":5},"holder":"w"})", 400,
     "BadRequest", "start must be a whole number that is not negative"},
    {leases, R"({"scope":{"kind":"range","inode":-7,"start":0,"end":5},"holder":"w"})", 400,
     "BadRequest", "inode must be a whole number that is not negative"},
    {leases, R"({"scope":{"kind":"named","name":""},"holder":"w"})", 400, "BadRequest",
     "a scope of kind named needs name"},
    {leases, R"({"scope":{"kind":"path","path":)" + quoted('p', 4097) + R"(},"holder":"w"})", 400,
     "BadRequest", "the scope is too long"},
    {leases, R"({"scope":"semaphore:x","holder":"w"})", 400, "BadRequest",
     "a semaphore needs a limit: how many may hold it at the same time"},
    {leases, R"({"scope":"semaphore:x","holder":"w","limit":0})", 400, "BadRequest",
     "limit must be in [1, 1000000]"},
    {leases, R"({"scope":"semaphore:x","holder":"w","limit":2,"mode":"shared"})", 400, "BadRequest",
     "a semaphore cannot be shared: every holder takes one permit"},
    {leases, R"({"scope":"inode:7","holder":"w","limit":2})", 400, "BadRequest",
     "a limit is for semaphores"},
    {leases, R"({"scope":"inode:7"})", 400, "BadRequest", "holder required"},
    {leases, R"({"scope":"inode:7","holder":)" + quoted('h', 1025) + "}", 400, "BadRequest",
     "holder is too long"},
    {leases, R"({"scope":"inode:7","holder":"w","duration_ms":86400001})", 400, "BadRequest",
     "duration_ms must be in [1, 86400000]: a lease lasts for 24h at most here, and can be "
     "renewed"},
    {leases, R"({"scope":"inode:7","holder":"w","duration_ms":0})", 400, "BadRequest",
     "duration_ms must be in [1, 86400000]: a lease lasts for 24h at most here, and can be "
     "renewed"},
    {leases, R"({"scope":"inode:7","holder":"w","duration_ms":-1})", 400, "BadRequest",
     "duration_ms must be in [1, 86400000]: a lease lasts for 24h at most here, and can be "
     "renewed"},
    {leases, R"({"scope":"inode:7","holder":"w","duration_ms":1.5})", 400, "BadRequest",
     "duration_ms must be a whole number"},
    {leases, R"({"scope":"inode:7","holder":"w","wait_ms":600001})", 400, "BadRequest",
     "wait_ms must be in [0, 600000]; a longer wait needs a request_id"},
    {leases, R"({"scope":"inode:7","holder":"w","wait_ms":-1})", 400, "BadRequest",
     "wait_ms must not be negative"},
    {leases, R"({"scope":"inode:7","holder":"w","mode":"rw"})", 400, "BadRequest",
     "mode must be exclusive or shared"},
    {leases, R"({"scope":"inode:7","holder":"w","request_id":)" + quoted('q', 257) + "}", 400,
     "BadRequest", "request_id is too long"},
    {leases, R"({"scope":"inode:7","holder":"w","metadata":)" + quoted('m', 1025) + "}", 400,
     "BadRequest", "metadata is too long"},
    {leases, R"({"scope":"inode:7","holder":"w","ttl":5})", 400, "BadRequest",
     "unknown field \\\"ttl\\\""},
    {"POST " + some_token + "/renew", R"({"duration_ms":0})", 400, "BadRequest",
     "duration_ms must be in [1, 86400000]: a lease lasts for 24h at most here, and can be "
     "renewed"},
    {"GET /v1/leases?limit=x", "", 400, "BadRequest", "limit must be in [1, 1000]"},
    {"GET /v1/leases?kind=x", "", 400, "BadRequest",
     "kind must be named, semaphore, path, inode or range"},
    {"GET /v1/leases?inode=-1", "", 400, "BadRequest",
     "inode must be a whole number that is not negative"},
    {"GET /v1/leases?after=x", "", 400, "BadRequest",
     "after must be the `next` of an earlier page"},
    {"PUT /v1/leases", "", 405, "MethodNotAllowed", "allowed here: GET, HEAD, POST"},
    {"POST " + some_token, "{}", 405, "MethodNotAllowed", "allowed here: GET, HEAD, DELETE"},
    {"GET " + some_token + "/renew", "", 405, "MethodNotAllowed", "allowed here: POST"},
    {"POST " + some_token + "/steal", "{}", 404, "NotFound",
     "of a lease there are only /v1/leases/{token}/renew and /value"},
    {"GET /v1/leases/", "", 404, "NotFound", "a lease is at /v1/leases/{token}"},
    {check, R"({"scope":"inode:7"})", 400, "BadRequest", "token required"},
    {check, R"({"token":"x"})", 400, "BadRequest", "scope required"},
    {check, R"({"token":"x","scope":"inode:7"})", 404, "LockNotFound",
     "no lease was ever given this token"},
    {check, R"({"fencing_token":7})", 400, "BadRequest",
     "unknown field \\\"fencing_token\\\" (this checks a token; a resource cannot be called "
     "check)"},
    {"GET /v1/fence/check", "", 405, "MethodNotAllowed", "allowed here: POST"},
    {"GET /v1/fence", "", 404, "NotFound", "a fence is at /v1/fence/{resource}"},
    {"GET /v1/fence/a/b", "", 404, "NotFound",
     "a fence is at /v1/fence/{resource}; write a slash in its name %2F"},
    {"GET /v1/fence/%4", "", 400, "BadRequest", ""},
    {"POST /v1/fence/", "{}", 400, "BadRequest", "resource required"},
    {"POST /v1/fence/" + std::string(4097, 'r'), R"({"fencing_token":7})", 400, "BadRequest",
     "resource is too long"},
    {fence, "{}", 400, "BadRequest", "fencing_token required"},
    {fence, R"({"fencing_token":0})", 400, "BadRequest",
     "fencing_token must be in [1, 9007199254740991]"},
    {fence, R"({"fencing_token":9007199254740992})", 400, "BadRequest",
     "fencing_token must be in [1, 9007199254740991]"},
    {fence, R"({"fencing_token":"7"})", 400, "BadRequest", "fencing_token must be a whole number"},
    {"PUT " + fence.substr(5), "", 405, "MethodNotAllowed",
     "allowed here: GET, HEAD, POST, DELETE"},
    {"GET /v1/fence/r", "", 404, "FenceNotFound",
     "no fencing token was ever shown for this resource"},
    {"DELETE /v1/fence/r", "", 404, "FenceNotFound",
     "no fencing token was ever shown for this resource"},
};

class ScopedFault : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Threads, ScopedFault, ::testing::Values(1, 3));

TEST_P(ScopedFault, IsNamed) {
    TestHost host(GetParam());
    net::TestClient client = host.connect();
    for (const FaultRow& row : faults) {
        client.send(http(row.line, row.body));
        const net::TestResponse response = client.response();
        const std::string about = row.line.substr(0, 80) + " " + row.body.substr(0, 200);
        EXPECT_EQ(response.status, row.status) << about;
        const std::string start = R"({"error":")" + row.code + R"(","message":")" + row.message;
        EXPECT_EQ(response.body.substr(0, start.size()), start) << about;
        EXPECT_TRUE(response.body.ends_with("\"}\n")) << about << response.body;
        if (!row.message.empty()) {
            EXPECT_EQ(response.body.size(), start.size() + 3) << about;
        }
    }
    client.send(http("GET /v1/leases"));
    EXPECT_EQ(without_position(client.response().body), "{\"leases\":[]}\n")
        << "a fault has left something behind";
}

}  // namespace
}  // namespace holdfast::conformance
