#pragma once

// ReplyQueue: makes answers leave in the order of their requests.
//
// While nothing is owed it is empty, and an answer goes straight into the channel's output. A
// deferred reply opens a slot; whatever is answered after it waits in a slot behind it until its
// turn comes.
//
// A slot has one owner at any time: the DeferredReply until it is answered, the queue from then on.
//
// A streamed answer (server-sent events, files) would be a slot that, while it is at the front,
// appends to the output piece by piece and is answered by its last piece.
//
// Thread safety: only on the channel's loop.

#include <boost/intrusive/list.hpp>
#include <functional>
#include <string>

#include "net/channel.h"
#include "net/http_reply.h"

namespace holdfast::net {

struct ReplySlot : boost::intrusive::list_base_hook<> {
    ReplyQueue* queue = nullptr;  // null once the connection is gone
    HttpTerms terms;
    bool answered = false;
    std::string answer;  // when answered out of turn
    std::function<void()> on_abandoned;
};

class ReplyQueue {
  public:
    // Pauses the channel while `pending_max` requests have no answer sent.
    ReplyQueue(Channel& channel, std::size_t pending_max);
    ~ReplyQueue();
    ReplyQueue(const ReplyQueue&) = delete;
    ReplyQueue& operator=(const ReplyQueue&) = delete;

    [[nodiscard]] bool empty() const { return slots_.empty(); }
    [[nodiscard]] bool full() const { return slots_.size() >= pending_max_; }
    // Whether an answer after which the connection closes has been given: no request may follow.
    [[nodiscard]] bool closing() const { return closing_; }

    void answer(const HttpResponse& response, HttpTerms terms);
    [[nodiscard]] DeferredReply defer(const HttpTerms& terms, std::function<void()> on_abandoned);
    // Answers a slot of this queue that defer() opened, and flushes.
    void answer_slot(ReplySlot& slot, const HttpResponse& response);
    // Sends, in its turn, an interim response such as `100 Continue`.
    void interim(std::string_view bytes);

    // Tells every unanswered reply, once, that nobody waits for it.
    void abandon();
    // The connection is gone: lets go of every slot, then tells those not told yet.
    void detach();

  private:
    ReplySlot& open_slot(const HttpTerms& terms);
    void send_answered();

    Channel& channel_;
    std::size_t pending_max_;
    bool closing_ = false;
    bool paused_ = false;
    boost::intrusive::list<ReplySlot> slots_;
};

}  // namespace holdfast::net
