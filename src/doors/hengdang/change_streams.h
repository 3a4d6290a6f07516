#pragma once

// ChangeStreams: `GET /events/stream?path=/documents`, what changes in the tree as server-sent
// events.
//
//     event: connected
//     data: {"path":"/documents","timestamp":1736726400000}
//
//     event: file_change
//     data: {"type":"PUT","path":"/documents/a","etag":"\"...\"","timestamp":1736726400000}
//
// A reader that does not keep up is cut off, and looks at the directory when it comes back; one
// whose session is over, too.
//
// Thread safety: one per loop.

#include <list>
#include <string>

#include "doors/hengdang/hengdang_door.h"
#include "net/http/http_reply.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"

namespace holdfast::doors::hengdang {

class ChangeStreams {
  public:
    // Both outlive this.
    ChangeStreams(HengdangDoor& door, net::EventLoop& loop);
    ~ChangeStreams();
    ChangeStreams(const ChangeStreams&) = delete;
    ChangeStreams& operator=(const ChangeStreams&) = delete;

    // `session_id` is that of a session that lives.
    struct Wish {
        std::string path;
        std::string session_id;
    };
    void open(Wish wish, net::HttpReply& reply);

    [[nodiscard]] std::size_t size() const { return streams_.size(); }

  private:
    struct Stream {
        Wish wish;
        net::StreamedReply reply;
    };

    void tell(const files::Change& change);
    void send_to(const std::string& text, const std::string* path);
    void keep_alive();

    HengdangDoor& door_;
    net::EventLoop& loop_;
    std::list<Stream> streams_;
    net::LoopTimer timer_;
};

}  // namespace holdfast::doors::hengdang
