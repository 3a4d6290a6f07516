#include "doors/lockserver/event_streams.h"

#include <gmock/gmock.h>

#include "net/http/http_protocol.h"
#include "net/loop/test_channel.h"
#include "service/ports/test_executor.h"

namespace holdfast::doors::lockserver {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A reader of events, at the end of a connection that the test drives.
class EventStreamsTest : public ::testing::Test, private net::HttpHandler {
  protected:
    EventStreamsTest() {
        channel_.feed(protocol_, "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
        executor_.settle();
        EXPECT_THAT(channel_.take(), HasSubstr("200 OK"));
    }

    void publish(std::string_view owner) {
        core::Event event{.kind = core::EventKind::granted};
        event.lease.scope = core::Scope::named("job");
        event.lease.owner.name = owner;
        core::Changes changes;
        changes.add(event);
        feed_.publish(std::move(changes));
        executor_.settle();
    }

    service::ManualClock clock_{service::WallTime{}};
    service::testing::ManualExecutor executor_;
    net::EventLoop loop_;  // is not run: nothing here depends on its time
    service::EventFeed feed_{1};
    EventStreams streams_{feed_, executor_, loop_, clock_};
    const net::HttpLimits limits_;
    net::TestChannel channel_;
    net::HttpProtocol protocol_{channel_, *this, limits_};

  private:
    void handle(const net::HttpRequest& /*request*/, net::HttpReply& reply) override {
        streams_.open({}, nullptr, reply);
    }
};

TEST_F(EventStreamsTest, AReaderThatDoesNotKeepUpHearsTheRestAsSoonAsItHasReadWhatWasSent) {
    channel_.is_congested = true;
    publish("a");
    publish("b");
    EXPECT_EQ(channel_.take(), "") << "it has enough to read";
    channel_.is_congested = false;
    EXPECT_TRUE(protocol_.on_output_sent()) << "there is more for it";
    EXPECT_THAT(channel_.take(), AllOf(HasSubstr(R"("owner_id":"a")"),
                                       HasSubstr(R"("owner_id":"b")"), Not(HasSubstr("gap"))));
    EXPECT_FALSE(protocol_.on_output_sent()) << "that was all";
    publish("c");
    EXPECT_THAT(channel_.take(), HasSubstr(R"("owner_id":"c")"));
}

TEST_F(EventStreamsTest, AReaderMayFallBehindAgainAndAgain) {
    for (const char* const owner : {"a", "b", "c"}) {
        channel_.is_congested = true;
        publish(owner);
        EXPECT_EQ(channel_.take(), "");
        channel_.is_congested = false;
        EXPECT_TRUE(protocol_.on_output_sent());
        EXPECT_THAT(channel_.take(), HasSubstr(std::string("\"owner_id\":\"") + owner + "\""));
    }
}

TEST_F(EventStreamsTest, AReaderThatGoesAwayWhileItIsBehindIsForgotten) {
    channel_.is_congested = true;
    publish("a");
    protocol_.on_closed();
    EXPECT_EQ(streams_.size(), 0U);
    publish("b");
}

}  // namespace
}  // namespace holdfast::doors::lockserver
