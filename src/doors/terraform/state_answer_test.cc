#include "doors/terraform/state_answer.h"

#include <gtest/gtest.h>

namespace holdfast::doors::terraform {
namespace {

constexpr files::Version twelve{.number = 12, .size_bytes = 5, .written_ms = 1'768'473'000'250};

TEST(StateAnswer, NamesTheFault) {
    EXPECT_EQ(refuse(400, "no \"ID\"").body, "{\"error\":\"no \\\"ID\\\"\"}\n");
    const auto full = refuse(files::FileError{.fault = files::Fault::disk_full, .message = "full"});
    EXPECT_EQ(full.status, 507);
    EXPECT_EQ(full.body, "{\"error\":\"full\"}\n");
    EXPECT_EQ(refuse(files::FileError{.fault = files::Fault::too_large, .message = ""}).status,
              413);
    EXPECT_EQ(refuse(files::FileError{.fault = files::Fault::not_found, .message = ""}).status,
              404);
    EXPECT_EQ(refuse(files::FileError{.fault = files::Fault::failed, .message = ""}).status, 500);
}

TEST(StateAnswer, ShowsTheLockThatIsInTheWay) {
    const StateAnswer answer = refuse_locked(423, "locked", R"({"ID":"x"})");
    EXPECT_EQ(answer.status, 423);
    EXPECT_EQ(answer.body, "{\"error\":\"locked\",\"lock\":{\"ID\":\"x\"}}\n");
}

TEST(VersionNote, HasWhatTheStateSaysAtItsBeginning) {
    const VersionNote note = describe(twelve,
                                      "{\n  \"version\": 4,\n  \"terraform_version\": "
                                      "\"1.11.4\",\n  \"serial\": 7,\n  \"line");
    EXPECT_EQ(note.serial, 7);
    EXPECT_EQ(note.terraform_version, "1.11.4");
    EXPECT_EQ(tell_versions("prod", {note}).body,
              R"({"name":"prod","versions":[{"version":12,"written_at":"2026-01-15T10:30:00.250Z",)"
              R"("size_bytes":5,"serial":7,"terraform_version":"1.11.4"}]})"
              "\n");
}

TEST(VersionNote, BearsAnyOtherBeginning) {
    for (const char* head : {"", "{", "\"serial\":", "\"serial\": x",
                             "\"terraform_version\":", "\"terraform_version\":\"",
                             "\"terraform_version\":\"1.1", "\"terraform_version\":\"1\\\"",
                             "\"terraform_version\": 7", "\"serial\": 99999999999999999999999"}) {
        const VersionNote note = describe(twelve, head);
        EXPECT_FALSE(note.serial) << head;
        EXPECT_EQ(note.terraform_version, "") << head;
    }
}

TEST(StateAnswer, ListsStates) {
    const VersionNote removed{.version = {.number = 3, .size_bytes = 0, .written_ms = 0},
                              .serial = {},
                              .terraform_version = {}};
    EXPECT_EQ(tell_states({{.name = "a/b", .newest = removed, .version_count = 2}}).body,
              R"({"states":[{"name":"a/b","version":3,"written_at":"1970-01-01T00:00:00.000Z",)"
              R"("size_bytes":0,"removed":true,"version_count":2}]})"
              "\n");
    EXPECT_EQ(tell_states({}).body, "{\"states\":[]}\n");
}

}  // namespace
}  // namespace holdfast::doors::terraform
