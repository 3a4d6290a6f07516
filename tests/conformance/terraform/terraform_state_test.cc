// The state: who may write it, what is kept of it, and large ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "terraform_host.h"

namespace holdfast::conformance {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class TerraformState : public ::testing::TestWithParam<std::size_t> {
  protected:
    [[nodiscard]] bool has_temporary_files() const {
        return !std::filesystem::is_empty(host_.data("terraform/.holdfast/tmp"));
    }

    // Waits for the moment when there are temporary files, or none.
    void wait_for_temporary_files(bool are_there) const {
        for (int look = 0; look < 500 && has_temporary_files() != are_there; ++look) {
            std::this_thread::sleep_for(10ms);
        }
        EXPECT_EQ(has_temporary_files(), are_there);
    }

    TerraformHost host_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, TerraformState, ::testing::Values(1, 3));

TEST_P(TerraformState, IsWrittenByTheHolderOfTheLockAlone) {
    EXPECT_EQ(host_.say("GET " + prod), R"(404 {"error":"there is no state prod"})");
    EXPECT_THAT(host_.say("LOCK " + prod, lock_info("a")), StartsWith("200 "));
    EXPECT_THAT(host_.say("POST " + prod + "?ID=a", R"({"serial":1})"),
                StartsWith(R"(200 {"name":"prod","version":1,)"));
    const std::string refused = R"(","lock":)" + lock_info("a") + "}";
    EXPECT_EQ(host_.say("POST " + prod + "?ID=b", R"({"serial":2})"),
              R"(423 {"error":"the state is locked with another ID)" + refused);
    EXPECT_EQ(host_.say("POST " + prod, R"({"serial":2})"),
              R"(423 {"error":"the state is locked, and the request shows no lock ID)" + refused);
    EXPECT_THAT(host_.say("DELETE " + prod), StartsWith("423 "));
    EXPECT_THAT(host_.say("POST " + prod + "/rollback?version=1"), StartsWith("423 "));
    EXPECT_EQ(host_.say("GET " + prod), R"(200 {"serial":1})");
    EXPECT_EQ(host_.say("UNLOCK " + prod, lock_info("a")), "200 {}");
    EXPECT_THAT(host_.say("POST " + prod + "?ID=a", R"({"serial":2})"), StartsWith("423 "));
    EXPECT_THAT(host_.say("POST " + prod, R"({"serial":2})"), StartsWith("200 "));
    EXPECT_EQ(host_.say("GET " + prod), R"(200 {"serial":2})");
    EXPECT_FALSE(has_temporary_files());
}

TEST_P(TerraformState, SurvivesARestart) {
    EXPECT_THAT(host_.say("POST " + prod, R"({"serial":1})"), StartsWith("200 "));
    host_.restart();
    EXPECT_EQ(host_.say("GET " + prod), R"(200 {"serial":1})");
}

TEST_P(TerraformState, IsLookedAtWithoutItsContentByHead) {
    EXPECT_EQ(host_.ask("HEAD " + prod).status, 404);
    EXPECT_THAT(host_.say("POST " + prod, R"({"serial":1})"), StartsWith("200 "));
    const auto seen = host_.ask("HEAD " + prod);
    EXPECT_EQ(seen.status, 200);
    EXPECT_THAT(seen.header,
                AllOf(HasSubstr("Content-Length: 12\r\n"), HasSubstr("Cache-Control: no-store\r\n"),
                      HasSubstr("Holdfast-Version: 1\r\n")));
}

TEST_P(TerraformState, HasTenVersions) {
    for (int serial = 1; serial <= 12; ++serial) {
        ASSERT_THAT(host_.say("POST " + prod, R"({"serial":)" + std::to_string(serial) + "}"),
                    StartsWith("200 "));
    }
    const std::string listed = host_.say("GET " + prod + "/versions");
    EXPECT_THAT(listed, AllOf(StartsWith(R"(200 {"name":"prod","versions":[{"version":12,)"),
                              HasSubstr(R"("size_bytes":13,"serial":12})"),
                              HasSubstr(R"({"version":3,)"), Not(HasSubstr(R"({"version":2,)"))));
    EXPECT_EQ(host_.say("GET " + prod + "?version=3"), R"(200 {"serial":3})");
    EXPECT_THAT(host_.say("GET " + prod + "?version=2"), StartsWith("404 "));
    EXPECT_THAT(host_.say("POST " + prod + "/rollback?version=3"),
                StartsWith(R"(200 {"name":"prod","version":13,)"));
    EXPECT_EQ(host_.say("GET " + prod), R"(200 {"serial":3})");
    EXPECT_THAT(host_.say("GET /v1/terraform"),
                AllOf(StartsWith(R"(200 {"states":[{"name":"prod","version":13,)"),
                      HasSubstr(R"("serial":3,"version_count":10}]})")));
}

TEST_P(TerraformState, IsRemovedAndCanComeBack) {
    EXPECT_THAT(host_.say("DELETE " + prod), StartsWith("404 "));
    EXPECT_THAT(host_.say("POST " + prod, R"({"serial":1})"), StartsWith("200 "));
    EXPECT_THAT(host_.say("DELETE " + prod), StartsWith("200 "));
    EXPECT_EQ(host_.say("GET " + prod),
              R"(404 {"error":"there is no state prod: it was removed"})");
    EXPECT_THAT(host_.say("GET " + prod + "/versions"), HasSubstr(R"("removed":true)"));
    EXPECT_THAT(host_.say("POST " + prod + "/rollback?version=1"), StartsWith("200 "));
    EXPECT_EQ(host_.say("GET " + prod), R"(200 {"serial":1})");
}

TEST_P(TerraformState, OfManyMegabytesIsStreamed) {
    std::string state;
    for (std::uint64_t line = 0; state.size() < (std::size_t{8} << 20); ++line) {
        state += std::to_string(line * 2654435761U);
    }
    EXPECT_THAT(host_.say("POST " + prod, state), StartsWith("200 "));
    EXPECT_TRUE(host_.ask("GET " + prod).body == state);
    net::TestClient client = host_.connect();
    client.send("POST " + prod +
                " HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send("5\r\n{\"a\":\r\n");
    host_.pause();
    client.send("3\r\n12}\r\n0\r\n\r\n");
    EXPECT_EQ(client.response().status, 200);
    EXPECT_EQ(host_.say("GET " + prod), R"(200 {"a":12})");
}

TEST_P(TerraformState, IsNotReadFromAClientThatMayNotWriteIt) {
    EXPECT_THAT(host_.say("LOCK " + prod, lock_info("a")), StartsWith("200 "));
    net::TestClient client = host_.connect();
    client.send("POST " + prod +
                "?ID=b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n"
                "Expect: 100-continue\r\n\r\n");
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 423 "));
    net::TestClient holder = host_.connect();
    holder.send("POST " + prod +
                "?ID=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
                "Expect: 100-continue\r\n\r\n");
    EXPECT_EQ(holder.read(25), "HTTP/1.1 100 Continue\r\n\r\n");
    holder.send("{}");
    EXPECT_EQ(holder.response().status, 200);
}

TEST_P(TerraformState, IsNotChangedIfTheLockEndsDuringTheUpload) {
    EXPECT_THAT(host_.say("POST " + prod, "before"), StartsWith("200 "));
    EXPECT_THAT(host_.say("LOCK " + prod, lock_info("a")), StartsWith("200 "));
    net::TestClient client = host_.connect();
    client.send("POST " + prod +
                "?ID=a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
                "Expect: 100-continue\r\n\r\n");
    EXPECT_EQ(client.read(25), "HTTP/1.1 100 Continue\r\n\r\n");
    EXPECT_EQ(host_.say("UNLOCK " + prod), "200 {}");
    EXPECT_THAT(host_.say("LOCK " + prod, lock_info("b")), StartsWith("200 "));
    client.send("late");
    EXPECT_EQ(client.response().status, 423);
    EXPECT_EQ(host_.say("GET " + prod), "200 before");
    EXPECT_FALSE(has_temporary_files());
}

TEST_P(TerraformState, IsNotChangedByAnUploadThatBreaksOff) {
    EXPECT_THAT(host_.say("POST " + prod, "before"), StartsWith("200 "));
    {
        net::TestClient client = host_.connect();
        client.send("POST " + prod +
                    " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf");
        wait_for_temporary_files(true);
    }
    wait_for_temporary_files(false);
    EXPECT_EQ(host_.say("GET " + prod), "200 before");
}

TEST_P(TerraformState, OfAServerInMemoryIsInATemporaryFolder) {
    TerraformHost host(GetParam(), [](app::ServeOptions& options) { options.is_in_memory = true; });
    EXPECT_THAT(host.say("POST " + prod, R"({"serial":1})"), StartsWith("200 "));
    EXPECT_EQ(host.say("GET " + prod), R"(200 {"serial":1})");
    EXPECT_FALSE(std::filesystem::exists(host.data("terraform")));
    host.restart();
    EXPECT_THAT(host.say("GET " + prod), StartsWith("404 "));
}

}  // namespace
}  // namespace holdfast::conformance
