#pragma once

// ReplyQueue: makes answers leave in the order of their requests.
//
// While nothing is owed it is empty, and an answer goes straight into the channel's output. A
// deferred reply opens a slot; whatever is answered after it waits in a slot behind it until its
// turn comes. So does a streamed reply: while its slot is at the front its pieces go straight into
// the output, and it is answered by the last of them.
//
// A slot has one owner at any time: the reply until it is answered, the queue from then on.
//
// Answers that wait are memory that the peer gets for a few bytes of requests, so they are counted,
// and reading stops when they are too many (full()). The answer to a GET may be long: while one is
// not known yet, nothing behind it is read, and it counts as `unknown_answer_bytes`.
//
// Thread safety: only on the channel's loop.

#include <boost/intrusive/list.hpp>
#include <functional>
#include <string>

#include "net/http/http_parser.h"
#include "net/http/http_reply.h"
#include "net/loop/channel.h"

namespace holdfast::net {

struct ReplySlot : boost::intrusive::list_base_hook<> {
    ReplyQueue* queue = nullptr;  // null once the connection is gone
    HttpTerms terms;
    bool answered = false;
    bool streamed = false;
    std::uint64_t bytes_to_come = 0;  // with terms.plain: of those that were announced
    std::string answer;               // as far as it was given out of turn
    std::size_t counted_bytes = 0;    // by the queue, for the answer
    std::function<void()> on_abandoned;
    std::function<void()> on_room;
};

class ReplyQueue {
  public:
    // The limits outlive the queue.
    ReplyQueue(Channel& channel, const HttpLimits& limits);
    ~ReplyQueue();
    ReplyQueue(const ReplyQueue&) = delete;
    ReplyQueue& operator=(const ReplyQueue&) = delete;

    [[nodiscard]] bool empty() const { return slots_.empty(); }
    // Whether another request would be too much: too many are unanswered, or too many bytes wait.
    // An empty queue is never full.
    [[nodiscard]] bool full() const;
    // Pauses the channel if the queue is full, until it is not. Returns whether it is.
    [[nodiscard]] bool pause_if_full();
    // The channel gives input again, for whatever reason.
    void note_input() { paused_ = false; }
    // Whether an answer after which the connection closes has been given: no request may follow.
    [[nodiscard]] bool closing() const { return closing_; }

    void answer(const HttpResponse& response, HttpTerms terms);
    [[nodiscard]] DeferredReply defer(const HttpTerms& terms, std::function<void()> on_abandoned);
    // Answers a slot of this queue that defer() opened, and flushes.
    void answer_slot(ReplySlot& slot, const HttpResponse& response);
    // Sends, in its turn, an interim response such as `100 Continue`, to the request that is being
    // read; or to the last one that was handled, and is unanswered.
    void interim(std::string_view bytes);
    void interim_to_last(std::string_view bytes);
    // The connection closes after the last answer that is owed. REQUIRES: there is one.
    void close_after_last();
    // No request may follow those there are.
    void refuse_more() { closing_ = true; }

    // Begins a streamed answer with its header; `head` has no body.
    [[nodiscard]] StreamedReply stream(const HttpResponse& head, HttpTerms terms,
                                       std::function<void()> on_abandoned);
    // The same for a slot that defer() opened.
    [[nodiscard]] StreamedReply stream_slot(ReplySlot& slot, const HttpResponse& head,
                                            std::function<void()> on_abandoned);
    void call_when_sent(ReplySlot& slot, std::function<void()> on_room);
    // All output is sent: lets whoever's turn it is send more. Returns whether it did.
    [[nodiscard]] bool make_use_of_room();
    // A piece, and the end, of what stream() began; both flush.
    void append_piece(ReplySlot& slot, std::string_view piece);
    void end_stream(ReplySlot& slot);
    // Whether the channel is over its limit; or, if the slot waits for its turn, what waits is.
    [[nodiscard]] bool congested(const ReplySlot& slot) const;

    // Tells every unanswered reply, once, that nobody waits for it.
    void abandon();
    // Tells every streamed reply, unless it was told before, that it must end, and ends those that
    // do not.
    void end_streams();
    // The connection is gone: lets go of every slot, then tells those not told yet.
    void detach();

  private:
    ReplySlot& open_slot(const HttpTerms& terms);
    void close_if_draining(ReplySlot& slot);
    std::string& place_for(ReplySlot& slot);
    void count(ReplySlot& slot);
    void resume_unless_full();
    void finish(ReplySlot& slot);
    void take_from_owner(ReplySlot& slot);
    void send_answered();

    Channel& channel_;
    const HttpLimits& limits_;
    bool closing_ = false;
    bool paused_ = false;
    std::size_t waiting_bytes_ = 0;  // what count() has counted
    boost::intrusive::list<ReplySlot> slots_;
};

}  // namespace holdfast::net
