// Streams that break.

#include "sdk/http/events.h"

#include <gtest/gtest.h>

#include <vector>

#include "sdk/http/test_json_peer.h"

namespace holdfast::sdk {
namespace {

using namespace std::chrono_literals;

std::string event(int id, const std::string& kind, int token, const std::string& holder = "w") {
    return "id: " + std::to_string(id) + "\nevent: " + kind +
           "\ndata: {\"lock_name\":\"boss\",\"kind\":\"named\",\"owner_id\":\"" + holder +
           "\",\"fencing_token\":" + std::to_string(token) + "}\n\n";
}

// A stream with these events, which then ends.
PeerAnswer stream_of(const std::string& events) {
    return {.body = ": hello\n\n" + events};
}

TEST(Watching, GoesOnAfterTheLastEvent) {
    std::stop_source stop;
    JsonPeer peer([&](const SeenRequest&, int index) -> std::optional<PeerAnswer> {
        if (index == 0) return stream_of(event(1, "granted", 7) + event(2, "released", 7));
        if (index == 1) return std::nullopt;
        if (index == 2) return PeerAnswer{.status = 503, .body = "{}"};
        return stream_of(event(3, "granted", 8));
    });
    const auto exchange = *Exchange::open(peer.options());
    std::string told;
    int opened = 0;
    const auto done = watch(
        *exchange, {.prefix = "bo ss", .on_open = [&] { ++opened; }},
        [&](const LockEvent& one) {
            told += std::to_string(one.id.value_or(0)) + " ";
            if (one.id == 3) stop.request_stop();
        },
        stop.get_token());
    EXPECT_TRUE(done);
    EXPECT_EQ(told, "1 2 3 ");
    EXPECT_EQ(opened, 2);
    const auto seen = peer.seen();
    EXPECT_EQ(seen[0].line, "GET /v1/events?prefix=bo%20ss");
    EXPECT_EQ(seen[0].header.find("Last-Event-ID"), std::string::npos);
    EXPECT_NE(seen[3].header.find("Last-Event-ID: 2"), std::string::npos);
}

TEST(Watching, BeginsWhereItIsTold) {
    std::stop_source stop;
    JsonPeer peer([&](const SeenRequest&, int) { return stream_of(event(8, "granted", 7)); });
    const auto exchange = *Exchange::open(peer.options());
    EXPECT_TRUE(watch(
        *exchange, {.after = 7}, [&](const LockEvent&) { stop.request_stop(); }, stop.get_token()));
    EXPECT_NE(peer.seen()[0].header.find("Last-Event-ID: 7"), std::string::npos);
}

TEST(Watching, EndsWhenItIsNotPermittedOrNobodyIsThere) {
    JsonPeer peer([&](const SeenRequest&, int) {
        return PeerAnswer{.status = 401, .body = R"({"error":"a token is needed"})"};
    });
    const auto ignore = [](const LockEvent&) {};
    EXPECT_EQ(to_text(watch(**Exchange::open(peer.options()), {}, ignore, {}).error()),
              "a token is needed");
    JsonPeer rude([](const SeenRequest&, int) { return std::nullopt; });
    ClientOptions impatient = rude.options();
    impatient.retry_for = 0s;
    EXPECT_EQ(to_text(watch(**Exchange::open(impatient), {}, ignore, {}).error()),
              rude.url() + " closed the connection");
}

TEST(Watching, IsStoppedWhileNothingHappens) {
    JsonPeer peer([](const SeenRequest&, int) { return JsonPeer::silence(); });
    std::stop_source stop;
    std::jthread stopper([&] {
        peer.wait_for(1);
        stop.request_stop();
    });
    EXPECT_TRUE(watch(
        **Exchange::open(peer.options()), {}, [](const LockEvent&) {}, stop.get_token()));
}

const std::string event_text =
    ": every transition of a lock, as it happens\n\n"
    "id: 1794733881606071\nevent: granted\n"
    "data: {\"at_ms\":1705314600123,\"lock_name\":\"x\",\"kind\":\"named\",\"owner_id\":\"w1\","
    "\"fencing_token\":7,\"metadata\":\"m\"}\n\n"
    "event: gap\r\ndata: {\"reason\":\"some\",\r\ndata: \"b\":1}\r\n\r\n"
    ": still here\n\n"
    "id: 1794733881606072\nevent: fence_refused\n"
    "data: {\"at_ms\":1,\"resource\":\"bucket\",\"fencing_token\":3,\"highest\":4}\n\n";

TEST(EventParser, ReadsEventsHoweverTheyAreCut) {
    for (std::size_t piece = 1; piece <= event_text.size(); ++piece) {
        EventParser parser;
        std::vector<LockEvent> events;
        for (std::size_t at = 0; at < event_text.size(); at += piece) {
            ASSERT_TRUE(parser.parse(std::string_view(event_text).substr(at, piece),
                                     [&](const LockEvent& event) { events.push_back(event); }));
        }
        ASSERT_EQ(events.size(), 3U) << piece;
        EXPECT_EQ(events[0].id, 1794733881606071U);
        EXPECT_EQ(events[0].kind, "granted");
        EXPECT_EQ(events[0].lock_name, "x");
        EXPECT_EQ(events[0].lock_kind, "named");
        EXPECT_EQ(events[0].holder, "w1");
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

TEST(EventParser, IgnoresAnEventThatIsCutOff) {
    EventParser parser;
    EXPECT_TRUE(parser.parse("id: 7\nevent: granted\ndata: {}\n",
                             [](const LockEvent&) { FAIL() << "it has no end"; }));
}

TEST(EventParser, RefusesAnEventWithoutAnEnd) {
    EventParser parser;
    const std::string piece(64 * 1024, 'x');
    std::size_t parsed = 0;
    while (parser.parse(piece, [](const LockEvent&) {})) parsed += piece.size();
    EXPECT_LE(parsed, EventParser::block_bytes_max);
}

}  // namespace
}  // namespace holdfast::sdk
