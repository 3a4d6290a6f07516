#pragma once

// ChangeStreams: `GET /events/stream?path=/documents`, the changes of the tree as server-sent
// events.
//
//     data: {"type":"connected","path":"/documents","timestamp":1736726400000}
//
//     data: {"type":"file_change","operation":"PUT","path":"/documents/a","timestamp":1736726400000,
//     "etag":"\"...\""}
//
//     data: {"type":"directory_change","operation":"MKDIR","path":"/documents/new/",...}
//
// The messages have no names, so that a browser's EventSource gives all of them to its `onmessage`.
// A reader that does not keep up is disconnected, and looks at the directory when it comes back. A
// reader whose session has ended is disconnected, too.
//
// Thread safety: one per loop.

#include <string>

#include "doors/hengdang/change_filter.h"
#include "doors/hengdang/hengdang_door.h"
#include "doors/streams/sse_streams.h"

namespace holdfast::doors::hengdang {

class ChangeStreams {
  public:
    // Both outlive this.
    ChangeStreams(HengdangDoor& door, net::EventLoop& loop);
    ~ChangeStreams();
    ChangeStreams(const ChangeStreams&) = delete;
    ChangeStreams& operator=(const ChangeStreams&) = delete;

    struct Watch {
        ChangeFilter filter;
        std::string session_name;  // of a live session
        rights::TokenPtr client;   // null: it has no limits
    };
    void open(Watch watch, net::HttpReply& reply);

    // Ends all streams, and listens to no more changes.
    void close();

    [[nodiscard]] std::size_t size() const { return streams_.size(); }

  private:
    void tell(const files::Change& change);
    [[nodiscard]] bool may_hear(const Watch& watch) const;
    void keep_alive();

    HengdangDoor& door_;
    net::EventLoop& loop_;
    streams::SseStreams<Watch> streams_;
};

}  // namespace holdfast::doors::hengdang
