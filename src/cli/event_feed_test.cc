#include "cli/event_feed.h"

#include <gmock/gmock.h>

namespace holdfast::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(EventLine, TellsPeopleWhatHappened) {
    const LockEvent granted{
        .id = 5,
        .kind = "granted",
        .data = R"({"at_ms":1705314600123,"lock_name":"x","kind":"named","mode":"shared",)"
                R"("owner_id":"w1","door":"scoped","fencing_token":34,)"
                R"("lease_expiry_ms":1705314630123,"waited_ms":1500,"queue_length":2})"};
    EXPECT_EQ(event_line(granted, false),
              "2024-01-15T10:30:00.123Z  granted         x  w1  mode=shared fence=34 "
              "ttl=30.0s waited=1.5s queue=2");
    const LockEvent forced{
        .kind = "released",
        .data = R"({"at_ms":0,"lock_name":"x","kind":"named","owner_id":"w1","fencing_token":34,)"
                R"("held_ms":1500,"cause":"force","by":"ops"})"};
    EXPECT_EQ(
        event_line(forced, false),
        "1970-01-01T00:00:00.000Z  released        x  w1  fence=34 held=1.5s cause=force by=ops");
    const LockEvent refused{
        .kind = "fence_refused",
        .data = R"({"at_ms":0,"resource":"bucket","fencing_token":33,"highest":34})"};
    EXPECT_EQ(event_line(refused, false),
              "1970-01-01T00:00:00.000Z  fence_refused   fence:bucket  fence=33 highest=34");
    EXPECT_THAT(event_line({.kind = "gap", .data = "{}"}, false),
                HasSubstr("some events are missing"));
}

TEST(EventLine, CannotSpeakToTheTerminal) {
    const LockEvent event{.kind = "queued",
                          .data =
                              "{\"lock_name\":\"\\u001b[2J\",\"kind\":\"named\","
                              "\"owner_id\":\"\\u009b\",\"metadata\":\"a\\nb\"}"};
    const std::string line = event_line(event, false);
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
    EXPECT_THAT(line, Not(HasSubstr("\n")));
    EXPECT_THAT(line, HasSubstr("\\x1b[2J"));
}

}  // namespace
}  // namespace holdfast::cli
