#include "sdk/http/event_parser.h"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::sdk {
namespace {

const std::string text =
    ": every transition of a lock, as it happens\n\n"
    "id: 1794733881606071\nevent: granted\n"
    "data: {\"at_ms\":1705314600123,\"lock_name\":\"x\",\"kind\":\"named\",\"owner_id\":\"w1\","
    "\"fencing_token\":7,\"metadata\":\"m\"}\n\n"
    "event: gap\r\ndata: {\"reason\":\"some\",\r\ndata: \"b\":1}\r\n\r\n"
    ": still here\n\n"
    "id: 1794733881606072\nevent: fence_refused\n"
    "data: {\"at_ms\":1,\"resource\":\"bucket\",\"fencing_token\":3,\"highest\":4}\n\n";

TEST(EventParser, ReadsEventsHoweverTheyAreCut) {
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        EventParser parser;
        std::vector<LockEvent> events;
        for (std::size_t at = 0; at < text.size(); at += piece) {
            ASSERT_TRUE(parser.parse(std::string_view(text).substr(at, piece),
                                     [&](const LockEvent& event) { events.push_back(event); }));
        }
        ASSERT_EQ(events.size(), 3U) << piece;
        EXPECT_EQ(events[0].id, 1794733881606071U);
        EXPECT_EQ(events[0].kind, "granted");
        EXPECT_EQ(events[0].lock_name, "x");
        EXPECT_EQ(events[0].lock_kind, "named");
        EXPECT_EQ(events[0].owner, "w1");
        EXPECT_EQ(events[0].fencing_token, 7U);
        EXPECT_EQ(events[0].metadata, "m");
        EXPECT_EQ(events[0].at.time_since_epoch(), std::chrono::milliseconds{1705314600123});
        EXPECT_EQ(events[1].id, std::nullopt);
        EXPECT_EQ(events[1].kind, "gap");
        EXPECT_EQ(events[1].data, "{\"reason\":\"some\",\n\"b\":1}");
        EXPECT_EQ(events[2].lock_name, "bucket");
        EXPECT_EQ(events[2].fencing_token, 3U);
    }
}

TEST(EventParser, TellsNothingOfAnEventThatIsCutOff) {
    EventParser parser;
    EXPECT_TRUE(parser.parse("id: 7\nevent: granted\ndata: {}\n",
                             [](const LockEvent&) { FAIL() << "it has no end"; }));
}

TEST(EventParser, RefusesWhatHasNoEnd) {
    EventParser parser;
    const std::string piece(64 * 1024, 'x');
    std::size_t taken = 0;
    while (parser.parse(piece, [](const LockEvent&) {})) taken += piece.size();
    EXPECT_LE(taken, EventParser::block_bytes_max);
}

}  // namespace
}  // namespace holdfast::sdk
