#pragma once

// EventStreams: `GET /v1/events`, what happens to locks as server-sent events.
//
//     id: 1768473000000001
//     event: granted
//     data: {"lock_name":"x","kind":"named","owner_id":"w1","fencing_token":7,...}
//
// A reader that was cut off says with Last-Event-ID where, and goes on there. An event `gap` says
// that some are missing: it came back too late, or did not keep up.
//
// Thread safety: one per loop.

#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "doors/lockserver/lockserver_request.h"
#include "net/http/http_reply.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"
#include "service/events/event_feed.h"
#include "service/ports/clock.h"

namespace holdfast::doors::lockserver {

// Appends one event as the stream shows it.
void append_event(std::string& out, const service::FeedEvent& event, const service::Clock& clock);

class EventStreams {
  public:
    // All outlive this. `here` is the loop's executor.
    EventStreams(service::EventFeed& feed, service::Executor& here, net::EventLoop& loop,
                 const service::Clock& clock);
    ~EventStreams();

    void open(const WatchEvents& request, net::HttpReply& reply);

    [[nodiscard]] std::size_t size() const { return streams_.size(); }

  private:
    struct Stream {
        std::string prefix;
        net::StreamedReply reply;
        std::shared_ptr<service::EventFeed::Watch> watch;
        bool awaits_room = false;  // it goes on when its reader has taken what was sent
    };
    using Place = std::list<Stream>::iterator;

    void send_news(Stream& stream);
    void keep_alive();

    service::EventFeed& feed_;
    service::Executor& here_;
    net::EventLoop& loop_;
    const service::Clock& clock_;
    std::list<Stream> streams_;
    net::LoopTimer timer_;
    std::string text_;  // reused
};

}  // namespace holdfast::doors::lockserver
