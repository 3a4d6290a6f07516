// What an observer is told when streams break, repeat themselves or make no sense.

#include "sdk/http/leaders.h"

#include <gtest/gtest.h>

#include "sdk/http/test_json_peer.h"

namespace holdfast::sdk {
namespace {

using namespace std::chrono_literals;

std::string state_event(const std::string& fields) {
    return "id: 7\nevent: leader\ndata: {\"election\":\"boss\"," + fields +
           "\"candidates\":1,\"position\":7}\n\n";
}
std::string led_by(const std::string& leader, int token, const std::string& value = "",
                   int revision = 0) {
    std::string fields = R"("leader":")" + leader + R"(",)";
    if (revision > 0) {
        fields += R"("value":")" + value + R"(","revision":)" + std::to_string(revision) + ",";
    }
    return state_event(fields + R"("fencing_token":)" + std::to_string(token) + R"(,"since":"s",)");
}
const std::string led_by_nobody = state_event("");

// A stream with these events, which then ends.
PeerAnswer stream_about(const std::string& events) {
    return {.body = ": who leads\n\n" + events};
}

// Observes until `count` changes were told.
std::string observed(JsonPeer& peer, int count) {
    std::stop_source stop;
    std::string told;
    const auto exchange = *Exchange::open(peer.options());
    const auto done = observe(
        *exchange, "bo ss",
        [&](const std::optional<Leader>& leader) {
            told += leader ? leader->candidate + leader->value + std::to_string(leader->revision) +
                                 "/" + std::to_string(leader->fencing_token) + " "
                           : "- ";
            if (--count == 0) stop.request_stop();
        },
        stop.get_token());
    EXPECT_TRUE(done);
    return told;
}

TEST(Observing, BeginsWithTheLeaderAsItIs) {
    JsonPeer peer([](const SeenRequest&, int) { return stream_about(led_by("a", 5, "v", 2)); });
    EXPECT_EQ(observed(peer, 1), "av2/5 ");
    EXPECT_EQ(peer.seen()[0].line, "GET /v1/elections/bo%20ss?watch=true");
    EXPECT_NE(peer.seen()[0].header.find("Accept: text/event-stream"), std::string::npos);
    JsonPeer empty([](const SeenRequest&, int) { return stream_about(led_by_nobody); });
    EXPECT_EQ(observed(empty, 1), "- ");
}

TEST(Observing, TellsEveryChangeOfLeaderValueRevisionAndFencingToken) {
    JsonPeer peer([](const SeenRequest&, int) {
        return stream_about(led_by("a", 5) + led_by("a", 5, "v", 1) + led_by("a", 5, "w", 2) +
                            led_by("a", 5, "w", 4) + led_by("a", 6, "w", 4) + led_by_nobody +
                            led_by("b", 8));
    });
    EXPECT_EQ(observed(peer, 7), "a0/5 av1/5 aw2/5 aw4/5 aw4/6 - b0/8 ");
}

TEST(Observing, BeginsAnewAfterABreakAndTellsOnlyWhatIsNew) {
    JsonPeer peer([](const SeenRequest&, int index) -> std::optional<PeerAnswer> {
        switch (index) {
            case 0: return stream_about(led_by("a", 5, "v", 1));
            case 1: return std::nullopt;
            case 2: return PeerAnswer{.status = 503, .body = "{}"};
            case 3: return stream_about(led_by("a", 5, "v", 1));
            default: return stream_about(led_by("a", 5, "w", 2));
        }
    });
    EXPECT_EQ(observed(peer, 2), "av1/5 aw2/5 ");
    for (const SeenRequest& request : peer.seen()) {
        EXPECT_EQ(request.header.find("Last-Event-ID"), std::string::npos);
    }
}

TEST(Observing, EndsWhenTheServerRefusesOrMakesNoSense) {
    const auto observe_peer = [](const PeerAnswer& answer, std::string_view election = "boss") {
        JsonPeer peer([&](const SeenRequest&, int) { return answer; });
        const auto done =
            observe(**Exchange::open(peer.options()), election, [](const auto&) {}, {});
        return done ? "ok" : to_text(done.error());
    };
    EXPECT_EQ(observe_peer({.status = 401, .body = R"({"error":"a token is needed"})"}),
              "a token is needed");
    for (const std::string data : {"no", "{}", R"({"election":"boss","leader":"a"})"}) {
        EXPECT_EQ(observe_peer(stream_about("event: leader\ndata: " + data + "\n\n")),
                  "the server does not say who leads");
    }
    EXPECT_EQ(observe_peer(stream_about(""), ""), "the election needs a name");
}

}  // namespace
}  // namespace holdfast::sdk
