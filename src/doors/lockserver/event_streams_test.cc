#include "doors/lockserver/event_streams.h"

#include <gmock/gmock.h>

#include "core/values/cycle.h"
#include "core/values/scope_set.h"
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
        publish(event);
    }
    void publish(const core::Event& event) {
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

// The same for a client that may read `deploy/*`, whose streams have filters.
class LimitedEventStreamsTest : public EventStreamsTest {
  protected:
    // What a stream with this filter tells of the event.
    std::string heard(const WatchEvents& filter, const core::Event& event) {
        Opened opened(streams_, filter, ci_.get());
        net::TestChannel channel;
        net::HttpProtocol protocol(channel, opened, limits_);
        channel.feed(protocol, "GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n");
        executor_.settle();
        channel.take();
        publish(event);
        std::string text = channel.take();
        protocol.on_closed();
        return text;
    }

    // A lease on a hidden semaphore and on a name that the client may read.
    [[nodiscard]] core::Event of_set() const {
        core::Event event{.kind = core::EventKind::granted, .limit = 33, .queue_length = 44};
        event.lease.scope = core::Scope::semaphore("secret-pool");
        event.lease.mode = core::Mode::shared;
        event.lease.members = members_;
        event.lease.owner.name = "w1";
        event.previous_owner = "boss-of-secret";
        return event;
    }

  private:
    struct Opened final : net::HttpHandler {
        Opened(EventStreams& streams, const WatchEvents& filter, const rights::Token* client)
            : streams_(streams), filter_(filter), client_(client) {}
        void handle(const net::HttpRequest& /*request*/, net::HttpReply& reply) override {
            streams_.open(filter_, client_, reply);
        }
        EventStreams& streams_;
        const WatchEvents& filter_;
        const rights::Token* client_;
    };

    const rights::TokenPtr ci_ = [] {
        const std::string_view words[] = {"lock", "deploy/*"};
        return std::make_shared<const rights::Token>("ci", rights::Digest{},
                                                     rights::Grants::parse(words).value());
    }();
    const std::string members_ = core::set_to_text(std::vector<core::SetMember>{
        {.scope = core::Scope::semaphore("secret-pool"), .mode = core::Mode::shared, .limit = 33},
        {.scope = core::Scope::named("deploy/x")}});
};

TEST_F(LimitedEventStreamsTest, OfALeaseWithAHiddenFirstScopeOnlyTheOtherIsToldOf) {
    const std::string text = heard({}, of_set());
    EXPECT_THAT(text,
                AllOf(HasSubstr(R"("lock_name":"deploy/x","kind":"named","mode":"exclusive")"),
                      HasSubstr(R"("scopes":["deploy/x"])")));
    for (const char* hidden : {"secret", "33", "44", "queue_length", "limit", "shared"}) {
        EXPECT_THAT(text, Not(HasSubstr(hidden)));
    }
}

// The client may lose its rights between two questions for one event.
TEST_F(LimitedEventStreamsTest, OfALeaseThatIsHiddenAltogetherNothingIsWritten) {
    const rights::Token nothing("ci", rights::Digest{}, rights::Grants());
    std::string text;
    append_event(text, service::FeedEvent(1, of_set(), std::nullopt), &nothing, clock_);
    EXPECT_EQ(text, "");
}

TEST_F(LimitedEventStreamsTest, AFilterForAHiddenNameIsNotAnsweredByTheEventsOfOthers) {
    EXPECT_THAT(heard({.scope = "deploy/x"}, of_set()), HasSubstr("deploy/x"));
    EXPECT_THAT(heard({.prefix = "deploy/"}, of_set()), HasSubstr("deploy/x"));
    EXPECT_EQ(heard({.scope = "semaphore:secret-pool"}, of_set()), "");
    EXPECT_EQ(heard({.prefix = "secret-p"}, of_set()), "");

    const std::vector<core::CycleMember> members = {{.owner = {.name = "a"},
                                                     .waits_for = core::Scope::named("deploy/x"),
                                                     .held_by = {.name = "b"}},
                                                    {.owner = {.name = "b"},
                                                     .waits_for = core::Scope::named("secret"),
                                                     .held_by = {.name = "a"}}};
    const std::string cycle = core::cycle_to_text(members);
    core::Event deadlock{.kind = core::EventKind::deadlock};
    deadlock.cycle = cycle;
    EXPECT_THAT(heard({.scope = "deploy/x"}, deadlock),
                AllOf(HasSubstr("event: deadlock"), Not(HasSubstr("secret"))));
    EXPECT_EQ(heard({.scope = "secret"}, deadlock), "");
}

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
