#pragma once

// EventStreams: `GET /v1/events`, the transitions of locks as server-sent events.
//
//     id: 1768473000000001
//     event: granted
//     data: {"lock_name":"x","kind":"named","owner_id":"w1","fencing_token":7,...}
//
// A reader that lost its connection sends the last id it has seen as Last-Event-ID, and the stream
// goes on there; so does a reader that sends the `position` of a snapshot. An event `gap` says that some events are missing: the reader came back too late,
// or did not keep up.
//
// Thread safety: one per loop.

#include <memory>
#include <string>
#include <string_view>

#include "doors/lockserver/lockserver_request.h"
#include "doors/streams/sse_streams.h"
#include "rights/token.h"
#include "service/events/event_feed.h"
#include "service/ports/clock.h"

namespace holdfast::doors::lockserver {

// Appends one event as the stream shows it to this client; null: to one without limits. Of a lease on
// several scopes, the client sees those that it may read.
void append_event(std::string& out, const service::FeedEvent& event, const rights::Token* client,
                  const service::Clock& clock);

class EventStreams {
  public:
    // All of them outlive this. `here` is the loop's executor.
    EventStreams(service::EventFeed& feed, service::Executor& here, net::EventLoop& loop,
                 const service::Clock& clock);

    // A client with limits hears of the locks that it may read, and of nothing else.
    void open(const WatchEvents& request, const rights::Token* client, net::HttpReply& reply);

    [[nodiscard]] std::size_t size() const { return streams_.size(); }

  private:
    struct Reader {
        std::string prefix;       // of the locks that it wants to hear of
        std::string scope;        // the only lock that it wants to hear of; empty: all of them
        rights::TokenPtr client;  // null: it has no limits
        std::shared_ptr<service::EventFeed::Watch> watch;
        bool awaits_room = false;  // it goes on when everything sent so far has left
    };
    using Streams = streams::SseStreams<Reader>;

    [[nodiscard]] static bool wants(const Reader& reader, const service::FeedEvent& event);
    void send_news(Streams::Stream& stream);
    void keep_alive();

    service::EventFeed& feed_;
    service::Executor& here_;
    const service::Clock& clock_;
    Streams streams_;
    std::string text_;  // reused
};

}  // namespace holdfast::doors::lockserver
