// Requests that are wrong, and requests that arrive in pieces.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "terraform_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class TerraformWire : public ::testing::TestWithParam<std::size_t> {
  protected:
    TerraformHost host_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, TerraformWire, ::testing::Values(1, 3));

struct Fault {
    std::string line;
    std::string body;
    std::string headers;
    int status;
    std::string part;  // of the answer
};

// The connection goes on after each of them, and nothing has changed at the end.
TEST_P(TerraformWire, NamesEveryFault) {
    const std::string huge = R"({"ID":"a","Info":")" + std::string(1100, 'x') + R"("})";
    const std::string long_id = R"({"ID":")" + std::string(1025, 'x') + R"("})";
    const Fault faults[] = {
        {"LOCK " + prod, "", "", 400, "the lock cannot be read: not valid JSON"},
        {"LOCK " + prod, "{", "", 400, "the lock cannot be read: not valid JSON"},
        {"LOCK " + prod, R"({"ID":"a","Info":{"x":1,"x":2}})", "", 400,
         R"(the lock cannot be read: the field \"x\" comes twice)"},
        {"LOCK " + prod, "[1]", "", 400, "the lock is no JSON object"},
        {"LOCK " + prod, R"({"ID":7})", "", 400, R"(the lock has no \"ID\")"},
        {"LOCK " + prod, huge, "", 413, "the JSON of the lock is longer than 1024 bytes"},
        {"LOCK " + prod, long_id, "", 413, "is longer than 1024 bytes"},
        {"UNLOCK " + prod, "{}", "", 400, R"(the lock has no \"ID\")"},
        {"LOCK /v1/terraform/", lock_info("a"), "", 404, "no such path"},
        {"LOCK /v1/terraform/%00", lock_info("a"), "", 400, "cannot have this name"},
        {"GET /v1/terraform/%G1", "", "", 400, "error"},
        {"GET /v1/terraform/%FF", "", "", 400, "cannot have this name"},
        {"GET /v1/terraform/a/b", "", "", 404, "with a slash in its name written as %2F"},
        {"GET /v1/terraform/" + std::string(256, 'x'), "", "", 400, "cannot have this name"},
        {"GET " + prod + "?version=x", "", "", 400, "version must be a number"},
        {"GET " + prod + "?version=7", "", "", 404, "there is no state prod"},
        {"GET " + prod + "/versions", "", "", 404, "there is no state prod"},
        {"POST " + prod + "/rollback", "", "", 400, "version is missing"},
        {"POST " + prod + "/rollback?version=1", "", "", 404, "there is no state prod"},
        {"PUT " + prod, "{}", "", 405, "method not allowed"},
        {"LOCK " + prod + "/lock", lock_info("a"), "", 405, "method not allowed"},
        {"LOCK /lock", "", "", 405, ""},
        {"POST " + prod, "", "", 400, "the body is empty"},
        {"POST " + prod, "{}", "Content-MD5: x\r\n", 400, "is not the Base64 of 16 bytes"},
        {"POST " + prod, "{}", "Content-MD5: AAAA\r\n", 400, "is not the Base64 of 16 bytes"},
        {"POST " + prod, "{}", "Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==\r\n", 400,
         "does not have the Content-MD5"},
        {"POST " + prod + "?ID=%G1", "{}", "", 400, "error"},
        {"POST " + prod + "?ID=a", "{}", "", 423, "the lock with this ID has ended"},
    };
    net::TestClient client = host_.connect();
    for (const Fault& fault : faults) {
        client.send(TerraformHost::request(fault.line, fault.body, fault.headers));
        const net::TestResponse response = client.response();
        EXPECT_EQ(response.status, fault.status) << fault.line << " " << fault.body;
        EXPECT_THAT(response.body, HasSubstr(fault.part)) << fault.line << " " << fault.body;
        EXPECT_THAT(response.body, StartsWith("{\"")) << fault.line;
    }
    client.send(TerraformHost::request("GET /v1/terraform"));
    EXPECT_EQ(client.response().body, "{\"states\":[]}\n");
    EXPECT_THAT(host_.say("GET /v1/locks"), HasSubstr(R"("locks":[])"));
}

TEST_P(TerraformWire, RefusesAStateThatIsTooLargeBeforeItIsSent) {
    net::TestClient client = host_.connect();
    client.send("POST " + prod +
                " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741825\r\n\r\n");
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 413 "));
    EXPECT_THAT(host_.say("GET " + prod), StartsWith("404 "));
}

TEST_P(TerraformWire, TakesTheMd5OfTheState) {
    // Of `{"serial":1}`.
    const std::string md5 = "Content-Md5: gx6MBZ08q5IljbRUUECeSw==\r\n";
    EXPECT_EQ(host_.ask("POST " + prod, R"({"serial":1})", md5).status, 200);
    EXPECT_EQ(host_.ask("POST " + prod, R"({"serial":2})", md5).status, 400);
    EXPECT_EQ(host_.say("GET " + prod), R"(200 {"serial":1})");
}

TEST_P(TerraformWire, AnswersAlikeWhereverARequestIsCut) {
    const std::string requests[] = {
        TerraformHost::request("LOCK " + prod, R"({"ID":"a"})"),
        TerraformHost::request("POST " + prod + "?ID=a", "{}"),
        TerraformHost::request("GET " + prod),
    };
    for (const std::string& request : requests) {
        for (std::size_t cut = 1; cut < request.size(); ++cut) {
            net::TestClient client = host_.connect();
            client.send(request.substr(0, cut));
            host_.pause();
            client.send(request.substr(cut));
            ASSERT_EQ(client.response().status, 200) << request.substr(0, cut);
        }
    }
}

TEST_P(TerraformWire, AnswersPipelinedRequestsInTheirOrder) {
    net::TestClient client = host_.connect();
    client.send(TerraformHost::request("LOCK " + prod, R"({"ID":"a"})") +
                TerraformHost::request("GET /healthz") + "POST http://localhost" + prod +
                "?ID=x HTTP/1.1\r\nHost: localhost\r\n"
                "Content-Length: 2\r\n\r\n{}" +
                TerraformHost::request("GET /v1/terraform"));
    EXPECT_EQ(client.response().body, "{\"ID\":\"a\"}\n");
    EXPECT_EQ(client.response().status, 200);
    EXPECT_EQ(client.response().status, 423);
    EXPECT_EQ(client.response().body, "{\"states\":[]}\n");
}

TEST_P(TerraformWire, TakesNamesWithSlashesAndOtherSigns) {
    const std::string state = "/v1/terraform/team%2Fprod%20%C3%BC";
    EXPECT_THAT(host_.say("POST " + state, "{}"), StartsWith("200 "));
    EXPECT_EQ(host_.say("GET " + state), "200 {}");
    EXPECT_THAT(host_.say("GET /v1/terraform"), HasSubstr("\"name\":\"team/prod \xC3\xBC\""));
    EXPECT_THAT(host_.say("LOCK " + state, lock_info("a")), StartsWith("200 "));
    EXPECT_THAT(host_.say("GET /v1/locks/team%2Fprod%20%C3%BC"), HasSubstr(R"("held":true)"));
}

}  // namespace
}  // namespace holdfast::conformance
