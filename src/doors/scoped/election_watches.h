#pragma once

// ElectionWatches: `GET /v1/elections/{name}?watch=true`, the readers of elections on one loop.
//
// A long poll is answered at the next change, or after its wait. A reader that accepts
// text/event-stream gets a stream: the state, and the state after each change, as events `leader`.
//
// Thread safety: one per loop.

#include <list>
#include <memory>
#include <string>

#include "doors/scoped/scoped_request.h"
#include "doors/streams/sse_streams.h"
#include "net/http/http_reply.h"
#include "net/loop/event_loop.h"
#include "net/loop/loop_timer.h"
#include "rights/token.h"
#include "service/events/election_reader.h"
#include "service/ports/clock.h"

namespace holdfast::doors::scoped {

class ElectionWatches {
  public:
    // All of them outlive this.
    ElectionWatches(const service::ElectionReader::Parts& parts, net::EventLoop& loop,
                    const service::Clock& clock);

    // REQUIRES: the client may read the named lock.
    void open(const LookAtElection& request, const rights::Token* client, net::HttpReply& reply);

    // The server is about to end: answers every long poll with what it knows. Streams end with
    // their connections.
    void begin_stop();

    [[nodiscard]] std::size_t size() const { return polls_.size() + streams_.size(); }

  private:
    // Closes its reader when it is destroyed.
    struct OpenReader {
        std::shared_ptr<service::ElectionReader> reader;

        OpenReader() = default;
        OpenReader(OpenReader&&) = default;
        OpenReader& operator=(OpenReader&&) = default;
        ~OpenReader() {
            if (reader) reader->close();
        }
    };
    struct Poll {
        std::string name;
        rights::TokenPtr client;  // null: it has no limits
        net::DeferredReply reply;
        net::EventLoop::TimePoint due;
        bool has_state = false;  // of the election, to answer with
        OpenReader open = {};
    };
    struct Listening {
        std::string name;
        rights::TokenPtr client;  // null: it has no limits
        OpenReader open = {};
    };
    using Polls = std::list<Poll>;
    using Streams = streams::SseStreams<Listening>;

    void open_poll(const LookAtElection& request, const rights::Token* client,
                   net::HttpReply& reply);
    void open_stream(const LookAtElection& request, const rights::Token* client,
                     net::HttpReply& reply);
    void answer(Polls::iterator poll);
    void send_state(Streams::Stream& stream, const service::Election& election);
    void end(Streams::Stream& stream);
    void on_timer();
    void keep_alive();

    const service::ElectionReader::Parts parts_;
    net::EventLoop& loop_;
    const service::Clock& clock_;
    Polls polls_;
    net::LoopTimer timer_;  // when the first poll is due
    net::EventLoop::TimePoint next_due_ = net::EventLoop::TimePoint::max();  // no later than that
    Streams streams_;
    bool is_stopping_ = false;
};

}  // namespace holdfast::doors::scoped
