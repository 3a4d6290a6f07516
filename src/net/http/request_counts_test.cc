#include "net/http/request_counts.h"

#include <gmock/gmock.h>

#include "net/http/http_protocol.h"
#include "net/loop/test_channel.h"

namespace holdfast::net {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::uint64_t total(const std::vector<std::uint64_t>& counts) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
}

TEST(RouteCounts, CountByStatusAndByDuration) {
    RouteCounts counts;
    for (const int status : {200, 409, 200}) counts.add_status(status);
    for (const auto took : {-5ns, 100'000ns, 100'001ns, 11'000'000'000ns}) {
        counts.add_duration(took);
    }
    RequestFigures figures;
    counts.add_to(figures);
    counts.add_to(figures);
    EXPECT_THAT(figures.statuses, ElementsAre(Pair(200, 4), Pair(409, 2)));
    EXPECT_EQ(figures.durations.size(), RouteCounts::bounds_seconds.size() + 1);
    EXPECT_EQ(figures.durations[0], 4U);
    EXPECT_EQ(figures.durations[1], 2U);
    EXPECT_EQ(figures.durations.back(), 2U);
    EXPECT_DOUBLE_EQ(figures.seconds, 2 * 11.000200001);
}

// Whatever a handler answers, there is a limit of series.
TEST(RouteCounts, HaveRoomForSixteenStatuses) {
    RouteCounts counts;
    for (int status = 200; status < 300; ++status) counts.add_status(status);
    RequestFigures figures;
    counts.add_to(figures);
    EXPECT_THAT(figures.statuses, SizeIs(16));
    EXPECT_EQ(figures.statuses[200], 1U);
    EXPECT_EQ(figures.statuses[215], 85U);
}

TEST(RequestCounts, AddUpWhatSeveralLoopsHaveCounted) {
    const std::vector<RouteName> names{{"GET", "/a/{b}"}};
    RequestCounts one(names), other(names);
    one[1].add_status(200);
    other[1].add_status(200);
    other[0].add_status(404);
    std::vector<RequestFigures> figures;
    one.add_to(figures);
    other.add_to(figures);
    ASSERT_THAT(figures, SizeIs(2));
    EXPECT_EQ(figures[0].route, "other");
    EXPECT_EQ(figures[0].method, "other");
    EXPECT_THAT(figures[0].statuses, ElementsAre(Pair(404, 1)));
    EXPECT_EQ(figures[1].route, "/a/{b}");
    EXPECT_EQ(figures[1].method, "GET");
    EXPECT_THAT(figures[1].statuses, ElementsAre(Pair(200, 2)));
}

// Answers at once, later or in pieces, as the path says; `/none` has no route.
class CountedHandler final : public HttpHandler {
  public:
    void handle(const HttpRequest& request, HttpReply& reply) override {
        if (request.path != "/none") reply.count_as(counts[1]);
        if (request.path == "/later") {
            later = reply.defer();
        } else if (request.path == "/pieces") {
            pieces = reply.stream(206, "text/plain");
        } else {
            reply.send(request.path == "/none" ? 404 : 200, "text/plain", "x");
        }
    }
    RouteCounts* unknown_route() override { return &counts[0]; }

    RequestCounts counts{std::vector<RouteName>{{"GET", "/{all}"}}};
    DeferredReply later;
    StreamedReply pieces;
};

struct CountedRequests : ::testing::Test {
    CountedRequests() { channel.time = std::chrono::steady_clock::now(); }

    void ask(const std::string& path) {
        channel.feed(protocol, "GET " + path + " HTTP/1.1\r\n\r\n");
    }
    std::vector<RequestFigures> figures() {
        std::vector<RequestFigures> figures;
        handler.counts.add_to(figures);
        return figures;
    }

    TestChannel channel;
    CountedHandler handler;
    HttpLimits limits;
    HttpProtocol protocol{channel, handler, limits};
};

TEST_F(CountedRequests, CountWhenTheAnswerIsComplete) {
    ask("/now");
    EXPECT_THAT(figures()[1].statuses, ElementsAre(Pair(200, 1)));
    EXPECT_EQ(total(figures()[1].durations), 1U);
    ask("/later");
    EXPECT_THAT(figures()[1].statuses, ElementsAre(Pair(200, 1)));
    handler.later.send(409, "text/plain", "x");
    EXPECT_THAT(figures()[1].statuses, ElementsAre(Pair(200, 1), Pair(409, 1)));
    ask("/pieces");
    handler.pieces.send("a piece");
    EXPECT_EQ(total(figures()[1].durations), 2U);
    handler.pieces.end();
    EXPECT_THAT(figures()[1].statuses, ElementsAre(Pair(200, 1), Pair(206, 1), Pair(409, 1)));
    EXPECT_EQ(total(figures()[1].durations), 3U);
    EXPECT_THAT(figures()[0].statuses, IsEmpty());
}

TEST_F(CountedRequests, WithoutARouteAreOne) {
    ask("/none");
    channel.feed(protocol, "nonsense\r\n\r\n");
    EXPECT_THAT(figures()[0].statuses, ElementsAre(Pair(400, 1), Pair(404, 1)));
    EXPECT_EQ(total(figures()[0].durations), 2U);
    EXPECT_THAT(figures()[1].statuses, IsEmpty());
    EXPECT_THAT(figures()[1].durations, Each(0U));
}

// More than are noted before the clock is read.
TEST_F(CountedRequests, MayBeManyInOneSegment) {
    std::string many;
    for (int times = 0; times < 100; ++times) many += "GET /now HTTP/1.1\r\n\r\n";
    channel.feed(protocol, many);
    EXPECT_THAT(figures()[1].statuses, ElementsAre(Pair(200, 100)));
    EXPECT_EQ(total(figures()[1].durations), 100U);
}

// What waited an hour for its answer took an hour.
TEST_F(CountedRequests, TakeAsLongAsTheirAnswer) {
    channel.time -= 1h;
    ask("/later");
    handler.later.send(200, "text/plain", "x");
    EXPECT_EQ(figures()[1].durations.back(), 1U);
    EXPECT_GE(figures()[1].seconds, 3600);
}

TEST_F(CountedRequests, ThatNobodyWaitsForAnyMoreAreNotCounted) {
    ask("/later");
    protocol.on_closed();
    handler.later.send(200, "text/plain", "x");
    EXPECT_THAT(figures()[1].statuses, IsEmpty());
}

}  // namespace
}  // namespace holdfast::net
