// What is said to `/lock` and what it answers: the seed and the fact sheet, line by line. Each
// dialogue is held with one I/O thread and with three.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../test_host.h"

namespace holdfast::conformance {
namespace {

struct Line {
    core::Duration at;  // since the start
    std::string request;
    int status;
    std::string body;  // without its newline
};

struct Dialogue {
    std::string name;
    std::vector<Line> lines;
    doors::homelab::HomelabOptions options = {};
};

// Bodies are told apart by few words; these write the rest.
std::string ok(const std::string& holder, const std::string& message,
               const std::string& expires_at) {
    return R"({"success":true,"job":"default","holder":")" + holder + R"(","message":")" + message +
           R"(","expires_at":"2024-01-15T)" + expires_at + R"(Z"})";
}
std::string held(const std::string& holder, const std::string& expires_at) {
    return R"({"success":false,"job":"default","holder":")" + holder +
           R"(","message":"held by another client","expires_at":"2024-01-15T)" + expires_at +
           R"(Z"})";
}
std::string in_grace(const std::string& holder, const std::string& expires_at,
                     const std::string& grace_until) {
    return R"({"success":false,"job":"default","holder":")" + holder +
           R"(","message":"grace period active","error":"grace period active",)"
           R"("expires_at":"2024-01-15T)" +
           expires_at + R"(Z","grace_until":"2024-01-15T)" + grace_until + R"(Z"})";
}
std::string seen(const std::string& holder, const std::string& expires_at, bool is_expired,
                 const std::string& grace_until) {
    return R"({"success":true,"job":"default","holder":")" + holder +
           R"(","message":"lock held","expires_at":"2024-01-15T)" + expires_at +
           R"(Z","is_expired":)" + (is_expired ? "true" : "false") +
           R"(,"grace_until":"2024-01-15T)" + grace_until + R"(Z"})";
}
std::string fault(const std::string& error) {
    return R"({"success":false,"job":"default","holder":"","message":")" + error +
           R"(","error":")" + error + R"("})";
}

const std::string nobody =
    R"({"success":true,"job":"default","holder":"","message":"no lock held","is_expired":true})";
const std::string released =
    R"({"success":true,"job":"default","holder":"","message":"lock released"})";
std::string held_by(const std::string& holder) {
    return R"({"success":false,"job":"default","holder":")" + holder +
           R"(","message":"client does not hold the lock","error":"client does not hold the lock"})";
}
const std::string held_by_nobody = held_by("");

const std::string post1 = "POST /lock?client=laptop1&ttl=30s";
const std::string post2 = "POST /lock?client=laptop2&ttl=30s";
const std::string delete1 = "DELETE /lock?client=laptop1";
const std::string delete2 = "DELETE /lock?client=laptop2";

// The fact sheet's table, and the seed's timeline.
std::vector<Dialogue> facts() {
    return {
        {"GetFree", {{0s, "GET /lock", 200, nobody}}},
        {"PostFree", {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")}}},
        {"PostSameClient",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {10s, post1, 200, ok("laptop1", "renewed", "10:30:40")}}},
        {"PostPastGraceOtherClient",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {35s, post2, 200, ok("laptop2", "acquired from laptop1", "10:31:05")}}},
        {"PostHeldByAnother",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {29999999us, post2, 409, held("laptop1", "10:30:30")}}},
        {"PostInGrace",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {30s, post2, 409, in_grace("laptop1", "10:30:30", "10:30:35")},
          {34999999us, post2, 409, in_grace("laptop1", "10:30:30", "10:30:35")}}},
        {"GetHeld",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {1s, "GET /lock", 200, seen("laptop1", "10:30:30", false, "10:30:35")}}},
        {"GetInGrace",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {31s, "GET /lock", 200, seen("laptop1", "10:30:30", true, "10:30:35")}}},
        {"DeleteByTheHolder",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {1s, delete1, 200, released},
          {1s, "GET /lock", 200, nobody},
          {1s, post2, 200, ok("laptop2", "acquired", "10:30:31")}}},
        {"DeleteByAnyoneElse",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {1s, delete2, 403, held_by("laptop1")}}},
        {"DeleteFree", {{0s, delete1, 403, held_by_nobody}}},
        {"NoClient",
         {{0s, "POST /lock", 400, fault("client parameter required")},
          {0s, "POST /lock?ttl=30s", 400, fault("client parameter required")},
          {0s, "POST /lock?client=", 400, fault("client parameter required")},
          {0s, "DELETE /lock", 400, fault("client parameter required")},
          {0s, "GET /lock", 200, nobody}}},
        {"OtherMethod",
         {{0s, "PUT /lock?client=laptop1", 405, fault("Method not allowed")},
          {0s, "PATCH /lock", 405, fault("Method not allowed")},
          {0s, "OPTIONS /lock", 405, fault("Method not allowed")}}},
        {"TimelineOfTheSeed",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {10s, post1, 200, ok("laptop1", "renewed", "10:30:40")},
          {20s, post1, 200, ok("laptop1", "renewed", "10:30:50")},
          {49s, post2, 409, held("laptop1", "10:30:50")},
          {50s, "GET /lock", 200, seen("laptop1", "10:30:50", true, "10:30:55")},
          {52s, post2, 409, in_grace("laptop1", "10:30:50", "10:30:55")},
          {56s, post2, 200, ok("laptop2", "acquired from laptop1", "10:31:26")}}},
        {"ClientLoopOfTheSeed",
         {{0s, "POST /lock?client=myid&ttl=30s", 200, ok("myid", "acquired", "10:30:30")},
          {10s, "POST /lock?client=myid&ttl=30s", 200, ok("myid", "renewed", "10:30:40")},
          {20s, "POST /lock?client=myid&ttl=30s", 200, ok("myid", "renewed", "10:30:50")},
          {21s, "DELETE /lock?client=myid", 200, released}}},
    };
}

// The holder check comes first.
std::vector<Dialogue> the_holder_first() {
    return {
        {"ReclaimedInGrace",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {32s, post1, 200, ok("laptop1", "renewed", "10:31:02")},
          {33s, post2, 409, held("laptop1", "10:31:02")}}},
        {"RenewedPastGrace",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {10min, "GET /lock", 200, seen("laptop1", "10:30:30", true, "10:30:35")},
          {10min, post1, 200, ok("laptop1", "renewed", "10:40:30")},
          {10min, post2, 409, held("laptop1", "10:40:30")}}},
        {"NotAfterSomebodyElseTookIt",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {36s, post2, 200, ok("laptop2", "acquired from laptop1", "10:31:06")},
          {36s, post1, 409, held("laptop2", "10:31:06")},
          {36s, delete1, 403, held_by("laptop2")}}},
        {"DeletedInGrace",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {31s, delete2, 403, held_by("laptop1")},
          {31s, delete1, 200, released},
          {31s, post2, 200, ok("laptop2", "acquired", "10:31:01")}}},
        {"DeletedPastGrace",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {2min, delete2, 403, held_by("laptop1")},
          {2min, delete1, 200, released},
          {2min, "GET /lock", 200, nobody},
          {2min, delete1, 403, held_by_nobody},
          {2min, post2, 200, ok("laptop2", "acquired", "10:32:30")}}},
        {"ForgottenAfterADay",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {25h, "GET /lock", 200, nobody},
          {25h, delete1, 403, held_by_nobody}}},
        {"ARenewalMayShorten",
         {{0s, "POST /lock?client=laptop1&ttl=1h", 200, ok("laptop1", "acquired", "11:30:00")},
          {0s, "POST /lock?client=laptop1&ttl=1s", 200, ok("laptop1", "renewed", "10:30:01")},
          {1s, post2, 409, in_grace("laptop1", "10:30:01", "10:30:06")},
          {6s, post2, 200, ok("laptop2", "acquired from laptop1", "10:30:36")}}},
    };
}

std::string with_job(const std::string& job, const std::string& rest) {
    return R"({"success":true,"job":")" + job + R"(",)" + rest;
}

std::vector<Dialogue> jobs_and_ttls() {
    std::vector<Dialogue> dialogues{
        {"Jobs",
         {{0s, "POST /lock?client=laptop1&ttl=30s&job=sync", 200,
           with_job("sync", R"("holder":"laptop1","message":"acquired",)"
                            R"("expires_at":"2024-01-15T10:30:30Z"})")},
          {0s, post2, 200, ok("laptop2", "acquired", "10:30:30")},
          {0s, "DELETE /lock?client=laptop2&job=sync", 403,
           R"({"success":false,"job":"sync","holder":"laptop1","message":"client does not hold the lock","error":"client does not hold the lock"})"},
          {0s, "DELETE /lock?client=laptop1&job=sync", 200,
           with_job("sync", R"("holder":"","message":"lock released"})")},
          {0s, "GET /lock?job=sync", 200,
           with_job("sync", R"("holder":"","message":"no lock held","is_expired":true})")},
          {0s, "GET /lock?job=default", 200, seen("laptop2", "10:30:30", false, "10:30:35")},
          {0s, "GET /lock?job=", 200, seen("laptop2", "10:30:30", false, "10:30:35")}}},
        {"DefaultTtl",
         {{0s, "POST /lock?client=laptop1", 200, ok("laptop1", "acquired", "10:30:30")},
          {0s, "POST /lock?client=laptop1&ttl=", 200, ok("laptop1", "renewed", "10:30:30")}}},
        {"AnotherDefaultTtlAndGrace",
         {{0s, "POST /lock?client=laptop1", 200, ok("laptop1", "acquired", "10:31:00")},
          {60s, post2, 409, in_grace("laptop1", "10:31:00", "10:31:20")},
          {80s, post2, 200, ok("laptop2", "acquired from laptop1", "10:31:50")}},
         {.default_ttl = 1min, .grace = 20s}},
        {"NoGrace",
         {{0s, post1, 200, ok("laptop1", "acquired", "10:30:30")},
          {29s, "GET /lock", 200, seen("laptop1", "10:30:30", false, "10:30:30")},
          {30s, "GET /lock", 200, seen("laptop1", "10:30:30", true, "10:30:30")},
          {30s, post2, 200, ok("laptop2", "acquired from laptop1", "10:31:00")}},
         {.grace = 0s}},
        {"WholeSecondsAreRoundedDown",
         {{0s, "POST /lock?client=laptop1&ttl=1999ms", 200,
           ok("laptop1", "acquired", "10:30:01")}}},
        {"TtlForms",
         {{0s, "POST /lock?client=laptop1&ttl=1m30s", 200, ok("laptop1", "acquired", "10:31:30")},
          {0s, "POST /lock?client=laptop1&ttl=1h", 200, ok("laptop1", "renewed", "11:30:00")},
          {0s, "POST /lock?client=laptop1&ttl=250ms", 200, ok("laptop1", "renewed", "10:30:00")}}},
        {"TtlBeyondTheLimits",
         {{0s, "POST /lock?client=laptop1&ttl=1us", 400, fault("ttl out of range")},
          {0s, "POST /lock?client=laptop1&ttl=1000000h", 400, fault("ttl out of range")},
          {0s, "GET /lock", 200, nobody}}},
    };
    Dialogue bad_ttl{"BadTtl", {}};
    for (const char* ttl :
         {"5", "0", "0s", "-1s", "-0s", "abc", "30", "30x", "s", "1d", "1+s", "%20"}) {
        bad_ttl.lines.push_back({0s, "POST /lock?client=laptop1&ttl=" + std::string(ttl), 400,
                                 fault("invalid ttl format")});
    }
    bad_ttl.lines.push_back({0s, "GET /lock", 200, nobody});
    dialogues.push_back(std::move(bad_ttl));
    return dialogues;
}

std::vector<Dialogue> names() {
    return {
        {"EncodedNames",
         {{0s, "POST /lock?client=my%20lap+top%21&ttl=30s", 200,
           ok("my lap top!", "acquired", "10:30:30")},
          {1s, "GET /lock", 200, seen("my lap top!", "10:30:30", false, "10:30:35")},
          {1s, "DELETE /lock?client=my+lap+top!", 200, released}}},
        {"NamesThatNeedEscaping",
         {{0s, "POST /lock?client=%22%5C%0A%00&ttl=30s", 200,
           ok(R"(\"\\\n\u0000)", "acquired", "10:30:30")},
          {35s, post2, 200, ok("laptop2", R"(acquired from \"\\\n\u0000)", "10:31:05")},
          {35s, "GET /lock?job=%0A%22", 200,
           with_job(R"(\n\")", R"("holder":"","message":"no lock held","is_expired":true})")}}},
        {"UnicodeNames",
         {{0s, "POST /lock?client=B%C3%BCro-%F0%9F%94%92&ttl=30s", 200,
           ok("Büro-\U0001F512", "acquired", "10:30:30")},
          {0s, "DELETE /lock?client=B%C3%BCro-%F0%9F%94%92", 200, released}}},
        {"BytesThatAreNoText",
         {{0s, "POST /lock?client=%FF&ttl=30s", 200, ok("\uFFFD", "acquired", "10:30:30")},
          {0s, "POST /lock?client=%FE&ttl=30s", 409, held("\uFFFD", "10:30:30")}}},
        {"BadEscape",
         {{0s, "POST /lock?client=%G1", 400,
           fault("a % is not followed by two hexadecimal digits")}}},
        {"TooLongNames",
         {{0s, "POST /lock?client=" + std::string(1025, 'c'), 400, fault("client is too long")},
          {0s, "POST /lock?client=laptop1&job=" + std::string(4097, 'j'), 400,
           R"({"success":false,"job":")" + std::string(4097, 'j') +
               R"(","holder":"","message":"job is too long","error":"job is too long"})"},
          {0s, "POST /lock?client=" + std::string(1024, 'c') + "&ttl=30s", 200,
           ok(std::string(1024, 'c'), "acquired", "10:30:30")}}},
        {"NoSuchPath",
         {{0s, "GET /nowhere", 404,
           R"({"error":"no such path; this server answers at /lock, /v1/locks, /v1/leases and /v1/fence"})"},
          {0s, "GET /lock/", 404,
           R"({"error":"no such path; this server answers at /lock, /v1/locks, /v1/leases and /v1/fence"})"},
          {0s, "POST /locks?client=a", 404,
           R"({"error":"no such path; this server answers at /lock, /v1/locks, /v1/leases and /v1/fence"})"}}},
    };
}

class HomelabDialogue : public ::testing::TestWithParam<std::tuple<Dialogue, std::size_t>> {};

std::string name_of(const ::testing::TestParamInfo<HomelabDialogue::ParamType>& info) {
    return std::get<0>(info.param).name + "With" + std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Facts, HomelabDialogue,
                         ::testing::Combine(::testing::ValuesIn(facts()), ::testing::Values(1, 3)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(TheHolderFirst, HomelabDialogue,
                         ::testing::Combine(::testing::ValuesIn(the_holder_first()),
                                            ::testing::Values(1, 3)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(JobsAndTtls, HomelabDialogue,
                         ::testing::Combine(::testing::ValuesIn(jobs_and_ttls()),
                                            ::testing::Values(1, 3)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Names, HomelabDialogue,
                         ::testing::Combine(::testing::ValuesIn(names()), ::testing::Values(1, 3)),
                         name_of);

TEST_P(HomelabDialogue, GoesAsWritten) {
    const auto& [dialogue, threads] = GetParam();
    TestHost host(threads, dialogue.options);
    // Lines are said in turn over two connections, which with three threads are two loops.
    net::TestClient clients[] = {host.connect(), host.connect()};
    core::Duration now = 0s;
    for (std::size_t i = 0; i < dialogue.lines.size(); ++i) {
        const Line& line = dialogue.lines[i];
        if (line.at > now) host.advance(line.at - now);
        now = line.at;
        clients[i % 2].send(http(line.request));
        const net::TestResponse response = clients[i % 2].response();
        EXPECT_EQ(response.status, line.status) << line.request.substr(0, 100);
        EXPECT_EQ(response.body, line.body + "\n") << line.request.substr(0, 100);
        EXPECT_NE(response.header.find("Content-Type: application/json\r\n"), std::string::npos);
    }
}

}  // namespace
}  // namespace holdfast::conformance
