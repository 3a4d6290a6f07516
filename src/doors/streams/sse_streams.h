#pragma once

// SseStreams: the open streams of server-sent events of one door on one loop.
//
// It does what all such streams have in common: it begins the answer, forgets a stream whose reader
// has gone, and calls back every 15 s, because proxies close connections on which nothing moves.
// The door decides what is sent to whom. `Reader` is what the door knows about one reader.
//
// Thread safety: one per loop.

#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <string_view>
#include <utility>

#include "net/http/http_reply.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"

namespace holdfast::doors::streams {

inline constexpr std::chrono::seconds keep_alive_interval{15};
// A comment, which readers ignore.
inline constexpr std::string_view keep_alive_text = ": still here\n\n";

template <class Reader>
class SseStreams {
  public:
    struct Stream {
        Reader reader;
        net::StreamedReply reply;
    };

    // `keep_alive` is called at every interval while there are streams; it sends
    // `keep_alive_text`. The loop outlives this.
    SseStreams(net::EventLoop& loop, std::function<void()> keep_alive)
        : loop_(loop), keep_alive_(std::move(keep_alive)), timer_(loop, [this] { on_timer(); }) {}
    SseStreams(const SseStreams&) = delete;
    SseStreams& operator=(const SseStreams&) = delete;

    // Answers with a new stream. It stays at its address until it ends. Null for a HEAD, which has
    // no stream.
    Stream* open(Reader reader, net::HttpReply& reply) {
        const auto stream = streams_.insert(streams_.end(), Stream{std::move(reader), {}});
        stream->reply = reply.stream(200, "text/event-stream", {{"Cache-Control", "no-store"}},
                                     [this, stream] { streams_.erase(stream); });
        if (!stream->reply) {
            streams_.erase(stream);
            return nullptr;
        }
        if (streams_.size() == 1) timer_.call_at(loop_.now() + keep_alive_interval);
        return &*stream;
    }

    // Calls `visit` with each stream, and ends those for which it returns false.
    template <class Visit>
    void visit_all(Visit visit) {
        for (auto stream = streams_.begin(); stream != streams_.end();) {
            stream = visit(*stream) ? std::next(stream) : streams_.erase(stream);
        }
    }

    [[nodiscard]] std::size_t size() const { return streams_.size(); }
    [[nodiscard]] bool is_empty() const { return streams_.empty(); }

  private:
    void on_timer() {
        keep_alive_();
        if (!streams_.empty()) timer_.call_at(loop_.now() + keep_alive_interval);
    }

    net::EventLoop& loop_;
    const std::function<void()> keep_alive_;
    std::list<Stream> streams_;
    net::LoopTimer timer_;
};

}  // namespace holdfast::doors::streams
