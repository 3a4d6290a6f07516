#pragma once

// HistoryHandler: `GET /v1/history`, who held what, from when to when, and how it ended.
//
//     scope, prefix    one lock in its text form; locks whose names begin so
//     owner            the holder, at any door
//     since, until     holds that overlap this time: RFC 3339, or milliseconds since 1970
//     after, limit     the `next` of the page before; how many rows, newest first
//
// A client sees only rows of locks that its token may read. The store reads on a thread of its own.
//
// Thread safety: one handler per loop.

#include <span>
#include <string_view>

#include "app/http/json_replies.h"
#include "base/result.h"
#include "net/loop/event_loop.h"
#include "service/events/event_feed.h"
#include "service/history/hold.h"
#include "service/ports/clock.h"
#include "service/store.h"

namespace holdfast::app {

// Reads the query of a request. Every fault is a sentence.
[[nodiscard]] base::Result<service::HistoryQuery> read_history_query(std::string_view query);

// The body of the answer. `position` is the event after which the feed has what the page lacks.
[[nodiscard]] std::string history_text(const service::HistoryPage& page, std::uint64_t position);

class HistoryHandler final : public JsonHandler {
  public:
    // All outlive the handler. The store ends reading before the loop ends.
    struct Parts {
        net::EventLoop& loop;
        service::Store& store;
        const service::EventFeed& feed;
    };

    explicit HistoryHandler(const Parts& parts) : parts_(parts) {}

    [[nodiscard]] static std::span<const net::Route> routes();

    void handle(const net::RoutedRequest& request, net::HttpReply& reply) override;

  private:
    const Parts parts_;
};

}  // namespace holdfast::app
